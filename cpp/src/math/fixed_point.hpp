// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Fixed-point numbers of 128 to 512 bits with error bounds, to recompute a normal from more of its
/// bits (internal header; docs/math/grid.md proves the bounds).
///
/// Arithmetic uses integer operations only, except for the starting values of Newton's iterations.
/// Nothing relies on these values, because residuals bound the errors of quotients and roots. Error
/// bounds are doubles with room for their own rounding. No allocation.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace dpftrl::detail {

/// Largest number of base-2^64 digits after the point.
inline constexpr std::size_t kMaxDigits = 8;

/// digit[0] + digit[1] 2^-64 + ... + digit[p] 2^-64p; digits beyond p are ignored. A number that
/// may be negative is in two's complement over the p + 1 digits.
using Digits = std::array<std::uint64_t, kMaxDigits + 1>;

/// A real number within `error` units of the last digit of (+-)digits. The error may be infinite.
struct Enclosure {
  Digits digits{};
  double error = 0;
  bool negative = false;
};

class FixedPoint {
 public:
  /// @param num_digits  p = 2, 4 or 8.
  explicit FixedPoint(std::size_t num_digits);

  std::size_t num_digits() const { return p_; }
  /// 2^-64p, the unit of the last digit.
  double unit() const { return unit_; }

  // Arithmetic on digits, modulo 2^64.
  Digits add(const Digits& a, const Digits& b) const;
  Digits subtract(const Digits& a, const Digits& b) const;
  Digits shift_left(const Digits& a, std::size_t num_bits) const;
  Digits shift_right(const Digits& a, std::size_t num_bits) const;
  /// Rounded down, for a * b < 2^64.
  Digits multiply(const Digits& a, const Digits& b) const;
  /// Within a factor 1 +- 2^-50.
  double to_double(const Digits& a) const;
  /// For 0 <= x < 2^63; the error is 0 if x is a multiple of the last unit, else 1.
  Enclosure from_double(double x) const;

  // Terms and products of 2^62 or more give an infinite error, so wrapped digits are not trusted.
  Enclosure add(const Enclosure& a, const Enclosure& b) const;
  Enclosure subtract(const Enclosure& a, Enclosure b) const;
  Enclosure multiply(const Enclosure& a, const Enclosure& b) const;
  /// Multiplies by a finite factor of either sign, taken exactly; faster than the general product.
  Enclosure multiply(const Enclosure& a, double factor) const;
  /// 1 / x for 2^-60 <= |x| <= 2^60; infinite error for any other x.
  Enclosure reciprocal(double x) const;
  /// -ln u for 0 < u < 1.
  Enclosure minus_log(const Digits& u) const;
  /// Square root of a non-negative number; infinite error if its digits are all zero.
  Enclosure square_root(const Enclosure& a) const;
  /// cos(2 pi turn) for 0 <= turn < 1.
  Enclosure cosine_of_turn(Digits turn) const;

  /// floor(scale * x + offset + 1/2) if all enclosed x and offsets agree on it, for 0 <= scale <
  /// 2^62 and 0 <= offset < 1.
  /// @throws Error{unsupported} a magnitude of scale * x of kLargestRounded or more.
  std::optional<std::int64_t> round_scaled(const Enclosure& x, double scale,
                                           const Enclosure& offset = {}) const;

 private:
  static constexpr std::size_t kMaxLogTerms = 13 * kMaxDigits + 2;
  static constexpr std::size_t kMaxTrigTerms = 56;

  Digits divide_small(const Digits& a, std::uint64_t divisor) const;
  Enclosure divide(const Digits& numerator, const Digits& denominator) const;
  bool is_zero(const Digits& a) const;
  bool is_less(const Digits& a, const Digits& b) const;
  /// |a - b| in units of the last digit.
  double distance(const Digits& a, const Digits& b) const;
  Digits integer_at_last_digit(double x, int exponent) const;

  std::size_t p_;
  double unit_;  ///< 2^-64p
  int num_newton_steps_;
  std::size_t num_log_terms_;
  std::size_t num_trig_terms_;
  std::array<Digits, kMaxLogTerms> log_terms_;      ///< 1 / (2k + 1)
  std::array<Digits, kMaxTrigTerms> cosine_terms_;  ///< 1 / (2k)!
  std::array<Digits, kMaxTrigTerms> sine_terms_;    ///< 1 / (2k + 1)!
};

/// Rounded entries are limited to this magnitude, so that adding sums of 62 bits cannot overflow.
inline constexpr std::int64_t kLargestRounded = std::int64_t{1} << 61;

}  // namespace dpftrl::detail
