// SPDX-License-Identifier: Apache-2.0
/// Sums of several workloads as estimates.

#include <array>
#include <vector>

#include "dpftrl/statistics/statistics.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kStackSumSteps = 20;

MechanismOptions stack_sum_options(double epsilon = 1) {
  return {.strategy = "optimal",
          .num_steps = kStackSumSteps,
          .target = {.epsilon = epsilon, .delta = 1e-6},
          .clip_norm = 2};
}

StackOptions stack() {
  return {.workloads = {
              Workload::prefix_sums(kStackSumSteps),
              Workload::sliding_window({.num_steps = kStackSumSteps, .width = 4}),
              Workload::momentum({.num_steps = kStackSumSteps, .momentum = 0, .decay = 0.5})}};
}

TEST(StackSum, with_hardly_any_noise_sums_are_those_of_their_definitions) {
  StackSum sums(stack_sum_options(1e5), stack(),
                {.key = Key::insecure_from_seed(1), .columns = {.record_size = 2}});
  std::array<double, 2> total{}, faded{};
  std::vector<std::array<double, 2>> records;
  for (std::int64_t t = 0; t < kStackSumSteps; ++t) {
    const double x = static_cast<double>(t % 3) / 2;
    records.push_back({x, 1 - x});
    std::vector<Estimate> found;
    if (t % 2 == 0) {
      found = sums.release(records.back());
    } else {
      sums.contribute(records.back());
      found = sums.release();
    }
    ASSERT_EQ(found.size(), 6U);
    for (std::size_t j = 0; j < 2; ++j) {
      total[j] += records.back()[j];
      faded[j] = faded[j] / 2 + records.back()[j];
      double window = 0;
      for (std::size_t i = records.size() - std::min<std::size_t>(4, records.size());
           i < records.size(); ++i)
        window += records[i][j];
      const std::array<double, 3> truth = {total[j], window, faded[j]};
      for (std::size_t i = 0; i < truth.size(); ++i) {
        const Estimate& estimate = found[2 * i + j];
        EXPECT_NEAR(estimate.value, truth[i], 0.1) << i << " " << t;
        EXPECT_LT(estimate.low, estimate.value);
        EXPECT_LT(estimate.value, estimate.high);
        EXPECT_EQ(estimate.stddev, sums.columns().stddev(t, static_cast<std::int64_t>(i)));
      }
    }
  }
  EXPECT_EQ(sums.step(), kStackSumSteps);
  EXPECT_THROW((void)sums.release(), Error);
}

TEST(StackSum, intervals_cover_what_they_are_for) {
  // With 40,000 numbers for each of three workloads, the share that is covered has a standard
  // deviation of 0.0015.
  constexpr std::int64_t kSize = 40000;
  for (const double confidence : {0.5, 0.9}) {
    StackSum sums(stack_sum_options(), stack(),
                  {.key = Key::insecure_from_seed(3),
                   .columns = {.record_size = kSize, .confidence = confidence}});
    for (std::int64_t t = 0; t < 6; ++t) {
      const std::vector<Estimate> found = sums.release();
      for (std::int64_t i = 0; i < 3; ++i) {
        double covered = 0;
        for (std::int64_t j = 0; j < kSize; ++j) {
          const Estimate& estimate = found[static_cast<std::size_t>(i * kSize + j)];
          covered += estimate.low <= 0 && 0 <= estimate.high;
        }
        EXPECT_NEAR(covered / static_cast<double>(kSize), confidence, 0.012) << i << " " << t;
      }
    }
  }
}

TEST(StackSum, bad_options_are_refused_by_name) {
  const auto refused = [](const StackColumns::Options& columns) {
    try {
      StackSum(stack_sum_options(), stack(),
               {.key = Key::insecure_from_seed(1), .columns = columns});
    } catch (const Error& error) {
      return error.parameter();
    }
    return std::string("none");
  };
  EXPECT_EQ(refused({.record_size = 0}), "dimension");
  EXPECT_EQ(refused({.confidence = 1}), "confidence");
  EXPECT_EQ(refused({.grid = 0.3}), "grid");
  EXPECT_EQ(refused({}), "none");
  StackSum sums(stack_sum_options(), stack(), {.key = Key::insecure_from_seed(1)});
  EXPECT_THROW((void)sums.release(std::array{1.0, 1.0}), Error);
  EXPECT_EQ(sums.step(), 0);
}

}  // namespace
}  // namespace dpftrl
