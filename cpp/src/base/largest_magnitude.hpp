// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace dpftrl::detail {

/// max |x_i|, 0 of nothing; infinite or NaN if an entry is. By the order of the bits, which, unlike
/// that of the numbers, has a place for NaN.
inline double largest_magnitude(std::span<const double> values) {
  std::uint64_t largest = 0;
  for (const double x : values)
    largest = std::max(largest, std::bit_cast<std::uint64_t>(x) & ~(std::uint64_t{1} << 63));
  return std::bit_cast<double>(largest);
}

}  // namespace dpftrl::detail
