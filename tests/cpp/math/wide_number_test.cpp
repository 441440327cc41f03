// SPDX-License-Identifier: Apache-2.0
#include "math/wide_number.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "math/fixed_point.hpp"
#include "support.hpp"

namespace dpftrl::detail {
namespace {

/// Converts the number to one with twice as many digits, for the general arithmetic.
Enclosure enclosure_of_wide(const WideNumber& x) {
  const WideNumber magnitude = x.floor() < 0 ? -x : x;
  Enclosure value{.negative = x.floor() < 0};
  std::ranges::copy(magnitude.digits, value.digits.begin());
  return value;
}

/// |x - expected| in units of 2^-256, up to the error of `expected`.
double wide_distance(const WideNumber& x, const Enclosure& expected) {
  const FixedPoint fixed(kMaxDigits);
  const Enclosure difference = fixed.subtract(enclosure_of_wide(x), expected);
  return fixed.to_double(difference.digits) * 0x1p256;
}

std::vector<WideNumber> wide_numbers() {
  std::vector<WideNumber> all = {WideNumber(0), WideNumber(1), WideNumber(-1),
                                 WideNumber(std::int64_t{1} << 40),
                                 WideNumber(-(std::int64_t{1} << 40) + 7)};
  WideNumber fraction;
  for (std::size_t i = 1; i < fraction.digits.size(); ++i)
    fraction.digits[i] = 0x9e3779b97f4a7c15 * i;
  for (std::size_t i = 0; i < 5; ++i) {
    WideNumber with_fraction = all[i];
    with_fraction += fraction;
    all.push_back(with_fraction);
  }
  WideNumber least;
  least.digits.back() = 1;
  all.push_back(least);
  all.push_back(-least);
  return all;
}

TEST(WideNumber, sums_and_negatives_are_exact) {
  for (const WideNumber& a : wide_numbers()) {
    WideNumber zero = a;
    zero += -a;
    EXPECT_EQ(zero, WideNumber(0));
    EXPECT_EQ(-(-a), a);
    for (const WideNumber& b : wide_numbers()) {
      WideNumber sum = a;
      sum += b;
      const FixedPoint fixed(kMaxDigits);
      EXPECT_EQ(wide_distance(sum, fixed.add(enclosure_of_wide(a), enclosure_of_wide(b))), 0);
    }
  }
}

TEST(WideNumber, products_are_off_by_a_unit_at_most) {
  const FixedPoint fixed(kMaxDigits);
  for (const double factor : {0.0, 1.0, -1.0, 0.5, 0.99, 0.999999, 1 - 0x1p-53, 0.1, 3.0, -2.75,
                              0x1p20, -0x1p20, 0x1p-44, 0x1p-300, 1e-20, -1e-70, 5e-324})
    for (const WideNumber& x : wide_numbers()) {
      const WideNumber product = WideFactor(factor)(x);
      // The reference is truncated at 2^-512.
      EXPECT_LE(wide_distance(product, fixed.multiply(enclosure_of_wide(x), factor)), 1) << factor;
    }
}

TEST(WideNumber, products_by_powers_of_two_and_of_integers_are_exact) {
  for (const std::int64_t integer : {0, 1, -1, 12345678, -87654321}) {
    EXPECT_EQ(WideFactor(1)(WideNumber(integer)), WideNumber(integer));
    EXPECT_EQ(WideFactor(-4)(WideNumber(integer)), WideNumber(-4 * integer));
    WideNumber half = WideFactor(0.5)(WideNumber(integer));
    half += half;
    EXPECT_EQ(half, WideNumber(integer));
    WideNumber part = WideFactor(0.1)(WideNumber(integer));
    for (int i = 0; i < 4; ++i) part += part;
    // 0.1 is 0x1.999999999999ap-4.
    EXPECT_EQ(part, WideFactor(0x1.999999999999ap0)(WideNumber(integer)));
  }
  EXPECT_EQ(WideFactor(0.5)(WideNumber(-1)).floor(), -1);
  EXPECT_EQ(WideFactor(0.5)(WideNumber(-1)).digits[1], std::uint64_t{1} << 63);
}

TEST(WideNumber, a_decay_stays_within_the_sum_of_its_roundings) {
  // Compared with the recursion truncated at 2^-512.
  const FixedPoint fixed(kMaxDigits);
  for (const double decay : {0.5, 0.9, 0.999, 1 - 0x1p-20}) {
    WideNumber sum;
    Enclosure exact;
    for (int t = 1; t <= 500; ++t) {
      const std::int64_t integer = (t * t) % 1001 - 500;
      sum = WideFactor(decay)(sum);
      sum += WideNumber(integer);
      Enclosure term{.digits = {static_cast<std::uint64_t>(std::abs(integer))},
                     .negative = integer < 0};
      exact = fixed.add(fixed.multiply(exact, decay), term);
      EXPECT_LE(wide_distance(sum, exact), t) << decay << " " << t;
    }
  }
}

}  // namespace
}  // namespace dpftrl::detail
