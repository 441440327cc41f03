// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/ftrl.hpp"

#include <limits>
#include <random>

#include "support.hpp"

namespace dpftrl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::span<const double> span_of(const Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

Vector random_unit(std::mt19937_64& generator, Eigen::Index dimension) {
  std::normal_distribution<double> normal;
  const Vector v = Vector::NullaryExpr(dimension, [&] { return normal(generator); });
  return v / v.norm();
}

TEST(Ftrl, iterate_minimises_the_regularised_sum_over_the_domain) {
  std::mt19937_64 generator(1);
  for (const char* name : {"ball", "whole-space"})
    for (const Eigen::Index dimension : {1, 2, 3, 8}) {
      const Vector start = 0.3 * random_unit(generator, dimension);
      const double lambda = 2.5;
      Ftrl ftrl({.dimension = dimension,
                 .lambda = lambda,
                 .domain = make_domain(name, 1),
                 .start = start});
      EXPECT_EQ(ftrl.iterate(), start);
      for (int t = 0; t < 30; ++t) {
        const Vector sum = 0.3 * (t + 1) * random_unit(generator, dimension);
        ftrl.update(span_of(sum));
        const Vector w = ftrl.iterate();
        const auto objective = [&](const Vector& v) {
          return sum.dot(v) + lambda / 2 * (v - start).squaredNorm();
        };
        for (int repeat = 0; repeat < 20; ++repeat) {
          Vector other = w + 0.2 * repeat / 20.0 * random_unit(generator, dimension);
          make_domain(name, 1)->project({other.data(), static_cast<std::size_t>(dimension)});
          EXPECT_GE(objective(other), objective(w) - 1e-14);
        }
      }
    }
}

TEST(Ftrl, next_iterate_depends_on_the_latest_sum_alone) {
  const Vector a = (Vector(2) << 3, -1).finished();
  const Vector b = (Vector(2) << -0.5, 0.25).finished();
  Ftrl first({.dimension = 2, .lambda = 2, .domain = make_domain("ball", 1), .start = {}});
  Ftrl second = first;
  first.update(span_of(a));
  first.update(span_of(b));
  second.update(span_of(b));
  EXPECT_EQ(first.iterate(), second.iterate());
  EXPECT_EQ(first.iterate(), (Vector(2) << 0.25, -0.125).finished());
}

TEST(Ftrl, average_is_over_the_points_already_played) {
  Ftrl ftrl({.dimension = 1,
             .lambda = 1,
             .domain = make_domain("whole-space", 1),
             .start = Vector::Constant(1, 4.0)});
  EXPECT_EQ(ftrl.average()(0), 4);
  for (const double sum : {1.0, 2.0, 3.0}) ftrl.update(std::vector<double>{sum});
  EXPECT_EQ(ftrl.iterate()(0), 1);
  EXPECT_DOUBLE_EQ(ftrl.average()(0), (4.0 + 3.0 + 2.0) / 3);
  EXPECT_EQ(ftrl.num_updates(), 3);
}

TEST(Ftrl, refused_updates_change_nothing) {
  Ftrl ftrl({.dimension = 2, .lambda = 1, .domain = make_domain("ball", 1), .start = {}});
  ftrl.update(std::vector<double>{0.5, 0});
  const Vector before = ftrl.iterate();
  const Vector average = ftrl.average();
  const auto message = [&](const std::vector<double>& sum) {
    return testing::error_text([&] { ftrl.update(sum); });
  };
  EXPECT_EQ(message({1}), "wrong_length | ftrl: prefix_sum must have 2 entries, got 1");
  EXPECT_EQ(message({1, kNan}), "invalid_argument | ftrl: prefix_sum[1] must be finite, got NaN");
  EXPECT_EQ(ftrl.iterate(), before);
  EXPECT_EQ(ftrl.average(), average);
  EXPECT_EQ(ftrl.num_updates(), 1);
}

TEST(Ftrl, bad_options_are_refused_by_name) {
  const auto message = [](const FtrlOptions& options) {
    return testing::error_text([&] { Ftrl{options}; });
  };
  const std::shared_ptr<const Domain> ball = make_domain("ball", 1);
  EXPECT_EQ(message({.dimension = 1, .lambda = 0, .domain = ball, .start = {}}),
            "invalid_argument | ftrl: lambda must be positive and finite, got 0");
  EXPECT_EQ(message({.dimension = 0, .lambda = 1, .domain = ball, .start = {}}),
            "invalid_argument | ftrl: dimension must be between 1 and 1073741824, got 0");
  EXPECT_EQ(message({.dimension = 1, .lambda = 1, .domain = nullptr, .start = {}}),
            "invalid_argument | ftrl: domain must be given");
  EXPECT_EQ(message({.dimension = 1, .lambda = 1, .domain = ball, .start = Vector::Zero(2)}),
            "wrong_length | ftrl: start must have 1 entries, got 2");
  EXPECT_EQ(
      message({.dimension = 1, .lambda = 1, .domain = ball, .start = Vector::Constant(1, 2.0)}),
      "invalid_argument | ftrl: start must be a point of the domain, got one of norm 2");
}

std::vector<RegretSetting> settings() {
  std::vector<RegretSetting> all;
  for (const std::int64_t n : {1, 7, 1000})
    for (const double noise : {0.0, 0.3, 40.0})
      all.push_back({.num_steps = n,
                     .gradient_bound = 0.7,
                     .radius = 3,
                     .dimension = 5,
                     .release_noise = noise});
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
    const double n = static_cast<double>(setting.num_steps);
    const double closed_form = setting.gradient_bound * setting.radius / std::sqrt(n) *
                               std::sqrt(1 + 2 * std::sqrt(5.0) * setting.release_noise);
    EXPECT_TRUE(testing::relatively_close(least, closed_form, 1e-14));
  }
}

