// SPDX-License-Identifier: Apache-2.0

/// The private learner, and what its run is compared with.

#include <emscripten/val.h>

#include <memory>
#include <span>
#include <vector>

#include "convert.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "losses.hpp"
#include "rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

constexpr const char* kIndependent = "independent";

/// Sets the options that learners with and without noise share.
template <typename Options>
Options with_rule(Options made, const val& options) {
  made.dimension = count(options, "dimension");
  made.loss = learner_loss(options);
  made.radius = number(options, "radius");
  made.domain = make_domain(text(options, "domain"), made.radius);
  made.lambda = optional_number(options, "lambda");
  made.descent = descent_of(options);
  made.doubling = options["doubling"].as<bool>();
  made.batch_size = count(options, "batchSize");
  return made;
}

val learner_create(const val& options) {
  const PrefixSumOptions how = totals_options(options);
  auto learner = std::make_unique<DpFtrl>(
      with_rule(DpFtrlOptions{.mechanism = Mechanism::make(learner_mechanism(options)),
                              .key = how.key,
                              .grid = how.grid,
                              .mode = how.mode,
                              .lattice_noise = how.lattice_noise,
                              .precision_bits = how.precision_bits},
                options));
  if (!options["state"].isUndefined()) learner->restore_without_ledger(bytes_of(options["state"]));
  val object = val::object();
  object.set("certificate", to_object(learner->mechanism().certificate(), learner->lattice()));
  object.set("grid", learner->grid());
  object.set("id", handles().add(std::move(learner)));
  return object;
}

/// Settings of a learner that nobody chose; of "unclipped" only the clip norm.
val defaults_of(const val& options) {
  const std::shared_ptr<const VectorLoss> loss = learner_loss(options);
  const std::int64_t dimension = count(options, "dimension");
  const std::string setup = text(options, "setup");
  val object = val::object();
  if (setup == "unclipped") {
    object.set("clipNorm", longest_gradient(loss, dimension));
    return object;
  }
  const LearnerDefaults found = learner_defaults(
      {.loss = loss,
       .dimension = dimension,
       .num_rows = count(options, "numRows"),
       .batch_size = count(options, "batchSize"),
       .target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")},
       .neighbours = neighbours_from_string(text(options, "neighbours")),
       .rows_come = setup == "table" ? RowsCome::in_every_step : RowsCome::once});
  object.set("clipNorm", found.clip_norm);
  object.set("lambda", found.lambda);
  object.set("numSteps", static_cast<double>(found.num_steps));
  object.set("batchSize", static_cast<double>(found.batch_size));
  if (found.descent) object.set("momentum", found.descent->momentum);
  return object;
}

/// Learns from row after row, and overwrites `scores` with the predictions that came before.
template <typename Some>
val learn(double handle, const val& features, const val& labels, const val& scores) {
  std::vector<double> known, predicted;
  val reply =
      over_rows<Some>(handle, features, [&](Some& learner, std::span<double> row, std::size_t i) {
        const auto width = static_cast<std::size_t>(learner.num_scores());
        if (i == 0) {
          known = numbers_of(labels);
          predicted.resize(known.size() * width);
        }
        learner.step(row, known.at(i), std::span(predicted).subspan(i * width, width));
      });
  write_to(scores, predicted);
  return reply;
}

/// Overwrites `scores` with the predictions for row after row, and learns nothing.
val learner_predict(double handle, const val& features, const val& scores) {
  std::vector<double> predicted = numbers_of(scores);
  val reply = over_rows<DpFtrl>(
      handle, features, [&](DpFtrl& learner, std::span<double> row, std::size_t i) {
        const auto width = static_cast<std::size_t>(learner.num_scores());
        learner.predict(row, std::span(predicted).subspan(i * width, width));
      });
  write_to(scores, predicted);
  return reply;
}

/// Learns from slopes of the caller's, one for each row.
val learner_learn_along(double handle, const val& features, const val& slopes) {
  std::vector<double> given;
  return over_rows<DpFtrl>(handle, features,
                           [&](DpFtrl& learner, std::span<double> row, std::size_t i) {
                             if (i == 0) given = numbers_of(slopes);
                             learner.step_along(row, std::span(given).subspan(i, 1));
                           });
}

/// Overwrites `last` and `average` with the weights.
void learner_weights(double handle, const val& last, const val& average) {
  const DpFtrl& learner = handles().get<DpFtrl>(handle);
  write_to(last, learner.iterate());
  write_to(average, learner.average());
}

