// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The discrete Gaussian from exact coin tosses (internal header; docs/math/lattice.md).
///
/// A Coin has
///     template <size_t N> bool toss(const WideUnsigned<N>& a, const WideUnsigned<N>& b);
///         true with probability a / b, 0 <= a <= b, 0 < b, b 2^32 within N digits
///     std::uint64_t uniform(std::uint64_t limit);    one of 0 .. limit - 1
///     bool half();                                   true with probability 1/2
/// It is the only source of randomness, so tests can enumerate every outcome.
/// @source  Canonne, Kamath, Steinke, arXiv 2004.00010, Algorithms 1 to 3.

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/wide_unsigned.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl::detail {

/// Numbers below 2^128: scales up to 2^46, factors up to 2^16.
using Narrow = WideUnsigned<4>;
/// Numbers below 2^320: see GaussianParts.
using Wide320 = WideUnsigned<10>;

/// Samples of this many scales and more (probability e^-16384) are refused.
inline constexpr std::uint64_t kMaxMultiples = std::uint64_t{1} << 14;

/// True with probability exp(-a / b), 0 <= a <= b.
template <class Coin, std::size_t N>
bool bernoulli_exp_below_one(Coin& coin, const WideUnsigned<N>& a, const WideUnsigned<N>& b) {
  std::uint32_t k = 1;
  while (coin.toss(a, b.times(k))) ++k;
  return k % 2 == 1;
}

template <class Coin>
bool bernoulli_exp_one(Coin& coin) {
  return bernoulli_exp_below_one(coin, WideUnsigned<3>(1), WideUnsigned<3>(1));
}

/// True with probability exp(-a / b), 0 <= a.
template <class Coin, std::size_t N>
bool bernoulli_exp(Coin& coin, WideUnsigned<N> a, const WideUnsigned<N>& b) {
  while (!(a < b)) {
    if (!bernoulli_exp_one(coin)) return false;
    a = a - b;
  }
  return bernoulli_exp_below_one(coin, a, b);
}

/// k with probability proportional to exp(-|k| / scale), 1 <= scale <= 2^46.
template <class Coin>
std::int64_t discrete_laplace(Coin& coin, std::uint64_t scale) {
  const Narrow denominator(scale);
  for (;;) {
    const std::uint64_t rest = coin.uniform(scale);
    if (!bernoulli_exp_below_one(coin, Narrow(rest), denominator)) continue;
    std::uint64_t multiples = 0;
    while (bernoulli_exp_one(coin))
      if (++multiples == kMaxMultiples)
        fail(ErrorCode::resource_exhausted, "discrete_laplace", "",
             "a sample exceeded 2^14 scales");
    const std::int64_t magnitude = static_cast<std::int64_t>(rest + scale * multiples);
    const bool is_negative = coin.half();
    if (is_negative && magnitude == 0) continue;
    return is_negative ? -magnitude : magnitude;
  }
}

/// Parameters of the sampler of variance v = numerator / 2^shift, t = floor(sqrt(v)) + 1. A
/// proposal y is accepted with probability exp(-a / b),
///     a = (|y| t 2^shift - numerator)^2,    b = 2 numerator 2^shift t^2.
/// For 2^-10 <= v <= 2^92: a < 2^220, b < 2^190.
struct GaussianParts {
  Wide320 numerator;
  std::size_t shift;
  std::uint64_t scale;  ///< t
  Wide320 denominator;  ///< b

  explicit GaussianParts(double variance) {
    int exponent = 0;
    const double mantissa = std::frexp(variance, &exponent);
    const auto digits = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
    exponent -= 53;  // variance = digits 2^exponent
    const int zeros = std::countr_zero(digits);
    shift = exponent + zeros < 0 ? static_cast<std::size_t>(-exponent - zeros) : 0;
    // The fraction is in lowest terms; an integer has shift 0.
    numerator =
        exponent + zeros < 0
            ? Wide320(digits >> zeros)
            : Wide320(digits >> zeros).shifted_left(static_cast<std::size_t>(exponent + zeros));
    scale = static_cast<std::uint64_t>(std::sqrt(variance)) + 1;
    denominator = (numerator * Wide320(scale) * Wide320(scale)).shifted_left(shift + 1);
  }
};

/// k with probability proportional to exp(-k^2 / (2 v)).
template <class Coin>
std::int64_t discrete_gaussian(Coin& coin, const GaussianParts& parts) {
  for (;;) {
    const std::int64_t y = discrete_laplace(coin, parts.scale);
    const auto magnitude = static_cast<std::uint64_t>(y < 0 ? -y : y);
    const Wide320 product = (Wide320(magnitude) * Wide320(parts.scale)).shifted_left(parts.shift);
    const Wide320 distance =
        product < parts.numerator ? parts.numerator - product : product - parts.numerator;
    if (bernoulli_exp(coin, distance * distance, parts.denominator)) return y;
  }
}

}  // namespace dpftrl::detail
