// SPDX-License-Identifier: Apache-2.0
// Rows of long horizons: sums of two doubles, computed from normals in the same form.
#include <algorithm>
#include <bit>
#include <cmath>

#include "dpftrl/noise/noise_stream.hpp"
#include "exact_forms.hpp"
#include "form_strategy.hpp"
#include "noise/exact/exact_entry.hpp"
#include "noise/exact/exact_rows.hpp"
#include "noise/programs/row_maker.hpp"
#include "simd/simd.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::Enclosure;
using detail::FixedPoint;

constexpr std::int64_t kLong = (std::int64_t{1} << 17) + 1;

/// Accumulating forms, whose last state is their row.
std::vector<testing::NamedForm> totals() {
  return {{"running_sum", 300, RunningSumDecoder{}},
          {"banded", 300, BandedDecoder{{1, 0.5, 0.375, 0.3125}}},
          {"banded_inverse", 300, BandedInverseDecoder{{1, -0.5, -0.125, -0.0625}}},
          {"buffered", 300, BufferedDecoder{{0.999, 0.9, 0.5}, {0.1, 0.2, 0.2}}}};
}

double little_endian_double(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  for (std::size_t k = 8; k-- > 0;) word = word << 8 | std::to_integer<std::uint64_t>(bytes[k]);
  return std::bit_cast<double>(word);
}

/// Largest ratio of error to bound of the last row with its low part, over the coordinates.
double worst_of_total(const testing::NamedForm& named, std::int64_t dimension,
                      noise::Precision precision) {
  const NoiseStreamOptions options{
      .key = Key::insecure_from_seed(71), .dimension = dimension, .first_coordinate = 3};
  const noise::ProgramOptions how{.key = options.key,
                                  .dimension = dimension,
                                  .first_coordinate = 3,
                                  .num_rows = named.steps,
                                  .precision = precision};
  const auto width = static_cast<std::size_t>(dimension);
  noise::RowMaker<double> rows(how, named.form);
  std::vector<double> row(width);
  rows.seek(named.steps - 1);
  rows.next(row);
  std::vector<std::byte> state;
  EXPECT_EQ(rows.write_state(named.steps, state), named.steps);
  const auto total = std::span<const std::byte>(state).last(16 * width);
  double worst = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const double high = little_endian_double(total.subspan(8 * i));
    const double low = little_endian_double(total.subspan(8 * (width + i)));
    EXPECT_EQ(high, row[i]);
    detail::Normals normals(options, static_cast<std::int64_t>(i), 4);
    const FixedPoint& fixed = normals.fixed();
    const auto exactly = [&](double x) {
      Enclosure value = fixed.from_double(std::abs(x));
      value.negative = x < 0;
      return value;
    };
    const Enclosure ideal = detail::make_exact_rows(named.form, normals, 0)->row(named.steps - 1);
    const Enclosure rest = fixed.subtract(fixed.subtract(ideal, exactly(high)), exactly(low));
    worst = std::max(worst, fixed.to_double(rest.digits) / rows.last_bound().error);
  }
  return worst;
}

TEST(NoiseRefined, totals_are_within_their_bound_and_not_far_below) {
  for (const testing::NamedForm& named : totals()) {
    for (const std::int64_t dimension : {2, 40}) {
      const double worst = worst_of_total(named, dimension, noise::Precision::refined);
      EXPECT_LE(worst, 1) << named.name << " " << dimension;
      EXPECT_GE(worst, 1e-4) << named.name << " " << dimension;
    }
  }
}

/// The check detects normals in plain double.
TEST(NoiseRefined, normals_without_their_low_parts_are_beyond_the_bound) {
  const double ratio = kNormalErrorBound / kExtendedNormalErrorBound;
  for (const testing::NamedForm& named : totals()) {
    EXPECT_GT(worst_of_total(named, 40, noise::Precision::extended) * ratio, 1) << named.name;
  }
}

TEST(NoiseRefined, is_chosen_for_long_horizons_of_what_adds_up) {
  const auto precision = [](const DecoderForm& form, std::int64_t num_rows) {
    return noise::choose_precision({.key = Key::insecure_from_seed(1),
                                    .dimension = 1,
                                    .first_coordinate = 0,
                                    .num_rows = num_rows},
                                   form)
        .precision;
  };
  for (const testing::NamedForm& named : totals()) {
    EXPECT_EQ(precision(named.form, kLong), noise::Precision::refined) << named.name;
    EXPECT_NE(precision(named.form, kLong - 1), noise::Precision::refined) << named.name;
    EXPECT_EQ(noise::resume_point(named.form, 100), 0) << named.name;
  }
  const DecoderForm tree = DyadicDecoder{std::vector<double>(18, 1.0)};
  EXPECT_EQ(precision(tree, kLong), noise::Precision::plain);
  EXPECT_EQ(precision(testing::honaker_form(18), kLong), noise::Precision::refined);
  EXPECT_EQ(precision(IdentityDecoder{}, kLong), noise::Precision::plain);
  EXPECT_EQ(precision(KaryDecoder{3, false, 11}, kLong), noise::Precision::extended);
  const auto filtered = [&](DecoderForm base, double momentum) {
    return DecoderForm{FilteredDecoder{
        testing::shared(std::move(base)),
        {},
        momentum == 0 ? Workload::prefix_sums(kLong)
                      : Workload::momentum({.steps = kLong, .momentum = momentum})}};
  };
  EXPECT_EQ(precision(filtered(tree, 0), kLong), noise::Precision::extended);
  EXPECT_EQ(precision(filtered(tree, 0.9), kLong), noise::Precision::refined);
  EXPECT_EQ(precision(filtered(testing::honaker_form(18), 0), kLong), noise::Precision::refined);
}

