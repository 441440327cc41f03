// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/dp_ftrl.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "learn/rules/ftrl.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;

constexpr std::int64_t kModelSteps = 50;
constexpr std::int64_t kModelDimension = 3;

DpFtrlOptions dp_ftrl_options(const char* strategy = "tree", const char* domain = "ball",
                              const char* loss = "logistic") {
  return {.mechanism = Mechanism::make({.strategy = strategy,
                                        .steps = kModelSteps,
                                        .target = {.epsilon = 1, .delta = 1e-6},
                                        .clip = 0.8}),
          .key = Key::insecure_from_seed(7),
          .dimension = kModelDimension,
          .loss = make_loss(loss),
          .domain = make_domain(domain, 2),
          .radius = 2,
          .lambda = {},
          .grid = {}};
}

SyntheticStream dp_ftrl_stream() {
  return SyntheticStream({.dimension = kModelDimension, .seed = 3});
}

TEST(DpFtrl, iterates_are_a_function_of_the_releases_alone) {
  for (const char* strategy : {"independent", "output", "tree", "honaker", "square-root"})
    for (const char* domain : {"ball", "whole-space"})
      for (const char* loss : {"logistic", "squared"}) {
        DpFtrl learner(dp_ftrl_options(strategy, domain, loss));
        Ftrl replay({.dimension = kModelDimension,
                     .lambda = learner.lambda(),
                     .domain = make_domain(domain, 2),
                     .start = {}});
        std::vector<double> x(kModelDimension);
        for (std::int64_t t = 0; t < kModelSteps; ++t) {
          EXPECT_EQ(learner.iterate(), replay.iterate());
          const double y = dp_ftrl_stream().example(t, x);
          learner.step(x, y);
          replay.update(learner.release());
        }
        EXPECT_EQ(learner.iterate(), replay.iterate());
        EXPECT_EQ(learner.average(), replay.average());
      }
}

TEST(DpFtrl, features_that_are_the_iterate_are_refused) {
  // Otherwise the release would overwrite features that are still read, and the clip norm would not
  // hold.
  for (const std::int64_t batch_size : {1, 2}) {
    DpFtrlOptions made = dp_ftrl_options();
    made.batch_size = batch_size;
    DpFtrl learner(made);
    const Vector& iterate = learner.iterate();
    const std::span<const double> features(iterate.data(),
                                           static_cast<std::size_t>(iterate.size()));
    EXPECT_ERROR(learner.step(features, 1), "invalid_argument",
                 "features must be disjoint from the iterate, got an overlap");
    EXPECT_EQ(learner.num_examples(), 0);
    const std::vector<double> copy(features.begin(), features.end());
    learner.step(copy, 1);
    EXPECT_EQ(learner.num_examples(), 1);
  }
}

TEST(DpFtrl, prediction_is_made_before_learning) {
  DpFtrl learner(dp_ftrl_options());
  std::vector<double> x(kModelDimension);
  for (std::int64_t t = 0; t < kModelSteps; ++t) {
    const double y = dp_ftrl_stream().example(t, x);
    const double before = learner.predict(x);
    EXPECT_EQ(learner.step(x, y), before);
  }
  EXPECT_EQ(learner.steps_done(), kModelSteps);
}

TEST(DpFtrl, release_is_the_sum_of_clipped_gradients_plus_the_noise_of_the_key) {
  const DpFtrlOptions made = dp_ftrl_options("square-root");
  DpFtrl learner(made);
  PrefixSum noise(made.mechanism, {.key = made.key, .dimension = kModelDimension, .grid = {}});
  const std::vector<double> zeros(kModelDimension);
  std::vector<double> x(kModelDimension), gradient(kModelDimension), only_noise(kModelDimension);
  Vector sum = Vector::Zero(kModelDimension);
  for (std::int64_t t = 0; t < kModelSteps; ++t) {
    const double y = dp_ftrl_stream().example(t, x);
    clipped_gradient(make_loss("logistic")->slope(learner.predict(x), y), x, 0.8, gradient);
    learner.step(x, y);
    noise.release(zeros, only_noise);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Eigen::Index k = static_cast<Eigen::Index>(i);
      sum(k) += gradient[i];
      // Putting a record on the grid changes it by at most one grid spacing.
      EXPECT_NEAR(learner.release()[i], sum(k) + only_noise[i],
                  static_cast<double>(t + 1) * learner.grid());
    }
  }
}

