// SPDX-License-Identifier: Apache-2.0

/// The private learner.

#include <emscripten/val.h>

#include <memory>
#include <span>
#include <vector>

#include "convert.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "learners.hpp"
#include "rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

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

/// Returns the default settings of a learner; for "unclipped", only the clip norm.
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
  object.set("clipNorm", found.clip);
  object.set("lambda", found.lambda);
  object.set("numSteps", static_cast<double>(found.steps));
  object.set("batchSize", static_cast<double>(found.batch_size));
  if (found.descent) {
    object.set("momentum", found.descent->momentum);
    object.set("rates", owned_array(found.descent->rates));
  }
  return object;
}

/// Returns the budgets of second moments and of the learner after them.
val moments_plan(const val& options) {
  const SecondMomentsPlan plan = plan_second_moments(
      {.target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")},
       .neighbours = neighbours_from_string(text(options, "neighbours")),
       .dimension = count(options, "dimension"),
       .num_rows = count(options, "numRows")});
  val object = val::object();
  object.set("momentsEpsilon", plan.moments_epsilon);
  object.set("learnerEpsilon", plan.learner_epsilon);
  object.set("mu", plan.mu);
  object.set("rho", plan.rho);
  object.set("isDefault", plan.come_first);
  object.set("clip", kSecondMomentsClip);
  return object;
}

/// Releases second moments of rows, and overwrites the rows with their coordinates.
double moments_create(const val& options, const val& features) {
  std::vector<double> rows = numbers_of(features);
  auto moments = std::make_unique<SecondMoments>(
      rows, SecondMomentsOptions{.target = {.epsilon = number(options, "epsilon"),
                                            .delta = number(options, "delta")},
                                 .neighbours = neighbours_from_string(text(options, "neighbours")),
                                 .dimension = count(options, "dimension"),
                                 .key = key_of(options)});
  moments->transform(rows);
  write_to(features, rows);
  return handles().add(std::move(moments));
}

/// Overwrites weights of the coordinates with those of the features.
void moments_restore(double handle, const val& weights) {
  std::vector<double> restored = numbers_of(weights);
  handles().get<SecondMoments>(handle).restore(restored);
  write_to(weights, restored);
}

/// Overwrites `scores` with the predictions for all rows, without learning.
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

/// Learns from slopes given by the caller, one per row.
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

/// Overwrites `values`, one per label, with the losses of the scores.
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

val learner_checkpoint(double handle) {
  return owned_bytes(handles().get<DpFtrl>(handle).checkpoint());
}

/// Returns the numbers of steps done, of examples learned from and of examples in the open batch,
/// and the lambda of the next iterate.
val learner_state(double handle) {
  const DpFtrl& learner = handles().get<DpFtrl>(handle);
  val object = val::object();
  object.set("step", static_cast<double>(learner.steps_done()));
  object.set("numExamples", static_cast<double>(learner.num_examples()));
  object.set("numWaiting", static_cast<double>(learner.num_waiting()));
  object.set("lambda", learner.lambda());
  return object;
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_learner) {
  bind<&moments_plan>("momentsPlan");
  bind<&moments_create>("momentsCreate");
  bind<&moments_restore>("momentsRestore");
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
}

}  // namespace dpftrl::wasm
