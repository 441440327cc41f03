// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Conversions between JavaScript objects or typed arrays and the types of the core. Everything is
/// copied, because a view of the WebAssembly memory would become invalid when the memory grows.

#include <emscripten/val.h>
#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/release/lattice/lattice.hpp"

namespace dpftrl::wasm {

/// New typed array, such as a Float64Array or Uint8Array, with a copy of the values.
template <typename Number>
emscripten::val owned_array(const Number* values, std::size_t size) {
  return emscripten::val(emscripten::typed_memory_view(size, values))
      .call<emscripten::val>("slice");
}

inline emscripten::val owned_array(std::span<const double> values) {
  return owned_array(values.data(), values.size());
}

template <typename EigenArray>
emscripten::val owned_eigen(const EigenArray& array) {
  return owned_array(array.data(), static_cast<std::size_t>(array.size()));
}

inline emscripten::val owned_bytes(std::span<const std::byte> bytes) {
  return owned_array(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

/// Copies the bytes of a Uint8Array.
inline std::vector<std::byte> bytes_of(const emscripten::val& array) {
  const auto given = emscripten::convertJSArrayToNumberVector<std::uint8_t>(array);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(given));
  return {bytes.begin(), bytes.end()};
}

/// Converts a count, which is passed as a double; the facade has checked that it is a safe integer.
inline std::int64_t count_of(double value) {
  return static_cast<std::int64_t>(value);
}

inline std::int64_t count(const emscripten::val& options, const char* name) {
  return count_of(options[name].as<double>());
}

inline double number(const emscripten::val& options, const char* name) {
  return options[name].as<double>();
}

inline std::string text(const emscripten::val& options, const char* name) {
  return options[name].as<std::string>();
}

inline std::optional<double> optional_number(const emscripten::val& options, const char* name) {
  const emscripten::val value = options[name];
  if (value.isUndefined()) return std::nullopt;
  return value.as<double>();
}

inline std::optional<std::uint64_t> optional_seed(const emscripten::val& options,
                                                  const char* name) {
  const emscripten::val value = options[name];
  if (value.isUndefined()) return std::nullopt;
  return value.as<std::uint64_t>();
}

inline std::optional<std::int64_t> optional_count(const emscripten::val& options,
                                                  const char* name) {
  const std::optional<double> value = optional_number(options, name);
  if (!value) return std::nullopt;
  return count_of(*value);
}

inline std::optional<bool> optional_flag(const emscripten::val& options, const char* name) {
  const emscripten::val value = options[name];
  if (value.isUndefined()) return std::nullopt;
  return value.as<bool>();
}

/// Entries of a Float64Array; empty if it is undefined.
inline std::vector<double> numbers(const emscripten::val& options, const char* name) {
  const emscripten::val value = options[name];
  if (value.isUndefined()) return {};
  return emscripten::convertJSArrayToNumberVector<double>(value);
}

inline Objective objective_named(std::string_view name) {
  return name == "mean" ? Objective::mean : Objective::max;
}

inline std::string_view name_of(Objective objective) {
  return objective == Objective::mean ? "mean" : "max";
}

inline std::optional<Objective> optional_objective(const emscripten::val& given) {
  const emscripten::val value = given["objective"];
  if (value.isUndefined()) return std::nullopt;
  return objective_named(value.as<std::string>());
}

/// Saved result of a search; nullptr if it is undefined.
inline std::shared_ptr<const StrategyPlan> plan_of(const emscripten::val& given) {
  const emscripten::val value = given["plan"];
  if (value.isUndefined()) return nullptr;
  StrategyPlan plan{.objective = optional_objective(value).value_or(Objective::max), .numbers = {}};
  const emscripten::val lists = value["numbers"];
  const auto size = lists["length"].as<unsigned>();
  for (unsigned i = 0; i < size; ++i)
    plan.numbers.push_back({text(lists[i], "name"), numbers(lists[i], "values")});
  return std::make_shared<const StrategyPlan>(std::move(plan));
}

/// Converts a name to the spelling of the facade: `loglog_power` -> `loglogPower`.
inline std::string camel_case(std::string_view name) {
  std::string camel;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_joint = name[i] == '_';
    if (is_joint) ++i;
    camel.push_back(is_joint ? static_cast<char>(name[i] - 'a' + 'A') : name[i]);
  }
  return camel;
}

inline void assign(std::optional<std::int64_t>& member, const emscripten::val& value) {
  member = count_of(value.as<double>());
}
inline void assign(std::optional<double>& member, const emscripten::val& value) {
  member = value.as<double>();
}
inline void assign(std::optional<bool>& member, const emscripten::val& value) {
  member = value.as<bool>();
}
inline void assign(bool& member, const emscripten::val& value) {
  member = value.as<bool>();
}
inline void assign(std::vector<double>& member, const emscripten::val& value) {
  member = emscripten::convertJSArrayToNumberVector<double>(value);
}
inline void assign(std::optional<Objective>& member, const emscripten::val& value) {
  member = objective_named(value.as<std::string>());
}

inline StrategyParameters strategy_parameters(const emscripten::val& given) {
  StrategyParameters parameters{.plan = plan_of(given)};
  for (const ParameterInfo& info : parameter_infos()) {
    const emscripten::val value = given[camel_case(info.name)];
    if (value.isUndefined()) continue;
    std::visit([&](auto member) { assign(parameters.*member, value); }, info.member);
  }
  return parameters;
}

/// Converts a workload; the facade has checked that the lengths of `rates` and `matrix` fit
/// `steps`.
inline Workload workload_of(const emscripten::val& given, std::int64_t steps) {
  const std::string kind = text(given, "kind");
  if (kind == "momentum")
    return Workload::momentum(
        {.steps = steps, .momentum = number(given, "momentum"), .decay = number(given, "decay")});
  if (kind == "window")
    return Workload::sliding_window({.steps = steps, .window = count(given, "width")});
  if (kind == "rates")
    return Workload::learning_rates(
        {.rates = numbers(given, "values"), .momentum = number(given, "momentum")});
  if (kind == "matrix") {
    const std::vector<double> entries = numbers(given, "values");
    // Checked again for memory safety; by division, because a product may overflow.
    if (steps < 1 || std::ssize(entries) % steps != 0 || std::ssize(entries) / steps != steps)
      fail(ErrorCode::wrong_length, "workload", "matrix", "must have {steps}^2 entries");
    const auto size = static_cast<Eigen::Index>(steps);
    return Workload::lower_triangular(Eigen::Map<const Matrix>(entries.data(), size, size));
  }
  return Workload::prefix_sums(steps);
}

inline Participation participation_of(const emscripten::val& given) {
  const std::string kind = text(given, "kind");
  if (kind == "fixed-epoch")
    return Participation::fixed_epoch(
        {.epochs = count(given, "times"), .epoch_length = count(given, "separation")});
  if (kind == "min-separation")
    return Participation::min_separation(
        {.times = count(given, "times"), .apart = count(given, "separation")});
  return Participation::single();
}

/// A workload and a participation schema.
struct Problem {
  Workload workload;
  Participation participation;
};

inline Problem problem_of(const emscripten::val& options) {
  const std::int64_t steps = count(options, "steps");
  Problem problem{workload_of(options["workload"], steps),
                  participation_of(options["participation"])};
  problem.participation.require_horizon(steps);
  return problem;
}

inline StrategyOptions strategy_options(const emscripten::val& options, Workload workload) {
  return {.name = text(options, "strategy"),
          .steps = workload.steps(),
          .workload = std::move(workload),
          .parameters = strategy_parameters(options["parameters"]),
          .participation = participation_of(options["participation"])};
}

inline MechanismOptions mechanism_options(const emscripten::val& options) {
  Problem problem = problem_of(options);
  return {.strategy = text(options, "strategy"),
          .steps = problem.workload.steps(),
          .target = {.epsilon = number(options, "epsilon"), .delta = number(options, "delta")},
          .clip = number(options, "clip"),
          .neighbours = neighbours_from_string(text(options, "neighbours")),
          .participation = problem.participation,
          .workload = std::move(problem.workload),
          .parameters = strategy_parameters(options["parameters"])};
}

inline PlannerOptions planner_options(const emscripten::val& options) {
  Problem problem = problem_of(options);
  return {.strategy = strategy_options(options, std::move(problem.workload)),
          .use_solver = optional_flag(options, "useSolver").value_or(true),
          .max_iterations = optional_count(options, "maxIterations"),
          .gap = optional_number(options, "gap"),
          .query_weights = numbers(options, "queryWeights")};
}

/// Sets a bound, its method and the dimensions of records for which it holds; null if there is
/// none.
inline void set_bound(emscripten::val& object, const std::optional<LowerBound>& bound) {
  object.set("lowerBound", bound ? emscripten::val(bound->value) : emscripten::val::null());
  object.set("boundMethod", bound ? emscripten::val(std::string(to_string(bound->method)))
                                  : emscripten::val::null());
  object.set(
      "lowerBoundMinDimension",
      bound ? emscripten::val(static_cast<double>(bound->min_dimension)) : emscripten::val::null());
  object.set("lowerBoundEveryDimension",
             bound ? emscripten::val(bound->every_dimension) : emscripten::val::null());
}

/// Runs one piece of a search, and returns its progress.
template <typename Search>
emscripten::val advanced(Search& search) {
  emscripten::val object = emscripten::val::object();
  object.set("done", !search.advance());
  const auto progress = search.progress();
  object.set("iterations", static_cast<double>(progress.iterations));
  object.set("fraction", progress.fraction);
  return object;
}

inline std::string_view to_string(SolverStatus status) {
  if (status == SolverStatus::converged) return "converged";
  if (status == SolverStatus::infeasible) return "infeasible";
  return status == SolverStatus::stopped ? "stopped" : "not converged";
}

/// Converts parameters, by name. Additional numbers chosen by a family, such as coefficients and
/// shifts, become a list if their name is plural.
inline emscripten::val to_object(const std::vector<PlanNumbers>& parameters) {
  emscripten::val object = emscripten::val::object();
  for (const auto& [name, values] : parameters) {
    const ParameterInfo* const info = find_parameter(name);
    const bool is_list = info != nullptr ? info->is_list() : name.ends_with('s');
    const bool is_flag = info != nullptr && info->is_flag();
    object.set(camel_case(name), is_list   ? emscripten::val::array(values)
                                 : is_flag ? emscripten::val(values.front() != 0)
                                           : emscripten::val(values.front()));
  }
  return object;
}

inline emscripten::val to_object(const PlannerResult& result) {
  emscripten::val object = emscripten::val::object();
  object.set("error", result.objective_error);
  set_bound(object, result.lower_bound);
  object.set("status", std::string(to_string(result.status)));
  object.set("iterations", static_cast<double>(result.iterations));
  emscripten::val lists = emscripten::val::array();
  for (const PlanNumbers& list : result.plan.numbers) {
    emscripten::val entry = emscripten::val::object();
    entry.set("name", list.name);
    entry.set("values", owned_array(list.values));
    lists.call<double>("push", entry);
  }
  object.set("numbers", lists);
  return object;
}

/// Sets the participation that the optimum was computed for, if another participation was
/// requested.
inline void set_optimised_for(emscripten::val& object, std::string_view participation) {
  if (!participation.empty()) object.set("optimisedFor", std::string(participation));
}

inline emscripten::val to_object(const Certificate& certificate) {
  emscripten::val object = emscripten::val::object();
  object.set("mechanism", certificate.strategy);
  object.set("workload", certificate.workload);
  object.set("participation", certificate.participation);
  object.set("maxParticipations", static_cast<double>(certificate.max_participations));
  object.set("separation", static_cast<double>(certificate.separation));
  object.set("numSteps", static_cast<double>(certificate.steps));
  object.set("neighbours", std::string(to_string(certificate.neighbours)));
  object.set("epsilon", certificate.epsilon);
  object.set("delta", certificate.delta);
  object.set("mu", certificate.mu);
  object.set("rho", certificate.rho);
  object.set("clipNorm", certificate.clip);
  object.set("sensitivity", certificate.sensitivity);
  object.set("sensitivityExactness", std::string(to_string(certificate.exactness)));
  object.set("sensitivityMethod", std::string(certificate.sensitivity_method));
  object.set("noiseMultiplier", certificate.noise_multiplier);
  object.set("noiseStddev", certificate.noise_stddev);
  object.set("maxError", certificate.max_error);
  object.set("meanError", certificate.mean_error);
  object.set("objective", std::string(name_of(certificate.objective)));
  object.set("effectiveParameters", to_object(certificate.parameters));
  set_optimised_for(object, certificate.optimised_for);
  return object;
}

/// Converts the certificate of a mechanism, with its proof.
inline emscripten::val to_checked_object(const Mechanism& mechanism) {
  emscripten::val object = to_object(mechanism.certificate());
  const Proof proof = mechanism.proof();
  set_bound(object, proof.lower_bound);
  object.set("decoderResidual", proof.residual.value);
  object.set("residualSteps", static_cast<double>(proof.residual.steps));
  return object;
}

/// Converts the certificate of releases. In mode lattice, the lattice's own values replace those of
/// the mechanism.
inline emscripten::val to_object(const Certificate& certificate, const LatticeMechanism* lattice) {
  emscripten::val object = to_object(certificate);
  if (lattice == nullptr) return object;
  const LatticeCertificate& claim = lattice->certificate();
  const double stddev = std::sqrt(claim.noise_variance);
  object.set("mu", claim.mu ? emscripten::val(*claim.mu) : emscripten::val::null());
  object.set("rho", claim.rho);
  object.set("sensitivity", std::ldexp(std::sqrt(static_cast<double>(claim.sensitivity.squared)),
                                       -claim.sensitivity.fraction_bits));
  object.set("sensitivityExactness", std::string(to_string(claim.sensitivity.exactness)));
  object.set("sensitivityMethod", std::string(claim.sensitivity.method));
  object.set("noiseMultiplier", stddev / claim.distance);
  object.set("noiseStddev", stddev * claim.measurement_unit);
  emscripten::val own = emscripten::val::object();
  own.set("noise", std::string(to_string(claim.noise)));
  own.set("precisionBits", claim.precision_bits);
  own.set("measurementUnit", claim.measurement_unit);
  own.set("noiseVariance", claim.noise_variance);
  own.set("distance", claim.distance);
  own.set("roundingDeviation", claim.rounding_deviation);
  own.set("maxContributions", static_cast<double>(claim.max_contributions));
  object.set("lattice", own);
  return object;
}

}  // namespace dpftrl::wasm
