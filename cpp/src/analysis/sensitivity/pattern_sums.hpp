// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Shared by sensitivities of coefficients and of strategies (internal header).

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/double_double.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl::detail {

inline double sum_of_squares(std::span<const double> values) {
  DoubleDouble sum;
  for (const double value : values) sum = add(sum, value * value);
  return sum.high;
}

inline bool is_non_increasing(std::span<const double> values) {
  return std::ranges::is_sorted(values, std::ranges::greater());
}

/// Largest number of operations of the dynamic program over patterns.
inline constexpr std::int64_t kMaxPatternOperations = std::int64_t{1} << 30;
inline bool fits_pattern_budget(std::int64_t steps, std::int64_t times) {
  return times <= kMaxPatternOperations / steps;
}

/// Upper bound on the sum of entries in the rows of one pattern and the columns of another: each
/// row is paired with the columns that are best for it. No entry may be negative.
double largest_sum_of_rows(const Matrix& entries, const Participation& participation);

}  // namespace dpftrl::detail
