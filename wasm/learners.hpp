// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Functions shared by learners of every kind.

#include <emscripten/val.h>

#include <memory>
#include <optional>
#include <vector>

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

/// Loss of a learner. A custom loss gets its slopes from JavaScript, so any loss of one score
/// serves as a placeholder.
inline std::shared_ptr<const VectorLoss> learner_loss(const emscripten::val& options) {
  const std::string name = text(options, "loss");
  if (name == "softmax") return std::make_shared<const SoftmaxLoss>(count(options, "numClasses"));
  return make_loss(name == "function" ? "squared" : name, loss_parameters(options));
}

/// The facade passes the option with all its fields, or not at all.
inline std::optional<DescentSchedule> descent_of(const emscripten::val& options) {
  const emscripten::val given = options["descent"];
  if (given.isUndefined()) return std::nullopt;
  return DescentSchedule{.rates = numbers(given, "rates"), .momentum = number(given, "momentum")};
}

/// The facade passes the option with all its fields, or not at all.
inline Penalty penalty_of(const emscripten::val& options) {
  const emscripten::val given = options["penalty"];
  if (given.isUndefined()) return {};
  Penalty made{.strength = number(given, "strength"),
               .num_unpenalised = count(given, "numUnpenalised")};
  for (const double size : numbers(given, "groups")) made.groups.push_back(count_of(size));
  return made;
}

/// Options of a learner's mechanism, with an encoder for the workload of the descent if requested.
/// For rates, only the optimum of the mean objective can be streamed, so `mean` is the default.
inline MechanismOptions learner_mechanism(const emscripten::val& options) {
  MechanismOptions wanted = mechanism_options(options);
  const emscripten::val given = options["descent"];
  if (given.isUndefined() || !given["throughWorkload"].as<bool>()) return wanted;
  wanted.encoder_workload = workload_of_descent(*descent_of(options), wanted.steps);
  if (wanted.encoder_workload->kind() == Workload::Kind::rates && !wanted.parameters.objective &&
      wanted.strategy == OptimalStrategy::kName)
    wanted.parameters.objective = Objective::mean;
  return wanted;
}

/// Sets the options that learners with and without noise share.
template <typename Options>
Options with_rule(Options made, const emscripten::val& options) {
  made.dimension = count(options, "dimension");
  made.loss = learner_loss(options);
  made.radius = number(options, "radius");
  made.domain = make_domain(text(options, "domain"), made.radius);
  made.lambda = optional_number(options, "lambda");
  made.descent = descent_of(options);
  made.doubling = options["doubling"].as<bool>();
  made.penalty = penalty_of(options);
  made.batch_size = count(options, "batchSize");
  return made;
}

}  // namespace dpftrl::wasm