TEST(DpFtrl, slopes_of_a_caller_teach_what_the_loss_teaches) {
  DpFtrlOptions made = dp_ftrl_options();
  made.batch_size = 3;
  made.loss = std::make_shared<const SoftmaxLoss>(2);
  DpFtrl own(made);
  DpFtrl told(made);
  std::vector<double> x(kModelDimension), scores(2), slopes(2);
  for (std::int64_t t = 0; t < 3 * kModelSteps; ++t) {
    const double y = dp_ftrl_stream().example(t, x) > 0 ? 1 : 0;
    told.predict(x, scores);
    made.loss->evaluate(scores, y, slopes);
    told.step_along(x, slopes);
    own.step(x, y, scores);
  }
  EXPECT_EQ(told.iterate(), own.iterate());
  EXPECT_EQ(told.num_examples(), own.num_examples());
  EXPECT_GT(told.iterate().norm(), 0);
  const auto message = [&](const std::vector<double>& given) {
    return testing::error_text([&] { DpFtrl(made).step_along(x, given); });
  };
  EXPECT_EQ(message({1}), "wrong_length | dp_ftrl: slopes must have 2 entries, got 1");
  EXPECT_EQ(message({1, kNan}), "invalid_argument | dp_ftrl: slopes[1] must be finite, got NaN");
}

TEST(DpFtrl, whoever_looks_at_the_iterate_changes_no_bit) {
  // A projection is stored as a factor until the iterate is read.
  for (const char* domain : {"ball", "simplex"})
    for (const bool descends : {false, true}) {
      DpFtrlOptions made = dp_ftrl_options("tree", domain);
      made.lambda = 0.1;  // so small that every step leaves the domain
      if (descends) made.descent = DescentSchedule{.momentum = 0.5};
      DpFtrl watched(made), alone(made);
      std::vector<double> x(kModelDimension);
      for (std::int64_t t = 0; t < kModelSteps; ++t) {
        const double y = dp_ftrl_stream().example(t, x);
        if (std::string_view(domain) == "ball" && t > 0) {
          EXPECT_NEAR(watched.iterate().norm(), 2, 1e-14);
        }
        EXPECT_TRUE(watched.average().allFinite());
        ASSERT_EQ(watched.step(x, y), alone.step(x, y)) << domain << " " << t;
      }
      EXPECT_EQ(watched.iterate(), alone.iterate());
      EXPECT_EQ(watched.average(), alone.average());
    }
}

TEST(DpFtrl, an_iterate_that_nobody_reads_has_the_bits_of_one_that_was_written) {
  // Includes points that all lie inside the ball, and a radius too small to project by a factor.
  struct Case {
    const char* domain;
    double radius;
    double lambda;
    bool doubling;
  };
  constexpr std::int64_t kWide = 2100;  // three blocks
  for (const Case& c : {Case{"whole-space", 2, 3, false}, Case{"whole-space", 2, 3, true},
                        Case{"ball", 2, 1e4, false}, Case{"ball", 2, 0.1, false},
                        Case{"ball", 2, 0.1, true}, Case{"ball", 1e-306, 1e-3, false},
                        Case{"box", 2, 3, false}, Case{"simplex", 2, 3, false}}) {
    DpFtrlOptions made = dp_ftrl_options("tree", c.domain);
    made.dimension = kWide;
    made.domain = make_domain(c.domain, c.radius);
    made.lambda = c.lambda;
    made.doubling = c.doubling;
    DpFtrl learner(made);
    Ftrl replay({.dimension = kWide,
                 .lambda = c.lambda,
                 .domain = made.domain,
                 .start = {},
                 .doubling = c.doubling});
    const std::vector<double> x(kWide, 0.02);
    const Eigen::Map<const Vector> features(x.data(), kWide);
    for (std::int64_t t = 0; t < kModelSteps; ++t) {
      ASSERT_EQ(learner.predict(x), replay.iterate().dot(features)) << c.domain << " " << t;
      learner.step(x, t % 3 == 0 ? 1 : -1);
      replay.update(learner.release());
      if (t == 30) {
        EXPECT_EQ(learner.iterate(), replay.iterate()) << c.domain;
      }
    }
    EXPECT_EQ(learner.average(), replay.average()) << c.domain;
    EXPECT_EQ(learner.iterate(), replay.iterate()) << c.domain;
  }
}

