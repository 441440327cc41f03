// SPDX-License-Identifier: Apache-2.0
// Bounds on the errors of all steps at once, compared with quantiles computed to 20 digits, with
// sampled noise, and with each other.
#include <cmath>
#include <limits>
#include <random>

#include "catalogue.hpp"
#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "golden/simultaneous_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

SimultaneousError levels_of(const Strategy& strategy, const SimultaneousOptions& options) {
  return simultaneous_error(strategy, Participation::single(), options);
}

SimultaneousError levels_of(std::string_view name, std::int64_t steps,
                            const SimultaneousOptions& options) {
  return levels_of(*testing::make_known(name, steps), options);
}

TEST(SimultaneousError, is_at_least_the_level_with_20_digits_and_hardly_more) {
  for (const auto& known : golden::simultaneous::simultaneous_levels) {
    const SimultaneousError found = levels_of("square-root", known.num_steps,
                                              {.beta = known.beta, .dimension = known.dimension});
    const auto expect_safe = [&](double value, long double exact) {
      EXPECT_GE(value, exact) << known.num_steps << " steps, beta " << known.beta;
      EXPECT_LE(value, exact * (1 + 1e-9L)) << known.num_steps << " steps, beta " << known.beta;
    };
    // A single row has no neighbour, and far in the tail the bound cannot be improved.
    if (!found.uses_correlation) expect_safe(found.value, known.product);
    expect_safe(found.union_bound, known.union_bound);
    if (known.dimension > 1) expect_safe(found.norm, known.norm);
    EXPECT_LE(found.value, static_cast<double>(known.product) * (1 + 1e-9));
  }
}

TEST(SimultaneousError, of_neighbours_is_at_least_its_double_integral_and_hardly_more) {
  for (const auto& known : golden::simultaneous::neighbour_levels) {
    const SimultaneousError found = levels_of("square-root", known.num_steps,
                                              {.beta = known.beta, .dimension = known.dimension});
    EXPECT_TRUE(found.uses_correlation);
    EXPECT_GE(found.value, known.neighbours * (1 - 1e-10L)) << known.num_steps;
    EXPECT_LE(found.value, known.neighbours * 1.001L) << known.num_steps;
  }
}

TEST(SimultaneousError, is_exact_for_rows_that_are_orthogonal) {
  // For B = I, errors are independent with equal variance and sensitivity sqrt(n).
  for (const double beta : {1e-9, 0.05, 0.4})
    for (const std::int64_t dimension : {1, 5}) {
      const SimultaneousError found =
          levels_of("output", 9, {.beta = beta, .dimension = dimension});
      EXPECT_FALSE(found.uses_correlation);
      const double each = -std::expm1(std::log1p(-beta) / (9.0 * static_cast<double>(dimension)));
      EXPECT_NEAR(std::erfc(found.value / 3 / std::sqrt(2.0)) / each, 1, 1e-7);
    }
  // At one step, all bounds equal the quantile.
  const SimultaneousError one = levels_of("square-root", 1, {.beta = 0.05});
  EXPECT_NEAR(one.value, 1.959963984540054, 1e-9);
  EXPECT_NEAR(one.union_bound, 1.959963984540054, 1e-9);
}

TEST(SimultaneousError, grows_with_dimension_and_falls_with_beta_in_every_family) {
  for (const std::int64_t steps : {1, 2, 7, 16})
    for (const testing::Variant& variant : testing::prefix_variants(steps)) {
      const auto strategy = testing::strategy_of(variant);
      const UnitError unit = unit_error(*strategy, Participation::single());
      SimultaneousError last{};
      for (const double beta : {0.5, 0.05, 1e-6, 1e-300}) {
        const SimultaneousError one = levels_of(*strategy, {.beta = beta});
        const SimultaneousError three = levels_of(*strategy, {.beta = beta, .dimension = 3});
        for (const auto member : {&SimultaneousError::value, &SimultaneousError::union_bound,
                                  &SimultaneousError::norm, &SimultaneousError::frobenius}) {
          ASSERT_GT(one.*member, last.*member) << variant.title << ", beta " << beta;
          ASSERT_GT(three.*member, one.*member) << variant.title << ", beta " << beta;
        }
        ASSERT_LE(one.value, one.union_bound * (1 + 1e-9)) << variant.title;
        ASSERT_EQ(one.norm, one.value) << variant.title;
        ASSERT_GE(three.norm, three.value) << variant.title;
        ASSERT_LE(three.norm, std::sqrt(3) * three.union_bound) << variant.title;
        // The bound is at least the quantile of the largest row alone.
        ASSERT_LE(std::erfc(one.value / unit.max_error / std::sqrt(2.0)), beta * (1 + 1e-6));
        const double n = static_cast<double>(steps);
        ASSERT_NEAR(three.frobenius_rms, std::sqrt(3 * n) * unit.mean_error,
                    1e-9 * three.frobenius_rms);
        last = one;
      }
    }
}

