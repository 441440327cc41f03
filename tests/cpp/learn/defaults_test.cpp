// SPDX-License-Identifier: Apache-2.0
// Default settings of a learner, and what it learns from a table with them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kNumLearnedRows = 300;
constexpr std::int64_t kDefaultsDimension = 3;
constexpr ApproximateDp kTarget{.epsilon = 4, .delta = 1e-6};

LearnerFacts facts(RowsCome rows_come = RowsCome::in_every_step) {
  return {.loss = make_loss("logistic"),
          .dimension = kDefaultsDimension,
          .num_rows = kNumLearnedRows,
          .target = kTarget,
          .rows_come = rows_come};
}

/// Rows whose label is the sign of the second feature.
struct LabelledTable {
  std::vector<double> features;
  std::vector<double> labels;

  explicit LabelledTable(std::uint64_t seed) {
    const SyntheticStream stream({.dimension = kDefaultsDimension, .seed = seed});
    std::vector<double> row(kDefaultsDimension);
    for (std::int64_t i = 0; i < kNumLearnedRows; ++i) {
      stream.example(i, row);
      features.insert(features.end(), row.begin(), row.end());
      labels.push_back(row[1] > 0 ? 1 : -1);
    }
  }

  TableModel learned(std::optional<bool> precondition = {}) const {
    return learn_table({.features = features,
                        .labels = labels,
                        .loss = make_loss("logistic"),
                        .target = kTarget,
                        .key = Key::insecure_from_seed(5),
                        .precondition = precondition});
  }

  double accuracy(const Vector& weights) const {
    std::int64_t num_right = 0;
    for (std::int64_t i = 0; i < kNumLearnedRows; ++i) {
      const Eigen::Map<const Vector> row(
          &features[static_cast<std::size_t>(i * kDefaultsDimension)], kDefaultsDimension);
      num_right += (row.dot(weights) > 0) == (labels[static_cast<std::size_t>(i)] > 0);
    }
    return static_cast<double>(num_right) / kNumLearnedRows;
  }
};

TEST(LearnerDefaults, the_longest_gradient_is_that_of_features_at_the_edge) {
  for (const char* name : {"logistic", "hinge", "huber", "absolute", "quantile"}) {
    const std::shared_ptr<const Loss> loss = make_loss(name);
    const std::vector<double> features{1, -1, 1, -1, 1};
    const double longest = longest_gradient(loss, 5);
    std::vector<double> gradient(5);
    double norm = 0;
    for (const double score : {-1e3, 1e3})
      for (const double label : {-1.0, 1.0}) {
        clipped_gradient(loss->slope(score, label), features, 1e9, gradient);
        norm = std::max(norm, Eigen::Map<const Vector>(gradient.data(), 5).norm());
      }
    EXPECT_LE(norm, longest) << name;
    EXPECT_NEAR(norm, longest, 1e-9) << name;
  }
  EXPECT_NEAR(longest_gradient(std::make_shared<const SoftmaxLoss>(3), 8), 4, 1e-9);
}

TEST(LearnerDefaults, rows_in_every_step_follow_the_rule) {
  const LearnerDefaults found = learner_defaults(facts());
  const double signal = kNumLearnedRows / noise_multiplier(kTarget);
  const double clearness = signal / std::sqrt(3.0);
  const double longest = longest_gradient(make_loss("logistic"), kDefaultsDimension);
  const double clip = 0.03 * std::sqrt(clearness / 12) * longest;
  EXPECT_NEAR(found.clip, clip, 1e-15);
  EXPECT_EQ(found.steps, 120);
  EXPECT_EQ(found.batch_size, kNumLearnedRows);
  EXPECT_EQ(found.strategy, "independent");
  EXPECT_EQ(found.participation.times(), 120);
  EXPECT_EQ(found.participation.apart(), 1);
  ASSERT_TRUE(found.descent);
  EXPECT_EQ(found.descent->momentum, 0.8);
  ASSERT_EQ(found.descent->rates.size(), 120U);
  for (int step = 0; step < 120; ++step)
    EXPECT_NEAR(found.descent->rates[static_cast<std::size_t>(step)], (119.5 - step) / 60, 1e-15);
  // Distance that the weights travel over all steps if every gradient has the clip norm.
  const double length = 120 * clip / found.lambda / (1 - 0.8);
  EXPECT_NEAR(length * std::sqrt(3.0), 8 * signal, 1e-9);
}

