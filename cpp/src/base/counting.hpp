// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Conversion of counts to indices, and binomial coefficients. Internal to the core.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dpftrl {

/// Converts a non-negative count to a container index.
constexpr std::size_t index_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

/// n choose k for n <= 62, exact; 0 for k < 0 and k > n.
constexpr std::int64_t binomial(std::int64_t n, std::int64_t k) {
  if (k < 0 || k > n) return 0;
  k = std::min(k, n - k);
  std::uint64_t value = 1;  // n - k + i choose i, before division at most n times that: below 2^64
  for (std::int64_t i = 1; i <= k; ++i)
    value = value * static_cast<std::uint64_t>(n - k + i) / static_cast<std::uint64_t>(i);
  return static_cast<std::int64_t>(value);
}

}  // namespace dpftrl
