// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/stream.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kWidthSteps = 12, kWidthSize = 4000;

struct WidthNoise {
  std::string name;
  std::shared_ptr<const Mechanism> mechanism;
  PrefixSumOptions options;
  /// Least share of the values beyond a half-width, as a fraction of its probability: small where
  /// the half-width comes from a loose bound on the tail.
  double least;
};

std::vector<WidthNoise> width_noises() {
  const auto gaussian = [](const std::string& strategy, double epsilon = 1) {
    return Mechanism::make({.strategy = strategy,
                            .steps = kWidthSteps,
                            .target = {.epsilon = epsilon, .delta = 1e-6}});
  };
  const PrefixSumOptions grid{.key = Key::insecure_from_seed(11), .dimension = kWidthSize};
  PrefixSumOptions coarse = grid, discrete = grid, rounded = grid;
  coarse.grid = 1;
  discrete.mode = rounded.mode = ReleaseMode::lattice;
  discrete.grid = rounded.grid = 0x1p-6;
  rounded.lattice_noise = LatticeNoise::rounded_gaussian;
  return {{"grid", gaussian("honaker"), grid, 0.5},
          // Noise of 0.3 grids, most of which is rounded to none, and of 0.6, whose intervals would
          // be too narrow without the rounding.
          {"a coarse grid", gaussian("optimal", 40), coarse, 0},
          {"a grid of its size", gaussian("optimal", 16), coarse, 0},
          {"no delta", Mechanism::make_pure({.steps = kWidthSteps, .epsilon = 1}), grid, 0.5},
          {"no delta, single steps",
           Mechanism::make_pure(
               {.steps = kWidthSteps,
                .epsilon = 1,
                .workload = Workload::sliding_window({.steps = kWidthSteps, .window = 1})}),
           grid, 0.5},
          {"discrete normals", gaussian("tree"), discrete, 0.01},
          {"rounded normals of buffers", gaussian("blt"), rounded, 0.01},
          {"rounded normals of bands", gaussian("square-root"), rounded, 0.01}};
}

/// Noise of every entry of every step.
std::vector<std::vector<double>> width_noise_of(const WidthNoise& noise) {
  PrefixSum sums(noise.mechanism, noise.options);
  const std::vector<double> nothing(kWidthSize, 0.0);
  std::vector<std::vector<double>> all(kWidthSteps, nothing);
  for (auto& row : all) sums.release(nothing, row);
  return all;
}

double share_beyond(const std::vector<double>& values, double width) {
  const auto beyond = std::ranges::count_if(values, [=](double x) { return std::abs(x) > width; });
  return static_cast<double>(beyond) / static_cast<double>(values.size());
}

/// Largest plausible share of values beyond a valid half-width: `probability` plus five standard
/// deviations. A false alarm anywhere in this file has probability below 1e-4.
double most_beyond(double probability) {
  return probability + 5 * std::sqrt(probability * (1 - probability) / kWidthSize);
}

TEST(HalfWidth, values_are_within_it_with_the_probability_asked_for) {
  for (const WidthNoise& noise : width_noises()) {
    SCOPED_TRACE(noise.name);
    const auto rows = width_noise_of(noise);
    const PrefixSum sums(noise.mechanism, noise.options);
    for (const double probability : {0.3, 0.05})
      for (std::int64_t t = 0; t < kWidthSteps; ++t) {
        const auto& row = rows[static_cast<std::size_t>(t)];
        const double width = sums.release_half_width({.step = t, .probability = probability});
        EXPECT_LE(share_beyond(row, width), most_beyond(probability));
        EXPECT_GE(share_beyond(row, width), noise.least * probability);
        // The test detects half-widths that are too small.
        if (noise.least > 0) {
          EXPECT_GT(share_beyond(row, 0.4 * width), most_beyond(probability));
        }
      }
  }
}