TEST(LearnerDefaults, what_noise_leaves_for_a_weight_decides_clip_norm_and_way) {
  for (const std::int64_t num_scores : {1, 4}) {
    LearnerFacts given = facts();
    if (num_scores > 1) given.loss = std::make_shared<const SoftmaxLoss>(num_scores);
    const double longest = longest_gradient(given.loss, kDefaultsDimension);
    const double num_weights = static_cast<double>(num_scores * kDefaultsDimension);
    for (const auto& [clearness, share, way] : {std::tuple{1.0, 0.05, 4.0},
                                                {24.0, 0.05, 4.0},
                                                {54.0, 0.0636, 6.0},
                                                {300.0, 0.15, 8.0},
                                                {1e5, 0.25, 8.0}}) {
      given.num_rows = std::llround(clearness * std::sqrt(num_weights) * noise_multiplier(kTarget));
      const double signal = static_cast<double>(given.num_rows) / noise_multiplier(kTarget);
      const LearnerDefaults found = learner_defaults(given);
      EXPECT_NEAR(found.clip / longest, share, 0.01 * share) << clearness;
      const double length = 120 * found.clip / found.lambda / (1 - 0.8) * std::sqrt(3.0);
      EXPECT_NEAR(length / signal, way, 0.02 * way) << clearness;
    }
  }
}

TEST(LearnerDefaults, rows_that_come_once_follow_their_own_rule) {
  LearnerFacts given = facts(RowsCome::once);
  const double growth = 1 + std::log(static_cast<double>(kNumLearnedRows)) / std::numbers::pi;
  for (const std::int64_t batch_size : {1, 7}) {
    given.batch_size = batch_size;
    const LearnerDefaults found = learner_defaults(given);
    EXPECT_EQ(found.clip, 0.1 * longest_gradient(given.loss, kDefaultsDimension));
    EXPECT_EQ(found.steps, batch_size == 1 ? 300 : 43);
    EXPECT_EQ(found.batch_size, batch_size);
    EXPECT_FALSE(found.descent || found.strategy);
    EXPECT_EQ(found.participation.times(), 1);
    const double length = static_cast<double>(found.steps) * found.clip / found.lambda;
    EXPECT_NEAR(length * std::sqrt(3.0), 3 * kNumLearnedRows / (noise_multiplier(kTarget) * growth),
                1e-9);
  }
  given.num_rows = 1'000'000;
  const LearnerDefaults limited = learner_defaults(given);
  const double length = static_cast<double>(limited.steps) * limited.clip / limited.lambda;
  EXPECT_NEAR(length * std::sqrt(3.0), 320, 1e-9);
}

TEST(LearnerDefaults, twice_the_noise_halves_the_way_of_the_weights) {
  for (const RowsCome rows_come : {RowsCome::in_every_step, RowsCome::once}) {
    LearnerFacts given = facts(rows_come);
    if (rows_come == RowsCome::in_every_step) given.num_rows = 1000;
    const auto way = [&] {
      const LearnerDefaults found = learner_defaults(given);
      return found.clip / found.lambda;
    };
    const double far = way();
    given.neighbours = Neighbours::replace_one;
    EXPECT_NEAR(way(), far / 2, 1e-12 * far);
  }
}

