// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/strategy.hpp"

#include <algorithm>
#include <array>

#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/dense.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "dpftrl/strategy/plan.hpp"
#include "dpftrl/strategy/toeplitz/banded.hpp"
#include "dpftrl/strategy/toeplitz/blt.hpp"
#include "dpftrl/strategy/toeplitz/blt_scaled.hpp"
#include "dpftrl/strategy/toeplitz/filtered.hpp"
#include "dpftrl/strategy/toeplitz/group_algebra.hpp"
#include "dpftrl/strategy/toeplitz/identity.hpp"
#include "dpftrl/strategy/toeplitz/lambda_cgd.hpp"
#include "dpftrl/strategy/toeplitz/log_perturbed.hpp"
#include "dpftrl/strategy/toeplitz/nu.hpp"
#include "dpftrl/strategy/toeplitz/prefix.hpp"
#include "dpftrl/strategy/toeplitz/square_root.hpp"
#include "dpftrl/strategy/trees/haar.hpp"
#include "dpftrl/strategy/trees/hybrid.hpp"
#include "dpftrl/strategy/trees/kary.hpp"
#include "dpftrl/strategy/trees/restart.hpp"
#include "dpftrl/strategy/trees/smooth.hpp"
#include "dpftrl/strategy/trees/tree.hpp"
#include "dpftrl/strategy/varying_bands.hpp"

namespace dpftrl {
namespace {

using StrategyPointer = std::shared_ptr<const Strategy>;

/// Which workloads the maker of a family takes.
enum class Makes {
  prefix_sums,  ///< prefix sums alone
  toeplitz,     ///< any ToeplitzRequest
  any,          ///< every workload, the one of the request
};

struct Family {
  StrategyInfo info;
  Makes makes;
  StrategyPointer (*make)(const ToeplitzRequest& request, const StrategyParameters& parameters);
};

/// Families whose maker takes the options as the user gave them, for prefix sums.
template <class Concrete>
StrategyPointer make_from_options(const ToeplitzRequest& request,
                                  const StrategyParameters& parameters) {
  return Concrete::make({.name = std::string(Concrete::kName),
                         .num_steps = request.workload.num_steps(),
                         .workload = {},
                         .parameters = parameters});
}

template <class Concrete>
Family prefix_family() {
  return {Concrete::info(), Makes::prefix_sums, make_from_options<Concrete>};
}

template <class Concrete>
StrategyPointer make_from_steps(const ToeplitzRequest& request, const StrategyParameters&) {
  return std::make_shared<const Concrete>(request.workload.num_steps());
}

/// Families without parameters that take a ToeplitzRequest.
template <StrategyPointer (*maker)(const ToeplitzRequest&)>
StrategyPointer make_for_workload(const ToeplitzRequest& request, const StrategyParameters&) {
  return maker(request);
}

/// The best there is.
std::vector<Family> optimal_families() {
  return {{{.name = OptimalStrategy::kName,
            .summary = "the certified optimum, streamed with few buffers",
            .step_cost = "O(num_buffers)",
            .memory_cost = "num_buffers vectors",
            .parameters = "num_buffers, objective",
            .workloads = WorkloadSupport::adapted,
            .max_steps = OptimalStrategy::kMaxSteps,
            .is_causal = true},
           Makes::any,
           [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
             return optimal_strategy(request.workload, parameters.num_buffers,
                                     objective_of(parameters), request.participation);
           }}};
}

/// The baselines and the trees.
std::vector<Family> simple_families() {
  const auto info = [](std::string_view name, std::string_view summary, std::string_view step_cost,
                       std::string_view memory_cost, WorkloadSupport workloads) {
    return StrategyInfo{.name = name,
                        .summary = summary,
                        .step_cost = step_cost,
                        .memory_cost = memory_cost,
                        .parameters = "",
                        .workloads = workloads,
                        .max_steps = kMaxNumSteps,
                        .is_causal = true};
  };
  return {
      {info(IndependentStrategy::kName, "noise on every record (input perturbation, C = I)", "O(1)",
            "1 vector", WorkloadSupport::adapted),
       Makes::toeplitz, make_for_workload<independent_strategy>},
      {info(OutputStrategy::kName, "independent noise on every total (output perturbation, C = A)",
            "O(1)", "1 vector", WorkloadSupport::adapted),
       Makes::toeplitz, make_for_workload<output_strategy>},
      {info(TreeStrategy::kName, "binary tree of noisy interval sums", "O(1) amortised",
            "O(log n) vectors", WorkloadSupport::decoded),
       Makes::prefix_sums, make_from_steps<TreeStrategy>},
      {info(HonakerStrategy::kName, "binary tree, each node refined from its subtree",
            "O(1) amortised", "O(log n) vectors", WorkloadSupport::decoded),
       Makes::prefix_sums, make_from_steps<HonakerStrategy>},
      prefix_family<HonakerFullStrategy>(),
      prefix_family<HaarStrategy>(),
      prefix_family<KaryStrategy>(),
      prefix_family<SmoothStrategy>(),
      prefix_family<HybridStrategy>(),
  };
}

/// Noise made in advance by FFT: n vectors of memory.
std::vector<Family> convolution_families() {
  const auto info = [](std::string_view name, std::string_view summary, std::string_view parameters,
                       WorkloadSupport workloads, std::int64_t max_steps) {
    return StrategyInfo{.name = name,
                        .summary = summary,
                        .step_cost = "O(log n) by FFT, generated in advance",
                        .memory_cost = "n vectors",
                        .parameters = parameters,
                        .workloads = workloads,
                        .max_steps = max_steps,
                        .is_causal = name != GroupAlgebraStrategy::kName};
  };
  return {
      {info(SquareRootStrategy::kName, "B = C = square root of the workload", "",
            WorkloadSupport::adapted, ToeplitzStrategy::kMaxSteps),
       Makes::toeplitz, make_for_workload<square_root_strategy>},
      {info(kNormalizedSquareRoot, "square root with columns scaled to norm 1", "",
            WorkloadSupport::adapted, FilteredStrategy::kMaxTransformedSteps),
       Makes::toeplitz, make_for_workload<square_root_strategy>},
      {info(GroupAlgebraStrategy::kName, "square root of a circulant: the same error at every step",
            "", WorkloadSupport::decoded, GroupAlgebraStrategy::kMaxSteps),
       Makes::prefix_sums, make_from_steps<GroupAlgebraStrategy>},
      {info(kNu, "square root with damped coefficients", "nu", WorkloadSupport::decoded,
            ToeplitzStrategy::kMaxSteps),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return nu_strategy(request, parameters.nu);
       }},
      {info(kLogPerturbed, "square root damped by logarithms, scaled for a longer horizon",
            "alpha, loglog_power, horizon_cap", WorkloadSupport::decoded, kMaxLogPerturbedSteps),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return log_perturbed_strategy(request, {.alpha = parameters.alpha,
                                                 .loglog_power = parameters.loglog_power,
                                                 .horizon_cap = parameters.horizon_cap});
       }},
  };
}