TEST(SimultaneousError, is_exceeded_by_noise_no_more_often_than_beta) {
  // More than 530 of 4000 draws exceed a true bound with probability below 5e-10 (Chernoff), so the
  // 15 comparisons give a false alarm with probability below 1e-8, and the seed is fixed.
  constexpr int kDraws = 4000, kMost = 530;
  constexpr double kBeta = 0.1;
  constexpr std::int64_t kSteps = 48, kDimension = 3;
  std::mt19937_64 bits(21);
  std::normal_distribution<double> normal;
  for (const char* name : {"square-root", "tree", "optimal", "output", "independent"}) {
    const auto strategy = testing::make_known(name, kSteps);
    const double scale = unit_error(*strategy, Participation::single()).sensitivity.value;
    const Matrix decoder = strategy->decoder() * scale;
    const SimultaneousError bound = levels_of(*strategy, {.beta = kBeta, .dimension = kDimension});
    int beyond_value = 0, beyond_norm = 0, beyond_frobenius = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const Matrix noise = Matrix::NullaryExpr(decoder.cols(), testing::index_of(kDimension),
                                               [&] { return normal(bits); });
      const Matrix errors = decoder * noise;
      beyond_value += errors.cwiseAbs().maxCoeff() > bound.value ? 1 : 0;
      beyond_norm += errors.rowwise().norm().maxCoeff() > bound.norm ? 1 : 0;
      beyond_frobenius += errors.norm() > bound.frobenius ? 1 : 0;
    }
    for (const int beyond : {beyond_value, beyond_norm, beyond_frobenius})
      EXPECT_LE(beyond, kMost) << name;
    EXPECT_GE(beyond_value, 20) << name << ": so loose a bound would pass unseen";
  }
}

TEST(SimultaneousError, frobenius_bound_is_that_of_the_best_exponent_and_above_exact_quantiles) {
  for (const auto& known : golden::simultaneous::equal_weights) {
    const SimultaneousError found =
        levels_of("output", known.num_steps, {.beta = known.beta, .dimension = known.dimension});
    const double square =
        found.frobenius * found.frobenius / static_cast<double>(known.num_steps);  // sensitivity
    EXPECT_GE(square, known.quantile);
    const double degrees = static_cast<double>(known.num_steps * known.dimension);
    const double x = -std::log(known.beta);
    EXPECT_LE(square, degrees + 2 * std::sqrt(degrees * x) + 2 * x) << "Laurent and Massart";
    // At this level, the exponent of the chi-square tail is ln beta.
    const double y = square / degrees;
    EXPECT_NEAR(degrees / 2 * (y - 1 - std::log(y)), x, 1e-4 * x);
  }
}

TEST(SimultaneousError, frobenius_bound_is_below_that_of_laurent_and_massart) {
  for (const char* name : {"square-root", "tree", "optimal", "haar", "independent"}) {
    const auto strategy = testing::make_known(name, 64);
    const Matrix decoder = strategy->decoder();
    const Vector weights = testing::symmetric_eigen(decoder * decoder.transpose()).values;
    const double scale = unit_error(*strategy, Participation::single()).sensitivity.value;
    for (const double beta : {0.5, 0.05, 1e-9})
      for (const std::int64_t dimension : {1, 10}) {
        const double d = static_cast<double>(dimension), x = -std::log(beta);
        const double largest = weights.maxCoeff(), sum = weights.sum();
        // Using |B B^T| in place of B B^T increases the largest eigenvalue of trees with both
        // signs.
        const double known = d * sum + 2 * std::sqrt(d * x) * weights.norm() + 2 * x * largest;
        const SimultaneousError found =
            levels_of(*strategy, {.beta = beta, .dimension = dimension});
        const double square = found.frobenius * found.frobenius / (scale * scale);
        EXPECT_LE(square, known * 1.1) << name << ", beta " << beta;
        // The best exponent for these weights is no better than the stated bound allows.
        double best = std::numeric_limits<double>::infinity();
        for (double u = 0.001; u < 1; u += 0.001) {
          const double exponent = -d / 2 * (1 - u * weights.array() / largest).log().sum();
          best = std::min(best, (x + exponent) * 2 * largest / u);
        }
        EXPECT_GE(square, best * (1 - 1e-5)) << name << ", beta " << beta;
      }
  }
}

TEST(SimultaneousError, has_bounds_at_every_horizon_and_workload) {
  const SimultaneousOptions options{.beta = 0.05, .dimension = 2};
  double last = 0;
  for (const std::int64_t steps : {1000, 5000, 2000000}) {
    const SimultaneousError found = levels_of("square-root", steps, options);
    EXPECT_EQ(found.uses_correlation, steps < 1000000);
    EXPECT_GT(found.value, last);
    EXPECT_LE(found.value, found.union_bound * (1 + 1e-9));
    EXPECT_GE(found.frobenius, found.frobenius_rms);
    last = found.value;
  }
  for (const testing::Variant& variant : testing::workload_variants(8)) {
    const SimultaneousError found = levels_of(*testing::strategy_of(variant), options);
    ASSERT_GT(found.value, 0) << variant.title;
    ASSERT_LE(found.value, found.union_bound * (1 + 1e-9)) << variant.title;
    ASSERT_GE(found.frobenius, found.frobenius_rms) << variant.title;
  }
}

TEST(SimultaneousError, bad_input_is_refused_by_name) {
  const auto strategy = testing::make_known("tree", 4);
  for (const double beta : {0.0, 1.0, -0.1, 2.0, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()})
    EXPECT_ERROR(levels_of(*strategy, {.beta = beta}), "invalid_argument", "beta must be");
  for (const std::int64_t dimension : {std::int64_t{0}, std::int64_t{-1}, kMaxDimension + 1})
    EXPECT_ERROR(levels_of(*strategy, {.beta = 0.05, .dimension = dimension}), "invalid_argument",
                 "dimension must be");
}

}  // namespace
}  // namespace dpftrl
