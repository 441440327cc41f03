// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dpftrl {

/// Squared row norms of B = A D G, A a sliding window of `width` steps, D any diagonal, G
/// lower-triangular Toeplitz.
///
/// When step t enters, the squared norm grows by D_t^2 M_tt + 2 D_t sum_k D_{t-k} M_{t,t-k}; when
/// step q leaves, it shrinks by D_q^2 M_qq + 2 D_q sum_k D_{q+k} M_{q+k,q}, 0 < k < width. Both
/// need only one running sum per lag: M_{s+k,s} = <G_{s+k}, G_s> = sum_{i<=s} g_i g_{i+k}. Both
/// sums use the same bits of M and are accumulated in double-double, so that the terms of a large D
/// cancel when its step leaves.
///
/// @param width          W, at least 1.
/// @param inverse        first column of G, one number per step.
/// @param column_scales  D, one number per step.
/// @cost        O(n W) time, O(n) memory.
/// @source      docs/math/mechanisms.md, "Normalised columns".
/// @checked-by  toeplitz_strategies_test "norms of scaled windows ..."
std::vector<double> scaled_window_rows(std::int64_t width, std::span<const double> inverse,
                                       std::span<const double> column_scales);

}  // namespace dpftrl
