// SPDX-License-Identifier: Apache-2.0
// Noise for sums of gradients that the caller keeps: sums of the results equal the releases of
// PrefixSum.
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "catalogue.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;

constexpr std::int64_t kGradientSteps = 23, kGradientWidth = 3;

GradientNoiseOptions gradient_options(
    const std::string& strategy, const StrategyParameters& parameters = {},
    const Participation& participation = Participation::single()) {
  return {.mechanism = {.strategy = strategy,
                        .steps = kGradientSteps,
                        .target = {.epsilon = 1, .delta = 1e-6},
                        .clip = 2,
                        .participation = participation,
                        .parameters = parameters},
          .key = Key::insecure_from_seed(91),
          .dimension = kGradientWidth};
}

/// Random gradient on a grid, with at most the given norm.
std::vector<double> gradient(std::mt19937_64& bits, double grid, double norm) {
  std::vector<double> values(kGradientWidth);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& x : values) x = std::trunc(uniform(bits) * norm / 2 / grid) * grid;
  return values;
}

TEST(GradientNoise, sums_of_the_results_are_the_releases_bit_for_bit) {
  for (const testing::Variant& variant : testing::prefix_variants(kGradientSteps)) {
    if (variant.options.name == "independent" || variant.options.name == "lambda-cgd" ||
        variant.options.name == "banded-inverse-square-root")
      if (!variant.options.parameters.normalize_columns && !variant.options.parameters.epoch_length)
        continue;  // their rows are rounded separately
    GradientNoise noise(gradient_options(variant.options.name, variant.options.parameters,
                                         variant.options.participation));
    const auto mechanism = Mechanism::make({.strategy = variant.options.name,
                                            .steps = kGradientSteps,
                                            .target = {.epsilon = 1, .delta = 1e-6},
                                            .clip = noise.mechanism().clip(),
                                            .participation = variant.options.participation,
                                            .parameters = variant.options.parameters});
    ASSERT_EQ(mechanism->noise_stddev(), noise.mechanism().noise_stddev()) << variant.title;
    PrefixSum sums(
        mechanism,
        {.key = Key::insecure_from_seed(91), .dimension = kGradientWidth, .grid = noise.grid()});
    std::mt19937_64 bits(7);
    std::vector<double> total(kGradientWidth), release(kGradientWidth);
    for (std::int64_t step = 0; step < kGradientSteps; ++step) {
      std::vector<double> values = gradient(bits, noise.grid(), 2);
      sums.release(values, release);
      noise.add_noise_to(values, step);
      for (std::size_t i = 0; i < kGradientWidth; ++i) total[i] += values[i];
      ASSERT_EQ(total, release) << variant.title << ", step " << step;
    }
  }
}

TEST(GradientNoise, of_few_bands_sums_of_the_results_are_within_a_unit_a_step_of_the_releases) {
  for (const char* family : {"independent", "lambda-cgd", "banded-inverse-square-root"}) {
    StrategyParameters parameters;
    if (std::string(family) == "lambda-cgd") parameters.lambda = 0.5;
    GradientNoiseOptions how = gradient_options(family, parameters);
    how.grid = 0.5;  // coarse, so that rounding makes a difference
    GradientNoise noise(how);
    const auto mechanism = noise.mechanism().with_clip(noise.mechanism().clip());
    PrefixSum sums(mechanism, {.key = how.key, .dimension = kGradientWidth, .grid = noise.grid()});
    std::vector<double> total(kGradientWidth), release(kGradientWidth);
    double largest = 0;
    for (std::int64_t step = 0; step < kGradientSteps; ++step) {
      std::vector<double> values(kGradientWidth);
      sums.release(values, release);
      noise.add_noise_to(values, step);
      for (std::size_t i = 0; i < kGradientWidth; ++i) {
        total[i] += values[i];
        const double off = std::abs(total[i] - release[i]) / noise.grid();
        ASSERT_LE(off, static_cast<double>(step + 1)) << family << ", step " << step;
        largest = std::max(largest, off);
      }
    }
    EXPECT_GT(largest, 0) << family;
  }
}

TEST(GradientNoise, no_two_sums_have_the_same_noise_unless_it_goes_back) {
  GradientNoise noise(gradient_options("tree"));
  std::vector<double> first(kGradientWidth), second(kGradientWidth, 1.0);
  noise.add_noise_to(first, 0);
  std::vector<double> refused = second;
  EXPECT_ERROR(noise.add_noise_to(refused, 0), "already_released", "step must be at least 1");
  EXPECT_EQ(refused, second);
  noise.noise().seek(0);
  noise.add_noise_to(second, 0);
  for (std::size_t i = 0; i < kGradientWidth; ++i) EXPECT_EQ(second[i] - first[i], 1);
}