TEST(DpFtrl, default_lambda_is_that_of_the_theorem) {
  const DpFtrlOptions made = dp_ftrl_options();
  EXPECT_EQ(DpFtrl(made).lambda(),
            theorem_lambda(regret_setting(made.mechanism->certificate(), kModelDimension, 2)));
  DpFtrlOptions given = dp_ftrl_options();
  given.lambda = 12.5;
  EXPECT_EQ(DpFtrl(given).lambda(), 12.5);
}

TEST(DpFtrl, learns_from_the_releases_of_mode_lattice) {
  for (const LatticeNoise noise :
       {LatticeNoise::discrete_gaussian, LatticeNoise::rounded_gaussian}) {
    DpFtrlOptions made = dp_ftrl_options("honaker");
    made.mode = ReleaseMode::lattice;
    made.lattice_noise = noise;
    DpFtrl learner(made);
    PrefixSum sums(made.mechanism, {.key = made.key,
                                    .dimension = kModelDimension,
                                    .mode = ReleaseMode::lattice,
                                    .lattice_noise = noise});
    std::vector<double> x(kModelDimension), expected(kModelDimension), gradient(kModelDimension);
    for (std::int64_t t = 0; t < kModelSteps; ++t) {
      const double y = dp_ftrl_stream().example(t, x);
      const double score = learner.predict(x);
      double slope = 0;
      made.loss->evaluate({&score, 1}, made.loss->label(y), {&slope, 1});
      clipped_gradient(slope, x, 0.8, gradient);
      sums.release(gradient, expected);
      learner.step(x, y);
      ASSERT_TRUE(std::ranges::equal(learner.release(), expected)) << t;
    }
    // The theorem assumes the noise that the releases have.
    RegretSetting setting =
        regret_setting(made.mechanism->certificate(), kModelDimension, *made.domain, 2);
    const bool is_discrete = noise == LatticeNoise::discrete_gaussian;
    const double noise_in_mode_grid = setting.release_noise;
    setting.release_noise = noise_in_mode_grid * (is_discrete ? 1.05 : 0.999);
    EXPECT_GT(DpFtrl(made).lambda(), theorem_lambda(setting));
    setting.release_noise = noise_in_mode_grid * (is_discrete ? 1.09 : 1.001);
    EXPECT_LT(DpFtrl(made).lambda(), theorem_lambda(setting));
  }
}

TEST(DpFtrl, default_lambda_knows_domain_batch_size_and_doubling) {
  DpFtrlOptions made = dp_ftrl_options("tree", "simplex-entropic");
  made.batch_size = 4;
  RegretSetting setting =
      regret_setting(made.mechanism->certificate(), kModelDimension, *made.domain, 2);
  setting.release_noise /= 4;
  EXPECT_TRUE(testing::relatively_close(DpFtrl(made).lambda(), theorem_lambda(setting), 1e-15));
  made.doubling = true;
  EXPECT_TRUE(testing::relatively_close(DpFtrl(made).lambda(),
                                        theorem_lambda(setting) / std::sqrt(50.0), 1e-15));
}

