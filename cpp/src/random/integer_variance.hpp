// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Variances of integer noise (internal header), from which published standard deviations are
/// computed. docs/math/grid.md, section 7.

namespace dpftrl::detail {

/// Variance of floor(stddev N + 1/2), N standard normal.
///
///     sum_k k^2 P[floor(stddev N + 1/2) = k] = stddev^2 + 1/12 + exp(-2 pi^2 stddev^2) (...)
///
/// @param stddev  >= 0, in units of the integers.
/// @exactness     relative error below 1e-13.
/// @checked-by    integer_variance_test
double rounded_gaussian_variance(double stddev);

/// Variance of floor(U + stddev N) - floor(U), U uniform between 0 and 1: of the difference of two
/// rounded numbers.
///
///     stddev^2 + E f (1 - f),    f the fraction of stddev N
///
/// @param stddev  >= 0, in units of the integers.
/// @exactness     relative error below 1e-13.
/// @checked-by    integer_variance_test
double rounded_difference_variance(double stddev);

/// Variance of the law P[k] ~ exp(-k^2 / (2 parameter)): equal to `parameter` to all digits if that
/// is at least 4, smaller otherwise.
/// @param parameter  > 0, in squared units of the integers.
/// @exactness        relative error below 1e-13.
/// @checked-by       integer_variance_test
double discrete_gaussian_variance(double parameter);

}  // namespace dpftrl::detail
