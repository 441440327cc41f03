// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Arithmetic of the normal sampler, for one number or a vector of them (internal header).
///
/// Each template is written once for a floating type D and the unsigned integer type U of the same
/// shape: (double, uint64), (float, uint32), or vectors of these. Only + - * / sqrt, conversions
/// and integer operations in a fixed order, so every shape and compiler gives the same bits.
/// A build that contracts a * b + c into one rounding breaks this: -ffp-contract=off.
/// Step by step error analysis: docs/math/gaussian.md; its labels (W), (F), ... are repeated here.

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#if defined(__FAST_MATH__)
#error "the noise needs IEEE arithmetic as written: build without -ffast-math"
#endif
#if defined(__clang__)
#pragma clang fp contract(off)
#endif

namespace dpftrl::detail {

static_assert(FLT_EVAL_METHOD == 0, "double and float operations must round to their own format");
static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<float>::is_iec559);
static_assert(std::endian::native == std::endian::little, "words are read as they are");

/// A pair of uniforms is exceptional when the high word of min(i, 2^64 - 1 - i) is below this,
/// where i is the 64 bits of u1; further planes are then drawn. Probability 2^-13.
inline constexpr std::uint32_t kExceptionalHighWord = std::uint32_t{1} << 18;
/// kExceptionalHighWord for the 32 bits of a float's u1. Probability 2^-17.
inline constexpr std::uint32_t kExceptionalWordFloat = std::uint32_t{1} << 14;
/// kExceptionalHighWord for extended normals. Probability 2^-8.
inline constexpr std::uint32_t kExceptionalHighWordExtended = std::uint32_t{1} << 23;

// Coefficients from tests/reference/gaussian_coefficients.py, which also certifies their errors.

template <class T>
struct Coefficients;

template <>
struct Coefficients<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr double kLn2High = 0x1.62e42fefa38p-1;  // k * kLn2High exact for 0 <= k < 2^11
  static constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  static constexpr Bits kSqrtHalf = 0x3fe6a09e667f3bcd;
  static constexpr std::array kLog = {
      0x1.5555555555558p-1, 0x1.9999999995347p-2, 0x1.2492492dea93fp-2, 0x1.c71c62eb99ea4p-3,
      0x1.7462b351e3bc2p-3, 0x1.39fe8508926p-3,   0x1.2b56cbee9e3b8p-3,
  };
  static constexpr std::array kSine = {
      0x1.243f6a8885a31p-1,  -0x1.4abbce625be79p-1,  0x1.466bc6775bfe4p-4,  -0x1.32d2cce5e643dp-8,
      0x1.5078325b697cdp-13, -0x1.e302733c4812cp-19, 0x1.e491a317729d3p-25,
  };
  static constexpr std::array kCosine = {
      0x1.3bd3cc9be45dep0,   -0x1.03c1f081b5a23p-2,  0x1.55d3c7e3b7782p-6,  -0x1.e1f50664cca9ap-11,
      0x1.a6d1d2d5fe8e8p-16, -0x1.f9b7a4a65b547p-22, 0x1.ac077d496e097p-28,
  };
};

template <>
struct Coefficients<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr float kLn2High = 0x1.62e4p-1f;  // k * kLn2High exact for 0 <= k < 2^9
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  static constexpr Bits kSqrtHalf = 0x3f3504f3;
  static constexpr std::array kLog = {0x1.55555cp-1f, 0x1.997ba8p-2f, 0x1.2ef48ap-2f};
  static constexpr std::array kSine = {0x1.243f6ap-1f, -0x1.4abbaep-1f, 0x1.465be6p-4f,
                                       -0x1.2d331ap-8f};
  static constexpr std::array kCosine = {0x1.3bd3ccp0f, -0x1.03c19ep-2f, 0x1.55a5bp-6f,
                                         -0x1.d09344p-11f};
};

template <class D, class T, std::size_t N>
inline D horner(const std::array<T, N>& coefficients, D z) {
  D sum = coefficients[N - 1] - D{};  // (x - 0 is x, so compilers fold it)
  for (std::size_t k = N - 1; k-- > 0;) sum = sum * z + coefficients[k];
  return sum;
}

