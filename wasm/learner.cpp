// SPDX-License-Identifier: Apache-2.0

/// The private learner.

#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <memory>
#include <span>
#include <vector>

#include "convert.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "losses.hpp"
#include "rows.hpp"
#include "totals.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val learner_create(const val& options) {
  return guarded([&] {
    const double radius = number(options, "radius");
    const PrefixSumOptions how = totals_options(options);
    auto learner = std::make_unique<DpFtrl>(
        DpFtrlOptions{.mechanism = Mechanism::make(mechanism_options(options)),
                      .key = how.key,
                      .dimension = how.dimension,
                      .loss = make_loss(text(options, "loss"), loss_parameters(options)),
                      .domain = make_domain(text(options, "domain"), radius),
                      .radius = radius,
                      .lambda = optional_number(options, "lambda"),
                      .doubling = options["doubling"].as<bool>(),
                      .batch_size = count(options, "batchSize"),
                      .grid = how.grid,
                      .mode = how.mode,
                      .lattice_noise = how.lattice_noise,
                      .precision_bits = how.precision_bits});
    val object = val::object();
    object.set("certificate", to_object(learner->mechanism().certificate(), learner->lattice()));
    object.set("grid", learner->grid());
    object.set("id", handles().add(std::move(learner)));
    return object;
  });
}

/// Learns from row after row, and overwrites `labels` with the predictions that came before.
val learner_learn(double handle, const val& features, const val& labels) {
  std::vector<double> known;
  val reply = over_rows<DpFtrl>(handle, features,
                                [&](DpFtrl& learner, std::span<double> row, std::size_t i) {
                                  if (i == 0) known = numbers_of(labels);
                                  known.at(i) = learner.step(row, known.at(i));
                                });
  labels.call<void>("set", val(emscripten::typed_memory_view(known.size(), known.data())));
  return reply;
}

/// Overwrites `last` and `average` with the weights.
val learner_weights(double handle, const val& last, const val& average) {
  return guarded([&] {
    const DpFtrl& learner = handles().get<DpFtrl>(handle);
    const auto write = [](const val& target, const Vector& weights) {
      const auto size = static_cast<std::size_t>(weights.size());
      target.call<void>("set", val(emscripten::typed_memory_view(size, weights.data())));
    };
    write(last, learner.iterate());
    write(average, learner.average());
    return val::null();
  });
}

/// Overwrites `predictions` with their losses.
val learner_losses(double handle, const val& predictions, const val& labels) {
  return guarded([&] {
    const VectorLoss& loss = handles().get<DpFtrl>(handle).loss();
    std::vector<double> values = numbers_of(predictions);
    const std::vector<double> known = numbers_of(labels);
    double slope = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = loss.evaluate({&values[i], 1}, loss.label(known.at(i)), {&slope, 1});
    predictions.call<void>("set", val(emscripten::typed_memory_view(values.size(), values.data())));
    return val::null();
  });
}

val learner_end_batch(double handle) {
  return guarded([&] {
    handles().get<DpFtrl>(handle).end_batch();
    return val::null();
  });
}

/// Steps done, examples learned from and in the open batch, and the lambda of the next point.
val learner_state(double handle) {
  return guarded([&] {
    const DpFtrl& learner = handles().get<DpFtrl>(handle);
    val object = val::object();
    object.set("step", static_cast<double>(learner.steps_done()));
    object.set("numExamples", static_cast<double>(learner.num_examples()));
    object.set("numWaiting", static_cast<double>(learner.num_waiting()));
    object.set("lambda", learner.lambda());
    return object;
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_learner) {
  emscripten::function("learnerCreate", &learner_create);
  emscripten::function("learnerLearn", &learner_learn);
  emscripten::function("learnerWeights", &learner_weights);
  emscripten::function("learnerLosses", &learner_losses);
  emscripten::function("learnerEndBatch", &learner_end_batch);
  emscripten::function("learnerState", &learner_state);
}

}  // namespace dpftrl::wasm
