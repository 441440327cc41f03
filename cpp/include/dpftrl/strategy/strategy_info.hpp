// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Parameters and plans of the strategy families, and facts about a family that are known without
/// constructing a strategy.
///
/// ```cpp
/// dpftrl::StrategyOptions options;
/// options.name = "blt";
/// options.steps = 1000;
/// options.parameters.buffers = 3;
/// assert(dpftrl::objective_of(options.parameters) == dpftrl::Objective::max);
/// const dpftrl::StrategyPlan plan{.numbers = {{"decays", {0.9, 0.5}}, {"weights", {0.1, 0.2}}}};
/// assert(plan.list("decays")[1] == 0.5);
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Names of the lists of dual variables, which prove a lower bound.
inline constexpr std::string_view kColumnDuals = "column_duals";
inline constexpr std::string_view kRowDuals = "row_duals";

/// The numbers that define a strategy whose parameters were found by a search. Only + - * / and
/// sqrt are applied to them, so a plan gives the same noise, bit for bit, on every platform.
///
///     mechanism              lists, in this order
///     optimal                column_weights, row_weights (one per step), shifts, weights (one
///                            per buffer), direct, decay (one number); or, if found with dense
///                            matrices, columns (n per step), alone or with the duals that
///                            prove its lower bound: column_duals (one per step; k per step for k
///                            epochs), row_duals (max: one per step)
///     blt, blt-normalized    decays, weights (one per buffer)
///     blt-scaled             those of blt, row_scales (one per step)
///     banded-toeplitz        coefficients (one per band)
///     banded                 columns (one number per band, for the first step, the second, ...)
///
/// @guarantee   The column norms of the strategy are computed from these numbers, so a damaged or
///              invented plan costs accuracy, never privacy. Bounds are proved again from the dual
///              variables, so damaged ones prove less.
/// @checked-by  plan_test
struct StrategyPlan {
  Objective objective = Objective::max;  ///< error that was minimised
  std::vector<PlanNumbers> numbers;

  /// The list of that name.
  /// @throws Error{invalid_argument} there is none.
  const std::vector<double>& list(std::string_view name) const;
  bool has(std::string_view name) const;
  /// The number in a list with a single entry.
  /// @throws Error{wrong_length} it has no entry, or several.
  double number(std::string_view name) const;
  /// The columns of an encoder, with the same number of entries for each step, at most
  /// `most_bands`.
  Matrix columns(std::int64_t steps, std::int64_t most_bands) const;
  /// Plan for the leading block: the first `steps` of `of_steps` steps. Lists with several numbers
  /// per step keep those of the first steps; all others keep at most `steps` entries. Dual
  /// variables of dense matrices prove nothing about the block and are left out.
  [[nodiscard]] StrategyPlan leading(std::int64_t steps, std::int64_t of_steps) const;
};

/// Parameters of the families. Unset ones have the family's default, stated in its header or
/// source.
/// @throws (make_strategy) Error{invalid_argument} a parameter that the family does not take.
struct StrategyParameters {
  std::optional<std::int64_t> bands = {};        ///< banded, banded-...
  std::optional<std::int64_t> buffers = {};      ///< blt, blt-..., optimal
  std::vector<double> decays = {};               ///< blt: theta
  std::vector<double> weights = {};              ///< blt: omega
  std::optional<std::int64_t> arity = {};        ///< tree-k
  std::optional<bool> subtractive = {};          ///< tree-k
  std::optional<double> nu = {};                 ///< nu
  std::optional<double> lambda = {};             ///< lambda-cgd
  std::optional<double> alpha = {};              ///< log-perturbed: error O(log^(1+alpha) t)
  std::optional<double> loglog_power = {};       ///< log-perturbed: delta
  std::optional<std::int64_t> horizon_cap = {};  ///< log-perturbed: horizon the noise is scaled for

  std::optional<Objective> objective = {};  ///< of the optimised families; default max

  /// Optimised families: the result of an earlier search, used instead of a new one. Excludes all
  /// other parameters.
  std::shared_ptr<const StrategyPlan> plan = {};

  /// Any prefix-sum strategy: number of steps after which it is restarted; the last epoch may be
  /// shorter.
  std::optional<std::int64_t> epoch_length = {};
  /// Trees with epoch_length: pads a finished epoch with empty steps to a power of two, so that it
  /// leaves a single node.
  bool complete_epochs = false;
  /// Any strategy: scales the columns of C to norm 1 (C D^-1) and keeps the workload.
  bool normalize_columns = false;
};

/// Name and location of a member of StrategyParameters. Checks and bindings use the list of all of
/// them, so a new parameter is named in one place besides the struct itself.
struct ParameterInfo {
  std::string_view name;
  std::variant<std::optional<std::int64_t> StrategyParameters::*,
               std::optional<double> StrategyParameters::*,
               std::optional<bool> StrategyParameters::*, std::vector<double> StrategyParameters::*,
               std::optional<Objective> StrategyParameters::*, bool StrategyParameters::*>
      member;
  bool is_general = false;  ///< every family accepts it

  bool is_flag() const;
  bool is_list() const;
  /// Whether it has been set.
  bool is_given(const StrategyParameters& parameters) const;
};

/// All parameters except the plan, in the order in which documentation lists them.
std::span<const ParameterInfo> parameter_infos();

/// The parameter of that name; nullptr if there is none.
const ParameterInfo* find_parameter(std::string_view name);

/// Objective that a mechanism with these parameters minimises; the max error by default.
inline Objective objective_of(const StrategyParameters& parameters) {
  return parameters.plan ? parameters.plan->objective
                         : parameters.objective.value_or(Objective::max);
}

struct StrategyOptions {
  std::string name;
  std::int64_t steps = 0;
  /// Default: the prefix sums of `steps` steps. Its horizon must be `steps`.
  std::optional<Workload> workload = {};
  /// Workload for which the encoder is made, while prefix sums are decoded, for callers that
  /// compute that workload from the prefix sums. Default: `workload`.
  std::optional<Workload> encoder_workload = {};
  StrategyParameters parameters = {};
  /// Participation to optimise for, in families whose parameter search supports it: `optimal`
  /// (fixed epochs), `blt`, `banded-toeplitz`, `banded`, `offset-ar` (active people; the others are
  /// then optimised for a single participation). It is not part of the strategy;
  /// sensitivities are computed for any participation.
  Participation participation = Participation::single();
};

/// How a family supports workloads other than prefix sums. `adapted`: Toeplitz workloads have an
/// encoder made for them, others are decoded. `decoded`: the encoder for prefix sums is used, and
/// the prefix sums are decoded further, B = A_workload A^-1 B_prefix.
enum class WorkloadSupport { adapted, decoded };

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;      ///< one line
  std::string_view step_cost;    ///< time per step and coordinate
  std::string_view memory_cost;  ///< vectors of state
  std::string_view parameters;   ///< names of the parameters it accepts, comma-separated; or empty
  WorkloadSupport workloads;
  std::int64_t max_steps;  ///< longest horizon of its formulas
  bool is_causal;          ///< see Strategy::is_causal
  /// True if Laplace instead of Gaussian noise gives pure differential privacy, also for adaptively
  /// chosen records; see l1_sensitivity.
  bool allows_pure_dp = true;
};

}  // namespace dpftrl
