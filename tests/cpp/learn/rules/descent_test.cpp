// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/descent.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "dense_algebra.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "dpftrl/problem/workload.hpp"
#include "learn/rules/ftrl.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

/// Running sums of random gradients in two coordinates, one row per step.
Matrix random_sums(Eigen::Index steps) {
  std::mt19937_64 generator(4);
  std::normal_distribution<double> normal;
  Matrix sums = Matrix::NullaryExpr(steps, 2, [&] { return normal(generator); });
  for (Eigen::Index t = 1; t < steps; ++t) sums.row(t) += sums.row(t - 1);
  return sums;
}

std::span<const double> row_of(const Matrix& sums, Eigen::Index t) {
  return {sums.row(t).data(), static_cast<std::size_t>(sums.cols())};
}

TEST(Descent, is_ftrl_over_the_whole_space_and_differs_on_a_ball) {
  const Matrix sums = random_sums(30);
  for (const char* name : {"whole-space", "ball"}) {
    const std::shared_ptr<const Domain> domain = make_domain(name, 0.5);
    Ftrl ftrl({.dimension = 2, .lambda = 3, .domain = domain});
    Descent descent({.dimension = 2, .lambda = 3, .domain = domain});
    double largest = 0;
    for (Eigen::Index t = 0; t < sums.rows(); ++t) {
      ftrl.update(row_of(sums, t));
      descent.update(row_of(sums, t));
      largest = std::max(largest, (ftrl.iterate() - descent.iterate()).norm());
    }
    EXPECT_EQ(largest <= 1e-13, domain->name() == "whole-space") << largest;
  }
}

TEST(Descent, rates_and_momentum_are_the_workload_of_that_name) {
  const Eigen::Index steps = 12;
  const Matrix sums = random_sums(steps);
  std::vector<double> rates;
  for (Eigen::Index t = 0; t < steps; ++t) rates.push_back(1 / std::sqrt(1.0 + double(t)));
  Descent descent({.dimension = 2,
                   .lambda = 2,
                   .domain = make_domain("whole-space", 1),
                   .schedule = {.rates = rates, .momentum = 0.9}});
  const Matrix workload = Workload::learning_rates({.rates = rates, .momentum = 0.9}).matrix();
  Matrix gradients = sums;
  for (Eigen::Index t = steps - 1; t > 0; --t) gradients.row(t) -= sums.row(t - 1);
  const Matrix moved = workload * gradients;
  for (Eigen::Index t = 0; t < steps; ++t) {
    EXPECT_DOUBLE_EQ(descent.lambda(), 2 / rates[static_cast<std::size_t>(t)]);
    descent.update(row_of(sums, t));
    EXPECT_LE((descent.iterate() + moved.row(t).transpose() / 2).norm(), 1e-12);
  }
}

TEST(Descent, refused_updates_change_nothing) {
  Descent descent({.dimension = 1,
                   .lambda = 1e-10,
                   .domain = make_domain("whole-space", 1),
                   .schedule = {.rates = {1, 2}, .momentum = 0.5}});
  descent.update(std::vector<double>{1});
  const double before = descent.iterate()(0);
  const auto message = [&](double sum) {
    return testing::error_text([&] { descent.update(std::vector<double>{sum}); });
  };
  EXPECT_EQ(message(1e300), "invalid_argument | descent: iterate must be finite, got inf");
  EXPECT_EQ(message(std::numeric_limits<double>::infinity()),
            "invalid_argument | descent: prefix_sum[0] must be finite, got inf");
  EXPECT_EQ(descent.iterate()(0), before);
  descent.update(std::vector<double>{1});
  EXPECT_DOUBLE_EQ(descent.iterate()(0), before - 2e10 * 0.5);
}

TEST(Descent, bad_options_are_refused_by_name) {
  const auto message = [](const DescentSchedule& schedule, const char* domain) {
    return testing::error_text([&] {
      Descent{
          {.dimension = 2, .lambda = 1, .domain = make_domain(domain, 1), .schedule = schedule}};
    });
  };
  EXPECT_EQ(message({.momentum = 1}, "ball"),
            "invalid_argument | descent: momentum must be at least 0 and below 1, got 1");
  EXPECT_EQ(message({.rates = {1, 0}}, "ball"),
            "invalid_argument | descent: rates must be positive and finite, got 0");
  EXPECT_EQ(message({}, "simplex-entropic"),
            "invalid_argument | descent: domain must be one with the Euclidean regulariser, got "
            "simplex-entropic");
}

