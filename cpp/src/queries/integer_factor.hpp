// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Factorizations of one factor of a workload with a matrix of integers M (internal header).

#include <vector>

#include "dpftrl/queries/query_mechanism.hpp"

namespace dpftrl::detail {

/// M rounded to integers, without rows that come out as zeros, with its decoder.
/// @param bits  the largest column of M gets a norm from 2^(bits - 1) to 2^bits.
QueryFactorization::Factor rounded_factor(const Matrix& f, const Matrix& m, int bits);

/// The same where the number of records is public: M, where only differences of columns count, and
/// a row of 2^bits in every column, which measures that number. Queries for that number alone use
/// this row alone.
QueryFactorization::Factor counted_total_factor(const Matrix& f, const Matrix& m, int bits);

/// Counts of the values `columns`, the only ones that F depends on: exact.
QueryFactorization::Factor counted_factor(const Matrix& f, const std::vector<Eigen::Index>& columns,
                                          int bits);

/// @throws Error{unsupported} more than kMaxQueryValues.
void require_few_queries(std::int64_t num_queries);

/// Queries measured by themselves: exactly, if they are fractions of powers of two.
/// @throws Error{unsupported} more than kMaxQueryValues of them.
QueryFactorization::Factor queried_factor(const Matrix& f, int bits);

/// Returns the triangular T with T^T T = M^T M, which decodes faster and as well; M itself if T
/// does not exist in double precision.
Matrix triangular_measurements(Matrix m);

/// The same for M whose last column is 0, as only differences count.
Matrix triangular_differences(const Matrix& m);

}  // namespace dpftrl::detail