TEST(DpFtrl, a_batch_is_one_step_whose_gradients_are_clipped_one_by_one_at_one_iterate) {
  DpFtrlOptions made = dp_ftrl_options("tree", "whole-space", "squared");
  made.batch_size = 3;
  made.lambda = 2;
  made.grid = 0x1p-30;
  DpFtrl learner(made);
  PrefixSum sums(made.mechanism,
                 {.key = made.key, .dimension = kModelDimension, .grid = made.grid});
  std::vector<double> x(kModelDimension), gradient(kModelDimension), release(kModelDimension);
  for (std::int64_t step = 0; step < 5; ++step) {
    const Vector w = learner.iterate();
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(learner.num_waiting(), i);
      EXPECT_EQ(learner.steps_done(), step);
      const double y = 3 * dp_ftrl_stream().example(3 * step + i, x);
      EXPECT_EQ(learner.step(x, y), w.dot(Eigen::Map<const Vector>(x.data(), kModelDimension)));
      clipped_gradient(w.dot(Eigen::Map<const Vector>(x.data(), kModelDimension)) - y, x, 0.8,
                       gradient);
      sums.contribute(gradient);
    }
    sums.release(release);
    EXPECT_TRUE(std::equal(release.begin(), release.end(), learner.release().begin()));
    for (std::size_t i = 0; i < release.size(); ++i)
      EXPECT_DOUBLE_EQ(learner.iterate()(static_cast<Eigen::Index>(i)), -release[i] / 3 / 2);
  }
}

TEST(DpFtrl, one_example_moves_no_sum_by_more_than_the_clip_norm_whatever_the_batch) {
  // Uses the same noise twice; one example of a batch is replaced by one without a gradient.
  for (const std::int64_t batch_size : {1, 2, 5}) {
    DpFtrlOptions made = dp_ftrl_options("tree", "ball", "squared");
    made.batch_size = batch_size;
    made.grid = 0x1p-30;
    DpFtrl with(made);
    DpFtrl without(made);
    std::vector<double> x(kModelDimension);
    for (std::int64_t i = 0; i < batch_size; ++i) {
      const double y = dp_ftrl_stream().example(i, x);
      with.step(x, i == 0 ? 1e6 : y);
      without.step(i == 0 ? std::vector<double>(kModelDimension) : x, y);
    }
    double square = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      square += std::pow(with.release()[i] - without.release()[i], 2);
    EXPECT_LE(std::sqrt(square), 0.8 + 1e-8) << batch_size;
    EXPECT_GE(std::sqrt(square), 0.79) << batch_size;
  }
}

TEST(DpFtrl, an_iterate_beyond_the_doubles_ends_the_learner_and_repeats_no_example) {
  // In mode lattice, the totals of these bands grow tenfold per step.
  DpFtrlOptions made = dp_ftrl_options();
  StrategyPlan plan{.numbers = {{"coefficients", {1, 10}}}};
  StrategyParameters parameters;
  parameters.plan = std::make_shared<const StrategyPlan>(std::move(plan));
  made.mechanism = Mechanism::make({.strategy = "banded-toeplitz",
                                    .steps = 150,
                                    .target = {.epsilon = 1, .delta = 1e-6},
                                    .clip = 0.8,
                                    .parameters = parameters});
  made.domain = make_domain("whole-space", 2);
  made.mode = ReleaseMode::lattice;
  made.grid = 0x1p-10;
  made.lambda = 1e-190;
  DpFtrl learner(made);
  std::int64_t learned = 0;
  const std::vector<double> x(kModelDimension);
  try {
    for (; learned < 150; ++learned) learner.step(x, 1);
    FAIL() << "it did not leave the doubles";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_state) << error.what();
  }
  EXPECT_EQ(learner.num_examples(), learned) << "every example that took a step counts";
  EXPECT_EQ(learner.steps_done(), learned);
  EXPECT_TRUE(learner.iterate().allFinite());
  EXPECT_ERROR(learner.end_batch(), "bad_state", "left the doubles");
}

TEST(DpFtrl, a_batch_may_end_early) {
  DpFtrlOptions made = dp_ftrl_options();
  made.batch_size = 10;
  DpFtrl learner(made);
  learner.step(std::vector<double>{1, 0, 0}, 1);
  EXPECT_EQ(learner.steps_done(), 0);
  learner.end_batch();
  EXPECT_EQ(learner.steps_done(), 1);
  EXPECT_EQ(learner.num_waiting(), 0);
  EXPECT_EQ(learner.num_examples(), 1);
  for (std::int64_t step = 1; step < kModelSteps; ++step) learner.end_batch();
  EXPECT_ERROR(learner.end_batch(), "past_horizon", "horizon 50, got 50");
  EXPECT_ERROR(learner.step(std::vector<double>{1, 0, 0}, 1), "past_horizon", "horizon 50, got 50");
}

