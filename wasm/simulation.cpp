// SPDX-License-Identifier: Apache-2.0

/// Simulations of private learners and their non-private twins.

#include <emscripten/bind.h>
#include <emscripten/val.h>
#include <Eigen/Core>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "key.hpp"
#include "learners.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val pair(double private_value, double twin_value) {
  val object = val::object();
  object.set("private", private_value);
  object.set("twin", twin_value);
  return object;
}

std::optional<Table> table_of(const val& options) {
  const val given = options["table"];
  if (given.isUndefined()) return std::nullopt;
  const std::vector<double> values =
      emscripten::convertJSArrayToNumberVector<double>(given["values"]);
  const std::int64_t num_rows = count(given, "numRows");
  const std::int64_t num_columns = count(given, "numColumns");
  // Checked again after the facade, for memory safety; by division, because a product may overflow.
  const std::int64_t size = std::ssize(values);
  if (num_rows < 1 || num_columns < 1 || size % num_columns != 0 || size / num_columns != num_rows)
    fail(ErrorCode::wrong_length, "simulation", "values",
         "must have {num_rows} * {num_columns} entries");
  Table table{
      .features = Eigen::Map<const Matrix>(values.data(), static_cast<Eigen::Index>(num_rows),
                                           static_cast<Eigen::Index>(num_columns)),
      .labels = std::nullopt};
  if (!given["labels"].isUndefined()) {
    const std::vector<double> labels =
        emscripten::convertJSArrayToNumberVector<double>(given["labels"]);
    table.labels = Eigen::Map<const Vector>(labels.data(), std::ssize(labels));
  }
  return table;
}

val simulation_create(const val& options) {
  return guarded([&] {
    SimulationOptions wanted{.mechanism = learner_mechanism(options),
                             .dimension = std::nullopt,
                             .insecure_noise_seed = optional_seed(options, "noiseSeed"),
                             .grid = std::nullopt,
                             .table = table_of(options),
                             .stream = text(options, "stream"),
                             .stream_seed = options["streamSeed"].as<std::uint64_t>(),
                             .stream_period = std::nullopt,
                             .loss = text(options, "loss"),
                             .loss_parameters = loss_parameters(options),
                             .domain = text(options, "domain"),
                             .radius = number(options, "radius"),
                             .lambda = optional_number(options, "lambda"),
                             .descent = descent_of(options),
                             .doubling = options["doubling"].as<bool>(),
                             .num_regret_prefixes = count(options, "numRegretPrefixes")};
    if (!options["dimension"].isUndefined()) wanted.dimension = count(options, "dimension");
    wanted.batch_size = count(options, "batchSize");
    auto simulation = std::make_unique<Simulation>(wanted);

    val object = val::object();
    object.set("certificate", to_object(simulation->mechanism().certificate()));
    object.set("dimension", static_cast<double>(simulation->dimension()));
    object.set("steps", static_cast<double>(simulation->steps()));
    object.set("learns", simulation->learns());
    object.set("classifies", simulation->classifies());
    object.set("grid", simulation->grid());
    const std::optional<SimulationTheory>& theory = simulation->theory();
    object.set("clippingImpossible", theory && theory->clipping_impossible);
    object.set("lambda", theory ? pair(theory->private_lambda, theory->twin_lambda) : pair(0, 0));
    object.set("regretBound",
               theory && theory->private_bound && theory->twin_bound
                   ? pair(theory->private_bound->total(), theory->twin_bound->total())
                   : val::null());
    object.set("id", handles().add(std::move(simulation)));
    return object;
  });
}

val simulation_step(double handle) {
  return guarded([&] { return static_cast<double>(handles().get<Simulation>(handle).step()); });
}

val regret_object(const std::vector<RegretPoint>& points) {
  std::vector<double> steps, own, twin, gap;
  for (const RegretPoint& point : points) {
    steps.push_back(static_cast<double>(point.steps));
    own.push_back(point.private_regret);
    twin.push_back(point.twin_regret);
    gap.push_back(point.comparator_gap);
  }
  val object = val::object();
  object.set("steps", owned_array(steps));
  object.set("private", owned_array(own));
  object.set("twin", owned_array(twin));
  object.set("gap", owned_array(gap));
  return object;
}

val simulation_advance(double handle, double max_steps) {
  return guarded([&] {
    const SimulationChunk chunk = handles().get<Simulation>(handle).advance(count_of(max_steps));
    val object = val::object();
    object.set("firstStep", static_cast<double>(chunk.first_step));
    object.set("steps", static_cast<double>(chunk.steps));
    object.set("trueSums", owned_eigen(chunk.true_sums));
    object.set("noisySums", owned_eigen(chunk.noisy_sums));
    object.set("stddev", owned_eigen(chunk.stddev));
    object.set("privateLoss", owned_eigen(chunk.private_loss));
    object.set("twinLoss", owned_eigen(chunk.twin_loss));
    object.set("privateCorrect",
               owned_array(chunk.private_correct.data(), chunk.private_correct.size()));
    object.set("twinCorrect", owned_array(chunk.twin_correct.data(), chunk.twin_correct.size()));
    object.set("regret", regret_object(chunk.regret));
    return object;
  });
}

val simulation_held_out_risk(double handle, double num_examples) {
  return guarded([&] {
    const HeldOutRisk risk =
        handles().get<Simulation>(handle).held_out_risk(count_of(num_examples));
    val object = val::object();
    object.set("average", pair(risk.private_average, risk.twin_average));
    object.set("last", pair(risk.private_last, risk.twin_last));
    return object;
  });
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_simulation) {
  emscripten::function("simulationCreate", &simulation_create);
  emscripten::function("simulationStep", &simulation_step);
  emscripten::function("simulationAdvance", &simulation_advance);
  emscripten::function("simulationHeldOutRisk", &simulation_held_out_risk);
}

}  // namespace dpftrl::wasm