/// Uses a scale at which normals in double leave nearly everything undecided.
TEST(NoiseRefined, integers_of_long_horizons_are_the_exact_ones_and_nearly_all_decided) {
  std::vector<testing::NamedForm> forms = totals();
  forms.push_back({"honaker", 0, testing::honaker_form(18)});
  const double scale = 0x1p44;
  const std::int64_t num_rows = 96;
  for (const testing::NamedForm& named : forms) {
    const testing::FormStrategy strategy(named.form, kLong);
    for (const std::int64_t dimension : {2, 30}) {
      const NoiseStreamOptions options{.key = Key::insecure_from_seed(72), .dimension = dimension};
      NoiseStream stream(strategy, options);
      std::vector<std::int64_t> rows(static_cast<std::size_t>(num_rows * dimension));
      stream.next_rounded(rows, num_rows, scale);
      std::int64_t num_decided = 0;
      for (std::int64_t t = 60; t < num_rows; ++t) {
        for (std::int64_t i = 0; i < std::min<std::int64_t>(dimension, 5); ++i) {
          const std::int64_t made = rows[static_cast<std::size_t>(t * dimension + i)];
          if (made == simd::kUndecided) continue;
          ++num_decided;
          EXPECT_EQ(made, exact_rounded_entry(named.form, options, t, i, scale))
              << named.name << " " << t << " " << i;
        }
      }
      EXPECT_GE(num_decided, std::min<std::int64_t>(dimension, 5) * 36 * 8 / 10) << named.name;
    }
  }
}

/// An entry that a convolution leaves undecided is recomputed as a plain sum.
TEST(NoiseRefined, entries_of_convolutions_are_the_exact_ones) {
  ToeplitzDecoder decoder;
  for (int i = 0; i < 800; ++i) decoder.coefficients.push_back(1 / std::sqrt(1 + i));
  const std::int64_t num_rows = 700;
  const testing::FormStrategy strategy(decoder, num_rows);
  const NoiseStreamOptions options{
      .key = Key::insecure_from_seed(74), .dimension = 3, .first_coordinate = 6};
  NoiseStream stream(strategy, options);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(3 * num_rows));
  EXPECT_FALSE(stream.next_rounded(rows, num_rows, 0x1p43));
  double worst = 0;
  for (std::int64_t t = 0; t < num_rows; t += 33) {
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(stream.rounded_entry({t, i}, 0x1p43),
                exact_rounded_entry(decoder, options, t, i, 0x1p43))
          << t << " " << i;
      const noise::RefinedEntry refined = noise::refined_entry(
          {.key = options.key, .dimension = 1, .first_coordinate = 6 + i, .num_rows = t + 1},
          decoder, t);
      const FixedPoint fixed(4);
      const Enclosure exact = enclose_entry(decoder, options, t, i, 4);
      Enclosure value = fixed.from_double(std::abs(refined.value));
      value.negative = refined.value < 0;
      const double off = fixed.to_double(fixed.subtract(exact, value).digits);
      const double rounding = 0x1p-53 * std::abs(refined.value);
      EXPECT_LE(off, refined.error + rounding);
      worst = std::max(worst, off / (refined.error + rounding));
    }
  }
  EXPECT_GE(worst, 0.1);
}

TEST(NoiseRefined, shards_of_any_width_have_the_same_bits) {
  std::vector<testing::NamedForm> forms = totals();
  forms.push_back({"honaker", 0, testing::honaker_form(18)});
  for (const testing::NamedForm& named : forms) {
    const testing::FormStrategy strategy(named.form, kLong);
    NoiseStreamOptions options{.key = Key::insecure_from_seed(73), .dimension = 3000};
    const std::size_t num_rows = 40;
    std::vector<double> whole(num_rows * 3000);
    NoiseStream(strategy, options).next_rows(whole, static_cast<std::int64_t>(num_rows));
    options.first_coordinate = 2500;
    for (const std::size_t width : {1U, 4U, 5U, 450U}) {
      options.dimension = static_cast<std::int64_t>(width);
      std::vector<double> shard(num_rows * width);
      NoiseStream(strategy, options).next_rows(shard, static_cast<std::int64_t>(num_rows));
      for (std::size_t t = 0; t < num_rows; ++t)
        for (std::size_t i = 0; i < width; ++i)
          ASSERT_EQ(shard[t * width + i], whole[t * 3000 + 2500 + i]) << named.name << " " << t;
    }
  }
}

}  // namespace
}  // namespace dpftrl
