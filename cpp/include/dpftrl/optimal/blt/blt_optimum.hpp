// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Buffered linear Toeplitz strategies of least error for prefix sums: parameters in, the best
/// decays and weights out.

#include <cstdint>
#include <optional>
#include <vector>

#include "dpftrl/optimal/family.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

inline constexpr std::int64_t kMaxBuffers = 8;

struct BltProblem {
  std::int64_t num_steps = 0;
  Objective objective = Objective::max;
  Participation participation = Participation::single();
  /// 1 .. kMaxBuffers. Unset: as many as gain 0.1 % each, one after the other.
  std::optional<std::int64_t> num_buffers = {};
};

/// c_0 = 1, c_j = sum_i weights[i] decays[i]^(j-1).
struct BltOptimum {
  FamilySearch search;
  /// theta, decreasing. Fewer than asked for where one more gains less than 1e-12 of the error.
  std::vector<double> decays;
  std::vector<double> weights;         ///< omega > 0
  std::vector<double> inverse_decays;  ///< theta^, those of the inverse; interlacing with theta
  FamilyErrors errors;
};

/// Least error over encoders with interlacing roots 1 > theta_1 > theta^_1 > theta_2 > ... > 0.
///
///     C = [1           ]    c_j = sum_i omega_i theta_i^(j-1)
///         [c_1 1       ]
///         [c_2 c_1 1   ]    B = prefix sums * C^-1
///
/// Such coefficients are positive and do not increase, so that the sensitivity of repeated
/// participation is attained by 0, b, 2b, ... and has a closed form.
///
/// @exactness    errors in closed form at the parameters found, a few rounding errors
/// @guarantee    none that the parameters are the best: see FamilySearch. More buffers are never
///               worse.
/// @throws Error{invalid_argument} num_steps outside 1 .. 2^40, num_buffers, a fixed-epoch schema
///         of another horizon, an option out of range.
/// @cost         milliseconds at any horizon; O(k d^2) an evaluation for k participations.
/// @source       Dvijotham et al., arXiv 2404.16706; McMahan, Pillutla, arXiv 2504.21413;
///               parametrisation in docs/math/families.md
/// @checked-by   blt_optimum_test
[[nodiscard]] BltOptimum find_blt_optimum(const BltProblem& problem,
                                          const FamilyOptions& options = {});

}  // namespace dpftrl
