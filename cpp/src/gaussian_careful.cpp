// SPDX-License-Identifier: Apache-2.0

// Pairs whose u1 is within 2^-14 of 0 or 1: more bits, and arithmetic on unevaluated sums of two
// doubles, so that the far tail is as accurate as the rest. One pair in 2^13 comes here.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "double_double.hpp"
#include "gaussian_kernels.hpp"

namespace dpftrl::detail {
namespace {

/// Taylor series of sin(pi y/2)/y and cos(pi y/2) in y^2.
constexpr std::array<DoubleDouble, 11> kSineExact = {{
    {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54},
    {-0x1.4abbce625be53p-1, 0x1.05511c68476a8p-55},
    {0x1.466bc6775aae2p-4, -0x1.6dc0cbddb0fc3p-59},
    {-0x1.32d2cce62bd86p-8, 0x1.066847a026e69p-62},
    {0x1.50783487ee782p-13, -0x1.1be14e6e8854ap-67},
    {-0x1.e3074fde8871fp-19, -0x1.88ef203b0a336p-73},
    {0x1.e8f434d018d63p-25, 0x1.94682b2571263p-80},
    {-0x1.6fadb9f155744p-31, 0x1.bab97c50b4cdp-85},
    {0x1.aaec32af93359p-38, 0x1.4fe55050e576ap-93},
    {-0x1.8a404211f9547p-45, -0x1.6d424c0620248p-103},
    {0x1.2877020d52cfp-52, -0x1.c9db31d99b9a3p-106},
}};
constexpr std::array<DoubleDouble, 11> kCosineExact = {{
    {0x1.0p0, 0x0.0p0},
    {-0x1.3bd3cc9be45dep0, -0x1.692b71366cc04p-54},
    {0x1.03c1f081b5ac4p-2, -0x1.32b33f87fc145p-56},
    {-0x1.55d3c7e3cbffap-6, 0x1.d582920937625p-65},
    {0x1.e1f506891babbp-11, -0x1.7362f495c096dp-68},
    {-0x1.a6d1f2a204a8cp-16, 0x1.5961232276df6p-70},
    {0x1.f9d38a3763cc3p-22, -0x1.c8a14c8bd6bc5p-76},
    {-0x1.b6e24f44b128fp-28, -0x1.6de1e0a0c23b9p-83},
    {0x1.20c62c2f2d7f5p-34, -0x1.5a3cd1a11c7a2p-88},
    {-0x1.2a0c591af8314p-41, -0x1.215803afbd5f8p-95},
    {0x1.ef6e308d6d1c4p-49, -0x1.c5f7779fbdd48p-103},
}};

DoubleDouble horner_exact(const std::array<DoubleDouble, 11>& coefficients, DoubleDouble z) {
  DoubleDouble sum = coefficients.back();
  for (std::size_t k = coefficients.size() - 1; k-- > 0;)
    sum = add(multiply(sum, z), coefficients[k]);
  return sum;
}

/// sqrt(2 a) for a = high + low > 0: the double root and its first-order correction.
DoubleDouble sqrt_twice(DoubleDouble a) {
  const double root = std::sqrt(2 * a.high);
  const DoubleDouble square = two_product(root, root);
  const double residual = ((2 * a.high - square.high) - square.low) + 2 * a.low;
  return {root, residual / (2 * root)};
}

/// -ln u1 for u1 = 0.digits (base 2^64) below 2^-14.
DoubleDouble minus_log_of_small(const std::array<std::uint64_t, kNumPlanes>& digits) {
  std::size_t first = 0;
  while (first + 1 < kNumPlanes && digits[first] == 0) ++first;
  const int zeros = std::countl_zero(digits[first]);  // 64 only if every digit is zero
  // After the last digit comes its midpoint.
  const std::uint64_t next = first + 1 < kNumPlanes ? digits[first + 1] : std::uint64_t{1} << 63;
  double fraction = 0.5;  // every digit zero: the midpoint 2^-257
  if (zeros < 64) {
    const std::uint64_t window =
        zeros == 0 ? digits[first] : digits[first] << zeros | next >> (64 - zeros);
    // (window + 1/2) / 2^64 in [1/2, 1); in two halves, so that no conversion rounds but the sum.
    fraction = static_cast<double>(window >> 32) * 0x1p-32 +
               (static_cast<double>(window & 0xffffffff) + 0.5) * 0x1p-64;
  }
  double k = static_cast<double>(64 * first) + zeros;
  if (fraction < 0x1.6a09e667f3bcdp-1) {
    fraction *= 2;
    k += 1;
  }
  using C = Coefficients<double>;
  DoubleDouble sum = two_sum(k * C::kLn2High, -log_near_one<double>(fraction - 1));
  sum.low += k * C::kLn2Low;
  return sum;
}

/// -ln u1 for 1 - u1 = v = 0.digits below 2^-14.
DoubleDouble minus_log_of_large(std::uint64_t digit0, std::uint64_t digit1) {
  const double v =
      static_cast<double>(digit0) * 0x1p-64 + (static_cast<double>(digit1 >> 12) + 0.5) * 0x1p-116;
  return {-log_near_one<double>(-v), 0};
}

double product(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = multiply(a, b);
  return p.high + p.low;
}

}  // namespace

SinCos careful_pair(const std::array<std::uint64_t, kNumPlanes>& u1, std::uint64_t u2) {
  const bool upper_half = u1[0] >> 63 != 0;
  const DoubleDouble radius =
      sqrt_twice(upper_half ? minus_log_of_large(~u1[0], ~u1[1]) : minus_log_of_small(u1));

  // u2 = (quadrant + y) / 4, |y| <= 1/2, at the midpoint of its cell; y is held without rounding.
  const std::uint64_t moved = u2 + (std::uint64_t{1} << 61);
  const std::uint64_t quadrant = moved >> 62;
  const std::uint64_t rest = moved & ((std::uint64_t{1} << 62) - 1);
  const DoubleDouble y = two_sum(static_cast<double>(rest >> 32) * 0x1p-30 - 0.5,
                                 (static_cast<double>(rest & 0xffffffff) + 0.5) * 0x1p-62);
  const DoubleDouble z = multiply(y, y);
  const double c = product(radius, horner_exact(kCosineExact, z));
  const double s = product(radius, multiply(y, horner_exact(kSineExact, z)));
  switch (quadrant) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

}  // namespace dpftrl::detail
