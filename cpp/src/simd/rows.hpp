// SPDX-License-Identifier: Apache-2.0
// Linear combinations of rows, and the rounding test.
#pragma once

#include "simd/extended_arithmetic.hpp"
#include "simd/simd.hpp"
#include "simd/vectors.hpp"

namespace dpftrl::simd {
namespace {

/// Combines four vectors of the row at a time, so that sums stay in registers.
template <class V, class T>
inline void combine_four(T* out, const Factor<T>* factors, std::size_t num_factors,
                         std::size_t begin) {
  constexpr std::size_t kLanes = sizeof(V) / sizeof(T);
  const T* row = factors[0].row + begin;
  T factor = factors[0].value;
  V a = factor * load<V>(row), b = factor * load<V>(row + kLanes),
    c = factor * load<V>(row + 2 * kLanes), d = factor * load<V>(row + 3 * kLanes);
  for (std::size_t i = 1; i < num_factors; ++i) {
    row = factors[i].row + begin;
    factor = factors[i].value;
    a += factor * load<V>(row);
    b += factor * load<V>(row + kLanes);
    c += factor * load<V>(row + 2 * kLanes);
    d += factor * load<V>(row + 3 * kLanes);
  }
  store(out + begin, a);
  store(out + begin + kLanes, b);
  store(out + begin + 2 * kLanes, c);
  store(out + begin + 3 * kLanes, d);
}

template <class V, class T>
inline void combine_row(T* out, const Factor<T>* factors, std::size_t num_factors,
                        std::size_t width) {
  constexpr std::size_t kLanes = sizeof(V) / sizeof(T);
  if (num_factors == 0) {
    std::memset(out, 0, width * sizeof(T));
    return;
  }
  std::size_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) combine_four<V>(out, factors, num_factors, i);
  for (; i < width; i += kLanes) {
    V sum = factors[0].value * load<V>(factors[0].row + i);
    for (std::size_t k = 1; k < num_factors; ++k)
      sum += factors[k].value * load<V>(factors[k].row + i);
    store(out + i, sum);
  }
}

void combine_double(double* out, const Factor<double>* factors, std::size_t num_factors,
                    std::size_t width) {
  combine_row<Doubles>(out, factors, num_factors, width);
}

void combine_float(float* out, const Factor<float>* factors, std::size_t num_factors,
                   std::size_t width) {
  combine_row<Floats>(out, factors, num_factors, width);
}

/// high += value; returns what is lost to rounding.
inline Doubles two_sum(Doubles& high, Doubles value) {
  const detail::Sum<Doubles> sum = detail::exact_sum(high, value);
  high = sum.high;
  return sum.low;
}

void combine_pair(double* out_high, double* out_low, const PairFactor* factors,
                  std::size_t num_factors, std::size_t width) {
  constexpr std::size_t kLanes = sizeof(Doubles) / sizeof(double);
  for (std::size_t i = 0; i < width; i += kLanes) {
    Doubles high{}, low{};
    for (std::size_t k = 0; k < num_factors; ++k) {
      const PairFactor& factor = factors[k];
      const Doubles x_high = load<Doubles>(factor.row_high + i);
      const Doubles x_low = load<Doubles>(factor.row_low + i);
      const Doubles product = factor.high * x_high;
      Doubles rest = factor.high * x_low;
      if (factor.low != 0) rest += factor.low * x_high;
      const bool is_exact = factor.high == 1 || factor.high == -1;
      if (!is_exact) rest += detail::product_rest(factor.high, x_high, product);
      low += two_sum(high, product) + rest;
    }
    low = two_sum(high, low);
    store(out_high + i, high);
    store(out_low + i, low);
  }
}

/// |x| < 2^51: adding this rounds to the nearest integer, which is then in the last bits.
constexpr double kToInteger = 0x1.8p52;

inline bool round_one(const Rounding& rounding, double x, std::int64_t& out) {
  constexpr double kUnitRoundoff = 0x1p-53;
  const double scaled = rounding.scale * x;
  const double shifted = scaled + kToInteger;
  const double offset = scaled - (shifted - kToInteger);
  const double error = rounding.scale * (rounding.absolute + rounding.relative * (x < 0 ? -x : x)) +
                       2 * kUnitRoundoff * (scaled < 0 ? -scaled : scaled);
  // False for a NaN, and from 2^51 on, where the error exceeds 1/2.
  const bool is_decided = 0.5 - (offset < 0 ? -offset : offset) > error * (1 + 0x1p-30);
  out = is_decided ? std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kToInteger)
                   : kUndecided;
  return is_decided;
}

bool round_row(const Rounding& rounding, const double* row, std::size_t width, std::int64_t* out) {
  constexpr double kUnitRoundoff = 0x1p-53;
  constexpr std::size_t kLanes = sizeof(Doubles) / sizeof(double);
  const SignedLongs without_sign = SignedLongs{} + INT64_MAX;
  const auto magnitude = [&](Doubles x) {
    return std::bit_cast<Doubles>(SignedLongs(std::bit_cast<SignedLongs>(x) & without_sign));
  };
  SignedLongs all = SignedLongs{} - 1;
  std::size_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    const Doubles x = load<Doubles>(row + i);
    const Doubles scaled = rounding.scale * x;
    const Doubles shifted = scaled + kToInteger;
    const Doubles offset = scaled - (shifted - kToInteger);
    const Doubles error = rounding.scale * (rounding.absolute + rounding.relative * magnitude(x)) +
                          2 * kUnitRoundoff * magnitude(scaled);
    const SignedLongs is_decided = SignedLongs(0.5 - magnitude(offset) > error * (1 + 0x1p-30));
    const SignedLongs integer =
        std::bit_cast<SignedLongs>(shifted) - std::bit_cast<std::int64_t>(kToInteger);
    store(out + i, SignedLongs((integer & is_decided) | (kUndecided & ~is_decided)));
    all &= is_decided;
  }
  bool are_decided = true;
  for (std::size_t lane = 0; lane < kLanes; ++lane) are_decided = are_decided && all[lane] != 0;
  for (; i < width; ++i) are_decided = round_one(rounding, row[i], out[i]) && are_decided;
  return are_decided;
}

}  // namespace
}  // namespace dpftrl::simd
