// SPDX-License-Identifier: Apache-2.0
#include "strategy/offset_ar.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "dense_algebra.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "golden/active_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using OffsetArParameters = OffsetArStrategy::Parameters;
using testing::index_of;

constexpr std::array<OffsetArParameters, 5> kOffsetArCases = {
    {{0, 0}, {0, 0.25}, {0.328125, 0.2822265625}, {0.6875, 0}, {0.96875, 3}}};

Matrix offset_ar_covariance(std::int64_t n, const OffsetArParameters& parameters) {
  return Matrix::NullaryExpr(index_of(n), index_of(n), [&](Eigen::Index i, Eigen::Index j) {
    return std::pow(parameters.theta, std::abs(i - j)) + parameters.offset;
  });
}

template <class Row>
ActivePattern pattern_of(const Row& row, Neighbours neighbours) {
  return {.window = row.window, .has_open_start = row.is_open, .neighbours = neighbours};
}

/// Std of a release for epsilon 1 and delta 1e-6.
double usual_std(double norm_squared, double offset) {
  return std::sqrt(norm_squared * (1 + offset)) * noise_multiplier({.epsilon = 1, .delta = 1e-6});
}

double least_std(std::int64_t steps, const ActivePattern& pattern) {
  const OffsetArParameters best = best_offset_ar(steps, pattern);
  const double distance = neighbour_distance(pattern.neighbours);
  const double norm = OffsetArStrategy(steps, best).active_norm_squared(pattern)->squared;
  return usual_std(norm * distance * distance, best.offset);
}

TEST(OffsetAr, norms_and_factors_are_those_of_the_covariance) {
  for (const std::int64_t n : {1, 2, 3, 7, 16})
    for (const OffsetArParameters& parameters : kOffsetArCases) {
      const OffsetArStrategy strategy(n, parameters);
      const Matrix sigma = offset_ar_covariance(n, parameters), sums = strategy.workload().matrix();
      const Matrix encoder = strategy.encoder(), decoder = strategy.decoder();
      ASSERT_EQ(encoder.rows(), strategy.num_measurements());
      EXPECT_LT((decoder * encoder - sums).cwiseAbs().maxCoeff(), 1e-11) << n;
      EXPECT_LT((decoder * decoder.transpose() - sigma).cwiseAbs().maxCoeff(), 1e-14) << n;
      const Matrix gram = sums.transpose() * testing::inverse(sigma) * sums;
      EXPECT_LT((encoder.transpose() * encoder - gram).cwiseAbs().maxCoeff(), 1e-10) << n;
      double largest = 0;
      for (std::int64_t t = 0; t < n; ++t) {
        const double column = strategy.column_norm_squared(t);
        EXPECT_NEAR(column, gram(index_of(t), index_of(t)), 1e-11) << n;
        EXPECT_NEAR(strategy.row_norm_squared(t), sigma(0, 0), 1e-15);
        largest = std::max(largest, column);
      }
      EXPECT_NEAR(strategy.max_column_norm_squared(), largest, 1e-13 * largest) << n;
      EXPECT_EQ(strategy.row_norms().max_squared, strategy.row_norms().min_squared);
    }
}

TEST(OffsetAr, the_sensitivity_is_that_of_all_patterns) {
  for (const auto& row : golden::active::brute_force) {
    ActivePattern pattern = pattern_of(row, Neighbours::zero_out);
    if (row.runs > 0) pattern.runs = row.runs;
    const OffsetArStrategy strategy(row.n, {row.theta, row.offset});
    const auto norm = strategy.active_norm_squared(pattern);
    ASSERT_TRUE(norm.has_value() && norm->is_exact);
    EXPECT_GE(norm->squared, row.squared);
    EXPECT_LE(norm->squared, row.squared * (1 + 1e-12))
        << row.n << " steps, window " << row.window << ", runs " << row.runs;
  }
}

TEST(OffsetAr, the_sensitivity_is_that_of_exact_fractions_at_long_horizons) {
  for (const auto& row : golden::active::closed) {
    ActivePattern pattern = pattern_of(row, Neighbours::zero_out);
    if (row.runs > 0) pattern.runs = row.runs;
    const double squared =
        OffsetArStrategy(row.n, {row.theta, row.offset}).active_norm_squared(pattern)->squared;
    EXPECT_GE(std::sqrt(squared), row.sensitivity);
    EXPECT_LE(std::sqrt(squared), row.sensitivity * (1 + 1e-14));
    EXPECT_NEAR(usual_std(squared, row.offset), row.std, 1e-6);
  }
}

TEST(OffsetAr, replaced_people_differ_by_the_longest_difference) {
  for (const auto& row : golden::active::replacement) {
    const ActivePattern pattern = pattern_of(row, Neighbours::replace_one);
    const auto norm = OffsetArStrategy(row.n, {row.theta, 0}).active_norm_squared(pattern);
    EXPECT_TRUE(norm->is_exact);
    EXPECT_GE(4 * norm->squared, row.squared);
    EXPECT_LE(4 * norm->squared, row.squared * (1 + 1e-12));
    EXPECT_NEAR(usual_std(4 * norm->squared, 0), row.std, 1e-6);

    // With an offset, which enlarges the noise, or a cap, which excludes differences, the norm is
    // an upper bound.
    const auto shifted = OffsetArStrategy(row.n, {row.theta, 0.5}).active_norm_squared(pattern);
    EXPECT_FALSE(shifted->is_exact);
    EXPECT_LE(shifted->squared, norm->squared);
    ActivePattern once = pattern;
    once.runs = 1;
    const auto capped = OffsetArStrategy(row.n, {row.theta, 0}).active_norm_squared(once);
    EXPECT_FALSE(capped->is_exact);
    EXPECT_LE(capped->squared, norm->squared);
    once.neighbours = Neighbours::zero_out;
    EXPECT_GE(capped->squared * 4 * (1 + 1e-14),
              OffsetArStrategy(row.n, {row.theta, 0}).active_norm_squared(once)->squared);
  }
}

