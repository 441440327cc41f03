// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

/// True if scaled_toeplitz_rows supports the workload: not a window, not a matrix, not rates with
/// momentum, and no momentum within 2^-10 of the decay.
bool has_scaled_toeplitz_rows(const Workload& workload);

/// Squared row norms of B = A D G, A the workload, D any diagonal, G lower-triangular Toeplitz.
///
/// Each row follows from the previous row and <G_t, B_{t-1}>, a sum of M_ts = <G_t, G_s>, s < t,
/// with weights D_s times powers. M is close to a Toeplitz matrix: in the block that begins at step
/// f,
///
///     M_ts = c_{t-s} + sum_{f < i <= s} g_i g_{i+t-s},    c_k = M_{f+k, f},
///
/// so the part of the sums that crosses the middle of a block takes convolutions no longer than the
/// block, as does computing c for its second half.
///
/// @param inverse        first column of G, one number per step.
/// @param column_scales  D, one number per step.
/// @cost        O(n log^2 n) time, O(n) memory.
/// @source      docs/math/mechanisms.md, "Normalised columns".
/// @checked-by  toeplitz_strategies_test "norms of scaled Toeplitz rows are those of the recursion"
std::vector<double> scaled_toeplitz_rows(const Workload& workload, std::span<const double> inverse,
                                         std::span<const double> column_scales);

}  // namespace dpftrl
