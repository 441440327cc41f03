// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Factorizations of one factor of a workload with a matrix of integers M (internal header).

#include <vector>

#include "dpftrl/queries/query_factorization.hpp"

namespace dpftrl::detail {

/// M rounded to integers, without rows that come out as zeros, with its decoder.
/// @param bits  the largest column of M gets a norm from 2^(bits - 1) to 2^bits.
QueryFactorization::Factor rounded_factor(const Matrix& f, const Matrix& m, int bits);

/// Counts of the values `columns`, which are all that F asks about: exact.
QueryFactorization::Factor counted_factor(const Matrix& f, const std::vector<Eigen::Index>& columns,
                                          int bits);

/// Queries measured by themselves: exactly, if they are fractions of powers of two.
/// @throws Error{unsupported} more than kMaxQueryValues of them.
QueryFactorization::Factor queried_factor(const Matrix& f, int bits);

/// The triangular T with T^T T = M^T M, which decodes faster and as well; where there is none to
/// double precision, M.
Matrix triangular_measurements(Matrix m);

}  // namespace dpftrl::detail
