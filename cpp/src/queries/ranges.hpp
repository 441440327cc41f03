// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All ranges i .. j of m values, kept as prefixes (internal header): range (i, j) is row j minus
/// row i - 1 of a matrix of m prefixes, row -1 being 0. Ranges are in the order of i, then j.

#include <cstdint>

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

constexpr std::int64_t num_ranges(std::int64_t num_values) {
  return num_values * (num_values + 1) / 2;
}

/// Calls visit(query, i, j) for all ranges.
template <class Visit>
void for_every_range(std::int64_t num_values, Visit&& visit) {
  std::int64_t query = 0;
  for (std::int64_t i = 0; i < num_values; ++i)
    for (std::int64_t j = i; j < num_values; ++j) visit(query++, i, j);
}

/// Matrix with one row per range.
Matrix ranges_of(const Matrix& prefixes);

/// Squared norms of the rows of `ranges_of`, from inner products.
Vector range_norms_squared(const Matrix& prefixes);

/// Triangular T of m rows with T^T T = (m / k) F^T F, where the rows of F are all k = m (m + 1) / 2
/// ranges. Every M answers T with the same root mean square error as F. With indices from 1,
///
///     (F^T F)_ij = min(i, j) (m + 1 - max(i, j)),    T_ij = j sqrt(2 / (i (i + 1))) for j <= i
///
/// @exactness  entries to 2^-50, relative.
Matrix range_root(std::int64_t num_values);
/// Largest effect of the errors of `range_root` on a bound on a root mean square error, for an M
/// with columns of norm 1 or at most 1 apart: the errors E have |E| <= 2^-50 |T|, and measuring the
/// counts answers E with an error of at most sqrt 2 ||E||_F / sqrt m.
double range_root_rounding(const Matrix& root);

}  // namespace dpftrl::detail
