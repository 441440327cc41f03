// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace dpftrl {

/// Squared row norms of B = A D R^-1, A the prefix sums, R their square root (square_root.hpp), D
/// any diagonal.
///
/// Row t is the previous row plus D_t times row t of R^-1. The inner product of the two is known in
/// closed form, so one convolution gives all norms:
///
///     ||B_t||^2 - ||B_{t-1}||^2
///         = D_t f_t (D_t f_t - 2 sum_{i<t} (D_i - D_{i+1}) (2i+1) f_i / (2(t-i) - 1)).
///
/// @param column_scales  D, one number per step.
/// @cost        O(n log n) time, O(n) memory.
/// @source      docs/math/mechanisms.md, "Normalised columns".
/// @checked-by  toeplitz_strategies_test "norms of scaled square roots are those of their rows"
std::vector<double> scaled_square_root_rows(std::span<const double> column_scales);

}  // namespace dpftrl
