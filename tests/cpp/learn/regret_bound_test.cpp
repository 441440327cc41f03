// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/regret.hpp"

#include <limits>
#include <random>

#include "dense_algebra.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "learn/random_data.hpp"
#include "learn/rules/ftrl.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;
using testing::random_unit;
using testing::span_of;

std::vector<RegretSetting> settings() {
  std::vector<RegretSetting> all;
  for (const std::int64_t n : {1, 7, 1000})
    for (const double noise : {0.0, 0.3, 40.0})
      all.push_back(
          {.steps = n, .gradient_bound = 0.7, .radius = 3, .dimension = 5, .release_noise = noise});
  return all;
}

TEST(RegretTheorem, theorem_lambda_minimises_the_bound) {
  for (const RegretSetting& setting : settings()) {
    const double best = theorem_lambda(setting);
    const double least = regret_bound(setting, best).total();
    for (double factor = 0.25; factor <= 4; factor *= 1.05)
      EXPECT_GE(regret_bound(setting, best * factor).total(), least * (1 - 1e-14));
    EXPECT_GT(regret_bound(setting, best * 1.01).total(), least);
    EXPECT_GT(regret_bound(setting, best / 1.01).total(), least);
    const double n = static_cast<double>(setting.steps);
    const double closed_form = setting.gradient_bound * setting.radius / std::sqrt(n) *
                               std::sqrt(1 + 2 * std::sqrt(5.0) * setting.release_noise);
    EXPECT_TRUE(testing::relatively_close(least, closed_form, 1e-14));
  }
}

TEST(RegretTheorem, release_noise_is_the_root_mean_square_of_the_release_stddev) {
  for (const char* strategy : {"independent", "output", "tree", "honaker", "square-root"})
    for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
      const auto mechanism = Mechanism::make({.strategy = strategy,
                                              .steps = 100,
                                              .target = {.epsilon = 0.8, .delta = 1e-5},
                                              .clip = 2.5,
                                              .neighbours = neighbours});
      double mean_square = 0;
      for (std::int64_t t = 0; t < 100; ++t)
        mean_square += std::pow(mechanism->release_stddev(t), 2) / 100;
      const RegretSetting setting = regret_setting(mechanism->certificate(), 3, 2);
      EXPECT_EQ(setting.steps, 100);
      EXPECT_EQ(setting.gradient_bound, 2.5);
      EXPECT_EQ(setting.dimension, 3);
      EXPECT_EQ(setting.radius, 2);
      EXPECT_TRUE(testing::relatively_close(setting.gradient_bound * setting.release_noise,
                                            std::sqrt(mean_square), 1e-10))
          << strategy;
    }
}

/// Largest average regret of FTRL on given linear losses <g_t, w>, over comparators of norm <= 1.
double linear_regret(const std::vector<Vector>& gradients, double lambda, const char* domain) {
  const Eigen::Index dimension = gradients.front().size();
  Ftrl ftrl(
      {.dimension = dimension, .lambda = lambda, .domain = make_domain(domain, 1), .start = {}});
  Vector sum = Vector::Zero(dimension);
  double loss = 0;
  for (const Vector& gradient : gradients) {
    loss += gradient.dot(ftrl.iterate());
    sum += gradient;
    ftrl.update(span_of(sum));
  }
  return (loss + sum.norm()) / static_cast<double>(gradients.size());
}

TEST(RegretTheorem, without_noise_the_bound_holds_for_every_sequence_and_is_nearly_attained) {
  std::mt19937_64 generator(3);
  for (const char* domain : {"ball", "whole-space"}) {
    double worst = 0;
    for (const std::int64_t n : {1, 2, 7, 64, 400}) {
      const RegretSetting setting = {
          .steps = n, .gradient_bound = 1, .radius = 1, .dimension = 3, .release_noise = 0};
      const double lambda = theorem_lambda(setting);
      for (int kind = 0; kind < 4; ++kind) {
        std::vector<Vector> gradients;
        Vector sum = Vector::Zero(3);
        for (std::int64_t t = 0; t < n; ++t) {
          const Vector fixed = Vector::Unit(3, 0);
          Vector gradient = random_unit(generator, 3);
          if (kind == 1) gradient = fixed;
          if (kind == 2) gradient = t % 2 == 0 ? fixed : Vector(-fixed);
          // Orthogonal to the sum so far, whose norm is then sqrt(t); the bound is tight for these
          // gradients.
          if (kind == 3 && t > 0)
            gradient = (Vector(3) << -sum(1), sum(0), 0).finished() / sum.norm();
          if (kind == 3 && t == 0) gradient = fixed;
          sum += gradient;
          gradients.push_back(gradient);
        }
        const double share =
            linear_regret(gradients, lambda, domain) / regret_bound(setting, lambda).total();
        EXPECT_LE(share, 1 + 1e-12) << domain << " n=" << n << " kind=" << kind;
        if (n >= 64) worst = std::max(worst, share);
      }
    }
    EXPECT_GT(worst, 0.99);  // would catch a bound a hundredth smaller
  }
}