TEST(RegretTheorem, release_noise_is_the_root_mean_square_of_the_release_stddev) {
  for (const char* strategy : {"independent", "output", "tree", "honaker", "square-root"})
    for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
      const auto mechanism = Mechanism::make({.strategy = strategy,
                                              .num_steps = 100,
                                              .target = {.epsilon = 0.8, .delta = 1e-5},
                                              .clip_norm = 2.5,
                                              .neighbours = neighbours});
      double mean_square = 0;
      for (std::int64_t t = 0; t < 100; ++t)
        mean_square += std::pow(mechanism->release_stddev(t), 2) / 100;
      const RegretSetting setting = regret_setting(mechanism->certificate(), 3, 2);
      EXPECT_EQ(setting.num_steps, 100);
      EXPECT_EQ(setting.gradient_bound, 2.5);
      EXPECT_EQ(setting.dimension, 3);
      EXPECT_EQ(setting.radius, 2);
      EXPECT_TRUE(testing::relatively_close(setting.gradient_bound * setting.release_noise,
                                            std::sqrt(mean_square), 1e-10))
          << strategy;
    }
}

/// Largest average regret over comparators of norm <= 1 of FTRL on given linear losses <g_t, w>.
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
          .num_steps = n, .gradient_bound = 1, .radius = 1, .dimension = 3, .release_noise = 0};
      const double lambda = theorem_lambda(setting);
      for (int kind = 0; kind < 4; ++kind) {
        std::vector<Vector> gradients;
        Vector sum = Vector::Zero(3);
        for (std::int64_t t = 0; t < n; ++t) {
          const Vector fixed = Vector::Unit(3, 0);
          Vector gradient = random_unit(generator, 3);
          if (kind == 1) gradient = fixed;
          if (kind == 2) gradient = t % 2 == 0 ? fixed : Vector(-fixed);
          // A right angle to the sum so far: its norm is sqrt(t), which the bound is tight for.
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
    EXPECT_GT(worst, 0.99);  // a bound a hundredth smaller would be caught
  }
}

TEST(RegretTheorem, terms_are_separate_and_add_up) {
  const RegretSetting setting = {
      .num_steps = 100, .gradient_bound = 2, .radius = 3, .dimension = 4, .release_noise = 5};
  const RegretBound bound = regret_bound(setting, 10);
  EXPECT_DOUBLE_EQ(bound.regularisation, 10 * 9 / 200.0);
  EXPECT_DOUBLE_EQ(bound.stability, 4 / 20.0);
  EXPECT_DOUBLE_EQ(bound.noise, 4 / 10.0 * 2 * 5);
  EXPECT_DOUBLE_EQ(bound.total(), bound.regularisation + bound.stability + bound.noise);
}

TEST(RegretTheorem, bad_settings_are_refused_by_name) {
  const RegretSetting good = {
      .num_steps = 1, .gradient_bound = 1, .radius = 1, .dimension = 1, .release_noise = 0};
  const auto message = [](const RegretSetting& setting) {
    return testing::error_text([&] { theorem_lambda(setting); });
  };
  RegretSetting bad = good;
  bad.num_steps = 0;
  EXPECT_EQ(message(bad),
            "invalid_argument | theorem_lambda: num_steps must be between 1 and 1099511627776, "
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
  bad.gradient_bound = kNan;
  EXPECT_EQ(message(bad),
            "invalid_argument | theorem_lambda: gradient_bound must be positive and finite, "
            "got NaN");
  EXPECT_EQ(testing::error_text([&] { regret_bound(good, -1); }),
            "invalid_argument | regret_bound: lambda must be positive and finite, got -1");
}

}  // namespace
}  // namespace dpftrl