/// (P) ln(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2), nearly: 2 atanh(s), s = f / (2 + f).
template <class T, class D>
inline D log_near_one(D f) {
  const D s = f / (f + T{2});
  const D z = s * s;
  return s * (z * horner(Coefficients<T>::kLog, z) + T{2});
}

/// Reduction by a power of two: x = m / scale with m in [sqrt(1/2), sqrt(2)), scale = 2^k.
template <class T, class D, class U>
struct Reduction {
  D scale;       // 2^k
  U biased_exp;  // bias - k
};

template <class T, class D, class U>
inline Reduction<T, D, U> reduce(D x) {
  using C = Coefficients<T>;
  using Bits = typename C::Bits;
  constexpr int kShift = C::kMantissaBits;
  constexpr Bits kOne = std::bit_cast<Bits>(T{1});
  constexpr Bits kTwiceBias = 2 * kOne;
  constexpr Bits kExponentMask = (Bits{1} << (sizeof(T) * 8 - 1)) - (Bits{1} << kShift);
  const U shifted = std::bit_cast<U>(x) + (kOne - C::kSqrtHalf);
  const U scale_bits = kTwiceBias - (shifted & kExponentMask);
  return {std::bit_cast<D>(scale_bits), U(shifted >> kShift)};
}

/// u1 = 2^-k (1 + f).
template <class D, class U>
struct Reduced {
  D f;
  D k;
  D scale;  ///< 2^k
  U sign;   ///< sign of w in f
};

/// (F) Reduces u1, given w = min(u1, 1 - u1) and a mask that is all ones where u1 > 1/2.
///
/// `exponent` converts Reduction::biased_exp to k in floating point. f is EXACT: it is 2^k w - 1
/// for small u1, and (2^k - 1) - 2^k w with k = 0 or 1 for large u1.
template <class T, class D, class U, class Exponent>
inline Reduced<D, U> reduce_uniform(D w, U upper_half, Exponent exponent) {
  using Bits = typename Coefficients<T>::Bits;
  constexpr Bits kSign = Bits{1} << (sizeof(T) * 8 - 1);
  constexpr Bits kOne = std::bit_cast<Bits>(T{1});
  const U sign = upper_half & kSign;
  const D signed_w = std::bit_cast<D>(U(std::bit_cast<U>(w) ^ sign));
  const D x = std::bit_cast<D>(U(upper_half & kOne)) + signed_w;
  const Reduction<T, D, U> r = reduce<T, D, U>(x);
  const D scale_or_zero = std::bit_cast<D>(U(std::bit_cast<U>(r.scale) & upper_half));
  return {(scale_or_zero - T{1}) + r.scale * signed_w, exponent(r.biased_exp), r.scale, sign};
}

/// (L) -ln u1, from the arguments of reduce_uniform.
template <class T, class D, class U, class Exponent>
inline D minus_log(D w, U upper_half, Exponent exponent) {
  using C = Coefficients<T>;
  const Reduced<D, U> r = reduce_uniform<T>(w, upper_half, exponent);
  return r.k * C::kLn2High + (r.k * C::kLn2Low - log_near_one<T>(r.f));
}

/// (C), (S) cos and sin of pi y / 2 for |y| <= 1/2.
template <class T, class D>
inline std::pair<D, D> cos_sin_quarter(D y) {
  const D z = y * y;
  const D c = T{1} - z * horner(Coefficients<T>::kCosine, z);
  const D s = y + y * horner(Coefficients<T>::kSine, z);
  return {c, s};
}

/// Rotates (c, s) by whole quarter turns: `odd` is all ones in odd quadrants; `cos_sign` and
/// `sin_sign` have the sign to flip in the top bit, and zeros elsewhere.
template <class U, class D>
inline std::pair<D, D> turn_quarters(D c, D s, U odd, U cos_sign, U sin_sign) {
  const U c_bits = std::bit_cast<U>(c);
  const U s_bits = std::bit_cast<U>(s);
  const U difference = (c_bits ^ s_bits) & odd;
  return {std::bit_cast<D>(U((c_bits ^ difference) ^ cos_sign)),
          std::bit_cast<D>(U((s_bits ^ difference) ^ sin_sign))};
}

}  // namespace dpftrl::detail