TEST(RegretTheorem, terms_are_separate_and_add_up) {
  const RegretSetting setting = {
      .steps = 100, .gradient_bound = 2, .radius = 3, .dimension = 4, .release_noise = 5};
  const RegretBound bound = regret_bound(setting, 10);
  EXPECT_DOUBLE_EQ(bound.regularisation, 10 * 9 / 200.0);
  EXPECT_DOUBLE_EQ(bound.stability, 4 / 20.0);
  EXPECT_DOUBLE_EQ(bound.noise, 4 / 10.0 * 2 * 5);
  EXPECT_DOUBLE_EQ(bound.total(), bound.regularisation + bound.stability + bound.noise);
}

TEST(RegretTheorem, holds_without_noise_for_every_domain_lambda_and_sequence) {
  std::mt19937_64 generator(8);
  for (const char* name : {"box", "simplex", "simplex-entropic"})
    for (const Eigen::Index dimension : {2, 5})
      for (const bool doubling : {false, true})
        for (const std::int64_t n : {1, 2, 7, 100}) {
          const std::shared_ptr<const Domain> domain = make_domain(name, 0.8);
          const RegretSetting setting = {.steps = n,
                                         .gradient_bound = 1,
                                         .radius = domain->diameter(dimension).value(),
                                         .dimension = dimension,
                                         .release_noise = 0,
                                         .regulariser = domain->regulariser()};
          const double lambda = theorem_lambda(setting) * (doubling ? 1 / std::sqrt(n) : 1);
          Ftrl ftrl(
              {.dimension = dimension, .lambda = lambda, .domain = domain, .doubling = doubling});
          Vector sum = Vector::Zero(dimension);
          double loss = 0;
          for (std::int64_t t = 0; t < n; ++t) {
            Vector gradient = random_unit(generator, dimension);
            if (t % 3 == 1) gradient = sum / sum.norm();
            loss += gradient.dot(ftrl.iterate());
            sum += gradient;
            ftrl.update(span_of(sum));
          }
          const Vector down = -sum;
          const double regret = (loss + domain->support(span_of(down))) / static_cast<double>(n);
          const double bound =
              (doubling ? doubling_regret_bound(setting, lambda) : regret_bound(setting, lambda))
                  .total();
          EXPECT_LE(regret, bound * (1 + 1e-12)) << name << " d=" << dimension << " n=" << n;
        }
}

TEST(RegretTheorem, doubling_bound_is_the_sum_over_the_steps_written_out) {
  for (RegretSetting setting : settings()) {
    const double n = static_cast<double>(setting.steps);
    double stability = 0;
    double inverse_squared = 0;
    for (std::int64_t t = 0; t < setting.steps; ++t) {
      const double lambda = lambda_at(0.4, true, t);
      stability += 0.7 * 0.7 / (2 * lambda) / n;
      inverse_squared += 1 / (lambda * lambda) / n;
    }
    const RegretBound bound = doubling_regret_bound(setting, 0.4);
    EXPECT_DOUBLE_EQ(bound.regularisation, lambda_at(0.4, true, setting.steps - 1) * 9 / (2 * n));
    EXPECT_TRUE(testing::relatively_close(bound.stability, stability, 1e-12));
    EXPECT_NEAR(bound.noise,
                0.49 * std::sqrt(5.0) * setting.release_noise * std::sqrt(inverse_squared),
                1e-12 * (1 + bound.noise));
  }
}

TEST(RegretTheorem, expected_norm_of_normals_is_at_most_the_noise_growth) {
  // With 4000 vectors each, the mean is within 5 standard errors of its expectation, except with
  // probability 1e-6.
  std::mt19937_64 generator(4);
  std::normal_distribution<double> normal;
  for (const std::int64_t dimension : {1, 2, 10, 100})
    for (const Regulariser regulariser : {Regulariser::euclidean, Regulariser::entropic}) {
      const RegretSetting setting = {.dimension = dimension, .regulariser = regulariser};
      double mean = 0;
      const int repeats = 4000;
      for (int i = 0; i < repeats; ++i) {
        const Vector z = Vector::NullaryExpr(static_cast<Eigen::Index>(dimension),
                                             [&] { return normal(generator); });
        mean +=
            (regulariser == Regulariser::euclidean ? z.norm() : z.cwiseAbs().maxCoeff()) / repeats;
      }
      EXPECT_LE(mean, noise_growth(setting) + 5 / std::sqrt(repeats)) << dimension;
      EXPECT_GE(mean, 0.6 * noise_growth(setting)) << dimension;
    }
}

