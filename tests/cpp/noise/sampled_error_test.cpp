// SPDX-License-Identifier: Apache-2.0
// Levels from sampled streams, compared with exact binomial counts, exact tails, and bounds.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "catalogue.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "golden/simultaneous_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

std::optional<double> level_of(const Strategy& strategy, const SampledErrorOptions& options) {
  return sampled_error(strategy, Participation::single(), options);
}

/// Largest errors of streams of one coordinate, computed with the matrix B, in descending order.
std::vector<double> sampled_paths(const Strategy& strategy, std::int64_t num_paths,
                                  std::uint64_t seed) {
  const Matrix noise = noise_matrix({.key = Key::insecure_from_seed(seed), .dimension = num_paths},
                                    strategy.num_measurements());
  const Matrix errors = strategy.decoder() * noise;
  std::vector<double> largest;
  for (Eigen::Index i = 0; i < errors.cols(); ++i)
    largest.push_back(errors.col(i).cwiseAbs().maxCoeff());
  std::ranges::sort(largest, std::greater<>());
  return largest;
}

TEST(SampledError, is_the_path_that_the_exact_binomial_law_allows) {
  const auto strategy = testing::make_known("square-root", 1);
  for (const auto& known : golden::simultaneous::binomial_counts) {
    if (!testing::is_full_size() && known.num_paths > 100000) continue;
    const std::optional<double> found =
        level_of(*strategy, {.beta = known.beta, .num_paths = known.num_paths});
    ASSERT_EQ(found.has_value(), known.above >= 0) << known.num_paths;
    if (!found) continue;
    const std::vector<double> paths = sampled_paths(*strategy, known.num_paths, 0);
    const auto at = static_cast<std::size_t>(known.above);
    EXPECT_GE(*found, paths[at]) << known.num_paths;
    // Rounding up may cost one path.
    EXPECT_LE(*found, paths[at > 0 ? at - 1 : 0] * (1 + 1e-9)) << known.num_paths;
  }
}

TEST(SampledError, is_that_of_the_matrices_in_every_family_and_workload) {
  // A level that 20 of 1000 paths exceed is proved for beta = 0.05 (binomial_counts).
  const auto expect_path = [](const testing::Variant& variant) {
    const auto strategy = testing::strategy_of(variant);
    const double scale = unit_error(*strategy, Participation::single()).sensitivity.value;
    const double exact = sampled_paths(*strategy, 1000, 7)[20] * scale;
    const std::optional<double> found =
        level_of(*strategy, {.beta = 0.05, .num_paths = 1000, .seed = 7});
    ASSERT_TRUE(found.has_value()) << variant.title;
    ASSERT_NEAR(*found / exact, 1, 1e-8) << variant.title;
  };
  for (const std::int64_t steps : {1, 2, 7})
    for (const testing::Variant& variant : testing::prefix_variants(steps)) expect_path(variant);
  for (const testing::Variant& variant : testing::workload_variants(8)) expect_path(variant);
}

TEST(SampledError, is_exceeded_by_orthogonal_rows_no_more_often_than_beta) {
  // For four independent errors of standard deviation 2, the probability of exceeding a level is
  // known. 40 seeds give a false alarm with probability below 4e-5.
  const auto strategy = testing::make_known("output", 4);
  const auto beyond = [](double level) {
    return -std::expm1(4 * std::log1p(-std::erfc(level / 2 / std::sqrt(2.0))));
  };
  int too_low_without_proof = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::optional<double> level =
        level_of(*strategy, {.beta = 0.1, .num_paths = 1000, .seed = seed});
    EXPECT_LE(beyond(level.value()), 0.1) << seed;
    EXPECT_GE(beyond(level.value()), 0.02) << seed;
    too_low_without_proof += beyond(2 * sampled_paths(*strategy, 1000, seed)[100]) > 0.1 ? 1 : 0;
  }
  EXPECT_GE(too_low_without_proof, 10) << "a wrong order statistic would pass unseen";
}

TEST(SampledError, of_many_entries_is_that_of_one_with_a_smaller_beta) {
  const auto strategy = testing::make_known("tree", 16);
  const double beta = -std::expm1(10 * std::log1p(-0.01));
  EXPECT_EQ(level_of(*strategy, {.beta = beta * (1 + 1e-13), .dimension = 10, .num_paths = 3000}),
            level_of(*strategy, {.beta = 0.01, .num_paths = 3000}));
  EXPECT_FALSE(level_of(*strategy, {.beta = 0.01, .dimension = 10, .num_paths = 3000}));
}

TEST(SampledError, is_drawn_again_from_its_seed_in_blocks_of_any_size) {
  const auto strategy = testing::make_known("square-root", 8192);  // 512 streams at once
  const SampledErrorOptions options{.beta = 0.5, .num_paths = 600, .seed = 3};
  EXPECT_EQ(level_of(*strategy, options), level_of(*strategy, options));
  EXPECT_NE(level_of(*strategy, options),
            level_of(*strategy, {.beta = 0.5, .num_paths = 600, .seed = 4}));
}

TEST(SampledError, is_below_the_proved_level_and_that_of_the_note_at_1024_steps) {
  // 1024 steps would take a minute under sanitizers, and give the same result in WebAssembly.
  const std::int64_t steps = testing::is_full_size() ? 1024 : 64;
  const auto strategy = testing::make_known("square-root", steps);
  const double level = level_of(*strategy, {.beta = 0.05}).value();
  EXPECT_LT(level, simultaneous_error(*strategy, Participation::single(), {.beta = 0.05}).value);
  if (steps == 1024) {
    // 6.879 is the level from one seed, and other seeds differ by 0.01; 10^5 streams give 6.79.
    const double scale = unit_error(*strategy, Participation::single()).sensitivity.value;
    EXPECT_NEAR(level / scale, 6.879, 0.04);
  }
}

TEST(SampledError, bad_input_is_refused_by_name) {
  const auto strategy = testing::make_known("tree", 4);
  for (const double beta : {0.0, 1.0, -0.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_ERROR(level_of(*strategy, {.beta = beta}), "invalid_argument", "beta must be");
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, kMaxDimension + 1}) {
    EXPECT_ERROR(level_of(*strategy, {.beta = 0.05, .dimension = number}), "invalid_argument",
                 "dimension must be");
    EXPECT_ERROR(level_of(*strategy, {.beta = 0.05, .num_paths = number}), "invalid_argument",
                 "num_paths must be");
  }
  const auto long_one = testing::make_known("tree", std::int64_t{1} << 30);
  EXPECT_ERROR(level_of(*long_one, {.beta = 0.05}), "unsupported",
               "num_paths must be at most 8 at so many steps");
}

}  // namespace
}  // namespace dpftrl
