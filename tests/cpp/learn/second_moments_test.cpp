// SPDX-License-Identifier: Apache-2.0
// Second moments of features estimated before learning: their cost, their values, and when they are
// used.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "random/derived_key.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr ApproximateDp kMomentsTarget{.epsilon = 4, .delta = 1e-6};
constexpr std::int64_t kMomentsDimension = 3;

/// Rows of two correlated features far from 0 and an intercept, labelled by which feature is
/// larger.
struct PairedTable {
  std::vector<double> features;
  std::vector<double> labels;

  explicit PairedTable(std::int64_t num_rows) {
    std::uint64_t state = 1;
    const auto draw = [&] {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      return static_cast<double>(state >> 11) * 0x1p-52 - 1;
    };
    for (std::int64_t i = 0; i < num_rows; ++i) {
      const double first = 0.7 + 0.2 * draw();
      const double second = first + 0.03 * draw();
      features.insert(features.end(), {first, second, 1});
      labels.push_back(second > first ? 1 : -1);
    }
  }

  TableModel learned(std::optional<bool> precondition, const ApproximateDp& target) const {
    return learn_table({.features = features,
                        .labels = labels,
                        .loss = make_loss("logistic"),
                        .target = target,
                        .key = Key::insecure_from_seed(5),
                        .precondition = precondition});
  }

  double accuracy(const Vector& weights) const {
    double num_right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Eigen::Map<const Vector> row(&features[3 * i], 3);
      if ((row.dot(weights) > 0) == (labels[i] > 0)) ++num_right;
    }
    return num_right / static_cast<double>(labels.size());
  }
};

SecondMomentsPlan plan_for(std::int64_t num_rows, Neighbours neighbours = Neighbours::zero_out,
                           const ApproximateDp& target = kMomentsTarget) {
  return plan_second_moments({.target = target,
                              .neighbours = neighbours,
                              .dimension = kMomentsDimension,
                              .num_rows = num_rows});
}

TEST(SecondMoments, both_parts_together_cost_the_target) {
  for (const ApproximateDp target : {kMomentsTarget, ApproximateDp{.epsilon = 0.5, .delta = 1e-5},
                                     ApproximateDp{.epsilon = 20, .delta = 1e-9}}) {
    const SecondMomentsPlan plan = plan_for(500, Neighbours::zero_out, target);
    const double whole = mu_from_approximate_dp(target);
    const double moments =
        mu_from_approximate_dp({.epsilon = plan.moments_epsilon, .delta = target.delta});
    const double learner =
        mu_from_approximate_dp({.epsilon = plan.learner_epsilon, .delta = target.delta});
    EXPECT_NEAR(std::pow(moments / whole, 2), 0.1, 1e-7);
    EXPECT_NEAR(std::pow(learner / whole, 2), 0.9, 1e-7);
    EXPECT_GE(plan.mu, std::hypot(moments, learner) * (1 - 1e-15));
    EXPECT_LE(plan.mu, whole);
    EXPECT_GE(plan.rho, plan.mu * plan.mu / 2 * (1 - 1e-15));
    EXPECT_LE(epsilon_from_mu({.mu = plan.mu, .delta = target.delta}), target.epsilon);
  }
}