TEST(RegretTheorem, high_probability_and_hazan_forms_are_larger_and_know_their_lambda) {
  for (const RegretSetting& setting : settings()) {
    const double lambda = theorem_lambda(setting);
    const RegretBound expected = regret_bound(setting, lambda);
    const RegretBound likely =
        high_probability_regret_bound(setting, {.lambda = lambda, .failure_probability = 0.01});
    EXPECT_EQ(likely.regularisation, expected.regularisation);
    EXPECT_EQ(likely.stability, expected.stability);
    EXPECT_NEAR(likely.noise,
                expected.noise * (1 + std::sqrt(2 * std::log(100.0)) / std::sqrt(5.0)),
                1e-12 * (1 + likely.noise));
    const RegretBound doubling = doubling_regret_bound(setting, lambda);
    const RegretBound likely_doubling = high_probability_regret_bound(
        setting, {.lambda = lambda, .failure_probability = 0.01, .doubling = true});
    EXPECT_EQ(likely_doubling.regularisation, doubling.regularisation);
    EXPECT_EQ(likely_doubling.stability, doubling.stability);
    EXPECT_NEAR(likely_doubling.noise * expected.noise, likely.noise * doubling.noise,
                1e-12 * likely.noise * doubling.noise);
    EXPECT_EQ(hazan_regret_bound(setting, lambda).stability, 4 * expected.stability);
    const double other = hazan_lambda(setting);
    const double least = hazan_regret_bound(setting, other).total();
    EXPECT_GT(hazan_regret_bound(setting, other * 1.01).total(), least);
    EXPECT_GT(hazan_regret_bound(setting, other / 1.01).total(), least);
    EXPECT_LT(regret_bound(setting, lambda).total(), least);
  }
  RegretSetting less = settings().back();
  const HighProbabilityOptions at{.lambda = 2, .failure_probability = 0.01};
  const double whole = high_probability_regret_bound(less, at).noise;
  const double expected = regret_bound(less, 2).noise;
  less.deviation_share = 0.25;
  EXPECT_NEAR(high_probability_regret_bound(less, at).noise, expected + (whole - expected) / 4,
              1e-12 * whole);
  EXPECT_ERROR(high_probability_regret_bound(settings().front(), {.failure_probability = 1}),
               "invalid_argument", "failure_probability must be strictly between 0 and 1, got 1");
  EXPECT_ERROR(doubling_regret_bound(settings().front(), 0), "invalid_argument",
               "first_lambda must be positive");
  EXPECT_ERROR(hazan_regret_bound(settings().front(), 0), "invalid_argument",
               "lambda must be positive");
}

TEST(RegretTheorem, deviation_share_is_at_least_that_of_the_dense_decoder) {
  for (const StrategyInfo& info : strategy_catalogue())
    for (const std::int64_t n : {1, 2, 7, 64}) {
      const auto strategy = testing::make_known(info.name, n);
      const Matrix decoder = strategy->decoder();
      const double least = testing::singular_values(decoder)(0) / decoder.norm();
      EXPECT_GE(deviation_share(*strategy), least) << info.name << " n=" << n;
      EXPECT_LE(deviation_share(*strategy), 1) << info.name << " n=" << n;
    }
  const auto share = [](const char* name) {
    return deviation_share(*testing::make_known(name, 1000));
  };
  EXPECT_LT(share("square-root"), 0.7);
  EXPECT_EQ(share("tree"), 1);
}

/// Rate at which the mean of ||Z_t|| exceeds the threshold, for Z = B N where N has standard normal
/// entries and d columns.
double rate_above(const Matrix& decoder, Eigen::Index dimension, double threshold) {
  std::mt19937_64 generator(9);
  std::normal_distribution<double> normal;
  constexpr int kRepeats = 5000;
  int num_above = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const Matrix noise =
        decoder * Matrix::NullaryExpr(decoder.cols(), dimension, [&] { return normal(generator); });
    if (noise.rowwise().norm().mean() > threshold) ++num_above;
  }
  return static_cast<double>(num_above) / kRepeats;
}

TEST(RegretTheorem, noise_exceeds_its_quantile_no_more_often_than_stated) {
  constexpr double kBeta = 0.2;
  for (const char* name : {"square-root", "nu"})
    for (const Eigen::Index dimension : {1, 40}) {
      const auto strategy = testing::make_known(name, 16);
      const double share = deviation_share(*strategy);
      EXPECT_LT(share, 1) << name;
      RegretSetting setting = {.steps = 16,
                               .dimension = dimension,
                               .release_noise = std::sqrt(strategy->row_norms().mean_squared),
                               .deviation_share = share};
      const auto quantile = [&] {
        return high_probability_regret_bound(setting, {.lambda = 1, .failure_probability = kBeta})
            .noise;
      };
      // None of 5000 runs exceeds the quantile and, in 40 dimensions, a share of 0.4 exceeds the
      // bound on the expectation, so both comparisons have ample margin.
      const Matrix decoder = strategy->decoder();
      EXPECT_LT(rate_above(decoder, dimension, quantile()), kBeta) << name << " " << dimension;
      if (dimension == 1) continue;  // in one dimension the expectation is far below its bound
      EXPECT_GT(rate_above(decoder, dimension, regret_bound(setting, 1).noise), kBeta) << name;
    }
}

