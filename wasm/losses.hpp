// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Losses and update rules, made from the facade's options.

#include <emscripten/val.h>

#include <memory>
#include <optional>

#include "convert.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "dpftrl/strategy/optimal.hpp"

namespace dpftrl::wasm {

inline LossParameters loss_parameters(const emscripten::val& options) {
  return {.quantile = number(options, "quantile"),
          .huber_threshold = number(options, "huberThreshold")};
}

/// The loss of a learner. A loss of the caller's own gets its slopes from JavaScript: here any loss
/// of one score will do.
inline std::shared_ptr<const VectorLoss> learner_loss(const emscripten::val& options) {
  const std::string name = text(options, "loss");
  if (name == "softmax") return std::make_shared<const SoftmaxLoss>(count(options, "numClasses"));
  return make_loss(name == "function" ? "squared" : name, loss_parameters(options));
}

/// The facade makes every field of it, or none.
inline std::optional<DescentSchedule> descent_of(const emscripten::val& options) {
  const emscripten::val given = options["descent"];
  if (given.isUndefined()) return std::nullopt;
  return DescentSchedule{.rates = numbers(given, "rates"), .momentum = number(given, "momentum")};
}

/// Options of a learner's mechanism, with the encoder for the workload of the descent where that is
/// asked for. Rates have an optimum that streams for the mean objective, which is the default then.
inline MechanismOptions learner_mechanism(const emscripten::val& options) {
  MechanismOptions wanted = mechanism_options(options);
  const emscripten::val given = options["descent"];
  if (given.isUndefined() || !given["throughWorkload"].as<bool>()) return wanted;
  wanted.encoder_workload = workload_of_descent(*descent_of(options), wanted.num_steps);
  if (wanted.encoder_workload->kind() == Workload::Kind::rates && !wanted.parameters.objective &&
      wanted.strategy == OptimalStrategy::kName)
    wanted.parameters.objective = Objective::mean;
  return wanted;
}

}  // namespace dpftrl::wasm
