// SPDX-License-Identifier: Apache-2.0

/// Non-private baselines for a private learner, and bounds on its regret.

#include <emscripten/val.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "convert.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "learners.hpp"
#include "rows.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

constexpr const char* kIndependent = "independent";

double twin_create(const val& options) {
  return handles().add(std::make_unique<TwinLearner>(with_rule(
      TwinOptions{.steps = count(options, "steps"), .clip = number(options, "clip")}, options)));
}

/// Learns row by row, and overwrites `scores` with the predictions made before learning.
val twin_learn(double handle, const val& features, const val& labels, const val& scores) {
  std::vector<double> known, predicted;
  val reply = over_rows<TwinLearner>(
      handle, features, [&](TwinLearner& twin, std::span<double> row, std::size_t i) {
        const auto width = static_cast<std::size_t>(twin.num_scores());
        if (i == 0) {
          known = numbers_of(labels);
          predicted.resize(known.size() * width);
        }
        twin.step(row, known.at(i), std::span(predicted).subspan(i * width, width));
      });
  write_to(scores, predicted);
  return reply;
}

void twin_end_batch(double handle) {
  handles().get<TwinLearner>(handle).end_batch();
}

/// Overwrites `weights` with the weights used for the next batch.
void twin_weights(double handle, const val& weights) {
  write_to(weights, handles().get<TwinLearner>(handle).iterate());
}

double comparator_create(const val& options) {
  const double radius = number(options, "radius");
  return handles().add(std::make_unique<ComparatorSolver>(
      ComparatorOptions{.loss = learner_loss(options),
                        .dimension = count(options, "dimension"),
                        .radius = radius,
                        .domain = make_domain(text(options, "domain"), radius),
                        .gap_tolerance = number(options, "gapTolerance")}));
}

val comparator_append(double handle, const val& features, const val& labels) {
  std::vector<double> known;
  return over_rows<ComparatorSolver>(
      handle, features, [&](ComparatorSolver& comparator, std::span<double> row, std::size_t i) {
        if (i == 0) known = numbers_of(labels);
        comparator.append(row, comparator.loss().label(known.at(i)));
      });
}

val comparator_solve(double handle) {
  const Comparator best = handles().get<ComparatorSolver>(handle).solve();
  val object = val::object();
  object.set("weights", owned_eigen(best.point));
  object.set("loss", best.value);
  object.set("gap", best.gap);
  object.set("certified", best.status == ComparatorStatus::certified);
  return object;
}

val to_object(const RegretBound& bound) {
  val object = val::object();
  object.set("regularisation", bound.regularisation);
  object.set("stability", bound.stability);
  object.set("noise", bound.noise);
  object.set("total", bound.total());
  return object;
}

/// Bounds from the largest error, in expectation and with high probability.
val by_max_error(const RegretSetting& setting, double lambda, const val& options) {
  const bool doubling = options["doubling"].as<bool>();
  val object = val::object();
  object.set("expected",
             to_object(max_error_regret_bound(setting, {.lambda = lambda, .doubling = doubling})));
  object.set("highProbability",
             to_object(max_error_regret_bound(
                 setting, {.lambda = lambda,
                           .failure_probability = number(options, "failureProbability"),
                           .doubling = doubling})));
  return object;
}

/// Bounds for a learner with this certificate; null where no implemented theorem gives one.
val regret_bounds(const val& given, const val& options) {
  Certificate certificate;
  certificate.steps = count(given, "numSteps");
  certificate.clip = number(given, "clipNorm");
  certificate.neighbours = neighbours_from_string(text(given, "neighbours"));
  certificate.noise_multiplier = number(given, "noiseMultiplier");
  certificate.mean_error = number(given, "meanError");
  certificate.max_error = number(given, "maxError");
  const double radius = number(options, "radius");
  const std::shared_ptr<const Domain> domain = make_domain(text(options, "domain"), radius);
  const std::int64_t dimension = count(options, "dimension");
  RegretSetting setting = regret_setting(certificate, dimension, *domain, radius);
  setting.release_noise /= number(options, "batchSize");
  setting.largest_noise /= number(options, "batchSize");
  const std::optional<DescentSchedule> descent = descent_of(options);
  const std::int64_t num_scores = count(options, "numClasses");
  setting =
      with_penalty(setting, penalty_of(options),
                   {.num_features = dimension / num_scores, .num_scores = num_scores}, *domain);
  const bool doubling = options["doubling"].as<bool>();
  const bool is_sgd = descent && text(given, "mechanism") == kIndependent;
  const std::shared_ptr<const Strategy> independent =
      make_strategy({.name = kIndependent, .steps = setting.steps});
  double lambda = is_sgd ? descent_lambda(setting, *independent) : theorem_lambda(setting);
  if (doubling) lambda = first_lambda(lambda, setting.steps);
  lambda = optional_number(options, "lambda").value_or(lambda);

  val object = val::object();
  for (const char* name : {"expected", "highProbability", "byMaxError", "hazan"})
    object.set(name, val::null());
  if (is_sgd && descent->rates.empty() && descent->momentum == 0)
    object.set("expected", to_object(*descent_regret_bound(setting, *independent, lambda)));
  if (!descent) {
    object.set("expected", to_object(doubling ? doubling_regret_bound(setting, lambda)
                                              : regret_bound(setting, lambda)));
    object.set("highProbability",
               to_object(high_probability_regret_bound(
                   setting, {.lambda = lambda,
                             .failure_probability = number(options, "failureProbability"),
                             .doubling = doubling})));
    object.set("byMaxError", by_max_error(setting, lambda, options));
    if (!doubling) object.set("hazan", to_object(hazan_regret_bound(setting, lambda)));
  }
  object.set("lambda", lambda);
  return object;
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_hindsight) {
  bind<&twin_create>("twinCreate");
  emscripten::function("twinLearn", &twin_learn);
  bind<&twin_end_batch>("twinEndBatch");
  bind<&twin_weights>("twinWeights");
  bind<&comparator_create>("comparatorCreate");
  emscripten::function("comparatorAppend", &comparator_append);
  bind<&comparator_solve>("comparatorSolve");
  bind<&regret_bounds>("regretBounds");
}

}  // namespace dpftrl::wasm
