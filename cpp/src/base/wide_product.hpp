// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Products of 64-bit words in 128 bits (internal header).

#include <cstdint>

namespace dpftrl::detail {

/// a * b + c + d = low + 2^64 * high, which never overflows.
struct Wide {
  std::uint64_t high;
  std::uint64_t low;
};

#if defined(__SIZEOF_INT128__) && !defined(__wasm__)
inline Wide multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  __extension__ using Wider = unsigned __int128;
  const Wider sum = Wider{a} * b + c + d;
  return {static_cast<std::uint64_t>(sum >> 64), static_cast<std::uint64_t>(sum)};
}
#else
inline Wide multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const std::uint64_t low = (a & kLow) * (b & kLow);
  const std::uint64_t cross = (a >> 32) * (b & kLow) + (low >> 32);
  const std::uint64_t other = (a & kLow) * (b >> 32) + (cross & kLow);
  Wide sum{(a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32), other << 32 | (low & kLow)};
  sum.low += c;
  sum.high += sum.low < c;
  sum.low += d;
  sum.high += sum.low < d;
  return sum;
}
#endif

}  // namespace dpftrl::detail
