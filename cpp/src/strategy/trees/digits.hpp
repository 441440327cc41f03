// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sums over the digits of consecutive numbers. Internal to the core.

#include <algorithm>
#include <cstdint>
#include <span>

namespace dpftrl {

/// Sum over x = 0 .. count - 1 of values[d], where d is the digit of x at `place` = k^l in base k =
/// values.size().
inline std::int64_t digit_total(std::int64_t count, std::int64_t place,
                                std::span<const std::int64_t> values) {
  const std::int64_t period = place * std::ssize(values);
  std::int64_t rest = count % period;
  std::int64_t total = 0;
  for (const std::int64_t value : values) {
    total += value * (count / period * place + std::clamp<std::int64_t>(rest, 0, place));
    rest -= place;
  }
  return total;
}

}  // namespace dpftrl
