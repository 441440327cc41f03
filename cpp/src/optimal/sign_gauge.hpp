// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The bound on dual variables for records of one number each.

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

/// Upper bound on the least T such that sum_s w_s s s^T - Lambda is positive semi-definite for some
/// w_s >= 0 of sum T, where s are vectors of signs. Then tr Lambda X <= T max_s s^T X s for every X
/// = C^T C.
///
///     w any weights, R = Lambda - sum w_s s s^T:
///     T <= sum w_s + max(max_i R_ii, sum_{i<j} |R_ij|), not below 0
///
/// since I + (E_ij + E_ji) sign R_ij, the identity with one pair of steps tied, is a mean of s s^T.
///
/// @param lambda  symmetric, positive semi-definite, k x k.
/// @return        infinity if k exceeds kMaxSignedEpochs.
/// @guarantee     never below the least T, rounding included.
/// @checked-by    dense_optimum_test "the gauge of signs"
double sign_gauge(const Matrix& lambda);

}  // namespace dpftrl::detail
