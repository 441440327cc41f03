// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sensitivity from bounds on the inner products of columns. Internal to the core.

#include <cstdint>
#include <functional>
#include <vector>

#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

/// Columns in one order of time, forward or backward. products(l)[i] is at least every |X_ij| with
/// j >= i + l, for i < n - l (later entries are ignored).
struct ColumnPairs {
  std::vector<double> norms_squared;  ///< X_ii
  std::function<std::vector<double>(std::int64_t lag)> products;
};

/// A participation at step i, followed by r - 1 more, adds no more than
///
///     X_ii + 2 sum_{d < r} products(d b)[i]
///
/// to the square of the sensitivity: a dynamic program with k - 1 calls of `products`, where n k <=
/// max_operations. Else the largest products at some of the distances.
///
/// @exactness  upper bound of the square, rounding errors of its own sums included
double largest_pair_sum(const ColumnPairs& columns, const Participation& participation,
                        std::int64_t max_operations);

/// Sums of k terms that are not negative, each off by a few roundings.
double rounded_up(double squared, std::int64_t num_terms);

}  // namespace dpftrl
