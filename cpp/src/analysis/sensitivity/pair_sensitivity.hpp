// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sensitivity from bounds on the inner products of columns. Internal to the core.

#include <cstdint>
#include <functional>
#include <vector>

#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

/// Columns in order of time, forward or backward. products(l)[i] is at least every |X_ij| with j >=
/// i + l, for i < n - l (later entries are ignored).
struct ColumnPairs {
  std::vector<double> norms_squared;  ///< X_ii
  std::function<std::vector<double>(std::int64_t lag)> products;
};

/// Upper bound on the squared sensitivity. A participation at step i, followed by r - 1 more, adds
/// at most
///
///     X_ii + 2 sum_{d < r} products(d b)[i]
///
/// A dynamic program maximises the sum with k - 1 calls of `products` if n k <= max_operations;
/// otherwise the bound uses the largest products at some of the distances.
///
/// @exactness  an upper bound on the square, including the rounding of its own sums
double largest_pair_sum(const ColumnPairs& columns, const Participation& participation,
                        std::int64_t max_operations);

/// Rounds up a sum of num_terms non-negative terms, each off by a few rounding errors.
double rounded_up(double squared, std::int64_t num_terms);

}  // namespace dpftrl
