// SPDX-License-Identifier: Apache-2.0
#include "noise/joint_rows.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/noise/noise_stream.hpp"
#include "math/fixed_point.hpp"
#include "noise/exact/exact_entry.hpp"
#include "support.hpp"

namespace dpftrl::detail {
namespace {

/// whole + fraction, for a fraction in [0, 1).
WideNumber wide(std::int64_t whole, double fraction) {
  WideNumber number(whole);
  number.digits[1] = static_cast<std::uint64_t>(fraction * 0x1p53) << 11;
  return number;
}

TEST(JointRows, what_is_decided_is_right_wherever_the_noise_lies_within_its_bound) {
  // Sums, noise and bounds have few bits, so doubles do not round here.
  std::int64_t num_decided = 0, num_open = 0;
  for (int whole : {-5, -1, 0, 3})
    for (int eighths = 0; eighths < 8; ++eighths)
      for (int value = -200; value <= 200; ++value)
        for (const double absolute : {0.0, 0x1p-7, 0x1p-5, 0.75}) {
          const WideNumber sum = wide(whole, eighths / 8.0);
          const ApproximateNoise noise{value / 64.0, 2, {absolute, 0}};
          const std::int64_t rounded = round_jointly(sum, noise);
          const double middle = whole + eighths / 8.0 + value / 32.0;
          const double low = std::floor(middle - 2 * absolute + 0.5);
          const double high = std::floor(middle + 2 * absolute + 0.5);
          if (rounded == kUndecided) {
            ++num_open;
            // An entry stays undecided only if doubles cannot decide it, because an edge is next to
            // the interval.
            EXPECT_NE(std::floor(middle - 2 * absolute - 0x1p-40 + 0.5),
                      std::floor(middle + 2 * absolute + 0x1p-40 + 0.5));
            continue;
          }
          ++num_decided;
          EXPECT_EQ(static_cast<double>(rounded), low);
          EXPECT_EQ(low, high);
        }
  EXPECT_GT(num_decided, 10000);
  EXPECT_GT(num_open, 1000);
}

TEST(JointRows, no_bound_and_no_number_decide_nothing) {
  const WideNumber sum = wide(1, 0.25);
  const double infinity = HUGE_VAL;
  for (const ApproximateNoise& noise :
       {ApproximateNoise{1, 1, {infinity, 0}}, ApproximateNoise{std::nan(""), 1, {0, 0}},
        ApproximateNoise{1, 1, {0, std::nan("")}}, ApproximateNoise{0x1p51, 1, {0, 0}},
        ApproximateNoise{infinity, 1, {0, 0}}})
    EXPECT_EQ(round_jointly(sum, noise), kUndecided);
}

TEST(JointRows, an_offset_at_the_edge_is_decided_by_the_last_of_its_digits) {
  const NoiseShard shard{.key = Key::insecure_from_seed(3)};
  const DecoderForm form = IdentityDecoder{};
  const FixedPoint fixed(8);
  for (std::int64_t step = 0; step < 20; ++step) {
    const double scale = 1000;
    const Enclosure noise = fixed.multiply(enclose_entry(form, shard, step, 0, 8), scale);
    const std::int64_t alone = exact_rounded_entry(form, shard, step, 0, scale);
    // 1/2 - noise modulo 1: with this offset the sum is an integer plus one half.
    Digits to_edge = noise.negative ? fixed.add({0, std::uint64_t{1} << 63}, noise.digits)
                                    : fixed.subtract({0, std::uint64_t{1} << 63}, noise.digits);
    WideFraction above, below;
    std::copy_n(to_edge.begin() + 1, kWideDigits, above.number.digits.begin() + 1);
    below = above;
    ++above.number.digits.back();  // above by up to 2^-256
    --below.number.digits.back();
    ASSERT_NE(above.number.digits.back(), 0U);
    ASSERT_NE(below.number.digits.back(), ~std::uint64_t{0});
    const std::int64_t up = exact_rounded_entry(form, shard, step, 0, scale, above);
    const std::int64_t down = exact_rounded_entry(form, shard, step, 0, scale, below);
    EXPECT_EQ(up, down + 1) << step;
    EXPECT_TRUE(down == alone || up == alone) << step;
    // A sum known less precisely leaves the rounding undecided, so its midpoint is rounded.
    above.error = 0x1p60;
    EXPECT_EQ(exact_rounded_entry(form, shard, step, 0, scale, above), up);
  }
}

TEST(JointRows, sums_of_whole_numbers_are_rounded_as_rows_are) {
  const auto strategy = make_strategy({.name = "square-root", .steps = 30});
  const NoiseStreamOptions options{.key = Key::insecure_from_seed(4), .dimension = 3};
  JointRows rows(*strategy, options, 1000, 900);
  NoiseStream noise(*strategy, options);
  const std::vector<WideNumber> sums = {WideNumber(0), WideNumber(-7), WideNumber(1 << 30)};
  std::vector<std::int64_t> rounded(3), row(3);
  for (std::int64_t step = 0; step < 30; ++step) {
    rows.round(step, sums, rounded);
    ASSERT_TRUE(noise.next_rounded(row, 1, 1000));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(rounded[i], sums[i].floor() + row[i]);
    // Repeats the call, as after one that ran out of memory.
    std::vector<std::int64_t> again(3);
    rows.round(step, sums, again);
    EXPECT_EQ(again, rounded);
  }
  EXPECT_EQ(rows.num_recomputed(), 0);
}

}  // namespace
}  // namespace dpftrl::detail
