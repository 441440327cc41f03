// SPDX-License-Identifier: Apache-2.0

/// Default settings of a learner: docs/math/learning.md, section 10.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "learn/learner_options.hpp"
#include "random/derived_key.hpp"
#include "strategy/toeplitz/identity.hpp"

namespace dpftrl {
namespace {

/// Settings that a rule gives.
struct Rule {
  double clip_share;  ///< clip norm, as a share of the longest gradient
  double length;      ///< total distance of all steps, times the root of the number of features
};

/// Rule for `signal`, the number of rows divided by the noise of their sum, and `clearness`, the
/// signal divided by the root of the number of weights.
Rule rule_for(RowsCome rows_come, double signal, double clearness) {
  if (rows_come == RowsCome::once)
    return {.clip_share = 0.1, .length = std::min(320.0, 3 * signal)};
  return {.clip_share = std::clamp(0.03 * std::sqrt(clearness / 12), 0.05, 0.25),
          .length = std::clamp(4 * std::sqrt(clearness / 24), 4.0, 8.0) * signal};
}

constexpr double kTableMomentum = 0.8;

/// Rates that fall linearly to 0 and have mean 1.
std::vector<double> table_rates() {
  constexpr double kNumSteps = static_cast<double>(kNumTableSteps);
  std::vector<double> rates(kNumTableSteps);
  for (std::size_t i = 0; i < rates.size(); ++i)
    rates[i] = 2 - (2 * static_cast<double>(i) + 1) / kNumSteps;
  return rates;
}

/// Model of the unchanged features, with `clip` times the default clip norm.
TableModel learn_as_it_is(const TableOptions& options, std::int64_t dimension, double clip = 1) {
  const std::size_t num_rows = options.labels.size();
  const auto width = static_cast<std::size_t>(dimension);
  const LearnerDefaults how = learner_defaults({.loss = options.loss,
                                                .dimension = dimension,
                                                .num_rows = static_cast<std::int64_t>(num_rows),
                                                .target = options.target,
                                                .neighbours = options.neighbours});
  DpFtrl learner({.mechanism = Mechanism::make({.strategy = *how.strategy,
                                                .steps = how.steps,
                                                .target = options.target,
                                                .clip = clip * how.clip,
                                                .neighbours = options.neighbours,
                                                .participation = how.participation}),
                  .key = options.key,
                  .dimension = dimension,
                  .loss = options.loss,
                  .domain = make_domain("whole-space", 1),
                  .lambda = clip * how.lambda,
                  .descent = how.descent,
                  .batch_size = how.batch_size});
  std::vector<double> scores(static_cast<std::size_t>(learner.num_scores()));
  for (std::int64_t step = 0; step < how.steps; ++step)
    for (std::size_t row = 0; row < num_rows; ++row)
      learner.step(options.features.subspan(row * width, width), options.labels[row], scores);
  return {.weights = learner.iterate(),
          .certificate = learner.mechanism().certificate(),
          .moments = {}};
}

/// Model of features transformed by their second moments.
TableModel learn_after_moments(const TableOptions& options, std::int64_t dimension,
                               const SecondMomentsPlan& plan) {
  const double delta = options.target.delta;
  if (dimension > kMaxSecondMomentsDimension)
    fail_argument(
        "learn_table", "features",
        "at most " + to_text(kMaxSecondMomentsDimension) + " per row, with {precondition}",
        to_text(dimension));
  if (!(plan.moments_epsilon > 0))
    fail_argument("learn_table", "delta", "smaller, with {precondition}", to_text(delta));
  const SecondMoments moments(
      options.features, {.target = {.epsilon = plan.moments_epsilon, .delta = delta},
                         .neighbours = options.neighbours,
                         .dimension = dimension,
                         .key = detail::key_for(detail::KeyUse::second_moments, options.key)});
  std::vector<double> rows(options.features.begin(), options.features.end());
  moments.transform(rows);
  TableOptions rest = options;
  rest.features = rows;
  rest.target.epsilon = plan.learner_epsilon;
  TableModel model = learn_as_it_is(rest, dimension, kSecondMomentsClip);
  moments.restore(detail::span_of(model.weights));
  model.certificate.epsilon = options.target.epsilon;
  model.certificate.mu = plan.mu;
  model.certificate.rho = plan.rho;
  model.moments = plan;
  return model;
}

}  // namespace

double longest_gradient(const std::shared_ptr<const VectorLoss>& loss, std::int64_t dimension) {
  const char* where = "longest_gradient";
  if (!loss) fail(ErrorCode::invalid_argument, where, "loss", "must be given");
  require_between(where, "dimension", dimension, 1, kMaxModelDimension / loss->num_scores());
  const std::optional<double> slope = loss->lipschitz();
  if (!slope) fail_argument(where, "loss", "one with bounded slopes", std::string(loss->name()));
  return *slope * std::sqrt(static_cast<double>(dimension)) * (1 + 0x1p-40);
}

LearnerDefaults learner_defaults(const LearnerFacts& facts) {
  const char* where = "learner_defaults";
  const double longest = longest_gradient(facts.loss, facts.dimension);
  require_between(where, "num_rows", facts.num_rows, 1, std::int64_t{1} << 53);
  require_between(where, "batch_size", facts.batch_size, 1, std::int64_t{1} << 31);
  const bool come_again = facts.rows_come == RowsCome::in_every_step;
  const double num_rows = static_cast<double>(facts.num_rows);
  const double noise = neighbour_distance(facts.neighbours) * noise_multiplier(facts.target);
  // For rows used once, an upper bound on the root mean square error of the square-root mechanism
  // over num_rows steps.
  const double error = come_again ? 1 : 1 + std::log(num_rows) / std::numbers::pi;
  const double signal = num_rows / (noise * error);
  const double clearness =
      signal / std::sqrt(static_cast<double>(facts.dimension * facts.loss->num_scores()));
  const Rule rule = rule_for(facts.rows_come, signal, clearness);
  const std::int64_t steps =
      come_again ? kNumTableSteps : (facts.num_rows - 1) / facts.batch_size + 1;
  const double clip = rule.clip_share * longest;
  const double lambda =
      (clip * static_cast<double>(steps) * std::sqrt(static_cast<double>(facts.dimension))) /
      rule.length;
  LearnerDefaults found{.clip = clip,
                        .lambda = lambda,
                        .descent = {},
                        .steps = steps,
                        .batch_size = facts.batch_size,
                        .strategy = {},
                        .participation = Participation::single()};
  if (!come_again) return found;
  // With momentum, a gradient eventually moves the weights by 1 / (1 - momentum) times its step.
  found.lambda /= 1 - kTableMomentum;
  found.descent = DescentSchedule{.rates = table_rates(), .momentum = kTableMomentum};
  found.batch_size = facts.num_rows;
  found.strategy = std::string(IndependentStrategy::kName);
  found.participation = Participation::fixed_epoch({.epochs = kNumTableSteps, .epoch_length = 1});
  return found;
}

TableModel learn_table(const TableOptions& options) {
  const char* where = "learn_table";
  const std::size_t num_rows = options.labels.size();
  require_between(where, "labels", static_cast<std::int64_t>(num_rows), 1, std::int64_t{1} << 31);
  const std::size_t width = options.features.size() / num_rows;
  require_length(where, "features", static_cast<std::int64_t>(options.features.size()),
                 static_cast<std::int64_t>(width * num_rows));
  const auto dimension = static_cast<std::int64_t>(width);
  require_all_finite(where, "features", options.features);
  longest_gradient(options.loss, dimension);  // refuses unbounded slopes before any release
  const SecondMomentsPlan plan =
      plan_second_moments({.target = options.target,
                           .neighbours = options.neighbours,
                           .dimension = dimension,
                           .num_rows = static_cast<std::int64_t>(num_rows)});
  if (!options.precondition.value_or(plan.come_first)) return learn_as_it_is(options, dimension);
  return learn_after_moments(options, dimension, plan);
}

}  // namespace dpftrl
