// SPDX-License-Identifier: Apache-2.0
// Conversions between doubles and 64-bit integers, several at a time, for machines that have no
// instruction for them. They give the same bits as the conversions of C++ itself.
#pragma once

#include "simd/simd.hpp"
#include "simd/vectors.hpp"

namespace dpftrl::simd {
namespace {

constexpr std::size_t kDoubleLanes = sizeof(Doubles) / sizeof(double);

void add_integers(double factor, const double* values, std::size_t width, std::int64_t* sums) {
  constexpr double kTwoTo52 = 0x1p52;
  const SignedLongs without_sign = SignedLongs{} + INT64_MAX;
  const SignedLongs one = std::bit_cast<SignedLongs>(Doubles{} + 1.0);
  std::size_t i = 0;
  for (; i + kDoubleLanes <= width; i += kDoubleLanes) {
    const Doubles x = factor * load<Doubles>(values + i);
    const SignedLongs is_negative = SignedLongs(x < 0.0);
    const Doubles magnitude =
        std::bit_cast<Doubles>(SignedLongs(std::bit_cast<SignedLongs>(x) & without_sign));
    // Rounds to the nearest integer, then subtracts one where that rounded up.
    const Doubles nearest = (magnitude + kTwoTo52) - kTwoTo52;
    const SignedLongs is_above = SignedLongs(nearest > magnitude);
    const Doubles whole = nearest - std::bit_cast<Doubles>(SignedLongs(is_above & one));
    const SignedLongs integer = std::bit_cast<SignedLongs>(Doubles(whole + kTwoTo52)) -
                                std::bit_cast<std::int64_t>(kTwoTo52);
    store(sums + i,
          SignedLongs(load<SignedLongs>(sums + i) + ((integer ^ is_negative) - is_negative)));
  }
  for (; i < width; ++i) sums[i] += static_cast<std::int64_t>(factor * values[i]);
}

void scale_sums(const std::int64_t* a, const std::int64_t* b, std::size_t width, double grid,
                double* out) {
  // x = high 2^32 + low. The doubles 2^52 + low and 2^84 + 2^63 + high 2^32 have them as their last
  // bits; the excess is subtracted exactly, so only the sum rounds.
  constexpr double kLow = 0x1p52;
  constexpr double kHigh = 0x1p84 + 0x1p63;
  const SignedLongs low_bits = SignedLongs{} + std::bit_cast<std::int64_t>(kLow);
  const SignedLongs high_bits = SignedLongs{} + std::bit_cast<std::int64_t>(kHigh);
  const SignedLongs last_32 = SignedLongs{} + INT64_C(0xffffffff);
  std::size_t i = 0;
  for (; i + kDoubleLanes <= width; i += kDoubleLanes) {
    const SignedLongs sum = load<SignedLongs>(a + i) + load<SignedLongs>(b + i);
    const Doubles low = std::bit_cast<Doubles>(SignedLongs((sum & last_32) | low_bits));
    // Shifts in zeros: the sign is the highest of 32 bits, and the exclusive or makes it worth
    // -2^63.
    const SignedLongs shifted = (sum >> 32) & last_32;
    const Doubles high = std::bit_cast<Doubles>(SignedLongs(shifted ^ high_bits));
    store(out + i, Doubles(((high - (kHigh + kLow)) + low) * grid));
  }
  for (; i < width; ++i) out[i] = static_cast<double>(a[i] + b[i]) * grid;
}

}  // namespace
}  // namespace dpftrl::simd