TEST(OffsetAr, a_window_too_many_for_the_phases_of_two_people_is_bounded_by_twice_removal) {
  const ActivePattern pattern{.window = 365, .neighbours = Neighbours::replace_one};
  ActivePattern removal = pattern;
  removal.neighbours = Neighbours::zero_out;
  const OffsetArStrategy strategy(365, {0.5, 0});
  EXPECT_FALSE(strategy.active_norm_squared(pattern)->is_exact);
  EXPECT_EQ(strategy.active_norm_squared(pattern)->squared,
            strategy.active_norm_squared(removal)->squared);
}

TEST(OffsetAr, a_year_of_active_people_has_these_errors) {
  EXPECT_LE(least_std(365, {.window = 1}), 42.47);
  EXPECT_LE(least_std(365, {.window = 7}), 37.37);
  EXPECT_LE(least_std(365, {.window = 30}), 28.49);
  EXPECT_LE(least_std(365, {.window = 90}), 23.38);
  EXPECT_LE(least_std(365, {.window = 7, .has_open_start = false}), 37.32);
  EXPECT_LE(least_std(365, {.window = 30, .has_open_start = false}), 28.20);
  EXPECT_LE(least_std(365, {.window = 90, .has_open_start = false}), 22.81);
  EXPECT_LE(least_std(365, {.window = 30, .runs = 4, .has_open_start = false}), 24.04);
  EXPECT_LE(least_std(365, {.window = 7, .neighbours = Neighbours::replace_one}), 67.65);
  EXPECT_LE(least_std(365, {.window = 30, .neighbours = Neighbours::replace_one}), 49.52);
  // No Gaussian noise is better for single days (docs/math/active.md, theorem 6).
  const double floor = usual_std(std::pow((1 + std::sqrt(361.0)) / 2, 2), 0);
  EXPECT_GE(least_std(361, {.window = 1}), floor);
  EXPECT_LE(least_std(361, {.window = 1}), floor * (1 + 1e-6));
}

TEST(OffsetAr, no_parameters_near_the_best_ones_are_better) {
  for (const std::int64_t window : {1, 7, 30}) {
    const ActivePattern pattern{.window = window};
    const OffsetArParameters best = best_offset_ar(100, pattern);
    const auto error = [&](const OffsetArParameters& parameters) {
      return OffsetArStrategy(100, parameters).active_norm_squared(pattern)->squared *
             (1 + parameters.offset);
    };
    for (const double theta : {-1.0, 0.0, 1.0})
      for (const double offset : {-1.0, 0.0, 1.0}) {
        const OffsetArParameters other{best.theta + theta * OffsetArStrategy::kThetaUnit,
                                       best.offset + offset * OffsetArStrategy::kOffsetUnit};
        if (other.theta < 0) continue;
        EXPECT_GE(error(other), error(best)) << window << ": " << theta << ", " << offset;
      }
  }
}

TEST(OffsetAr, is_made_by_name_and_not_listed) {
  const auto made = make_strategy(
      {.name = "offset-ar", .steps = 365, .participation = Participation::active({.window = 30})});
  EXPECT_EQ(made->name(), "offset-ar");
  const OffsetArParameters best = best_offset_ar(365, {.window = 30});
  EXPECT_EQ(made->parameters()[0].values, std::vector<double>{best.theta});
  EXPECT_EQ(made->parameters()[1].values, std::vector<double>{best.offset});
  for (const StrategyInfo& info : strategy_catalogue()) EXPECT_NE(info.name, "offset-ar");
  // A single participation counts until the end, like one window of 20 days without an open start.
  const auto single = make_strategy({.name = "offset-ar", .steps = 20});
  const auto& strategy = dynamic_cast<const OffsetArStrategy&>(*single);
  EXPECT_EQ(strategy.max_column_norm_squared(),
            strategy.active_norm_squared({.window = 20, .has_open_start = false})->squared);
}

TEST(OffsetAr, wrong_parameters_are_refused) {
  const auto make = [](std::int64_t steps, double theta, double offset) {
    return OffsetArStrategy(steps, {theta, offset});
  };
  EXPECT_ERROR(make(0, 0, 0), "invalid_argument", "steps must be between 1 and 16384, got 0");
  EXPECT_ERROR(make(16385, 0, 0), "invalid_argument", "steps must be between 1 and 16384");
  EXPECT_ERROR(make(4, 1, 0), "invalid_argument",
               "offset-ar: theta must be a multiple of 1/1024 between 0 and");
  EXPECT_ERROR(make(4, -0.5, 0), "invalid_argument", "theta must be a multiple");
  EXPECT_ERROR(make(4, 0.1, 0), "invalid_argument", "theta must be a multiple");
  EXPECT_ERROR(make(4, 0, 16.5), "invalid_argument",
               "offset-ar: offset must be a multiple of 1/16384 between 0 and 16, got 16.5");
  EXPECT_ERROR(make(4, 0, std::numeric_limits<double>::quiet_NaN()), "invalid_argument",
               "offset must be a multiple");
  EXPECT_ERROR(make_strategy({.name = "offset-ar", .steps = 20000}), "invalid_argument",
               "steps must be between 1 and 16384");
}

}  // namespace
}  // namespace dpftrl
