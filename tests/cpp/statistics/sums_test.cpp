// SPDX-License-Identifier: Apache-2.0
/// Sums of several workloads as estimates.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "dpftrl/release/stream.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kSumSteps = 20;

MechanismOptions sum_options(double epsilon = 1) {
  return {.strategy = "optimal",
          .steps = kSumSteps,
          .target = {.epsilon = epsilon, .delta = 1e-6},
          .clip = 2};
}

StackOptions stack() {
  return {.workloads = {Workload::prefix_sums(kSumSteps),
                        Workload::sliding_window({.steps = kSumSteps, .window = 4}),
                        Workload::momentum({.steps = kSumSteps, .momentum = 0, .decay = 0.5})}};
}

TEST(SumColumnsTest, with_hardly_any_noise_sums_are_those_of_their_definitions) {
  RecordStream sums(SumColumns(stack(), 2), sum_options(1e5), {.key = Key::insecure_from_seed(1)});
  std::array<double, 2> total{}, faded{};
  std::vector<std::array<double, 2>> records;
  for (std::int64_t t = 0; t < kSumSteps; ++t) {
    const double x = static_cast<double>(t % 3) / 2;
    records.push_back({x, 1 - x});
    const std::vector<Estimates> found = sums.release(records.back());
    ASSERT_EQ(found.size(), 3U);
    for (std::size_t j = 0; j < 2; ++j) {
      total[j] += records.back()[j];
      faded[j] = faded[j] / 2 + records.back()[j];
      double window = 0;
      for (std::size_t i = records.size() - std::min<std::size_t>(4, records.size());
           i < records.size(); ++i)
        window += records[i][j];
      const std::array<double, 3> truth = {total[j], window, faded[j]};
      for (std::size_t i = 0; i < truth.size(); ++i) {
        EXPECT_NEAR(found[i].values[j], truth[i], 0.1) << i << " " << t;
        EXPECT_GT(found[i].half_width, 0);
        EXPECT_EQ(found[i].stddev,
                  sums.sums().release_stddev_of(
                      {.step = t, .coordinate = 2 * static_cast<std::int64_t>(i)}));
      }
    }
  }
  EXPECT_EQ(sums.step(), kSumSteps);
  EXPECT_THROW((void)sums.end(), Error);
}

TEST(SumColumnsTest, intervals_cover_what_they_are_for) {
  // With 40,000 numbers for each of three workloads, the share that is covered has a standard
  // deviation of at most 0.0025.
  constexpr std::int64_t kSize = 40000;
  for (const double confidence : {0.5, 0.9}) {
    RecordStream sums(SumColumns(stack(), kSize, confidence), sum_options(),
                      {.key = Key::insecure_from_seed(3)});
    for (std::int64_t t = 0; t < 6; ++t)
      for (const Estimates& found : sums.end()) {
        const auto covered = std::ranges::count_if(
            found.values, [&](double value) { return std::abs(value) <= found.half_width; });
        EXPECT_NEAR(static_cast<double>(covered) / kSize, confidence, 0.012) << t;
      }
  }
}

TEST(SumColumnsTest, bad_options_are_refused_by_name) {
  const auto refused = [](std::int64_t size, double confidence, std::optional<double> grid) {
    try {
      RecordStream(SumColumns(stack(), size, confidence), sum_options(),
                   {.key = Key::insecure_from_seed(1), .grid = grid});
    } catch (const Error& error) {
      return error.parameter();
    }
    return std::string("none");
  };
  EXPECT_EQ(refused(0, 0.9, {}), "dimension");
  EXPECT_EQ(refused(kMaxDimension, 0.9, {}), "dimension");
  EXPECT_EQ(refused(1, 1, {}), "confidence");
  EXPECT_EQ(refused(1, 0.9, 0.3), "grid");
  EXPECT_EQ(refused(1, 0.9, {}), "none");
  RecordStream sums(SumColumns(stack()), sum_options(), {.key = Key::insecure_from_seed(1)});
  EXPECT_THROW((void)sums.release(std::array{1.0, 1.0}), Error);
  EXPECT_EQ(sums.step(), 0);
}

}  // namespace
}  // namespace dpftrl
