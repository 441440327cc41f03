// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Weighted sums in fixed point (internal header; docs/math/weights.md bounds their errors).

#include <array>
#include <cstddef>
#include <cstdint>

namespace dpftrl::detail {

/// Digits of base 2^64 after the point.
inline constexpr std::size_t kWideDigits = 4;

/// digits[0] + digits[1] 2^-64 + ... + digits[4] 2^-256, in two's complement: digits[0] is the
/// floor, the others are a fraction in [0, 1).
struct WideNumber {
  std::array<std::uint64_t, kWideDigits + 1> digits{};

  WideNumber() = default;
  explicit WideNumber(std::int64_t integer) : digits{static_cast<std::uint64_t>(integer)} {}

  std::int64_t floor() const { return static_cast<std::int64_t>(digits[0]); }
  bool operator==(const WideNumber&) const = default;

  /// Modulo 2^64.
  WideNumber& operator+=(const WideNumber& other);
  WideNumber operator-() const;
};

/// Fraction of a number, with an error of at most `error` units of 2^-256.
struct WideFraction {
  WideNumber number;
  double error = 0;
};

/// Multiplies wide numbers by a double.
class WideFactor {
 public:
  /// @param factor  at most 2^20 in magnitude.
  explicit WideFactor(double factor);

  /// x times the factor, to within 2^-256, if the product is below 2^63 in magnitude.
  /// @checked-by wide_number_test "products are off by a unit at most"
  WideNumber operator()(const WideNumber& x) const;

 private:
  std::uint64_t mantissa_;
  std::size_t shift_;  ///< the magnitude is mantissa 2^-shift
  bool is_negative_;
};

}  // namespace dpftrl::detail