TEST(SecondMoments, they_come_first_where_their_noise_is_at_most_half_of_their_mean) {
  const double stddev = noise_multiplier(kMomentsTarget) / std::sqrt(0.1);
  // The mean eigenvalue is 1 / dimension, and noise adds sqrt(2 dimension) stddev / rows.
  const double border = 2 * stddev * std::sqrt(6.0) * 3;
  const auto below = static_cast<std::int64_t>(border);
  EXPECT_FALSE(plan_for(below).come_first);
  EXPECT_TRUE(plan_for(below + 1).come_first);
  const auto twice = static_cast<std::int64_t>(2 * border);
  EXPECT_FALSE(plan_for(twice, Neighbours::replace_one).come_first);
  EXPECT_TRUE(plan_for(twice + 1, Neighbours::replace_one).come_first);
  for (const std::int64_t dimension :
       {kMaxSecondMomentsDimension, kMaxSecondMomentsDimension + 1}) {
    const SecondMomentsPlan plan = plan_second_moments(
        {.target = kMomentsTarget, .dimension = dimension, .num_rows = 100'000'000});
    EXPECT_EQ(plan.come_first, dimension == kMaxSecondMomentsDimension);
  }
  const SecondMomentsPlan none =
      plan_for(100'000, Neighbours::zero_out, {.epsilon = 0.01, .delta = 0.5});
  EXPECT_FALSE(none.come_first);
  EXPECT_EQ(none.moments_epsilon, 0);
}

TEST(SecondMoments, coordinates_are_those_of_a_release_of_all_products) {
  const PairedTable table(400);
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    const Key key = Key::insecure_from_seed(9);
    const SecondMoments moments(table.features, {.target = kMomentsTarget,
                                                 .neighbours = neighbours,
                                                 .dimension = kMomentsDimension,
                                                 .key = key});
    PrefixSum sums(Mechanism::make({.strategy = "independent",
                                    .steps = 1,
                                    .target = kMomentsTarget,
                                    .clip = 1,
                                    .neighbours = neighbours}),
                   {.key = key, .dimension = 6});
    const double root = std::sqrt(2.0);
    for (std::size_t i = 0; i < table.labels.size(); ++i) {
      const double* x = &table.features[3 * i];
      const std::array record{x[0] * x[0] / 3, root * x[0] * x[1] / 3, root * x[0] * x[2] / 3,
                              x[1] * x[1] / 3, root * x[1] * x[2] / 3, x[2] * x[2] / 3};
      EXPECT_LE(Eigen::Map<const Vector>(record.data(), 6).norm(), 1 + 1e-15);
      sums.contribute(record);
    }
    std::vector<double> all(6);
    sums.release(std::span(all));
    for (double& entry : all) entry /= 400;
    Matrix mean(3, 3);
    mean << all[0], all[1] / root, all[2] / root,  //
        all[1] / root, all[3], all[4] / root,      //
        all[2] / root, all[4] / root, all[5];
    mean.diagonal().array() += sums.release_stddev(0) * std::sqrt(6.0) / 400;
    const Matrix factor = mean.llt().matrixL();
    std::vector<double> rows = table.features;
    moments.transform(rows);
    Vector weights(3);
    weights << 1, -2, 3;
    std::vector<double> restored{1, -2, 3};
    moments.restore(restored);
    for (std::size_t i = 0; i < table.labels.size(); ++i) {
      const Eigen::Map<const Vector> x(&table.features[3 * i], 3);
      const Eigen::Map<const Vector> y(&rows[3 * i], 3);
      EXPECT_LT((factor * y - x / std::sqrt(3.0)).norm(), 1e-12);
      // Scores are the same in both coordinate systems.
      EXPECT_NEAR(y.dot(weights), x.dot(Eigen::Map<const Vector>(restored.data(), 3)), 1e-10);
    }
  }
}

TEST(SecondMoments, entries_outside_their_range_count_as_its_ends) {
  const auto factor_of = [](double first, double second) {
    const std::vector<double> features{0.25, 0.5, first, second};
    const SecondMoments moments(
        features, {.target = kMomentsTarget, .dimension = 2, .key = Key::insecure_from_seed(3)});
    std::vector<double> units{1, 0, 0, 1};
    moments.transform(units);
    return units;
  };
  EXPECT_EQ(factor_of(7, -1e200), factor_of(1, -1));
  EXPECT_NE(factor_of(1, -1), factor_of(0.5, -1));
  PairedTable table(600);
  table.features[3] = 1e200;
  EXPECT_TRUE(table.learned({}, kMomentsTarget).weights.allFinite());
}

