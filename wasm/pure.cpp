// SPDX-License-Identifier: Apache-2.0

/// Pure-DP totals (delta = 0), which the module of counters does not have.

#include <emscripten/val.h>

#include <cmath>
#include <memory>
#include <string>

#include "columns.hpp"
#include "convert.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "guard.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

PureOptions pure_options(const val& options) {
  Problem problem = problem_of(options);
  const val parameters = options["parameters"];
  return {.steps = problem.workload.steps(),
          .epsilon = number(options, "epsilon"),
          .clip = number(options, "clip"),
          .neighbours = neighbours_from_string(text(options, "neighbours")),
          .participation = problem.participation,
          .workload = std::move(problem.workload),
          .arity = optional_count(parameters, "arity"),
          .subtractive = optional_flag(parameters, "subtractive")};
}

/// Errors of the best pure-DP totals for the problem at clip norm 1, and the delta at which a
/// Gaussian mechanism with the given unit error of the objective has the same error.
val pure_error(const val& options) {
  const auto mechanism = Mechanism::make_pure(pure_options(options));
  const Certificate& claim = mechanism->certificate();
  const double max_error = claim.max_error * claim.noise_multiplier;
  const double mean_error = claim.mean_error * claim.noise_multiplier;
  const double aim = text(options, "objective") == "max" ? max_error : mean_error;
  if (!std::isfinite(aim)) {
    fail_argument("compare", "epsilon", "large enough for finite errors", to_text(claim.epsilon));
  }
  val errors = val::object();
  errors.set("parameters", to_object(claim.parameters));
  errors.set("sensitivity", claim.sensitivity);
  errors.set("sensitivityExactness", std::string(to_string(claim.exactness)));
  errors.set("maxError", max_error);
  errors.set("meanError", mean_error);
  errors.set("crossoverDelta",
             delta_from_mu({.mu = number(options, "unitError") / aim, .epsilon = claim.epsilon}));
  return errors;
}

}  // namespace

std::shared_ptr<const Mechanism> make_pure_mechanism(const val& options) {
  return Mechanism::make_pure(pure_options(options));
}

void set_laplace(val& certificate, const LaplaceNoise& law, double grid) {
  certificate.set("noiseStddev", law.stddev(1) * grid);
  val own = val::object();
  own.set("norm", "l1");
  own.set("scale", static_cast<double>(law.scale));
  own.set("distance", static_cast<double>(law.distance));
  own.set("maxNorm", static_cast<double>(law.max_norm));
  own.set("grid", grid);
  certificate.set("laplace", own);
}

EMSCRIPTEN_BINDINGS(dpftrl_pure) {
  bind<&pure_error>("pureError");
}

}  // namespace dpftrl::wasm
