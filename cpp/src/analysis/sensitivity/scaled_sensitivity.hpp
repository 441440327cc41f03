// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sensitivity of Toeplitz encoders with scaled columns under repeated participation. Internal to
/// the core.

#include <span>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

/// C = T D^-1, T lower-triangular Toeplitz with coefficients c >= 0, D positive. For columns i < j
///
///     X_ij = R_{j-i}(n - j) / (D_i D_j),      R_l(m) = sum_{p < m} c_p c_{p+l}.
///
/// For fixed epochs, every phase is tried, in O(n k). Otherwise c must not increase. Then R_l does
/// not increase with l either. Let Y_j(l) be X_{j-l,j} with the least of D_0, ..., D_{j-l} in place
/// of D_{j-l}. Then
///
///     X_ij <= Y_j(l) for all lags j - i >= l,
///
/// and these are, backward in time, the bounds that largest_pair_sum needs.
///
/// @param max_operations  set by tests to reach both cases.
/// @exactness  exact for fixed epochs up to n k = max_operations; else an upper bound
/// @return     an infinite value if c does not meet these conditions.
/// @checked-by sensitivity_test "long horizons agree with brute force"
Sensitivity scaled_toeplitz_sensitivity(std::span<const double> coefficients,
                                        std::span<const double> column_scales,
                                        const Participation& participation,
                                        std::int64_t max_operations = std::int64_t{1} << 28);

}  // namespace dpftrl