TEST(Descent, momentum_through_the_workload_is_the_noise_of_that_workload) {
  // C is designed for the momentum while B decodes prefix sums. After descent, the decoder has the
  // rows of A C^-1, the same as the decoder of a strategy for the momentum workload.
  const std::int64_t n = 24;
  const Workload momentum = Workload::momentum({.steps = n, .momentum = 0.9});
  const Matrix undo = testing::inverse(Workload::prefix_sums(n).matrix());
  for (const char* name : {"square-root", "independent", "banded-square-root",
                           "banded-inverse-square-root", "normalized-square-root"}) {
    StrategyOptions options{.name = name, .steps = n, .encoder_workload = momentum};
    const auto designed = make_strategy(options);
    options.encoder_workload.reset();
    options.workload = momentum;
    const auto own = make_strategy(options);
    EXPECT_TRUE(designed->workload().is_prefix());
    EXPECT_LE((designed->encoder() - own->encoder()).norm(), 1e-12) << name;
    const Matrix decoded = momentum.matrix() * undo * designed->decoder();
    EXPECT_LE((decoded - own->decoder()).norm(), 1e-11) << name;
  }
  EXPECT_ERROR(make_strategy({.name = "tree", .steps = n, .encoder_workload = momentum}),
               "unsupported",
               "tree: encoder_workload must be one from whose encoder prefix sums can be decoded, "
               "got momentum");
  EXPECT_ERROR(
      make_strategy(
          {.name = "square-root", .steps = n, .encoder_workload = Workload::prefix_sums(n + 1)}),
      "invalid_argument", "encoder_workload must be of steps = 24 steps, got 25");
  EXPECT_ERROR(workload_of_descent({.momentum = 1.5}, n), "invalid_argument",
               "momentum must be at least 0 and below 1, got 1.5");
}

std::vector<double> falling(std::int64_t n) {
  std::vector<double> rates;
  for (std::int64_t t = 0; t < n; ++t)
    rates.push_back(1 / std::sqrt(1 + 0.5 * static_cast<double>(t)));
  return rates;
}

TEST(Descent, rates_through_the_workload_have_the_noise_of_its_optimum) {
  for (const double beta : {0.0, 0.9}) {
    const std::int64_t n = 40;
    const Workload rates = workload_of_descent({.rates = falling(n - 5), .momentum = beta},
                                               n);  // the last rate applies to all later steps
    StrategyOptions options{.name = "optimal",
                            .steps = n,
                            .encoder_workload = rates,
                            .parameters = {.objective = Objective::mean}};
    const auto designed = make_strategy(options);
    options.encoder_workload.reset();
    const auto for_sums = make_strategy(options);
    options.workload = rates;
    const auto own = make_strategy(options);
    EXPECT_TRUE(designed->workload().is_prefix());
    EXPECT_LE((designed->decoder() * designed->encoder() - Workload::prefix_sums(n).matrix())
                  .cwiseAbs()
                  .maxCoeff(),
              1e-9);
    EXPECT_LE((designed->encoder() - own->encoder()).norm(), 1e-9);
    // Norm of the noise after descent with these decoders, per unit of sensitivity.
    const Matrix descend = rates.matrix() * testing::inverse(Workload::prefix_sums(n).matrix());
    const auto noise = [](const Strategy& strategy, const Matrix& decoder) {
      return decoder.norm() * std::sqrt(strategy.max_column_norm_squared());
    };
    const double through_workload = noise(*designed, descend * designed->decoder());
    EXPECT_NEAR(through_workload / noise(*own, own->decoder()), 1, 1e-9);
    EXPECT_LE(through_workload, 0.999 * noise(*for_sums, descend * for_sums->decoder())) << beta;
  }
}

