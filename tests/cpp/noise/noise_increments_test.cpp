// SPDX-License-Identifier: Apache-2.0
// Rows of C^-1 Z: without state for few bands, and otherwise as differences of rounded totals.
#include <cmath>
#include <numeric>

#include "catalogue.hpp"
#include "dense_algebra.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "noise/increments_form.hpp"
#include "random/gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kIncrementSteps = 150;
const char* const kFamilies[] = {"independent", "banded-inverse-square-root", "lambda-cgd"};

NoiseStreamOptions increment_options(std::int64_t dimension, bool increments) {
  return {.key = Key::insecure_from_seed(82),
          .dimension = dimension,
          .first_coordinate = 1,
          .increments = increments};
}

TEST(NoiseIncrements, their_sums_are_the_noise_of_sums) {
  for (const char* family : kFamilies)
    for (const std::int64_t dimension : {std::int64_t{2}, std::int64_t{37}}) {
      const auto strategy = testing::make_known(family, kIncrementSteps);
      NoiseStream sums(*strategy, increment_options(dimension, false));
      NoiseStream increments(*strategy, increment_options(dimension, true));
      std::vector<double> sum(static_cast<std::size_t>(dimension)), row(sum), total(sum);
      double bound = 0;
      for (std::int64_t step = 0; step < kIncrementSteps; ++step) {
        sums.next(sum);
        increments.next(row);
        bound += increments.row_error_bound().absolute;
        for (std::size_t i = 0; i < row.size(); ++i) {
          total[i] += row[i];
          ASSERT_NEAR(total[i], sum[i], bound + sums.row_error_bound().absolute + 1e-12)
              << family << ", step " << step;
        }
      }
    }
}

TEST(NoiseIncrements, nothing_is_kept_so_a_far_step_costs_one_row) {
  const std::int64_t far = std::int64_t{1} << 30;
  for (const char* family : {"independent", "lambda-cgd"}) {
    const auto strategy = make_strategy(
        {.name = family,
         .steps = far,
         .parameters = {.lambda = std::string(family) == "lambda-cgd" ? std::optional(0.5)
                                                                      : std::nullopt}});
    NoiseStream stream(*strategy, increment_options(3, true));
    stream.seek(far - 1);
    std::vector<double> row(3), z(3), before(3);
    stream.next(row);
    EXPECT_EQ(stream.checkpoint().size(), 64U);
    fill_normals(Key::insecure_from_seed(82), Stream::noise, static_cast<std::uint64_t>(far - 1), 1,
                 std::span(z));
    fill_normals(Key::insecure_from_seed(82), Stream::noise, static_cast<std::uint64_t>(far - 2), 1,
                 std::span(before));
    const double lambda = std::string(family) == "lambda-cgd" ? 0.5 : 0;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(row[i], z[i] - lambda * before[i]) << family;
  }
}

TEST(NoiseIncrements, a_stream_that_seeks_or_is_restored_has_the_bits_of_one_that_walks) {
  for (const char* family : kFamilies) {
    const auto strategy = testing::make_known(family, kIncrementSteps);
    std::vector<std::int64_t> walked(5 * kIncrementSteps), row(5);
    NoiseStream stream(*strategy, increment_options(5, true));
    EXPECT_TRUE(stream.next_rounded(walked, kIncrementSteps, 100));
    for (std::int64_t i = 0; i < kIncrementSteps; ++i) {
      const std::int64_t step = i * 37 % kIncrementSteps;
      stream.seek(step);
      NoiseStream other(*strategy, increment_options(5, true));
      other.restore(stream.checkpoint());
      EXPECT_TRUE(other.next_rounded(row, 1, 100));
      EXPECT_TRUE(std::equal(row.begin(), row.end(), walked.data() + 5 * step)) << family;
      EXPECT_EQ(other.rounded_entry({step, 4}, 100), row[4]) << family;
    }
  }
}

TEST(NoiseIncrements, encoders_without_a_short_inverse_are_refused) {
  for (const char* family : {"tree", "square-root", "output", "banded-square-root", "blt-rational"})
    EXPECT_ERROR(NoiseStream(*testing::make_known(family, 16), increment_options(1, true)),
                 "unsupported", std::string("to give increments, got ") + family);
  const auto momentum = make_strategy(
      {.name = "independent", .steps = 8, .workload = Workload::momentum({8, 0.9, 1})});
  EXPECT_ERROR(NoiseStream(*momentum, increment_options(1, true)), "unsupported",
               "for prefix sums");
  EXPECT_ERROR(FloatNoiseStream(*momentum, increment_options(1, true)), "unsupported",
               "for prefix sums");
}

