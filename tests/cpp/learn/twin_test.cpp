// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/simulation.hpp"

#include <limits>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/regret.hpp"
#include "learn/rules/update_rule.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kTwinSteps = 40;

TwinOptions twin_options() {
  return {.steps = kTwinSteps,
          .clip = 0.8,
          .dimension = 3,
          .loss = make_loss("logistic"),
          .domain = make_domain("ball", 2),
          .radius = 2};
}

TEST(TwinLearner, learner_becomes_its_twin_as_the_noise_vanishes) {
  std::vector<TwinOptions> all(4, twin_options());
  all[0].batch_size = 3;
  all[0].doubling = true;
  all[1].loss = std::make_shared<const SoftmaxLoss>(2);
  all[1].domain = make_domain("simplex-entropic", 2);
  all[2].loss = make_loss("squared");
  all[2].descent = DescentSchedule{.rates = {1, 0.5}, .momentum = 0.5};
  all[2].batch_size = 2;
  all[3].loss = make_loss("absolute");
  all[3].domain = make_domain("whole-space", 2);
  const SyntheticStream stream({.dimension = 3, .seed = 3});
  for (TwinOptions& made : all) {
    made.lambda = 3;
    TwinLearner twin(made);
    DpFtrl learner({.mechanism = Mechanism::make({.strategy = "tree",
                                                  .steps = kTwinSteps,
                                                  .target = {.epsilon = 1e9, .delta = 1e-6},
                                                  .clip = made.clip}),
                    .key = Key::insecure_from_seed(7),
                    .dimension = 3,
                    .loss = made.loss,
                    .domain = made.domain,
                    .radius = made.radius,
                    .lambda = made.lambda,
                    .descent = made.descent,
                    .doubling = made.doubling,
                    .batch_size = made.batch_size,
                    .grid = 0x1p-30});
    std::vector<double> x(3), noisy(static_cast<std::size_t>(twin.num_scores()));
    std::vector<double> exact(noisy.size());
    for (std::int64_t i = 0; learner.steps_done() < kTwinSteps - 1; ++i) {
      const double y = stream.example(i, x) > 0 ? 1 : 0;
      learner.step(x, y, noisy);
      twin.step(x, y, exact);
      for (std::size_t k = 0; k < noisy.size(); ++k) EXPECT_NEAR(noisy[k], exact[k], 5e-3);
      // Both have left their starting point.
      if (i == 20) {
        EXPECT_GT(twin.iterate().norm(), 0.05);
      }
    }
    if (made.batch_size > 1) {
      const double y = stream.example(1000, x) > 0 ? 1 : 0;
      learner.step(x, y, noisy);
      twin.step(x, y, exact);
      learner.end_batch();
      twin.end_batch();
    }
    EXPECT_NEAR((learner.iterate() - twin.iterate()).norm(), 0, 5e-3);
    EXPECT_NEAR(twin.rule().lambda() / static_cast<double>(made.batch_size), learner.lambda(),
                1e-12);
  }
}

TEST(TwinLearner, default_lambda_is_that_of_the_theorem_without_noise) {
  TwinOptions made = twin_options();
  const double expected = 0.8 / 2 * std::sqrt(static_cast<double>(kTwinSteps));
  EXPECT_NEAR(TwinLearner(made).rule().lambda(), expected, 1e-12);
  made.doubling = true;
  EXPECT_NEAR(TwinLearner(made).rule().lambda(), 0.8 / 2, 1e-12);
}

TEST(TwinLearner, bad_options_and_examples_are_refused_by_name) {
  TwinOptions made = twin_options();
  made.loss = nullptr;
  EXPECT_ERROR(TwinLearner{made}, "invalid_argument", "twin: loss must be given");
  made = twin_options();
  made.domain = nullptr;
  EXPECT_ERROR(TwinLearner{made}, "invalid_argument", "twin: domain must be given");
  made = twin_options();
  made.lambda = 0;
  EXPECT_ERROR(TwinLearner{made}, "invalid_argument", "lambda must be positive and finite, got 0");
  made = twin_options();
  made.clip = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(TwinLearner{made}, "invalid_argument", "clip must be positive and finite");
  TwinLearner twin(twin_options());
  std::vector<double> x(2), score(1);
  EXPECT_ERROR(twin.step(x, 1, score), "wrong_length", "features must have 3 entries, got 2");
  x.push_back(1);
  EXPECT_ERROR(twin.step(x, 5, score), "invalid_argument", "label must be");
  EXPECT_EQ(twin.rule().num_updates(), 0);
}

}  // namespace
}  // namespace dpftrl
