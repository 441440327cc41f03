// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Arithmetic of the extended normals, for one number or a vector of them (internal header).
/// In unnamed namespaces, so that no two compilations share a function: see simd/kernels.cpp.
/// Step by step error analysis: docs/math/gaussian.md, section 7; its labels are repeated here.

#include <array>
#include <cstddef>

#include "base/double_double.hpp"
#include "simd/normal_arithmetic.hpp"

namespace dpftrl::detail {
namespace {

/// Unevaluated sum high + low.
template <class D>
struct Sum {
  D high;
  D low;
};

/// a + b exactly, for |a| >= |b| or a == 0.
template <class D>
inline Sum<D> fast_sum(D a, D b) {
  const D sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b exactly.
template <class D>
inline Sum<D> exact_sum(D a, D b) {
  const D sum = a + b;
  const D b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// a * b - product exactly, where `product` is a * b rounded (Dekker).
template <class A, class D>
inline D product_rest(A a, D b, D product) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const A a_scaled = kSplit * a;
  const A a_high = a_scaled - (a_scaled - a);
  const A a_low = a - a_high;
  const D b_scaled = kSplit * b;
  const D b_high = b_scaled - (b_scaled - b);
  const D b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

/// a * b exactly.
template <class D>
inline Sum<D> exact_product(D a, D b) {
  const D product = a * b;
  return {product, product_rest(a, b, product)};
}

template <class D>
inline Sum<D> product(const Sum<D>& a, const Sum<D>& b) {
  const Sum<D> p = exact_product(a.high, b.high);
  return {p.high, p.low + (a.high * b.low + a.low * b.high)};
}

/// (X1) -ln u1 = k ln 2 - ln(1 + f), for f = high + low with sqrt(1/2) <= 1 + f <= sqrt(2), nearly.
template <class D>
inline Sum<D> minus_log_of(const Sum<D>& f, D k) {
  using C = Coefficients<double>;
  const D t = f.high + 2.0;
  const D t_low = f.high - (t - 2.0);
  const D s = f.high / t;
  const Sum<D> back = exact_product(s, t);
  const D rest = ((f.high - back.high) - back.low) + (f.low - s * (t_low + f.low));
  const D s_low = rest / t;
  const D z = s * s;
  const D tail = s * (z * horner(C::kLog, z)) + 2.0 * (s_low + s_low * z);
  const Sum<D> sum = exact_sum(D(k * C::kLn2High), D(-2.0 * s));
  return fast_sum(sum.high, D(sum.low + (k * C::kLn2Low - tail)));
}

/// (X2) sqrt(2 a); `root` is the square root of the double 2 a.high.
template <class D>
inline Sum<D> root_of_twice(const Sum<D>& a, D root) {
  const Sum<D> square = exact_product(root, root);
  const D residual = ((2.0 * a.high - square.high) - square.low) + 2.0 * a.low;
  return {root, residual / (2.0 * root)};
}

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

/// (X3) Power series, with three coefficients as sums, the others and their powers in doubles.
template <class D, std::size_t N>
inline Sum<D> series(const std::array<DoubleDouble, N>& coefficients, const Sum<D>& z) {
  D tail = coefficients[N - 1].high - D{};
  for (std::size_t k = N - 1; k-- > 3;) tail = tail * z.high + coefficients[k].high;
  Sum<D> sum{z.high * tail, D{}};
  for (std::size_t k = 3; k-- > 0;) {
    if (k < 2) sum = product(z, sum);
    const Sum<D> next = fast_sum(D(coefficients[k].high - D{}), sum.high);
    sum = {next.high, next.low + (sum.low + coefficients[k].low)};
  }
  return sum;
}

/// cos and sin of pi y / 2 for |y| <= 1/2.
template <class D>
struct Turn {
  Sum<D> cosine;
  Sum<D> sine;
};
template <class D>
inline Turn<D> turn_of(const Sum<D>& y) {
  const Sum<D> z = product(y, y);
  return {series(kCosineExact, z), product(y, series(kSineExact, z))};
}

/// (X4) One normal: radius times cosine or sine.
template <class D>
inline Sum<D> normal_of(const Sum<D>& radius, const Sum<D>& turned) {
  const Sum<D> z = product(radius, turned);
  return fast_sum(z.high, z.low);
}

}  // namespace
}  // namespace dpftrl::detail