TEST(NoiseIncrements, state_of_sums_is_not_state_of_increments) {
  const auto strategy = testing::make_known("lambda-cgd", 16);
  NoiseStream sums(*strategy, increment_options(1, false)),
      increments(*strategy, increment_options(1, true));
  EXPECT_ERROR(increments.restore(sums.checkpoint()), "bad_state", "");
  EXPECT_ERROR(sums.restore(increments.checkpoint()), "bad_state", "");
}

NoiseStreamOptions some_options(std::int64_t dimension) {
  return {.key = Key::insecure_from_seed(83), .dimension = dimension, .first_coordinate = 3};
}

bool has_few_bands(const Strategy& strategy) {
  return noise::increments_form(strategy.decoder_form()).has_value();
}

/// Rounded rows in which every entry is decided.
std::vector<std::int64_t> rounded_totals(const Strategy& strategy,
                                         const NoiseStreamOptions& options, double scale) {
  NoiseStream stream(strategy, options);
  const std::int64_t size = strategy.steps() * options.dimension;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(size));
  if (!stream.next_rounded(rows, strategy.steps(), scale))
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t& entry = rows[static_cast<std::size_t>(i)];
      if (entry == kUndecided)
        entry = stream.rounded_entry({i / options.dimension, i % options.dimension}, scale);
    }
  return rows;
}

std::vector<std::int64_t> all_increments(const Strategy& strategy,
                                         const NoiseStreamOptions& options, double scale) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(strategy.steps() * options.dimension));
  NoiseIncrements(strategy, options).next_rounded(rows, strategy.steps(), scale);
  return rows;
}

TEST(NoiseIncrements, rows_of_every_mechanism_are_within_a_unit_of_the_matrix_times_the_normals) {
  constexpr double kScale = 1000;
  for (const std::int64_t steps : {1, 2, 3, 7, 8, 23})
    for (const testing::Variant& variant : testing::prefix_variants(steps)) {
      const auto strategy = testing::strategy_of(variant);
      const NoiseStreamOptions how = some_options(3);
      const Matrix encoder = strategy->encoder();
      const Matrix z = noise_matrix(how, encoder.rows());
      const Matrix totals = strategy->decoder() * z;
      Matrix expected = totals;
      expected.bottomRows(totals.rows() - 1) -= totals.topRows(totals.rows() - 1);
      if (encoder.rows() == encoder.cols()) {
        const Matrix solved = testing::inverse(encoder) * z;
        ASSERT_LT((solved - expected).cwiseAbs().maxCoeff(), 1e-6) << variant.title;
      }
      const std::vector<std::int64_t> rows = all_increments(*strategy, how, kScale);
      const double most = has_few_bands(*strategy) ? 0.5 : 1;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double ideal =
            kScale * expected(static_cast<Eigen::Index>(i / 3), static_cast<Eigen::Index>(i % 3));
        ASSERT_LE(std::abs(static_cast<double>(rows[i]) - ideal), most + 1e-7)
            << variant.title << ", entry " << i;
      }
    }
}

TEST(NoiseIncrements, their_sums_are_the_rounded_totals_bit_for_bit) {
  // At 2^48 units, double precision cannot decide all entries.
  for (const double scale : {100.0, 0x1p48})
    for (const std::int64_t steps : {8, testing::is_sanitized() ? 19 : 45})
      for (const testing::Variant& variant : testing::prefix_variants(steps)) {
        const auto strategy = testing::strategy_of(variant);
        if (has_few_bands(*strategy)) continue;
        const NoiseStreamOptions how = some_options(5);
        std::vector<std::int64_t> sums = all_increments(*strategy, how, scale);
        for (std::size_t i = 5; i < sums.size(); ++i) sums[i] += sums[i - 5];
        EXPECT_EQ(sums, rounded_totals(*strategy, how, scale)) << variant.title;
      }
}

TEST(NoiseIncrements, of_few_bands_they_are_the_rows_that_streams_have) {
  for (const char* family : kFamilies) {
    const auto strategy = testing::make_known(family, kIncrementSteps);
    NoiseStreamOptions how = increment_options(4, true);
    EXPECT_EQ(all_increments(*strategy, increment_options(4, false), 100),
              rounded_totals(*strategy, how, 100));
    // Continues where the stream stopped.
    NoiseStream stream(*strategy, how);
    stream.seek(70);
    NoiseIncrements increments(*strategy, how);
    increments.restore(stream.checkpoint());
    EXPECT_EQ(increments.step(), 70);
    EXPECT_EQ(increments.checkpoint(), stream.checkpoint()) << family;
  }
}

