// SPDX-License-Identifier: Apache-2.0

/// Privacy budgets, errors and bounds of mechanisms, and searches for mechanisms.

#include <emscripten/val.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "convert.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "rows.hpp"
#include "stack.hpp"

namespace dpftrl::wasm {
namespace {

using emscripten::val;

val limits() {
  val object = val::object();
  object.set("denseSteps", static_cast<double>(kMaxDenseOptimumColumns));
  object.set("epochSteps", static_cast<double>(kMaxFixedEpochOptimumSteps));
  object.set("epochSumSteps", static_cast<double>(kMaxEpochSteps));
  return object;
}

val classical(const ApproximateDp& target) {
  // Epsilon is 0 only for a huge delta; the textbook formula divides by it.
  const ClassicalGaussian formula =
      target.epsilon > 0
          ? classical_gaussian(target)
          : ClassicalGaussian{std::numeric_limits<double>::infinity(), 0, false, true};
  val object = val::object();
  object.set("noiseMultiplier", formula.noise_multiplier);
  object.set("actualDelta", formula.actual_delta);
  object.set("theoremApplies", formula.theorem_applies);
  object.set("sound", formula.sound);
  return object;
}

/// The mu for which epsilon-DP implies mu-GDP.
double pure_mu(double epsilon) {
  return mu_from_pure_dp(epsilon);
}

/// The rho for which epsilon-DP implies rho-zCDP.
double pure_rho(double epsilon) {
  return rho_from_pure_dp(epsilon);
}

/// Calibrates to `value`, an "epsilon", "rho" or "mu" according to `kind`. A rho stands for any
/// rho-zCDP mechanism, not only the Gaussian mechanism with that noise, so it has no known mu and a
/// larger epsilon.
val calibrate(const std::string& kind, double value, double delta) {
  const bool is_target = kind == "epsilon";
  const bool is_concentrated = kind == "rho";
  const ApproximateDp target{.epsilon = value, .delta = delta};
  double mu = value;
  double epsilon = value;
  if (is_target) {
    mu = mu_from_approximate_dp(target);
  } else if (is_concentrated) {
    mu = mu_from_rho(value);
    epsilon = epsilon_from_rho({.rho = value, .delta = delta});
  } else {
    epsilon = epsilon_from_mu({.mu = value, .delta = delta});
  }
  const double multiplier = is_target
                                ? noise_multiplier(target)
                                : std::nextafter(1 / mu, std::numeric_limits<double>::infinity());
  if (!std::isfinite(multiplier))
    fail_argument("calibrate", kind, "large enough for a finite noise multiplier", to_text(value));
  val object = val::object();
  object.set("noiseMultiplier", multiplier);
  object.set("epsilon", epsilon);
  object.set("delta", delta);
  object.set("rho", is_concentrated ? value : rho_from_mu(mu));
  object.set("mu", is_concentrated ? val::null() : val(mu));
  object.set("method", is_concentrated
                           ? "conversion of zero-concentrated DP (Canonne, Kamath, Steinke), an "
                             "upper bound"
                           : "exact privacy profile of the Gaussian mechanism");
  object.set("classical", classical({.epsilon = epsilon, .delta = delta}));
  return object;
}

/// Composes the costs of releases in one account, "mu" or "rho", and compares the total with a
/// limit.
val compose(const std::string& account, const val& costs, double epsilon, double delta) {
  const bool is_mu = account == "mu";
  const ApproximateDp target{.epsilon = epsilon, .delta = delta};
  const double limit = is_mu ? mu_from_approximate_dp(target) : rho_from_approximate_dp(target);
  const std::vector<double> each = numbers_of(costs);
  const double total = is_mu ? compose_mu(each) : compose_rho(each);
  double spent = 0;
  if (total > 0) {
    spent = is_mu ? epsilon_from_mu({.mu = total, .delta = delta})
                  : epsilon_from_rho({.rho = total, .delta = delta});
  }
  val object = val::object();
  object.set("total", total);
  object.set("limit", limit);
  object.set("epsilon", spent);
  object.set("fits", fits_limit({.total = total, .limit = limit}));
  return object;
}

/// Properties that depend on workload and participation alone: their names, and the bound on every
/// factorization for `objective`.
val problem(const val& options) {
  const Problem given = problem_of(options);
  val object = val::object();
  object.set("workload", given.workload.name());
  object.set("participation", std::string(given.participation.name()));
  set_bound(object, certified_lower_bound(given.workload, given.participation,
                                          objective_named(text(options, "objective"))));
  return object;
}

val error_object(const UnitError& error) {
  val object = val::object();
  object.set("sensitivity", error.sensitivity.value);
  object.set("sensitivityExactness", std::string(to_string(error.sensitivity.exactness)));
  object.set("sensitivityMethod", std::string(error.sensitivity.method));
  object.set("maxError", error.max_error);
  object.set("meanError", error.mean_error);
  return object;
}

/// Makes a strategy, after checking that its errors can be computed.
std::shared_ptr<const Strategy> measured_strategy(const StrategyOptions& options) {
  require_known_errors(options);
  return make_strategy(options);
}

/// Error, and the properties of the strategy that differ from the catalogue.
val unit_error_of(const val& options) {
  const Problem given = problem_of(options);
  const StrategyOptions wanted = strategy_options(options, given.workload);
  const auto strategy = measured_strategy(wanted);
  val object = error_object(unit_error(*strategy, given.participation));
  object.set("causal", strategy->is_causal());
  set_optimised_for(object, optimised_for(wanted));
  if (const std::optional<StreamCost> cost = strategy->stream_cost()) {
    object.set("stepCost", std::string(cost->step));
    object.set("memoryCost", std::string(cost->memory));
  }
  return object;
}

val published(const PublishedBound& bound) {
  val object = val::object();
  object.set("value", bound.value);
  object.set("holds", bound.holds);
  object.set("holdsFrom",
             bound.holds_from == 0 ? val::null() : val(static_cast<double>(bound.holds_from)));
  object.set("checkedTo", static_cast<double>(bound.checked_to));
  return object;
}

/// Bounds on mechanisms for prefix sums that guarantee `parameter`, an "epsilon" or a "rho".
val mechanism_bounds_of(double steps, const std::string& kind, double parameter) {
  const MechanismBounds found =
      mechanism_bounds({.steps = count_of(steps),
                        .notion = kind == "rho" ? PrivacyNotion::concentrated : PrivacyNotion::pure,
                        .parameter = parameter});
  val object = val::object();
  object.set("unbiasedMax", found.unbiased_max);
  object.set("unbiasedMean", found.unbiased_mean);
  object.set("every", found.every);
  object.set("blockLength", static_cast<double>(found.block_length));
  return object;
}

/// Bounds on noise that does not depend on the stream, under (epsilon, delta).
val added_noise(double steps, double epsilon, double delta) {
  const AddedNoiseBounds found =
      added_noise_bounds(count_of(steps), {.epsilon = epsilon, .delta = delta});
  val object = val::object();
  object.set("max", found.max);
  object.set("mean", found.mean);
  object.set("variance", found.variance);
  return object;
}

/// Bounds on all factorizations of prefix sums, errors of the square root and of the tree, and
/// published bounds.
val bounds(double steps) {
  const std::int64_t n = count_of(steps);
  val object = val::object();
  object.set("schatten", schatten_lower_bound(n));
  const Workload prefix = Workload::prefix_sums(n);
  const auto least = [&](Objective objective) {
    return certified_lower_bound(prefix, Participation::single(), objective)->value;
  };
  object.set("max", least(Objective::max));
  object.set("mean", least(Objective::mean));
  object.set("squareRootMax", square_root_max_error_bound(n));
  object.set("squareRootMean", square_root_mean_error_bound(n));
  const SquareRootErrors square_root = square_root_errors(n);
  object.set("squareRootColumnNorm", square_root.max);
  object.set("squareRootMeanSquared", square_root.mean_squared);
  const double tree =
      unit_error(*make_strategy({.name = "tree", .steps = n}), Participation::single()).mean_error;
  object.set("treeMeanSquared", tree * tree);
  object.set("publishedMax", published(published_max_error_bound(n)));
  object.set("publishedMean", published(published_mean_error_bound(n)));
  object.set("publishedLower", published(published_lower_bound(n)));
  return object;
}

/// Certified bounds on the least mean error of prefix sums over fixed epochs.
val epochs_bounds(double steps, double epochs, double gap) {
  const std::int64_t n = count_of(steps);
  const std::int64_t k = require_between("bounds", "epochs", count_of(epochs), 1, n);
  if (n % k != 0)
    fail_argument("bounds", "epochs", "a divisor of {steps} (" + to_text(n) + ")", to_text(k));
  const LeastError least =
      least_error(Workload::prefix_sums(n),
                  Participation::fixed_epoch({.epochs = k, .epoch_length = n / k}), gap);
  val object = val::object();
  object.set("lower", least.lower);
  object.set("upper", least.upper);
  object.set("minDimension", static_cast<double>(least.min_dimension));
  return object;
}

/// Sets the simultaneous error bounds over all steps, if the options have a beta.
void set_simultaneous(val& object, const Strategy& strategy, const Participation& participation,
                      const val& options) {
  const std::optional<double> beta = optional_number(options, "beta");
  if (!beta) return;
  const std::int64_t dimension = optional_count(options, "dimension").value_or(1);
  const SimultaneousError error =
      simultaneous_error(strategy, participation, {.beta = *beta, .dimension = dimension});
  object.set("beta", *beta);
  object.set("dimension", static_cast<double>(dimension));
  object.set("simultaneousError", error.value);
  object.set("simultaneousMethod", error.uses_correlation ? "neighbours" : "product");
  object.set("simultaneousUnion", error.union_bound);
  object.set("simultaneousNorm", error.norm);
  object.set("frobeniusError", error.frobenius);
  object.set("frobeniusRms", error.frobenius_rms);
}

/// Sets the simultaneous error bound from sampled noise, if the options have a number of paths.
void set_sampled(val& object, const Strategy& strategy, const Participation& participation,
                 const val& options) {
  const std::optional<std::int64_t> num_paths = optional_count(options, "numPaths");
  if (!num_paths) return;
  const std::optional<double> level =
      sampled_error(strategy, participation,
                    {.beta = number(options, "beta"),
                     .dimension = optional_count(options, "dimension").value_or(1),
                     .num_paths = *num_paths,
                     .seed = optional_seed(options, "seed").value_or(0)});
  object.set("simultaneousSampled", level ? val(*level) : val::null());
  object.set("simultaneousPaths", static_cast<double>(*num_paths));
  object.set("simultaneousRisk", kSampledRisk);
}

/// Error of a factorization, the bound for its objective, and the residual of its matrices.
val appraisal(const val& options) {
  const Problem given = problem_of(options);
  const StrategyOptions wanted = strategy_options(options, given.workload);
  const auto strategy = measured_strategy(wanted);
  const Objective objective = objective_of(wanted.parameters);
  val object = error_object(unit_error(*strategy, given.participation));
  object.set("effectiveParameters", to_object(effective_parameters(*strategy, wanted.parameters)));
  object.set("workload", given.workload.name());
  object.set("participation", std::string(given.participation.name()));
  object.set("maxParticipations", static_cast<double>(given.participation.times()));
  object.set("separation", static_cast<double>(given.participation.apart()));
  object.set("objective", std::string(name_of(objective)));
  set_optimised_for(object, optimised_for(wanted));
  set_bound(object, certified_lower_bound(*strategy, given.participation, objective));
  const DecoderResidual checked = decoder_residual(*strategy, wanted);
  object.set("decoderResidual", checked.value);
  object.set("residualSteps", static_cast<double>(checked.steps));
  set_simultaneous(object, *strategy, given.participation, options);
  set_sampled(object, *strategy, given.participation, options);
  return object;
}

/// Errors of several workloads at noise multiplier 1, which do not depend on a privacy target.
val stack_errors(const val& options) {
  Problem given = problem_of(options);
  const std::int64_t steps = given.workload.steps();
  const StrategyOptions wanted = strategy_options(options, std::move(given.workload));
  const auto mechanism = Mechanism::make_stack({.strategy = wanted.name,
                                                .steps = steps,
                                                .target = {.epsilon = 1, .delta = 0.5},
                                                .participation = wanted.participation,
                                                .parameters = wanted.parameters},
                                               stack_options(options, steps));
  const Certificate& claim = mechanism->certificate();
  val object = val::object();
  object.set("workload", claim.workload);
  object.set("participation", claim.participation);
  object.set("maxParticipations", static_cast<double>(claim.max_participations));
  object.set("separation", static_cast<double>(claim.separation));
  object.set("sensitivity", claim.sensitivity);
  object.set("sensitivityExactness", std::string(to_string(claim.exactness)));
  object.set("sensitivityMethod", std::string(claim.sensitivity_method));
  object.set("maxError", claim.max_error);
  object.set("meanError", claim.mean_error);
  object.set("objective", std::string(name_of(claim.objective)));
  object.set("lowerBound", mechanism->stack_lower_bound());
  object.set("effectiveParameters", to_object(claim.parameters));
  std::vector<SimultaneousError> together;
  if (const std::optional<double> beta = optional_number(options, "beta")) {
    const std::int64_t dimension = optional_count(options, "dimension").value_or(1);
    together = simultaneous_errors(*mechanism, {.beta = *beta, .dimension = dimension});
    object.set("beta", *beta);
    object.set("dimension", static_cast<double>(dimension));
  }
  val workloads = val::array();
  for (std::int64_t i = 0; i < mechanism->num_readers(); ++i) {
    val own = workload_error(*mechanism->reader(i));
    if (!together.empty()) {
      const SimultaneousError& error = together[static_cast<std::size_t>(i)];
      own.set("simultaneousError", error.value);
      own.set("simultaneousMethod", error.uses_correlation ? "neighbours" : "product");
      own.set("simultaneousNorm", error.norm);
    }
    workloads.call<double>("push", own);
  }
  object.set("workloads", workloads);
  return object;
}

val error_per_step(const val& options) {
  Problem given = problem_of(options);
  const auto strategy = measured_strategy(strategy_options(options, std::move(given.workload)));
  return owned_array(unit_error_per_step(*strategy, given.participation));
}

val matrices(const val& options) {
  constexpr std::int64_t kMaxSteps = 1024;
  require_between("matrices", "steps", count(options, "steps"), 1, kMaxSteps);
  Problem given = problem_of(options);
  const auto strategy = make_strategy(strategy_options(options, std::move(given.workload)));
  const double scale = sensitivity(*strategy, given.participation).value;
  const Matrix decoder = strategy->decoder();
  const Matrix covariance = scale * scale * (decoder * decoder.transpose());
  val object = val::object();
  object.set("numSteps", static_cast<double>(strategy->steps()));
  object.set("numMeasurements", static_cast<double>(strategy->num_measurements()));
  object.set("encoder", owned_eigen(strategy->encoder()));
  object.set("decoder", owned_eigen(decoder));
  object.set("noiseCovariance", owned_eigen(covariance));
  return object;
}

val certificate(const val& options) {
  return to_checked_object(*Mechanism::make(mechanism_options(options)));
}

double planner_create(const val& options) {
  return handles().add(std::make_unique<Planner>(planner_options(options)));
}

val planner_advance(double handle) {
  return advanced(handles().get<Planner>(handle));
}

val planner_result(double handle) {
  return to_object(handles().get<Planner>(handle).result());
}

}  // namespace

EMSCRIPTEN_BINDINGS(dpftrl_analysis) {
  bind<&limits>("limits");
  bind<&calibrate>("calibrate");
  bind<&pure_mu>("pureMu");
  bind<&pure_rho>("pureRho");
  bind<&compose>("compose");
  bind<&bounds>("bounds");
  bind<&mechanism_bounds_of>("mechanismBounds");
  bind<&added_noise>("addedNoise");
  bind<&epochs_bounds>("epochsBounds");
  bind<&problem>("problem");
  bind<&unit_error_of>("unitError");
  bind<&appraisal>("appraisal");
  bind<&stack_errors>("stackErrors");
  bind<&error_per_step>("errorPerStep");
  bind<&matrices>("matrices");
  bind<&certificate>("certificate");
  bind<&planner_create>("plannerCreate");
  bind<&planner_advance>("plannerAdvance");
  bind<&planner_result>("plannerResult");
}

}  // namespace dpftrl::wasm
