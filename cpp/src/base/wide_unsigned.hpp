// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Unsigned integers of a fixed number of 32-bit digits (internal header). Results that do not fit
/// wrap around; callers must prove that their numbers fit.

#include <array>
#include <cstddef>
#include <cstdint>

namespace dpftrl::detail {

template <std::size_t NumDigits>
class WideUnsigned {
 public:
  constexpr WideUnsigned() = default;
  constexpr explicit WideUnsigned(std::uint64_t value) {
    digits_[0] = static_cast<std::uint32_t>(value);
    digits_[1] = static_cast<std::uint32_t>(value >> 32);
  }

  constexpr WideUnsigned times(std::uint32_t factor) const {
    WideUnsigned product;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < NumDigits; ++i) {
      carry += std::uint64_t{digits_[i]} * factor;
      product.digits_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return product;
  }

  constexpr WideUnsigned operator*(const WideUnsigned& other) const {
    WideUnsigned product;
    for (std::size_t i = 0; i < NumDigits; ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; i + j < NumDigits; ++j) {
        carry += std::uint64_t{digits_[i]} * other.digits_[j] + product.digits_[i + j];
        product.digits_[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    return product;
  }

  constexpr WideUnsigned operator+(const WideUnsigned& other) const {
    WideUnsigned sum;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < NumDigits; ++i) {
      carry += std::uint64_t{digits_[i]} + other.digits_[i];
      sum.digits_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return sum;
  }

  constexpr WideUnsigned operator-(const WideUnsigned& other) const {
    WideUnsigned difference;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < NumDigits; ++i) {
      const std::uint64_t digit = std::uint64_t{digits_[i]} - other.digits_[i] - borrow;
      difference.digits_[i] = static_cast<std::uint32_t>(digit);
      borrow = digit >> 63;
    }
    return difference;
  }

  constexpr WideUnsigned shifted_left(std::size_t num_bits) const {
    WideUnsigned result;
    const std::size_t digits = num_bits / 32, bits = num_bits % 32;
    for (std::size_t i = digits; i < NumDigits; ++i) {
      const std::uint64_t low = i > digits ? digits_[i - digits - 1] : 0;
      const std::uint64_t pair = std::uint64_t{digits_[i - digits]} << 32 | low;
      result.digits_[i] = static_cast<std::uint32_t>(pair << bits >> 32);
    }
    return result;
  }

  constexpr bool operator==(const WideUnsigned&) const = default;
  constexpr bool operator<(const WideUnsigned& other) const {
    for (std::size_t i = NumDigits; i-- > 0;)
      if (digits_[i] != other.digits_[i]) return digits_[i] < other.digits_[i];
    return false;
  }

  /// A double between the value and (1 + 2^-48) times the value, for up to 16 digits.
  constexpr double to_double_above() const {
    double value = 0;
    for (std::size_t i = NumDigits; i-- > 0;)
      value = value * 0x1p32 + static_cast<double>(digits_[i]);
    return value * (1 + 0x1p-49);
  }

 private:
  std::array<std::uint32_t, NumDigits> digits_{};  ///< the least significant first
};

}  // namespace dpftrl::detail
