// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sensitivity of Toeplitz encoders with scaled columns, and of the circulant one, under repeated
/// participation. Internal to the core.

#include <span>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// C = T D^-1, T lower-triangular Toeplitz with coefficients c >= 0, D positive. For columns i < j
///
///     X_ij = R_{j-i}(n - j) / (D_i D_j),      R_l(m) = sum_{p < m} c_p c_{p+l}.
///
/// Fixed epochs: every phase, O(n k). Else c must not increase: then neither does R_l as l grows,
/// so that with the least D up to column j - l in the place of D_i
///
///     X_ij <= Y_j(l) for all lags j - i >= l,
///
/// backward in time the bounds of largest_pair_sum.
///
/// @param max_operations  tests set it to reach both.
/// @exactness  fixed epochs up to n k = max_operations; else an upper bound
/// @return     an infinite value where c is not as needed.
/// @checked-by sensitivity_test "long horizons agree with brute force"
Sensitivity scaled_toeplitz_sensitivity(std::span<const double> coefficients,
                                        std::span<const double> column_scales,
                                        const Participation& participation,
                                        std::int64_t max_operations = std::int64_t{1} << 28);

/// CirculantColumns, X_ij = r(|j - i|). Fixed epochs: r at the lags of the epochs.
/// Else the largest |r| at lags that two participations can have.
Sensitivity circulant_sensitivity(const Strategy& strategy, const Participation& participation);

}  // namespace dpftrl
