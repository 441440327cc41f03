// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Counts as positions, and binomial coefficients. Internal to the core.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dpftrl {

/// A count that is not negative, as a position in a container.
constexpr std::size_t index_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

/// n choose k for n <= 62, exact; 0 for k < 0 and k > n.
constexpr std::int64_t binomial(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  k = std::min(k, n - k);
  std::uint64_t value = 1;  // of n - k + i choose i, times n at most: below 2^64
  for (std::int64_t i = 1; i <= k; ++i)
    value = value * static_cast<std::uint64_t>(n - k + i) / static_cast<std::uint64_t>(i);
  return static_cast<std::int64_t>(value);
}

}  // namespace dpftrl