TEST(HalfWidth, all_values_of_all_steps_are_within_theirs_together) {
  constexpr double kBeta = 0.1;
  for (const WidthNoise& noise : width_noises()) {
    SCOPED_TRACE(noise.name);
    const auto rows = width_noise_of(noise);
    // Coordinates are independent streams with the same law, since the grid is the same.
    WidthNoise one = noise;
    one.options.grid = PrefixSum(noise.mechanism, noise.options).grid();
    one.options.dimension = 1;
    const double width = PrefixSum(one.mechanism, one.options).simultaneous_half_width(kBeta);
    std::vector<double> largest(kWidthSize, 0.0);
    for (const auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        largest[i] = std::max(largest[i], std::abs(row[i]));
    EXPECT_LE(share_beyond(largest, width), most_beyond(kBeta));
    if (noise.least > 0) {
      EXPECT_GT(share_beyond(largest, 0.5 * width), most_beyond(kBeta));
    }
    // More coordinates need more room.
    EXPECT_GT(PrefixSum(noise.mechanism, noise.options).simultaneous_half_width(kBeta), width);
  }
}

TEST(HalfWidth, a_stack_has_one_for_each_workload) {
  const SumColumns columns({.workloads = {Workload::prefix_sums(kWidthSteps),
                                          Workload::sliding_window({kWidthSteps, 2})}},
                           kWidthSize);
  const auto mechanism = columns.mechanism(
      {.strategy = "square-root", .steps = kWidthSteps, .target = {.epsilon = 1, .delta = 1e-6}});
  const PrefixSumOptions options = columns.release_options({.key = Key::insecure_from_seed(3)});
  PrefixSum sums(mechanism, options);
  std::vector<double> noisy(2 * kWidthSize);
  double largest = 0;
  for (std::int64_t t = 0; t < kWidthSteps; ++t) {
    sums.release(noisy);
    for (const std::int64_t begin : {std::int64_t{0}, kWidthSize}) {
      const double width =
          sums.release_half_width({.step = t, .probability = 0.05, .coordinate = begin});
      const auto first = noisy.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::vector<double> own(first, first + static_cast<std::ptrdiff_t>(kWidthSize));
      EXPECT_LE(share_beyond(own, width), most_beyond(0.05));
      EXPECT_GE(share_beyond(own, width), 0.025);
      largest = std::max(largest, width);
    }
  }
  EXPECT_GT(sums.simultaneous_half_width(0.05), largest);
  EXPECT_ERROR(
      (void)sums.release_half_width({.step = 0, .probability = 0.1, .coordinate = 2 * kWidthSize}),
      "invalid_argument", "coordinate");
}

TEST(HalfWidth, readings_have_intervals_that_hold) {
  for (const WidthNoise& noise : width_noises()) {
    SCOPED_TRACE(noise.name);
    PrefixSumOptions options = noise.options;
    options.grid = PrefixSum(noise.mechanism, noise.options).grid();
    RecordStream totals(Numbers(kWidthSize, 0.95), noise.mechanism, options);
    RecordStream total(Number(0.95), noise.mechanism, options);
    const std::vector<double> nothing(kWidthSize, 0.0);
    for (std::int64_t t = 0; t < kWidthSteps; ++t) {
      const Estimates all = totals.release(nothing);
      EXPECT_LE(share_beyond(all.values, all.half_width), most_beyond(0.05));
      const Estimate one = total.release(0.0);
      const double half = total.sums().release_half_width({.step = t, .probability = 1 - 0.95});
      EXPECT_EQ(one.high, one.value + half);
      EXPECT_EQ(one.low, one.value - half);
      EXPECT_EQ(one.stddev, total.sums().release_stddev(t));
    }
  }
}

TEST(HalfWidth, refuses_what_is_no_probability) {
  for (const WidthNoise& noise : width_noises()) {
    const PrefixSum sums(noise.mechanism, noise.options);
    for (const double bad : {0.0, 1.0, -1.0, std::nan("")}) {
      EXPECT_ERROR((void)sums.release_half_width({.step = 0, .probability = bad}),
                   "invalid_argument", "probability");
      EXPECT_ERROR((void)sums.simultaneous_half_width(bad), "invalid_argument", "probability");
    }
    EXPECT_ERROR((void)sums.release_half_width({.step = kWidthSteps, .probability = 0.1}),
                 "invalid_argument", "step");
    for (const std::int64_t bad : {std::int64_t{-1}, kWidthSteps})
      EXPECT_ERROR((void)sums.release_stddev(bad), "invalid_argument", "step");
    EXPECT_GT(sums.release_half_width({.step = 0, .probability = 1e-290}),
              sums.release_half_width({.step = 0, .probability = 1e-200}));
  }
}

}  // namespace
}  // namespace dpftrl