TEST(DpFtrl, softmax_learns_a_row_of_weights_for_each_class) {
  DpFtrlOptions made = dp_ftrl_options("optimal");
  made.mechanism = Mechanism::make({.strategy = "optimal",
                                    .steps = 2000,
                                    .target = {.epsilon = 1000, .delta = 1e-6},
                                    .clip = 1.5});
  made.loss = std::make_shared<const SoftmaxLoss>(3);
  made.domain = make_domain("ball", 10);
  made.radius = 10;
  DpFtrl learner(made);
  EXPECT_EQ(learner.model_size(), 9);
  std::vector<double> x(kModelDimension), scores(3);
  EXPECT_ERROR(learner.step(x, 1), "wrong_length", "scores must have 3 entries, got 1");
  EXPECT_ERROR(learner.step(x, 3, scores), "invalid_argument", "softmax: label must be an integer");
  int num_right = 0;
  for (std::int64_t t = 0; t < 2000; ++t) {
    dp_ftrl_stream().example(t, x);
    const double y = static_cast<double>(std::ranges::max_element(x) - x.begin());
    learner.step(x, y, scores);
    if (t >= 1000) num_right += learner.loss().says(scores, y);
  }
  EXPECT_GE(num_right, 900);
}

TEST(DpFtrl, gradients_are_never_shown) {
  DpFtrlOptions two = dp_ftrl_options();
  two.batch_size = 2;
  DpFtrl learner(two);
  const std::vector<double> x = {0.5, -0.5, 0.25};
  EXPECT_EQ(learner.release()[0], 0);
  learner.step(x, 1);
  EXPECT_EQ(learner.release()[0], 0);
  learner.step(x, 1);
  const double release = learner.release()[0];
  EXPECT_NE(release, 0);
  learner.step(x, 1);
  EXPECT_EQ(learner.release()[0], release) << "until the next batch has ended";
}

TEST(DpFtrl, zero_is_taken_as_minus_one) {
  DpFtrl a(dp_ftrl_options());
  DpFtrl b(dp_ftrl_options());
  const std::vector<double> x = {0.5, -0.5, 0.25};
  a.step(x, 0);
  b.step(x, -1);
  EXPECT_EQ(a.iterate(), b.iterate());
  b.step(x, 1);
  a.step(x, 0);
  EXPECT_NE(a.iterate(), b.iterate());
}

TEST(DpFtrl, refused_examples_change_nothing) {
  DpFtrl learner(dp_ftrl_options());
  DpFtrl untouched(dp_ftrl_options());
  std::vector<double> x(kModelDimension);
  const double y = dp_ftrl_stream().example(0, x);
  learner.step(x, y);
  untouched.step(x, y);
  const auto message = [&](const std::vector<double>& features, double label) {
    return testing::error_text([&] { learner.step(features, label); });
  };
  EXPECT_EQ(message({1, 2}, 1), "wrong_length | dp_ftrl: features must have 3 entries, got 2");
  EXPECT_EQ(message({1, kNan, 0}, 1),
            "invalid_argument | dp_ftrl: features[1] must be finite, got NaN");
  EXPECT_EQ(message({1, 0, 0}, 2), "invalid_argument | logistic: label must be -1, 0 or 1, got 2");
  EXPECT_EQ(message({1.7e308, 1.7e308, 0}, 1).substr(0, 16), "invalid_argument");
  EXPECT_EQ(learner.steps_done(), 1);
  for (std::int64_t t = 1; t < kModelSteps; ++t) {
    const double label = dp_ftrl_stream().example(t, x);
    EXPECT_EQ(learner.step(x, label), untouched.step(x, label));
  }
  EXPECT_EQ(learner.iterate(), untouched.iterate());
}