/// Noise from a short recursion.
std::vector<Family> recursive_families() {
  const auto info = [](std::string_view name, std::string_view summary, std::string_view cost,
                       std::string_view memory, std::string_view parameters,
                       WorkloadSupport workloads) {
    return StrategyInfo{.name = name,
                        .summary = summary,
                        .step_cost = cost,
                        .memory_cost = memory,
                        .parameters = parameters,
                        .workloads = workloads,
                        .max_steps = name == LambdaCgdStrategy::kName ? kMaxNumSteps
                                     : name == kBlt                   ? kMaxBufferedSteps
                                                                      : ToeplitzStrategy::kMaxSteps,
                        .is_causal = true};
  };
  return {
      {info(kBandedSquareRoot, "C = the first bands of the square root", "O(num_bands)",
            "num_bands vectors", "num_bands", WorkloadSupport::adapted),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return banded_square_root_strategy(request, parameters.num_bands);
       }},
      {info(kBandedInverseSquareRoot, "inverse of C = the first bands of the inverse square root",
            "O(num_bands)", "num_bands vectors", "num_bands", WorkloadSupport::adapted),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return banded_inverse_square_root_strategy(request, parameters.num_bands);
       }},
      {info(LambdaCgdStrategy::kName, "each row of noise takes back part of the one before", "O(1)",
            "2 vectors", "lambda", WorkloadSupport::decoded),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return lambda_cgd_strategy(request, parameters.lambda);
       }},
      {info(kBltRational, "few buffers, by rational approximation of the square root",
            "O(num_buffers)", "num_buffers vectors", "num_buffers", WorkloadSupport::decoded),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return blt_rational_strategy(request, parameters.num_buffers);
       }},
      {info(kBlt, "few buffers, optimised or given by decays and weights", "O(num_buffers)",
            "num_buffers vectors", "num_buffers, objective, decays, weights",
            WorkloadSupport::decoded),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         const bool is_given = !parameters.decays.empty() || !parameters.weights.empty();
         return blt_strategy(request,
                             is_given ? BufferParameters{parameters.decays, parameters.weights}
                                      : optimal_buffers({.num_steps = request.workload.num_steps(),
                                                         .objective = objective_of(parameters),
                                                         .participation = request.participation,
                                                         .num_buffers = parameters.num_buffers}));
       }},
      {info(kBltNormalized, "few buffers, columns scaled to norm 1, optimised", "O(num_buffers)",
            "num_buffers vectors", "num_buffers, objective", WorkloadSupport::decoded),
       Makes::any,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return blt_normalized_strategy(request.workload, parameters.num_buffers,
                                        objective_of(parameters));
       }},
      {{.name = kBltScaled,
        .summary = "few buffers, rows scaled and columns of norm 1, optimised",
        .step_cost = "O(num_buffers)",
        .memory_cost = "num_buffers vectors",
        .parameters = "num_buffers, objective",
        .workloads = WorkloadSupport::decoded,
        .max_steps = kMaxScaledBltSteps,
        .is_causal = true},
       Makes::any,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return blt_scaled_strategy(
             request.workload,
             scaled_buffers(scaled_problem(request.workload.num_steps(), parameters.num_buffers,
                                           objective_of(parameters))));
       }},
      {info(kBandedToeplitz, "C of few bands, optimised", "O(num_bands)", "num_bands vectors",
            "num_bands, objective", WorkloadSupport::decoded),
       Makes::toeplitz,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         return banded_toeplitz_strategy(request, parameters.num_bands, objective_of(parameters));
       }},
      {{.name = kBanded,
        .summary = "C of few bands with columns of norm 1, optimised",
        .step_cost = "O(num_bands)",
        .memory_cost = "num_bands vectors",
        .parameters = "num_bands, objective",
        .workloads = WorkloadSupport::decoded,
        .max_steps = kMaxBandedSteps,
        .is_causal = true},
       Makes::any,
       [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
         const BandedProblem problem =
             banded_problem(request.workload.num_steps(), parameters.num_bands,
                            objective_of(parameters), request.participation);
         return banded_strategy(request.workload, find_banded_optimum(problem).columns);
       }},
  };
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> joined;
    for (const auto& part :
         {simple_families(), convolution_families(), recursive_families(), optimal_families()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

const Family& find_family(std::string_view name) {
  std::string known;
  for (const Family& family : families()) {
    if (family.info.name == name) return family;
    known.append(known.empty() ? "" : ", ").append(family.info.name);
  }
  fail_argument("make_strategy", "strategy", "one of " + known, "\"" + std::string(name) + "\"");
}

/// Is `name` an item of a comma-separated list?
bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return false;
}

void require_known_parameters(const StrategyInfo& info, const StrategyOptions& options) {
  const StrategyParameters& given = options.parameters;
  struct Parameter {
    std::string_view name;
    bool is_given;
  };
  const std::array<Parameter, 14> all = {{
      {"num_bands", given.num_bands.has_value()},
      {"num_buffers", given.num_buffers.has_value()},
      {"decays", !given.decays.empty()},
      {"weights", !given.weights.empty()},
      {"arity", given.arity.has_value()},
      {"subtractive", given.subtractive.has_value()},
      {"height", given.height.has_value()},
      {"weight", given.weight.has_value()},
      {"nu", given.nu.has_value()},
      {"lambda", given.lambda.has_value()},
      {"alpha", given.alpha.has_value()},
      {"loglog_power", given.loglog_power.has_value()},
      {"horizon_cap", given.horizon_cap.has_value()},
      {"objective", given.objective.has_value()},
  }};
  for (const Parameter& parameter : all)
    if (parameter.is_given && !lists(info.parameters, parameter.name))
      fail(ErrorCode::invalid_argument, "make_strategy: " + std::string(parameter.name) +
                                            " is not a parameter of " + std::string(info.name));
  if (given.plan) {
    const auto beside = std::ranges::find(all, true, &Parameter::is_given);
    const std::string_view name = beside != all.end()       ? beside->name
                                  : given.epoch_length      ? "epoch_length"
                                  : given.normalize_columns ? "normalize_columns"
                                                            : "";
    if (!name.empty())
      fail(ErrorCode::invalid_argument,
           "make_strategy: " + std::string(name) + " cannot be given together with a plan");
  }
  if (given.num_buffers && !given.decays.empty())
    fail(ErrorCode::invalid_argument,
         "make_strategy: num_buffers cannot be given together with decays, which are as many");
  if (given.normalize_columns && info.name == OptimalStrategy::kName && options.workload &&
      !options.workload->is_prefix())
    fail(ErrorCode::invalid_argument,
         "make_strategy: normalize_columns cannot be given for optimal and " +
             options.workload->name() + ": the columns of that optimum are what they should be");
  if (given.complete_epochs && !given.epoch_length)
    fail_argument("make_strategy", "complete_epochs", "given together with epoch_length", "true");
}

void require_horizon(const std::optional<Workload>& workload, const char* name,
                     std::int64_t num_steps) {
  if (workload && workload->num_steps() != num_steps)
    fail_argument("make_strategy", name, "of num_steps = " + to_text(num_steps) + " steps",
                  to_text(workload->num_steps()));
}

/// That the family makes encoders for that workload, and decodes the prefix sums from them.
void require_encoder_workload(const Family& family, const StrategyOptions& options) {
  if (!options.encoder_workload || options.encoder_workload->is_prefix()) return;
  const StrategyParameters& given = options.parameters;
  const bool is_optimal = options.name == OptimalStrategy::kName;
  const bool has_toeplitz_encoder =
      options.name != "output" && family.info.workloads == WorkloadSupport::adapted &&
      family.makes == Makes::toeplitz && options.encoder_workload->is_toeplitz();
  const bool is_able = (is_optimal ? !given.normalize_columns : has_toeplitz_encoder) &&
                       !given.plan && !given.epoch_length &&
                       (!options.workload || options.workload->is_prefix());
  if (!is_able)
    fail(ErrorCode::unsupported, options.name +
                                     ": prefix sums cannot be decoded from an encoder for " +
                                     options.encoder_workload->name());
}

/// The encoder of a family for prefix sums, made for `designed_for`, and then what any strategy can
/// be wrapped in: epochs first, then columns of norm 1, then another workload.
StrategyPointer wrap(const Family& family, const StrategyOptions& options,
                     const Workload& designed_for, const Workload& workload) {
  StrategyPointer base;
  if (options.parameters.epoch_length) {
    StrategyOptions plain = options;
    plain.workload.reset();
    plain.parameters.normalize_columns = false;
    plain.participation = Participation::single();  // that of the horizon, not of an epoch
    base = RestartStrategy::make(plain, make_strategy);
    // The epochs of a normalised family have normalised columns by themselves.
    if (!options.parameters.normalize_columns)
      return workload.is_prefix() ? base : decoded_strategy(std::move(base), workload);
  } else {
    base = family.make({.designed_for = designed_for,
                        .workload = Workload::prefix_sums(options.num_steps),
                        .participation = options.participation},
                       options.parameters);
  }
  if (options.parameters.normalize_columns || family.info.name == kNormalizedSquareRoot)
    return normalized_strategy(std::move(base), workload);
  return workload.is_prefix() ? base : decoded_strategy(std::move(base), workload);
}

}  // namespace

