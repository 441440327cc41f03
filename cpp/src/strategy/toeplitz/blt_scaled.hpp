// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "optimal/family_optimum.hpp"
#include "strategy/toeplitz/blt.hpp"

namespace dpftrl {

/// Buffers with constant decays, every row scaled and then every column scaled to norm 1:
///
///     C = diag(lambda) T D^-1,    T = [1           ]    c_j = sum_i weights_i decays_i^(j-1)
///                                     [c_1 1       ]
///                                     [c_2 c_1 1   ]
///
/// The row scales, one number per step, bring the error to within a percent of the optimum, which
/// `blt-normalized` does not reach.
/// @source  docs/math/families.md
inline constexpr std::string_view kBltScaled = "blt-scaled";
inline constexpr std::int64_t kMaxScaledBltSteps = std::int64_t{1} << 21;

struct ScaledBuffers {
  BufferParameters buffers;        ///< decays above 0
  std::vector<double> row_scales;  ///< lambda, one per step, positive
};

/// More buffers gain less than 0.1 %, and the search takes long.
inline constexpr std::int64_t kDefaultScaledBuffers = 3;

/// Finds the parameters of least error for prefix sums (find_blt_normalized_optimum with
/// scale_rows).
ScaledBuffers scaled_buffers(const BltNormalizedProblem& problem);
ScaledBuffers scaled_buffers(const BltNormalizedOptimum& optimum, std::int64_t steps);
BltNormalizedProblem scaled_problem(std::int64_t steps, std::optional<std::int64_t> buffers,
                                    Objective objective);

/// Streamed by VaryingBufferedStrategy, which recomputes the column norms from the stored numbers.
/// @throws Error{invalid_argument, wrong_length} numbers out of range, not one scale per step.
std::shared_ptr<const Strategy> blt_scaled_strategy(const Workload& workload,
                                                    const ScaledBuffers& numbers);

}  // namespace dpftrl
