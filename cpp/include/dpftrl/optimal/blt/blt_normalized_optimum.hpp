// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Buffered linear Toeplitz strategies whose columns are divided by their norms, with rows scaled
/// before or not: parameters in, the best decays, weights and row scales out.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/optimal/blt/blt_optimum.hpp"
#include "dpftrl/optimal/family.hpp"

namespace dpftrl {

inline constexpr std::int64_t kMaxNormalizedBltSteps = std::int64_t{1} << 24;
inline constexpr std::int64_t kNumRowScaleKnots = 9;

struct BltNormalizedProblem {
  std::int64_t num_steps = 0;
  Objective objective = Objective::max;
  /// 1 .. kMaxBuffers. Unset: as many as gain 0.1 % each, one after the other.
  std::optional<std::int64_t> num_buffers = {};
  bool scale_rows = false;
};

struct BltNormalizedOptimum {
  FamilySearch search;
  std::vector<double> decays;          ///< theta, decreasing
  std::vector<double> weights;         ///< omega > 0
  std::vector<double> inverse_decays;  ///< theta^
  /// ln lambda at the knots, see `row_scale`; empty without scale_rows.
  std::vector<double> log_row_scales;
  /// Errors of C' itself, not of the search's approximation to it; the sensitivity is 1.
  FamilyErrors errors;
};

/// lambda_t: ln lambda is linear between kNumRowScaleKnots knots, evenly spaced in
/// ln((t + 1) / (n - t)) from -ln n to ln n.
double row_scale(std::span<const double> log_row_scales, std::int64_t num_steps, std::int64_t step);

/// Least error over C' = diag(lambda) T D^-1 with T a BLT of interlacing roots, D the column norms
/// of diag(lambda) T, so that every column of C' has norm 1, and lambda = 1 without scale_rows.
///
/// Single participation, prefix sums. The search takes D and lambda as constant over cells whose
/// length is a fraction of the distance to the nearer end: 1/24 to compare starts, 1/128 in its
/// last part, which up to 4096 steps uses the steps themselves.
///
/// @exactness    `errors` come from the recursion over all steps, at the parameters found
/// @guarantee    none that the parameters are the best: see FamilySearch (which is about the cells,
///               where there are cells).
/// @throws Error{invalid_argument} num_steps outside 1 .. 2^24, num_buffers, an option out of
/// range.
/// @cost         O(d^2) a step or cell and evaluation
/// @checked-by   blt_normalized_optimum_test
[[nodiscard]] BltNormalizedOptimum find_blt_normalized_optimum(const BltNormalizedProblem& problem,
                                                               const FamilyOptions& options = {});

}  // namespace dpftrl
