// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Factorizations of one factor of a workload with a matrix of integers M (internal header).

#include <Eigen/Core>
#include <vector>

#include "dpftrl/queries/query_mechanism.hpp"

namespace dpftrl::detail {

/// M rounded to integers, without rows that become zero, with its decoder.
/// @param bits  the largest column of M gets a norm from 2^(bits - 1) to 2^bits.
QueryFactorization::Factor rounded_factor(const Matrix& f, const Matrix& m, int bits);

/// `rounded_factor` where the number of records is public: M, of which only differences of columns
/// matter, and a row of 2^bits in every column, which measures that number. Queries for that number
/// alone use only this row.
QueryFactorization::Factor counted_total_factor(const Matrix& f, const Matrix& m, int bits);

/// Exact counts of the values `columns`, the only ones on which F depends.
QueryFactorization::Factor counted_factor(const Matrix& f, const std::vector<Eigen::Index>& columns,
                                          int bits);

/// @throws Error{unsupported} more than kMaxQueryValues of them.
void require_few_queries(std::int64_t num_queries);

/// Measures the queries themselves, exactly if they are dyadic fractions.
/// @throws Error{unsupported} more than kMaxQueryValues of them.
QueryFactorization::Factor queried_factor(const Matrix& f, int bits);

/// F = R M for the measurements of a caller, rounded as in rounded_factor.
/// @throws as factorize_queries.
QueryFactorization::Factor own_factor(const Matrix& f, const OwnMeasurements& own, int bits);

/// Triangular T with T^T T = M^T M, which decodes faster and equally well; M itself if it is not
/// square or T does not exist in double precision.
Matrix triangular_measurements(Matrix m);

/// `triangular_measurements` for an M whose last column is 0, because only differences of columns
/// matter.
Matrix triangular_differences(const Matrix& m);

}  // namespace dpftrl::detail
