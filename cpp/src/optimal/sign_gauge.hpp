// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Dual variables of records of one number each (internal header).

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

/// An upper bound on the least T for which sum_s w_s s s^T - Lambda is positive semi-definite, s
/// vectors of signs, w_s >= 0 of sum T: then tr Lambda X <= T max_s s^T X s for every X = C^T C.
///
///     w any weights, R = Lambda - sum w_s s s^T:
///     T <= sum w_s + max(max_i R_ii, sum_{i<j} |R_ij|), not below 0
///
/// since 1 + (E_ij + E_ji) sign R_ij, the identity with one pair of steps tied, is a mean of s s^T.
///
/// @param lambda  symmetric, positive semi-definite, k x k.
/// @return        infinity where k exceeds kMaxSignedEpochs.
/// @guarantee     never below the least T, rounding included.
/// @checked-by    dense_optimum_test "the gauge of signs"
double sign_gauge(const Matrix& lambda);

}  // namespace dpftrl::detail