Objective objective_of(const StrategyParameters& parameters) {
  return parameters.plan ? parameters.plan->objective
                         : parameters.objective.value_or(Objective::max);
}

void Strategy::require_step(std::int64_t step) const {
  require_between(name(), "step", step, 0, num_steps() - 1);
}

Eigen::Index Strategy::dense_size() const {
  if (num_steps() <= kMaxDenseSteps) return static_cast<Eigen::Index>(num_steps());
  fail(ErrorCode::unsupported, std::string(name()) + ": matrices are made for num_steps up to " +
                                   to_text(kMaxDenseSteps) + ", got " + to_text(num_steps()));
}

void require_strategy_options(const StrategyOptions& options) {
  require_known_parameters(find_family(options.name).info, options);
  require_encoder_workload(find_family(options.name), options);
  require_horizon(options.workload, "workload", options.num_steps);
  require_horizon(options.encoder_workload, "encoder_workload", options.num_steps);
  options.participation.require_horizon(options.num_steps);
}

StrategyPointer make_strategy(const StrategyOptions& options) {
  require_strategy_options(options);
  const Family& family = find_family(options.name);
  const Workload workload =
      options.workload ? *options.workload : Workload::prefix_sums(options.num_steps);
  if (options.parameters.plan)
    return planned_strategy(family.info.name, *options.parameters.plan, workload);
  const Workload aim = options.encoder_workload.value_or(workload);
  if (!aim.is_prefix() && workload.is_prefix() && family.info.name == OptimalStrategy::kName)
    return prefix_sums_of_optimum(aim, options.parameters.num_buffers,
                                  objective_of(options.parameters), options.participation);
  const bool is_adapted = family.info.workloads == WorkloadSupport::adapted &&
                          (aim.is_toeplitz() || has_better_root(aim));
  const Workload designed_for = is_adapted ? aim : Workload::prefix_sums(options.num_steps);
  const bool is_wrapped = options.parameters.normalize_columns || options.parameters.epoch_length ||
                          family.info.name == kNormalizedSquareRoot;
  const bool is_made = workload.is_prefix() || family.makes == Makes::any ||
                       (workload.is_toeplitz() && family.makes == Makes::toeplitz);
  if (is_wrapped || !is_made) return wrap(family, options, designed_for, workload);
  return family.make(
      {.designed_for = designed_for, .workload = workload, .participation = options.participation},
      options.parameters);
}

const std::vector<StrategyInfo>& strategy_catalogue() {
  static const std::vector<StrategyInfo> catalogue = [] {
    std::vector<StrategyInfo> infos;
    for (const Family& family : families()) infos.push_back(family.info);
    return infos;
  }();
  return catalogue;
}

}  // namespace dpftrl