TEST(SecondMoments, a_table_is_learned_after_them_where_they_come_first) {
  const PairedTable table(600);
  const TableModel usual = table.learned({}, kMomentsTarget);
  const TableModel first = table.learned(true, kMomentsTarget);
  const TableModel without = table.learned(false, kMomentsTarget);
  EXPECT_EQ(usual.weights, first.weights);
  ASSERT_TRUE(first.moments && !without.moments);
  EXPECT_EQ(first.certificate.epsilon, kMomentsTarget.epsilon);
  EXPECT_EQ(first.certificate.mu, first.moments->mu);
  EXPECT_EQ(first.certificate.rho, first.moments->rho);
  EXPECT_GT(table.accuracy(first.weights), 0.9);
  EXPECT_LT(table.accuracy(without.weights), 0.7);
  const PairedTable few(20);
  EXPECT_FALSE(few.learned({}, kMomentsTarget).moments);

  // Step by step: moments have their own key, and the learner has the table's.
  const SecondMomentsPlan plan = plan_for(600);
  const SecondMoments moments(
      table.features,
      {.target = {.epsilon = plan.moments_epsilon, .delta = kMomentsTarget.delta},
       .dimension = kMomentsDimension,
       .key = detail::key_for(detail::KeyUse::second_moments, Key::insecure_from_seed(5))});
  std::vector<double> rows = table.features;
  moments.transform(rows);
  const ApproximateDp rest{.epsilon = plan.learner_epsilon, .delta = kMomentsTarget.delta};
  const LearnerDefaults how = learner_defaults({.loss = make_loss("logistic"),
                                                .dimension = kMomentsDimension,
                                                .num_rows = 600,
                                                .target = rest});
  DpFtrl learner({.mechanism = Mechanism::make({.strategy = *how.strategy,
                                                .steps = how.steps,
                                                .target = rest,
                                                .clip = kSecondMomentsClip * how.clip,
                                                .participation = how.participation}),
                  .key = Key::insecure_from_seed(5),
                  .dimension = kMomentsDimension,
                  .loss = make_loss("logistic"),
                  .domain = make_domain("whole-space", 1),
                  .lambda = kSecondMomentsClip * how.lambda,
                  .descent = how.descent,
                  .batch_size = how.batch_size});
  double score = 0;
  for (std::int64_t step = 0; step < how.steps; ++step)
    for (std::size_t i = 0; i < 600; ++i)
      learner.step(std::span(rows).subspan(3 * i, 3), table.labels[i], {&score, 1});
  std::vector<double> weights(learner.iterate().begin(), learner.iterate().end());
  moments.restore(weights);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(weights[i], first.weights[static_cast<Eigen::Index>(i)]);
}

TEST(SecondMoments, features_that_are_always_0_and_one_row_have_coordinates) {
  for (const std::size_t num_rows : {std::size_t{1}, std::size_t{50}}) {
    const std::vector<double> zeros(3 * num_rows);
    const SecondMoments moments(zeros, {.target = kMomentsTarget,
                                        .dimension = kMomentsDimension,
                                        .key = Key::insecure_from_seed(num_rows)});
    std::vector<double> row{0.5, -0.5, 1};
    moments.transform(row);
    for (const double entry : row) EXPECT_TRUE(std::isfinite(entry));
  }
}

TEST(SecondMoments, bad_input_is_refused_by_name) {
  const auto made = [](std::vector<double> features, std::int64_t dimension) {
    return SecondMoments(
        features,
        {.target = kMomentsTarget, .dimension = dimension, .key = Key::insecure_from_seed(1)});
  };
  EXPECT_ERROR((void)made({1, 1}, 513), "invalid_argument", "dimension must be");
  EXPECT_ERROR((void)made({1, 1}, 0), "invalid_argument", "dimension must be");
  EXPECT_ERROR((void)made({}, 2), "invalid_argument", "features must be");
  EXPECT_ERROR((void)made({1, 1, 1}, 2), "wrong_length", "features must have");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR((void)made({1, 1, 1, nan}, 2), "invalid_argument", "features[3]");
  const SecondMoments moments = made({1, 1, 0.5, 0.25}, 2);
  std::vector<double> odd(3);
  EXPECT_ERROR(moments.transform(odd), "wrong_length", "rows must have 2 entries, got 3");
  EXPECT_ERROR(moments.restore(odd), "wrong_length", "weights must have 2 entries, got 3");
  const std::vector<double> wide(2 * 513);
  const std::vector<double> labels{-1, 1};
  EXPECT_ERROR((void)learn_table({.features = wide,
                                  .labels = labels,
                                  .loss = make_loss("logistic"),
                                  .target = kMomentsTarget,
                                  .key = Key::insecure_from_seed(1),
                                  .precondition = true}),
               "invalid_argument", "features must be at most 512 per row");
  EXPECT_ERROR((void)learn_table({.features = wide,
                                  .labels = labels,
                                  .loss = nullptr,
                                  .target = kMomentsTarget,
                                  .key = Key::insecure_from_seed(1)}),
               "invalid_argument", "loss must be given");
  EXPECT_ERROR((void)plan_for(0), "invalid_argument", "num_rows must be");
  const ApproximateDp negative{.epsilon = -1, .delta = 1e-6};
  EXPECT_ERROR((void)plan_for(5, Neighbours::zero_out, negative), "invalid_argument",
               "epsilon must be");
  const PairedTable table(50);
  const ApproximateDp large{.epsilon = 0.01, .delta = 0.5};
  EXPECT_ERROR((void)table.learned(true, large), "invalid_argument", "delta must be smaller");
}

}  // namespace
}  // namespace dpftrl