TEST(DpFtrl, past_the_horizon_is_refused_and_the_model_stays) {
  DpFtrl learner(dp_ftrl_options());
  const std::vector<double> x = {0.1, 0.2, 0.3};
  for (std::int64_t t = 0; t < kModelSteps; ++t) learner.step(x, 1);
  const Vector last = learner.iterate();
  const std::vector<double> release(learner.release().begin(), learner.release().end());
  EXPECT_ERROR(learner.step(x, 1), "past_horizon", "step must be below the horizon 50, got 50");
  EXPECT_EQ(learner.iterate(), last);
  EXPECT_TRUE(std::equal(release.begin(), release.end(), learner.release().begin()));
  EXPECT_EQ(learner.steps_done(), kModelSteps);
}

TEST(DpFtrl, bad_options_are_refused_by_name) {
  const auto message = [](const auto& change) {
    DpFtrlOptions made = dp_ftrl_options();
    change(made);
    return testing::error_text([&] { DpFtrl{made}; });
  };
  using O = DpFtrlOptions;
  EXPECT_EQ(message([](O& o) { o.mechanism = nullptr; }),
            "invalid_argument | dp_ftrl: mechanism must be given");
  EXPECT_EQ(message([](O& o) { o.loss = nullptr; }),
            "invalid_argument | dp_ftrl: loss must be given");
  EXPECT_EQ(message([](O& o) { o.domain = nullptr; }),
            "invalid_argument | dp_ftrl: domain must be given");
  EXPECT_EQ(message([](O& o) { o.dimension = 0; }),
            "invalid_argument | dp_ftrl: dimension must be between 1 and 1073741824, got 0");
  EXPECT_EQ(message([](O& o) { o.batch_size = 0; }),
            "invalid_argument | dp_ftrl: batch_size must be between 1 and 2147483648, got 0");
  EXPECT_EQ(message([](O& o) { o.radius = 0; }),
            "invalid_argument | dp_ftrl: radius must be positive and finite, got 0");
  EXPECT_EQ(message([](O& o) { o.lambda = 0; }),
            "invalid_argument | dp_ftrl: lambda must be positive and finite, got 0");
  EXPECT_EQ(message([](O& o) { o.lambda = 1e-309; }).substr(0, 70),
            "invalid_argument | dp_ftrl: lambda must be large enough for finite ite");
  EXPECT_EQ(message([](O& o) { o.lambda = kNan; }),
            "invalid_argument | dp_ftrl: lambda must be positive and finite, got NaN");
  EXPECT_EQ(message([](O& o) { o.grid = 0.3; }),
            "invalid_argument | prefix_sum: grid must be a power of two, got 0.3");
}

/// Domain whose `project` throws from the second call on.
class FaultyDomain final : public Domain {
 public:
  std::string_view name() const override { return "faulty"; }
  void project(std::span<double> /*point*/) const override {
    if (num_projections_++ > 0) throw std::runtime_error("no projection");
  }
  double support(std::span<const double> /*direction*/) const override { return 1; }
  std::optional<double> max_norm(std::int64_t /*dimension*/) const override { return 1; }
  std::optional<double> diameter(std::int64_t /*dimension*/) const override { return 1; }

 private:
  mutable int num_projections_ = 0;
};

TEST(DpFtrl, whatever_fails_after_a_release_ends_the_learning) {
  for (const ReleaseMode mode : {ReleaseMode::grid, ReleaseMode::lattice}) {
    DpFtrlOptions made = dp_ftrl_options("tree", "ball");
    made.domain = std::make_shared<const FaultyDomain>();
    made.mode = mode;
    DpFtrl learner(made);
    const std::vector<double> features(static_cast<std::size_t>(learner.dimension()), 0.1);
    learner.step(features, 1);
    EXPECT_EQ(learner.num_examples(), 1) << "its noise is spent";
    EXPECT_ERROR(learner.step(features, 1), "bad_state", "there are no more steps");
    EXPECT_EQ(learner.steps_done(), 1);
  }
}

}  // namespace
}  // namespace dpftrl
