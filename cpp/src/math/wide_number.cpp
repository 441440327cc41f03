// SPDX-License-Identifier: Apache-2.0
#include "math/wide_number.hpp"

#include <bit>

#include "base/wide_product.hpp"

namespace dpftrl::detail {
namespace {

constexpr std::size_t kNumDigits = kWideDigits + 1;

}  // namespace

WideNumber& WideNumber::operator+=(const WideNumber& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = kNumDigits; i-- > 0;) {
    const std::uint64_t partial = digits[i] + carry;
    carry = partial < carry;
    digits[i] = partial + other.digits[i];
    carry += digits[i] < partial;
  }
  return *this;
}

WideNumber WideNumber::operator-() const {
  WideNumber negative;
  std::uint64_t carry = 1;
  for (std::size_t i = kNumDigits; i-- > 0;) {
    negative.digits[i] = ~digits[i] + carry;
    carry = negative.digits[i] < carry;
  }
  return negative;
}

WideFactor::WideFactor(double factor) : is_negative_(factor < 0) {
  const auto bits = std::bit_cast<std::uint64_t>(factor);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const auto exponent = static_cast<std::size_t>(bits >> 52 & 0x7ff);
  mantissa_ = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  shift_ = exponent == 0 ? 1074 : 1075 - exponent;
}

WideNumber WideFactor::operator()(const WideNumber& x) const {
  std::array<std::uint64_t, kNumDigits + 1> product{};  // digit k of x mantissa is product[k + 1]
  std::uint64_t carry = 0;
  for (std::size_t i = kNumDigits; i-- > 0;) {
    const Wide sum = multiply_add(x.digits[i], mantissa_, carry, 0);
    product[i + 1] = sum.low;
    carry = sum.high;
  }
  // The digits of a negative number, read as unsigned, are 2^64 too large.
  const bool is_below_zero = x.floor() < 0;
  product[0] = is_below_zero ? carry - mantissa_ : carry;
  const std::size_t whole = shift_ / 64, rest = shift_ % 64;
  const std::uint64_t beyond = is_below_zero ? ~std::uint64_t{0} : 0;
  const auto digit = [&](std::size_t k) { return k >= whole ? product[k - whole] : beyond; };
  WideNumber shifted;
  for (std::size_t i = 0; i < kNumDigits; ++i) {
    shifted.digits[i] = digit(i + 1) >> rest;
    if (rest != 0) shifted.digits[i] |= digit(i) << (64 - rest);
  }
  return is_negative_ ? -shifted : shifted;
}

}  // namespace dpftrl::detail
