// SPDX-License-Identifier: Apache-2.0
// Rows of C^-1 Z: without state, and what the rows of A C^-1 Z are sums of.
#include <cmath>
#include <numeric>

#include "catalogue.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "random/gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kSteps = 150;
const char* const kFamilies[] = {"independent", "banded-inverse-square-root", "lambda-cgd"};

NoiseStreamOptions options(std::int64_t dimension, bool increments) {
  return {.key = Key::insecure_from_seed(82),
          .dimension = dimension,
          .first_coordinate = 1,
          .increments = increments};
}

TEST(NoiseIncrements, their_sums_are_the_noise_of_sums) {
  for (const char* family : kFamilies)
    for (const std::int64_t dimension : {std::int64_t{2}, std::int64_t{37}}) {
      const auto strategy = testing::make_known(family, kSteps);
      NoiseStream sums(*strategy, options(dimension, false));
      NoiseStream increments(*strategy, options(dimension, true));
      std::vector<double> sum(static_cast<std::size_t>(dimension)), row(sum), total(sum);
      double bound = 0;
      for (std::int64_t step = 0; step < kSteps; ++step) {
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
         .num_steps = far,
         .parameters = {.lambda = std::string(family) == "lambda-cgd" ? std::optional(0.5)
                                                                      : std::nullopt}});
    NoiseStream stream(*strategy, options(3, true));
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
    const auto strategy = testing::make_known(family, kSteps);
    std::vector<std::int64_t> walked(5 * kSteps), row(5);
    NoiseStream stream(*strategy, options(5, true));
    EXPECT_TRUE(stream.next_rounded(walked, kSteps, 100));
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const std::int64_t step = i * 37 % kSteps;
      stream.seek(step);
      NoiseStream other(*strategy, options(5, true));
      other.restore(stream.checkpoint());
      EXPECT_TRUE(other.next_rounded(row, 1, 100));
      EXPECT_TRUE(std::equal(row.begin(), row.end(), walked.data() + 5 * step)) << family;
      EXPECT_EQ(other.rounded_entry({step, 4}, 100), row[4]) << family;
    }
  }
}

TEST(NoiseIncrements, encoders_without_a_short_inverse_are_refused) {
  for (const char* family : {"tree", "square-root", "output", "banded-square-root", "blt-rational"})
    EXPECT_ERROR(NoiseStream(*testing::make_known(family, 16), options(1, true)), "unsupported",
                 std::string("to give increments, got ") + family);
  const auto momentum = make_strategy(
      {.name = "independent", .num_steps = 8, .workload = Workload::momentum({8, 0.9, 1})});
  EXPECT_ERROR(NoiseStream(*momentum, options(1, true)), "unsupported", "for prefix sums");
  EXPECT_ERROR(FloatNoiseStream(*momentum, options(1, true)), "unsupported", "for prefix sums");
}

TEST(NoiseIncrements, state_of_sums_is_not_state_of_increments) {
  const auto strategy = testing::make_known("lambda-cgd", 16);
  NoiseStream sums(*strategy, options(1, false)), increments(*strategy, options(1, true));
  EXPECT_ERROR(increments.restore(sums.checkpoint()), "bad_state", "");
  EXPECT_ERROR(sums.restore(increments.checkpoint()), "bad_state", "");
}

}  // namespace
}  // namespace dpftrl