/// Overwrites `values`, one for each label, with the losses of as many scores.
void learner_losses(double handle, const val& scores, const val& labels, const val& values) {
  const VectorLoss& loss = handles().get<DpFtrl>(handle).loss();
  const auto width = static_cast<std::size_t>(loss.num_scores());
  const std::vector<double> predicted = numbers_of(scores);
  std::vector<double> known = numbers_of(labels);
  std::vector<double> slopes(width);
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i] =
        loss.evaluate(std::span(predicted).subspan(i * width, width), loss.label(known[i]), slopes);
  write_to(values, known);
}

template <typename Some>
void end_batch(double handle) {
  handles().get<Some>(handle).end_batch();
}

val learner_checkpoint(double handle) {
  return owned_bytes(handles().get<DpFtrl>(handle).checkpoint());
}

/// Steps done, examples learned from and in the open batch, and the lambda of the next point.
val learner_state(double handle) {
  const DpFtrl& learner = handles().get<DpFtrl>(handle);
  val object = val::object();
  object.set("step", static_cast<double>(learner.steps_done()));
  object.set("numExamples", static_cast<double>(learner.num_examples()));
  object.set("numWaiting", static_cast<double>(learner.num_waiting()));
  object.set("lambda", learner.lambda());
  return object;
}

double twin_create(const val& options) {
  return handles().add(
      std::make_unique<TwinLearner>(with_rule(TwinOptions{.num_steps = count(options, "numSteps"),
                                                          .clip_norm = number(options, "clipNorm")},
                                              options)));
}

/// Overwrites `weights` with those that the next batch will meet.
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

/// The bounds for a learner of this certificate. Those that no theorem of ours gives are null.
val regret_bounds(const val& given, const val& options) {
  Certificate certificate;
  certificate.num_steps = count(given, "numSteps");
  certificate.clip_norm = number(given, "clipNorm");
  certificate.neighbours = neighbours_from_string(text(given, "neighbours"));
  certificate.noise_multiplier = number(given, "noiseMultiplier");
  certificate.mean_error = number(given, "meanError");
  const double radius = number(options, "radius");
  RegretSetting setting = regret_setting(certificate, count(options, "dimension"),
                                         *make_domain(text(options, "domain"), radius), radius);
  setting.release_noise /= number(options, "batchSize");
  const std::optional<DescentSchedule> descent = descent_of(options);
  const bool doubling = options["doubling"].as<bool>();
  const bool is_sgd = descent && text(given, "mechanism") == kIndependent;
  const std::shared_ptr<const Strategy> independent =
      make_strategy({.name = kIndependent, .num_steps = setting.num_steps});
  double lambda = is_sgd ? descent_lambda(setting, *independent) : theorem_lambda(setting);
  if (doubling) lambda = first_lambda(lambda, setting.num_steps);
  lambda = optional_number(options, "lambda").value_or(lambda);

  val object = val::object();
  for (const char* name : {"expected", "highProbability", "hazan"}) object.set(name, val::null());
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
    if (!doubling) object.set("hazan", to_object(hazan_regret_bound(setting, lambda)));
  }
  object.set("lambda", lambda);
  return object;
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_learner) {
  bind<&defaults_of>("learnerDefaults");
  bind<&learner_create>("learnerCreate");
  emscripten::function("learnerLearn", &learn<DpFtrl>);
  emscripten::function("learnerPredict", &learner_predict);
  emscripten::function("learnerLearnAlong", &learner_learn_along);
  bind<&learner_weights>("learnerWeights");
  bind<&learner_losses>("learnerLosses");
  bind<&end_batch<DpFtrl>>("learnerEndBatch");
  bind<&learner_state>("learnerState");
  bind<&learner_checkpoint>("learnerCheckpoint");
  bind<&twin_create>("twinCreate");
  emscripten::function("twinLearn", &learn<TwinLearner>);
  bind<&end_batch<TwinLearner>>("twinEndBatch");
  bind<&twin_weights>("twinWeights");
  bind<&comparator_create>("comparatorCreate");
  emscripten::function("comparatorAppend", &comparator_append);
  bind<&comparator_solve>("comparatorSolve");
  bind<&regret_bounds>("regretBounds");
}

}  // namespace dpftrl::wasm
