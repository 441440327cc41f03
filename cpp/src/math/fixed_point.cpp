// SPDX-License-Identifier: Apache-2.0
#include "math/fixed_point.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/wide_product.hpp"
#include "dpftrl/base/error.hpp"
#include "simd/normal_arithmetic.hpp"

namespace dpftrl::detail {
namespace {

using Digit = std::uint64_t;
constexpr std::size_t kBits = 64;
constexpr double kUnknown = std::numeric_limits<double>::infinity();

// Both rounded down to 512 bits; tests/reference/exact_entry_oracle.py prints them.
constexpr Digits kLn2 = {0,
                         0xb17217f7d1cf79ab,
                         0xc9e3b39803f2f6af,
                         0x40f343267298b62d,
                         0x8a0d175b8baafa2b,
                         0xe7b876206debac98,
                         0x559552fb4afa1b10,
                         0xed2eae35c1382144,
                         0x27573b291169b825};
constexpr Digits kHalfPi = {1,
                            0x921fb54442d18469,
                            0x898cc51701b839a2,
                            0x52049c1114cf98e8,
                            0x04177d4c76273644,
                            0xa29410f31c6809bb,
                            0xdf2a33679a748636,
                            0x605614dbe4be286e,
                            0x9fc26adadaa3848b};
constexpr Digit kSqrtHalf = 0xb504f333f9de6484;

constexpr Digits kOne = {1};

/// Products of this magnitude or more are not trusted.
constexpr double kTooLarge = 0x1p62;

/// x = mantissa * 2^exponent with a mantissa of at most 53 bits, for finite x >= 0.
struct Binary {
  Digit mantissa;
  int exponent;
};

Binary decompose(double x) {
  const Digit bits = std::bit_cast<Digit>(x);
  const Digit fraction = bits & ((Digit{1} << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52);
  if (exponent == 0) return {fraction, -1074};
  return {fraction | Digit{1} << 52, exponent - 1075};
}

/// The digits of a * b from the integer part to digit P, for numbers of P digits.
template <std::size_t P>
Digits product(const Digits& a, const Digits& b) {
  std::array<Digit, 2 * P + 2> all{};  // digit k is all[k + 1]
  for (std::size_t i = P + 1; i-- > 0;) {
    Digit carry = 0;
    for (std::size_t j = P + 1; j-- > 0;) {
      const Wide sum = multiply_add(a[i], b[j], all[i + j + 1], carry);
      all[i + j + 1] = sum.low;
      carry = sum.high;
    }
    all[i] = carry;
  }
  Digits result{};
  std::copy_n(all.begin() + 1, P + 1, result.begin());
  return result;
}

}  // namespace

FixedPoint::FixedPoint(std::size_t num_digits)
    : p_(num_digits),
      unit_(std::ldexp(1.0, -static_cast<int>(kBits * p_))),
      num_newton_steps_(static_cast<int>(std::bit_width((kBits * p_ - 1) / 50))),
      num_log_terms_(13 * p_ + 2) {
  for (std::size_t k = 0; k < num_log_terms_; ++k) log_terms_[k] = divide_small(kOne, 2 * k + 1);
  Digits inverse_factorial = kOne;
  num_trig_terms_ = 0;
  for (std::size_t k = 0; k < kMaxTrigTerms && !is_zero(inverse_factorial); ++k) {
    cosine_terms_[k] = inverse_factorial;
    inverse_factorial = divide_small(inverse_factorial, 2 * k + 1);
    sine_terms_[k] = inverse_factorial;
    inverse_factorial = divide_small(inverse_factorial, 2 * k + 2);
    num_trig_terms_ = k + 1;
  }
}

bool FixedPoint::is_zero(const Digits& a) const {
  for (std::size_t i = 0; i <= p_; ++i)
    if (a[i] != 0) return false;
  return true;
}

bool FixedPoint::is_less(const Digits& a, const Digits& b) const {
  for (std::size_t i = 0; i <= p_; ++i)
    if (a[i] != b[i]) return a[i] < b[i];
  return false;
}

Digits FixedPoint::add(const Digits& a, const Digits& b) const {
  Digits sum{};
  Digit carry = 0;
  for (std::size_t i = p_ + 1; i-- > 0;) {
    const Digit partial = a[i] + carry;
    carry = partial < carry;
    sum[i] = partial + b[i];
    carry += sum[i] < partial;
  }
  return sum;
}

Digits FixedPoint::subtract(const Digits& a, const Digits& b) const {
  Digits difference{};
  Digit borrow = 0;
  for (std::size_t i = p_ + 1; i-- > 0;) {
    const Digit partial = a[i] - borrow;
    borrow = a[i] < borrow;
    difference[i] = partial - b[i];
    borrow += partial < b[i];
  }
  return difference;
}

Digits FixedPoint::shift_left(const Digits& a, std::size_t num_bits) const {
  const std::size_t whole = num_bits / kBits, rest = num_bits % kBits;
  Digits shifted{};
  for (std::size_t i = 0; i + whole <= p_; ++i) {
    shifted[i] = a[i + whole] << rest;
    if (rest != 0 && i + whole < p_) shifted[i] |= a[i + whole + 1] >> (kBits - rest);
  }
  return shifted;
}

Digits FixedPoint::shift_right(const Digits& a, std::size_t num_bits) const {
  const std::size_t whole = num_bits / kBits, rest = num_bits % kBits;
  Digits shifted{};
  for (std::size_t i = whole; i <= p_; ++i) {
    shifted[i] = a[i - whole] >> rest;
    if (rest != 0 && i > whole) shifted[i] |= a[i - whole - 1] << (kBits - rest);
  }
  return shifted;
}

Digits FixedPoint::multiply(const Digits& a, const Digits& b) const {
  switch (p_) {
    case 2:
      return product<2>(a, b);
    case 4:
      return product<4>(a, b);
    default:
      return product<8>(a, b);
  }
}

/// Rounded down, for divisors below 2^32.
Digits FixedPoint::divide_small(const Digits& a, Digit divisor) const {
  Digits quotient{};
  Digit remainder = 0;
  for (std::size_t i = 0; i <= p_; ++i) {
    const Digit high = remainder << 32 | a[i] >> 32;
    const Digit low = high % divisor << 32 | (a[i] & 0xffffffff);
    quotient[i] = high / divisor << 32 | low / divisor;
    remainder = low % divisor;
  }
  return quotient;
}

double FixedPoint::to_double(const Digits& a) const {
  double value = 0;
  for (std::size_t i = p_ + 1; i-- > 0;) value = value * 0x1p-64 + static_cast<double>(a[i]);
  return value;
}

double FixedPoint::distance(const Digits& a, const Digits& b) const {
  const bool less = is_less(a, b);
  return to_double(subtract(less ? b : a, less ? a : b)) / unit_;
}

/// floor(x * 2^exponent), x >= 0, as digits of which the last counts units.
Digits FixedPoint::integer_at_last_digit(double x, int exponent) const {
  const Binary binary = decompose(x);
  const int shift = binary.exponent + exponent;
  Digits value{};
  value[p_] = shift >= 0 ? binary.mantissa : shift <= -64 ? 0 : binary.mantissa >> -shift;
  return shift > 0 ? shift_left(value, static_cast<std::size_t>(shift)) : value;
}

Enclosure FixedPoint::from_double(double x) const {
  const int exponent = static_cast<int>(kBits * p_);
  Enclosure value{.digits = integer_at_last_digit(x, exponent)};
  const Binary binary = decompose(x);
  const int lost = -(binary.exponent + exponent);
  const bool exact = lost <= std::countr_zero(binary.mantissa);  // 64 for zero
  value.error = exact || binary.mantissa == 0 ? 0 : 1;
  return value;
}

Enclosure FixedPoint::add(const Enclosure& a, const Enclosure& b) const {
  Enclosure sum{.error = a.error + b.error, .negative = a.negative};
  if (a.negative == b.negative) {
    sum.digits = add(a.digits, b.digits);
  } else if (is_less(a.digits, b.digits)) {
    sum.digits = subtract(b.digits, a.digits);
    sum.negative = b.negative;
  } else {
    sum.digits = subtract(a.digits, b.digits);
  }
  if ((a.digits[0] | b.digits[0]) >> 62 != 0) sum.error = kUnknown;
  return sum;
}

Enclosure FixedPoint::subtract(const Enclosure& a, Enclosure b) const {
  b.negative = !b.negative;
  return add(a, b);
}

Enclosure FixedPoint::multiply(const Enclosure& a, const Enclosure& b) const {
  const double size_a = to_double(a.digits), size_b = to_double(b.digits);
  const double error = size_a * b.error + size_b * a.error + a.error * unit_ * b.error + 1;
  return {multiply(a.digits, b.digits), size_a * size_b < kTooLarge ? error : kUnknown,
          a.negative != b.negative};
}

Enclosure FixedPoint::multiply(const Enclosure& a, double factor) const {
  const double size = std::abs(factor);
  Enclosure product{.error = size * a.error + 1, .negative = a.negative != (factor < 0)};
  if (!(size * to_double(a.digits) < kTooLarge)) return {.error = kUnknown};
  const Binary binary = decompose(size);
  std::array<Digit, kMaxDigits + 2> all{};  // digit k of a * mantissa is all[k + 1]
  Digit carry = 0;
  for (std::size_t i = p_ + 1; i-- > 0;) {
    const Wide sum = multiply_add(a.digits[i], binary.mantissa, carry, 0);
    all[i + 1] = sum.low;
    carry = sum.high;
  }
  all[0] = carry;
  const std::size_t shift = static_cast<std::size_t>(std::abs(binary.exponent));
  const std::size_t whole = shift / kBits, rest = shift % kBits;
  const auto digit = [&](std::size_t k) { return k <= p_ + 1 ? all[k] : 0; };  // k may wrap
  for (std::size_t i = 0; i <= p_; ++i) {
    Digit& out = product.digits[i];
    if (binary.exponent < 0) {
      out = digit(i + 1 - whole) >> rest;
      if (rest != 0) out |= digit(i - whole) << (kBits - rest);
    } else {
      out = digit(i + 1 + whole) << rest;
      if (rest != 0) out |= digit(i + 2 + whole) >> (kBits - rest);
    }
  }
  return product;
}

/// numerator / denominator for numerator < denominator, denominator in [1, 4).
Enclosure FixedPoint::divide(const Digits& numerator, const Digits& denominator) const {
  Digits inverse = from_double(1 / to_double(denominator)).digits;
  for (int step = 0; step < num_newton_steps_; ++step) {
    const Digits near_one = multiply(denominator, inverse);
    if (is_less(near_one, kOne))
      inverse = add(inverse, multiply(inverse, subtract(kOne, near_one)));
    else
      inverse = subtract(inverse, multiply(inverse, subtract(near_one, kOne)));
  }
  const Digits quotient = multiply(numerator, inverse);
  return {quotient, distance(numerator, multiply(quotient, denominator)) + 1};
}

Enclosure FixedPoint::reciprocal(double x) const {
  const double size = std::abs(x);
  if (!(size >= 0x1p-60 && size <= 0x1p60)) return {.error = kUnknown};
  int exponent = 0;
  const double denominator = std::ldexp(std::frexp(size, &exponent), 2);  // in [2, 4)
  const Enclosure inverse = divide(kOne, from_double(denominator).digits);
  return multiply(inverse, std::ldexp(x < 0 ? -1.0 : 1.0, 2 - exponent));
}

Enclosure FixedPoint::minus_log(const Digits& u) const {
  std::size_t k = 0;
  for (std::size_t i = 1; i <= p_ && k == kBits * (i - 1); ++i)
    k += static_cast<std::size_t>(std::countl_zero(u[i]));
  Digits m = shift_left(u, k);
  if (m[1] < kSqrtHalf) {
    m = shift_left(m, 1);
    ++k;
  }
  // ln u = ln m - k ln 2, sqrt(1/2) <= m <= sqrt(2); ln m = 2 atanh(s), s = (m - 1) / (m + 1).
  const bool below_one = m[0] == 0;
  const Enclosure s = divide(below_one ? subtract(kOne, m) : subtract(m, kOne), add(m, kOne));
  const Digits square = multiply(s.digits, s.digits);
  Digits sum = log_terms_[num_log_terms_ - 1];
  for (std::size_t j = num_log_terms_ - 1; j-- > 0;)
    sum = add(multiply(sum, square), log_terms_[j]);
  const Digits log_m = shift_left(multiply(s.digits, sum), 1);

  Digits log_power{};
  Digit carry = 0;
  for (std::size_t i = p_ + 1; i-- > 0;) {
    const Wide product = multiply_add(kLn2[i], k, carry, 0);
    log_power[i] = product.low;
    carry = product.high;
  }
  const double error = s.error < 0x1p20 ? 4 * s.error + static_cast<double>(k) + 16 : kUnknown;
  return {below_one ? add(log_power, log_m) : subtract(log_power, log_m), error};
}

Enclosure FixedPoint::square_root(const Enclosure& a) const {
  if (is_zero(a.digits)) return {.error = kUnknown};
  // Numbers below 1 are shifted to [1, 4) by an even number of bits.
  std::size_t half_shift = 0;
  Digits moved = a.digits;
  for (; moved[0] == 0 && moved[1] < Digit{1} << 32; half_shift += 16)
    moved = shift_left(moved, 32);
  for (; moved[0] == 0; ++half_shift) moved = shift_left(moved, 2);
  constexpr Digits kThree = {3};
  Digits inverse = from_double(1 / std::sqrt(to_double(moved))).digits;
  for (int step = 0; step < num_newton_steps_; ++step) {
    const Digits near_one = multiply(moved, multiply(inverse, inverse));
    inverse = shift_right(multiply(inverse, subtract(kThree, near_one)), 1);
  }
  const Digits root = multiply(moved, inverse);
  const double residual = distance(moved, multiply(root, root)) + 1;
  // |sqrt(x) - r| <= |x - r^2| / r bounds both the error of this root and the effect of the error
  // of a.
  const Digits result = shift_right(root, half_shift);
  const double rounding = std::ldexp(residual / to_double(root), -static_cast<int>(half_shift)) + 1;
  return {result, rounding + a.error / std::sqrt(to_double(a.digits))};
}

Enclosure FixedPoint::cosine_of_turn(Digits turn) const {
  // 2 pi turn = pi/2 (quadrant + y), |y| <= 1/2.
  turn[0] = 0;
  turn[1] += Digit{1} << 61;
  Digits y = shift_left(turn, 2);
  const Digit quadrant = y[0] % 4;
  y[0] = 0;
  constexpr Digits kHalf = {0, Digit{1} << 63};
  const bool y_negative = is_less(y, kHalf);
  y = y_negative ? subtract(kHalf, y) : subtract(y, kHalf);

  const Digits x = multiply(kHalfPi, y);
  const Digits square = multiply(x, x);
  const bool is_sine = quadrant % 2 == 1;
  const std::array<Digits, kMaxTrigTerms>& terms = is_sine ? sine_terms_ : cosine_terms_;
  Digits sum = terms[num_trig_terms_ - 1];
  for (std::size_t k = num_trig_terms_ - 1; k-- > 0;)
    sum = subtract(terms[k], multiply(square, sum));
  constexpr double kCosineError = 32;
  switch (quadrant) {
    case 0:
      return {sum, kCosineError, false};
    case 1:
      return {multiply(x, sum), kCosineError, !y_negative};
    case 2:
      return {sum, kCosineError, true};
    default:
      return {multiply(x, sum), kCosineError, y_negative};
  }
}

std::optional<std::int64_t> FixedPoint::round_scaled(const Enclosure& x, double scale,
                                                     const Enclosure& offset) const {
  if (!std::isfinite(x.error)) return std::nullopt;
  const double size = scale * to_double(x.digits);
  // Never happens for noise of the stated standard deviation. A clamped value would contain no
  // noise.
  if (!(size < static_cast<double>(kLargestRounded)))
    fail(ErrorCode::unsupported, "noise", "scale",
         "must be such that entries stay within 2^61 units", to_text(size) + " units");
  const Enclosure factor = from_double(scale);
  // Errors are sums of non-negative doubles; the factor 2 covers their rounding.
  const double error =
      2 * (scale * x.error + to_double(x.digits) * factor.error + offset.error + 2);
  if (!(error * unit_ < 0.25)) return std::nullopt;
  const Digits product = multiply(x.digits, factor.digits);
  const Digits value = x.negative ? subtract({}, product) : product;
  constexpr Digits kHalf = {0, Digit{1} << 63};
  const Digits moved = add(add(value, offset.digits), kHalf);
  const Digits radius = integer_at_last_digit(error + 1, 0);  // at least `error`
  const Digit low = subtract(moved, radius)[0];
  const Digit high = add(moved, radius)[0];
  if (low != high) return std::nullopt;
  return static_cast<std::int64_t>(low);
}

}  // namespace dpftrl::detail