TEST(Descent, rates_through_the_workload_are_for_those_who_have_an_encoder_for_them) {
  const std::int64_t n = 2100;
  const Workload rates = workload_of_descent({.rates = falling(9)}, n);
  const auto options = [&](const char* name, Objective objective) {
    return StrategyOptions{.name = name,
                           .steps = n,
                           .encoder_workload = rates,
                           .parameters = {.objective = objective}};
  };
  EXPECT_EQ(make_strategy(options("optimal", Objective::mean))->steps(), n);
  EXPECT_ERROR(make_strategy(options("optimal", Objective::max)), "unsupported",
               "encoder_workload must be one from whose encoder prefix sums can be decoded");
  EXPECT_ERROR(make_strategy({.name = "square-root", .steps = n, .encoder_workload = rates}),
               "unsupported", "square-root: encoder_workload must be one");
  EXPECT_ERROR(workload_of_descent({}, 0), "invalid_argument", "steps must be between 1");
}

/// Mean regret over seeds of DP-SGD on a stream of 600 steps, and the bound of the theorem.
struct Found {
  double regret;
  SimulationTheory theory;
};

Found descend(const char* stream, const char* strategy, std::optional<double> lambda = {}) {
  constexpr std::uint64_t kRuns = 8;
  Found found{};
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    SimulationOptions options;
    options.mechanism = {
        .strategy = strategy, .steps = 600, .target = {.epsilon = 1, .delta = 1e-6}};
    options.dimension = 5;
    options.insecure_noise_seed = seed;
    options.stream = stream;
    options.stream_seed = seed;
    options.lambda = lambda;
    options.descent = DescentSchedule{};
    options.num_regret_prefixes = 1;
    Simulation simulation(options);
    found.regret += simulation.advance(600).regret.back().private_regret / kRuns;
    found.theory = *simulation.theory();
  }
  return found;
}

TEST(Descent, mean_regret_stays_below_the_expected_bound) {
  for (const char* stream : {"stationary", "drifting", "adversarial"}) {
    const Found found = descend(stream, "independent");
    ASSERT_TRUE(found.theory.private_bound.has_value());
    EXPECT_LE(found.regret, found.theory.private_bound->total()) << stream;
    EXPECT_GT(found.theory.private_bound->noise, 0);
    EXPECT_EQ(found.theory.twin_bound->noise, 0);
  }
}

TEST(Descent, without_its_noise_term_the_bound_is_exceeded) {
  const Found found = descend("stationary", "independent", std::sqrt(600.0));
  const RegretBound bound = found.theory.private_bound.value();
  EXPECT_LE(found.regret, bound.total());
  EXPECT_GT(found.regret, bound.regularisation + bound.stability) << bound.total();
}

TEST(Descent, correlated_noise_has_no_bound) {
  EXPECT_FALSE(descend("stationary", "honaker").theory.private_bound.has_value());
}

TEST(Descent, lambda_minimises_its_bound) {
  const auto mechanism = Mechanism::make({.strategy = "independent",
                                          .steps = 400,
                                          .target = {.epsilon = 1, .delta = 1e-6},
                                          .clip = 0.5});
  const RegretSetting setting = regret_setting(mechanism->certificate(), 7, 2);
  const Strategy& strategy = mechanism->strategy();
  const double best = descent_lambda(setting, strategy);
  const double least = descent_regret_bound(setting, strategy, best)->total();
  // D sqrt((L^2 + d nu^2) / n), where nu is the standard deviation of the noise of a gradient.
  const double nu = mechanism->release_stddev(0);
  EXPECT_NEAR(least, 2 * std::sqrt((0.25 + 7 * nu * nu) / 400), 1e-9 * least);
  for (const double factor : {0.9, 1.1})
    EXPECT_GT(descent_regret_bound(setting, strategy, factor * best)->total(), least);
}

TEST(Descent, learners_refuse_doubling_beside_it) {
  DpFtrlOptions options{
      .mechanism = Mechanism::make(
          {.strategy = "independent", .steps = 4, .target = {.epsilon = 1, .delta = 1e-6}}),
      .key = Key::insecure_from_seed(1),
      .dimension = 2,
      .loss = make_loss("logistic"),
      .domain = make_domain("ball", 1)};
  options.descent = DescentSchedule{.momentum = 0.5};
  EXPECT_NO_THROW(DpFtrl{options});
  options.doubling = true;
  EXPECT_EQ(
      testing::error_text([&] { DpFtrl{options}; }),
      "invalid_argument | descent: doubling must be false: it is for FTRL, and rates say the same "
      "here, got true");
}

}  // namespace
}  // namespace dpftrl
