// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Error-free transformations of doubles, without fused multiply-add so that every platform gives
/// the same bits. Source: Dekker 1971; Ogita, Rump, Oishi 2005.

namespace dpftrl {

/// value = high + low, |low| <= ulp(high) / 2.
struct DoubleDouble {
  double high = 0;
  double low = 0;
};

/// a + b exactly.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// a + b exactly, for |a| >= |b| or a == 0.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a * b exactly, for |a|, |b| < 2^500 and a product that is 0 or at least 2^-900.
inline DoubleDouble two_product(double a, double b) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double a_scaled = kSplit * a;
  const double a_high = a_scaled - (a_scaled - a);
  const double a_low = a - a_high;
  const double b_scaled = kSplit * b;
  const double b_high = b_scaled - (b_scaled - b);
  const double b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

/// Relative error at most 2^-104.
inline DoubleDouble multiply(const DoubleDouble& a, double b) {
  const DoubleDouble product = two_product(a.high, b);
  return fast_two_sum(product.high, product.low + a.low * b);
}

/// Relative error at most 2^-102.
inline DoubleDouble divide(const DoubleDouble& a, double b) {
  const double quotient = a.high / b;
  const DoubleDouble back = two_product(quotient, b);
  const double remainder = (a.high - back.high) - back.low + a.low;
  return fast_two_sum(quotient, remainder / b);
}

/// Adds x; |x| may be larger or smaller than the sum. Relative error at most 2^-104 when all terms
/// have one sign; otherwise absolute error at most 2^-104 times the largest partial sum, per term.
inline DoubleDouble add(const DoubleDouble& sum, double x) {
  const DoubleDouble s = two_sum(sum.high, x);
  return fast_two_sum(s.high, s.low + sum.low);
}

/// Relative error at most 2^-103.
inline DoubleDouble multiply(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return two_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

/// Relative error at most 2^-100.
inline DoubleDouble divide(const DoubleDouble& a, const DoubleDouble& b) {
  const double quotient = a.high / b.high;
  const DoubleDouble back = multiply(b, quotient);
  const double remainder = (a.high - back.high) - back.low + a.low;
  return fast_two_sum(quotient, remainder / b.high);
}

/// Absolute error at most 2^-102 (|a| + |b|).
inline DoubleDouble add(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble s = two_sum(a.high, b.high);
  return two_sum(s.high, s.low + (a.low + b.low));
}

inline DoubleDouble negative(const DoubleDouble& a) {
  return {-a.high, -a.low};
}

}  // namespace dpftrl