TEST(LearnerDefaults, a_table_is_learned_from_as_a_learner_with_these_settings_does) {
  const LabelledTable table(3);
  const LearnerDefaults how = learner_defaults(facts());
  DpFtrl learner({.mechanism = Mechanism::make({.strategy = "independent",
                                                .steps = 120,
                                                .target = kTarget,
                                                .clip = how.clip,
                                                .participation = how.participation}),
                  .key = Key::insecure_from_seed(5),
                  .dimension = kDefaultsDimension,
                  .loss = make_loss("logistic"),
                  .domain = make_domain("whole-space", 1),
                  .lambda = how.lambda,
                  .descent = how.descent,
                  .batch_size = kNumLearnedRows});
  for (std::int64_t step = 0; step < 120; ++step)
    for (std::size_t i = 0; i < table.labels.size(); ++i)
      learner.step(std::span(table.features).subspan(i * kDefaultsDimension, kDefaultsDimension),
                   table.labels[i]);
  const TableModel model = table.learned(false);
  EXPECT_EQ(model.weights, learner.iterate());
  EXPECT_EQ(model.certificate.noise_stddev, learner.mechanism().noise_stddev());
}

TEST(LearnerDefaults, the_noise_hides_a_row_that_moves_every_step) {
  const Certificate certificate = LabelledTable(3).learned(false).certificate;
  EXPECT_EQ(certificate.max_participations, 120);
  EXPECT_NEAR(certificate.sensitivity, std::sqrt(120.0), 1e-12);
  const double least = noise_multiplier(kTarget) * std::sqrt(120.0) * certificate.clip;
  EXPECT_GE(certificate.noise_stddev, least * (1 - 1e-12));
  EXPECT_LE(certificate.noise_stddev, least * 1.001);
}

TEST(LearnerDefaults, labels_are_learned_and_not_where_they_mean_nothing) {
  LabelledTable table(4);
  EXPECT_GT(table.accuracy(table.learned().weights), 0.9);
  std::rotate(table.labels.begin(), table.labels.begin() + kNumLearnedRows / 2, table.labels.end());
  EXPECT_LT(table.accuracy(table.learned().weights), 0.75);
}

TEST(LearnerDefaults, nothing_but_public_numbers_decides) {
  const TableModel one = LabelledTable(3).learned(), other = LabelledTable(4).learned();
  EXPECT_EQ(one.certificate.noise_stddev, other.certificate.noise_stddev);
  EXPECT_EQ(one.certificate.clip, other.certificate.clip);
  EXPECT_NE(one.weights, other.weights);
}

TEST(LearnerDefaults, what_is_wrong_is_refused_by_name) {
  const auto refused = [](const auto& change, const char* message) {
    LearnerFacts given = facts();
    change(given);
    EXPECT_ERROR(learner_defaults(given), "invalid_argument", message);
  };
  refused([](LearnerFacts& it) { it.loss = nullptr; }, "loss must be given");
  refused([](LearnerFacts& it) { it.loss = make_loss("squared"); },
          "loss must be one with bounded slopes, got squared");
  refused([](LearnerFacts& it) { it.dimension = 0; }, "dimension must be");
  refused([](LearnerFacts& it) { it.num_rows = 0; }, "num_rows must be");
  refused([](LearnerFacts& it) { it.batch_size = 0; }, "batch_size must be");
  refused([](LearnerFacts& it) { it.target.epsilon = 0; }, "epsilon must be");
  refused([](LearnerFacts& it) { it.target.delta = std::numeric_limits<double>::quiet_NaN(); },
          "delta must be");
  LabelledTable table(3);
  table.features.pop_back();
  EXPECT_ERROR((void)table.learned(), "wrong_length", "features must have 600 entries, got 899");
  table.labels.clear();
  EXPECT_ERROR((void)table.learned(), "invalid_argument", "labels must be");
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    LabelledTable damaged(3);
    damaged.features[4] = bad;
    for (const bool precondition : {false, true})
      EXPECT_ERROR((void)damaged.learned(precondition), "invalid_argument", "features[4]");
    LabelledTable mislabelled(3);
    mislabelled.labels[1] = bad;
    EXPECT_ERROR((void)mislabelled.learned(), "invalid_argument", "label");
  }
}

}  // namespace
}  // namespace dpftrl
