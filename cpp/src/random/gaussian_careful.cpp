// SPDX-License-Identifier: Apache-2.0

// Pairs whose u1 is close to 0 or 1 take more bits, so that the far tail is as accurate as the
// rest.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "random/normal_pairs.hpp"
#include "simd/extended_arithmetic.hpp"
#include "simd/normal_arithmetic.hpp"

namespace dpftrl::detail {
namespace {

/// (bits + 1/2) 2^-64 exactly.
Sum<double> midpoint(std::uint64_t bits) {
  return fast_sum(static_cast<double>(bits >> 32) * 0x1p-32,
                  (static_cast<double>(bits & 0xffffffff) + 0.5) * 0x1p-64);
}

/// -ln u1 for u1 = 0.digits (base 2^64) below 1/2.
Sum<double> minus_log_of_small(const std::array<std::uint64_t, kNumPlanes>& digits) {
  std::size_t first = 0;
  while (first + 1 < kNumPlanes && digits[first] == 0) ++first;
  const int zeros = std::countl_zero(digits[first]);  // 64 only if every digit is zero
  // Beyond the last digit, use the midpoint of its cell.
  const std::uint64_t next = first + 1 < kNumPlanes ? digits[first + 1] : std::uint64_t{1} << 63;
  Sum<double> fraction{0.5, 0};  // every digit zero: the midpoint 2^-257
  if (zeros < 64)
    fraction = midpoint(zeros == 0 ? digits[first] : digits[first] << zeros | next >> (64 - zeros));
  double k = static_cast<double>(64 * first) + zeros;
  if (fraction.high < 0x1.6a09e667f3bcdp-1) {
    fraction = {2 * fraction.high, 2 * fraction.low};
    k += 1;
  }
  return minus_log_of<double>({fraction.high - 1, fraction.low}, k);
}

/// -ln u1 for 1 - u1 = 0.digits below 1/4.
Sum<double> minus_log_of_large(std::uint64_t digit0, std::uint64_t digit1) {
  const Sum<double> first = fast_sum(static_cast<double>(digit0 >> 32) * 0x1p-32,
                                     static_cast<double>(digit0 & 0xffffffff) * 0x1p-64);
  const double second = (static_cast<double>(digit1 >> 12) + 0.5) * 0x1p-116;
  const Sum<double> v = fast_sum(first.high, first.low + second);
  return minus_log_of<double>({-v.high, -v.low}, 0);
}

}  // namespace

NormalPair careful_pair(const std::array<std::uint64_t, kNumPlanes>& u1, std::uint64_t u2) {
  const bool upper_half = u1[0] >> 63 != 0;
  const Sum<double> minus_log =
      upper_half ? minus_log_of_large(~u1[0], ~u1[1]) : minus_log_of_small(u1);
  const Sum<double> radius = root_of_twice(minus_log, std::sqrt(2 * minus_log.high));

  // u2 = (quadrant + y) / 4, |y| <= 1/2, at the midpoint of its cell; y is stored without rounding.
  const std::uint64_t moved = u2 + (std::uint64_t{1} << 61);
  const std::uint64_t rest = moved & ((std::uint64_t{1} << 62) - 1);
  const Turn<double> turn =
      turn_of(fast_sum(static_cast<double>(rest >> 32) * 0x1p-30 - 0.5,
                       (static_cast<double>(rest & 0xffffffff) + 0.5) * 0x1p-62));
  const Sum<double> c = normal_of(radius, turn.cosine);
  const Sum<double> s = normal_of(radius, turn.sine);
  const DoubleDouble z_cos{c.high, c.low}, z_sin{s.high, s.low};
  switch (moved >> 62) {
    case 0:
      return {z_cos, z_sin};
    case 1:
      return {negative(z_sin), z_cos};
    case 2:
      return {negative(z_cos), negative(z_sin)};
    default:
      return {z_sin, negative(z_cos)};
  }
}

}  // namespace dpftrl::detail