TEST(NoiseIncrements, they_are_the_same_in_any_order_and_after_a_checkpoint) {
  constexpr std::int64_t kNumSteps = 40, kWidth = 3;
  for (const testing::Variant& variant : testing::prefix_variants(kNumSteps)) {
    const auto strategy = testing::strategy_of(variant);
    const std::vector<std::int64_t> all = all_increments(*strategy, some_options(kWidth), 64);
    NoiseIncrements walked(*strategy, some_options(kWidth));
    std::vector<std::int64_t> rows;
    const auto is_same = [&](NoiseIncrements& stream, std::int64_t count, double scale) {
      const std::int64_t first = stream.step();
      rows.assign(static_cast<std::size_t>(count * kWidth), 0);
      stream.next_rounded(rows, count, scale);
      return stream.step() == first + count &&
             std::ranges::equal(rows, std::span(all).subspan(
                                          static_cast<std::size_t>(first * kWidth), rows.size()));
    };
    for (std::int64_t count = 1; walked.step() < kNumSteps; ++count) {
      NoiseIncrements restored(*strategy, some_options(kWidth));
      restored.restore(walked.checkpoint());
      ASSERT_EQ(restored.step(), walked.step());
      count = std::min(count, kNumSteps - walked.step());
      ASSERT_TRUE(is_same(restored, count, 64)) << variant.title << ", restored at " << count;
      ASSERT_TRUE(is_same(walked, count, 64)) << variant.title << ", walked by " << count;
    }
    for (const std::int64_t step : {39, 0, 1, 17, 16, 18, 18, 3}) {
      walked.seek(step);
      ASSERT_EQ(walked.step(), step);
      NoiseIncrements restored(*strategy, some_options(kWidth));
      restored.restore(walked.checkpoint());
      ASSERT_TRUE(is_same(restored, 1, 64)) << variant.title << ", restored at " << step;
      ASSERT_TRUE(is_same(walked, 1, 64)) << variant.title << ", sought " << step;
    }
    // An intermediate call with another scale changes nothing.
    std::vector<std::int64_t> other(kWidth);
    walked.next_rounded(other, 1, 7);
    ASSERT_TRUE(is_same(walked, 5, 64)) << variant.title;
  }
}

TEST(NoiseIncrements, rows_decided_digit_by_digit_are_the_same) {
  for (const char* family : {"tree", "blt-rational", "optimal", "banded-toeplitz"}) {
    const auto strategy = testing::make_known(family, 12);
    NoiseStreamOptions exact = some_options(2);
    exact.exact_only = true;
    EXPECT_EQ(all_increments(*strategy, exact, 1000),
              all_increments(*strategy, some_options(2), 1000))
        << family;
  }
}

TEST(NoiseIncrements, bad_calls_are_refused_and_change_nothing) {
  const auto strategy = testing::make_known("tree", 8);
  const std::vector<std::int64_t> all = all_increments(*strategy, some_options(2), 64);
  NoiseIncrements stream(*strategy, some_options(2));
  std::vector<std::int64_t> row(2), rows(18);
  stream.next_rounded(row, 1, 64);
  EXPECT_ERROR(stream.next_rounded(rows, 1, 64), "wrong_length", "rows");
  EXPECT_ERROR(stream.next_rounded(std::span(rows).first(16), 8, 64), "past_horizon",
               "step must be below the horizon 8, got 8");
  EXPECT_ERROR(stream.next_rounded(rows, 9, 64), "invalid_argument", "num_rows");
  for (const double scale : {-1.0, 0x1p61, std::nan("")})
    EXPECT_ERROR(stream.next_rounded(row, 1, scale), "invalid_argument", "scale must be between 0");
  EXPECT_ERROR(stream.seek(9), "invalid_argument", "step");
  EXPECT_ERROR(stream.seek(-1), "invalid_argument", "step");
  std::vector<std::byte> bytes = stream.checkpoint();
  NoiseStream totals(*strategy, some_options(2));
  EXPECT_ERROR(stream.restore(totals.checkpoint()), "bad_state", "must be of kind 6");
  EXPECT_ERROR(totals.restore(bytes), "bad_state", "must be of kind 1");
  bytes[70] ^= std::byte{1};
  EXPECT_ERROR(stream.restore(bytes), "bad_state", "checksum");
  bytes = stream.checkpoint();
  NoiseStreamOptions other = some_options(2);
  other.key = Key::insecure_from_seed(84);
  EXPECT_ERROR(NoiseIncrements(*strategy, other).restore(bytes), "bad_state", "another key");
  stream.next_rounded(row, 1, 64);
  EXPECT_EQ(row, std::vector(all.begin() + 2, all.begin() + 4));
  for (const char* family : {"independent", "tree"})
    EXPECT_ERROR(NoiseIncrements(
                     *make_strategy(
                         {.name = family, .steps = 8, .workload = Workload::momentum({8, 0.9, 1})}),
                     some_options(1)),
                 "unsupported", "for prefix sums");
}

}  // namespace
}  // namespace dpftrl
