// SPDX-License-Identifier: Apache-2.0
#include "learn/adversary.hpp"

#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kAdversarySteps = 200;

MechanismOptions adversary_mechanism(const char* strategy) {
  return {.strategy = strategy, .steps = kAdversarySteps, .target = {.epsilon = 1, .delta = 1e-6}};
}

/// Options for a family. The plan of an optimised family is searched for once, not for every run.
MechanismOptions adversary_mechanism(const StrategyInfo& info) {
  const std::string name(info.name);
  MechanismOptions made = adversary_mechanism(name.c_str());
  made.steps = testing::within_reach(info, kAdversarySteps);
  if (testing::is_optimised(info))
    made.parameters.plan = std::make_shared<const StrategyPlan>(
        find_plan({.strategy = {.name = name, .steps = made.steps}}).plan);
  return made;
}

SimulationOptions adversary_options(const MechanismOptions& mechanism, const char* domain,
                                    std::uint64_t seed) {
  SimulationOptions made;
  made.mechanism = mechanism;
  made.dimension = 4;
  made.insecure_noise_seed = seed;
  made.stream = "adversarial";
  made.loss = "absolute";
  made.domain = domain;
  made.num_regret_prefixes = 1;
  return made;
}

struct Runs {
  double mean = 0;
  double most = -1e300;
  SimulationTheory theory{};
};

Runs runs(const MechanismOptions& mechanism, const char* domain, int num_seeds) {
  Runs found;
  for (int seed = 1; seed <= num_seeds; ++seed) {
    Simulation simulation(adversary_options(mechanism, domain, static_cast<std::uint64_t>(seed)));
    const RegretPoint last = simulation.advance(mechanism.steps).regret.back();
    found.mean += last.private_regret / num_seeds;
    found.most = std::max(found.most, last.private_regret);
    found.theory = *simulation.theory();
  }
  return found;
}

// Seeds are fixed, so the test is deterministic.
TEST(Adversary, exceeds_the_bound_without_its_noise_term_and_never_the_bound_with_it) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    const MechanismOptions mechanism = adversary_mechanism(info);
    for (const char* domain : {"ball", "whole-space"}) {
      const Runs found = runs(mechanism, domain, testing::is_full_size() ? 6 : 2);
      const RegretBound bound = *found.theory.private_bound;
      EXPECT_TRUE(found.theory.clipping_impossible);
      EXPECT_GT(found.mean, bound.regularisation + bound.stability) << info.name << " " << domain;
      EXPECT_LE(found.mean, bound.total()) << info.name << " " << domain;
      EXPECT_GE(found.mean, 0.7 * bound.total()) << info.name << " " << domain;
    }
  }
}

TEST(Adversary, no_run_exceeds_the_bound_for_high_probability_where_chance_is_small) {
  for (const char* strategy : {"tree", "square-root"}) {
    const Runs found = runs(adversary_mechanism(strategy), "ball", 12);
    Simulation simulation(adversary_options(adversary_mechanism(strategy), "ball", 1));
    const RegretSetting setting = regret_setting(simulation.mechanism().certificate(), 4, 1);
    // The probability of a false alarm is at most 12 * 0.001.
    EXPECT_LE(found.most,
              high_probability_regret_bound(setting, {.lambda = simulation.theory()->private_lambda,
                                                      .failure_probability = 0.001})
                  .total());
  }
}

TEST(Adversary, every_domain_survives_it) {
  for (const char* domain : {"box", "simplex", "simplex-entropic"}) {
    const Runs found = runs(adversary_mechanism("square-root"), domain, 6);
    EXPECT_LE(found.mean, found.theory.private_bound->total()) << domain;
  }
}

TEST(Adversary, examples_point_from_the_best_point_to_the_iterate) {
  Adversary adversary(
      {.dimension = 3, .domain = make_domain("ball", 2), .loss = make_loss("absolute")});
  Vector sum = Vector::Zero(3);
  Vector x(3);
  for (int t = 0; t < 50; ++t) {
    const Vector played = (Vector(3) << 0.1 * (t % 7), 0.05, -0.02 * (t % 3)).finished();
    EXPECT_EQ(adversary.example(played, {x.data(), 3}), -1);
    EXPECT_NEAR(x.norm(), 1, 1e-8);
    EXPECT_LE(x.norm(), 1);
    const Vector best = t == 0 ? Vector(Vector::Zero(3)) : Vector(-2 / sum.norm() * sum);
    EXPECT_NEAR(x.dot(played - best), (played - best).norm(), 1e-8);
    sum += x;  // the slope is 1
  }
}

TEST(Adversary, begins_somewhere_when_the_learner_stands_where_learners_start) {
  Adversary adversary(
      {.dimension = 2, .domain = make_domain("box", 1), .loss = make_loss("hinge")});
  Vector x(2);
  adversary.example(Vector::Zero(2), {x.data(), 2});
  EXPECT_NEAR(x.norm(), 1, 1e-8);
}

TEST(Adversary, bad_options_are_refused_by_name) {
  const auto message = [](const AdversaryOptions& made) {
    return testing::error_text([&] { Adversary{made}; });
  };
  const auto loss = make_loss("hinge");
  const auto ball = make_domain("ball", 1);
  EXPECT_EQ(message({.domain = ball, .loss = nullptr}),
            "invalid_argument | adversary: loss must be given");
  EXPECT_EQ(message({.domain = make_domain("whole-space", 1), .loss = loss}),
            "invalid_argument | adversary: domain must be given, and bounded");
  EXPECT_EQ(message({.domain = nullptr, .loss = loss}),
            "invalid_argument | adversary: domain must be given, and bounded");
  EXPECT_EQ(message({.domain = ball, .loss = loss, .clip = 0}),
            "invalid_argument | adversary: clip must be positive and finite, got 0");
  Adversary adversary({.dimension = 2, .domain = ball, .loss = loss});
  std::vector<double> x(2);
  EXPECT_ERROR(adversary.example(Vector::Zero(3), x), "wrong_length",
               "adversary: iterate must have 2 entries, got 3");
}

}  // namespace
}  // namespace dpftrl
