// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace dpftrl::detail {

/// max |x_i|, or 0 if empty; infinite or NaN if an entry is. Compares bit patterns, which, unlike
/// numbers, also order NaN.
inline double largest_magnitude(std::span<const double> values) {
  std::uint64_t largest = 0;
  for (const double x : values)
    largest = std::max(largest, std::bit_cast<std::uint64_t>(x) & ~(std::uint64_t{1} << 63));
  return std::bit_cast<double>(largest);
}

}  // namespace dpftrl::detail