TEST(GradientNoise, the_norm_covers_what_truncating_a_sum_adds) {
  // Whatever else the sum contains, two sums that differ by at most the promised norm differ in
  // integers by at most the norm that the noise is calibrated for; the promised norm itself would
  // be too small.
  for (const std::optional<double> grid : {std::optional<double>(), std::optional(0.25)}) {
    GradientNoiseOptions how = gradient_options("tree");
    how.grid = grid;
    GradientNoise noise(how), other(how);
    std::mt19937_64 bits(8);
    std::normal_distribution<double> normal;
    double largest = 0;
    for (int i = 0; i < 2000; ++i) {
      const std::int64_t step = i % kGradientSteps;
      noise.noise().seek(step);
      other.noise().seek(step);
      std::vector<double> sum(kGradientWidth), with(kGradientWidth), direction(kGradientWidth);
      double norm = 0;
      for (double& x : direction) norm += std::pow(x = normal(bits), 2);
      for (std::size_t k = 0; k < kGradientWidth; ++k) {
        const double aligned = i % 2 == 0 ? 2 / std::sqrt(3.0) : 2 * direction[k] / std::sqrt(norm);
        sum[k] = i % 2 == 0 ? noise.grid() * 0.999 - 2 * aligned * (i % 3) : 10 * normal(bits);
        with[k] = sum[k] + aligned * (1 - 1e-12);
      }
      noise.add_noise_to(sum, step);
      other.add_noise_to(with, step);
      double squared = 0;
      for (std::size_t k = 0; k < kGradientWidth; ++k) squared += std::pow(with[k] - sum[k], 2);
      largest = std::max(largest, std::sqrt(squared));
    }
    EXPECT_LE(largest, noise.mechanism().clip());
    EXPECT_GT(largest, noise.clip());
    EXPECT_EQ(noise.clip(), 2);
    EXPECT_NEAR(noise.mechanism().clip(), 2 + std::sqrt(3.0) * noise.grid(), 1e-12);
    if (!grid) {
      EXPECT_LE(noise.mechanism().clip(), 2 * (1 + 0x1p-10) * (1 + 1e-15));
    }
  }
}

TEST(GradientNoise, steps_may_be_left_out_and_none_is_given_twice) {
  GradientNoise noise(gradient_options("blt-rational")), other(gradient_options("blt-rational"));
  std::vector<double> sum{1, 2, 3}, same = sum;
  for (std::int64_t step = 0; step <= 5; ++step) {
    sum = {1, 2, 3};
    noise.add_noise_to(sum, step);
  }
  other.add_noise_to(same, 5);
  EXPECT_EQ(same, sum);
  EXPECT_EQ(other.noise().step(), 6);
  for (const std::int64_t step : {0, 4, 5})
    EXPECT_ERROR(other.add_noise_to(same, step), "already_released",
                 "step must be at least 6: two sums with the same noise show their difference");
  EXPECT_EQ(same, sum);
}

TEST(GradientNoise, bad_sums_are_refused_and_change_nothing) {
  GradientNoise noise(gradient_options("tree")), other(gradient_options("tree"));
  std::vector<double> sum{1, 2, 3}, expected = sum;
  EXPECT_ERROR(noise.add_noise_to(std::span(sum).first(2), 0), "wrong_length", "sum");
  EXPECT_ERROR(noise.add_noise_to(sum, kGradientSteps), "past_horizon",
               "step must be below the horizon 23, got 23");
  EXPECT_ERROR(noise.add_noise_to(sum, -1), "already_released", "step must be at least 0");
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    std::vector<double> values{1, bad, 3};
    EXPECT_ERROR(noise.add_noise_to(values, 0), "invalid_argument", "sum");
    EXPECT_EQ(values[0], 1);
  }
  for (const double sign : {-1, 1}) {
    std::vector<double> values{1, 2, sign * noise.grid() * 0x1.0000001p52};
    EXPECT_ERROR(noise.add_noise_to(values, 0), "invalid_argument",
                 "sum must be at most 2^52 grids");
    EXPECT_EQ(values[0], 1);
    values[2] = sign * noise.grid() * 0x1p52;
    GradientNoise(gradient_options("tree")).add_noise_to(values, 0);
  }
  EXPECT_EQ(noise.noise().step(), 0);
  noise.add_noise_to(sum, 0);
  other.add_noise_to(expected, 0);
  EXPECT_EQ(sum, expected);
}

TEST(GradientNoise, bad_options_are_refused) {
  const auto with_grid = [](double grid) {
    GradientNoiseOptions how = gradient_options("tree");
    how.grid = grid;
    return how;
  };
  EXPECT_ERROR(GradientNoise(with_grid(0.3)), "invalid_argument",
               "gradient_noise: grid must be a power of two");
  EXPECT_ERROR(GradientNoise(with_grid(4)), "invalid_argument", "grid must be at most clip = 2");
  EXPECT_ERROR(GradientNoise(with_grid(0x1p-60)), "invalid_argument", "grid must be coarse enough");
  GradientNoiseOptions wrong = gradient_options("tree");
  wrong.dimension = 0;
  EXPECT_ERROR(GradientNoise{wrong}, "invalid_argument", "dimension");
  wrong = gradient_options("independent");
  wrong.mechanism.workload = Workload::momentum({kGradientSteps, 0.9, 1});
  EXPECT_ERROR(GradientNoise{wrong}, "unsupported", "for prefix sums");
  wrong = gradient_options("tree");
  wrong.mechanism.clip = 0;
  EXPECT_ERROR(GradientNoise{wrong}, "invalid_argument", "clip");
}

}  // namespace
}  // namespace dpftrl