TEST(RegretTheorem, the_largest_noise_exceeds_its_bounds_no_more_often_than_stated) {
  constexpr double kBeta = 0.2;
  for (const char* name : {"square-root", "tree", "independent"})
    for (const Eigen::Index dimension : {1, 5}) {
      const Matrix decoder = testing::make_known(name, 32)->decoder();
      const double largest = decoder.rowwise().norm().maxCoeff();
      const RegretSetting setting = {
          .steps = 32, .dimension = dimension, .release_noise = largest, .largest_noise = largest};
      const RegretBound expected = max_error_regret_bound(setting, {.lambda = 1});
      const RegretBound likely =
          max_error_regret_bound(setting, {.lambda = 1, .failure_probability = kBeta});
      std::mt19937_64 generator(9);
      std::normal_distribution<double> normal;
      double mean = 0, rate = 0;
      constexpr int kRuns = 4000;
      for (int run = 0; run < kRuns; ++run) {
        Matrix z(decoder.cols(), dimension);
        for (double& entry : z.reshaped()) entry = normal(generator);
        const double worst = (decoder * z).rowwise().norm().maxCoeff();
        mean += worst / kRuns;
        rate += worst > likely.noise ? 1.0 / kRuns : 0;
      }
      EXPECT_LT(mean, expected.noise) << name << " " << dimension;
      EXPECT_GT(mean, 0.25 * expected.noise) << name << " " << dimension;
      EXPECT_LT(rate, kBeta) << name << " " << dimension;
      EXPECT_EQ(expected.stability, regret_bound(setting, 1).stability);
      // The root mean square of the noise is at most its largest, and so are the bounds from it.
      EXPECT_GE(expected.noise, regret_bound(setting, 1).noise);
      EXPECT_GE(likely.noise,
                high_probability_regret_bound(setting, {.lambda = 1, .failure_probability = kBeta})
                    .noise);
    }
}

TEST(RegretTheorem, setting_of_a_domain_takes_its_diameter_and_regulariser) {
  const auto mechanism =
      Mechanism::make({.strategy = "tree", .steps = 10, .target = {.epsilon = 1, .delta = 1e-6}});
  const auto setting = [&](const char* name) {
    return regret_setting(mechanism->certificate(), 4, *make_domain(name, 0.5), 3);
  };
  EXPECT_EQ(setting("whole-space").radius, 3);
  EXPECT_EQ(setting("ball").radius, 0.5);
  EXPECT_EQ(setting("box").radius, 1);
  EXPECT_DOUBLE_EQ(setting("simplex").radius, 0.5 * std::sqrt(0.75));
  EXPECT_DOUBLE_EQ(setting("simplex-entropic").radius, 0.5 * std::sqrt(2 * std::log(4.0)));
  EXPECT_EQ(setting("simplex-entropic").regulariser, Regulariser::entropic);
}

TEST(RegretTheorem, bad_settings_are_refused_by_name) {
  const RegretSetting good = {
      .steps = 1, .gradient_bound = 1, .radius = 1, .dimension = 1, .release_noise = 0};
  const auto message = [](const RegretSetting& setting) {
    return testing::error_text([&] { theorem_lambda(setting); });
  };
  RegretSetting bad = good;
  bad.steps = 0;
  EXPECT_EQ(message(bad),
            "invalid_argument | theorem_lambda: steps must be between 1 and 1099511627776, "
            "got 0");
  bad = good;
  bad.radius = 0;
  EXPECT_EQ(message(bad),
            "invalid_argument | theorem_lambda: radius must be positive and finite, got 0");
  bad = good;
  bad.release_noise = -1;
  EXPECT_EQ(message(bad),
            "invalid_argument | theorem_lambda: release_noise must be non-negative and finite, "
            "got -1");
  bad = good;
  bad.deviation_share = 0;
  EXPECT_EQ(
      message(bad),
      "invalid_argument | theorem_lambda: deviation_share must be positive and finite, got 0");
  bad = good;
  bad.gradient_bound = kNan;
  EXPECT_EQ(message(bad),
            "invalid_argument | theorem_lambda: gradient_bound must be positive and finite, "
            "got NaN");
  EXPECT_EQ(testing::error_text([&] { regret_bound(good, -1); }),
            "invalid_argument | regret_bound: lambda must be positive and finite, got -1");
}

}  // namespace
}  // namespace dpftrl
