// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Parameters of the families of strategies, and what is known of a family before one is made.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/strategy/plan.hpp"

namespace dpftrl {

/// Parameters of families that have some. Unset: the family's default, stated in its header.
/// @throws (make_strategy) Error{invalid_argument} a parameter that the family does not take.
struct StrategyParameters {
  std::optional<std::int64_t> num_bands = {};    ///< banded, banded-...
  std::optional<std::int64_t> num_buffers = {};  ///< blt, blt-..., optimal
  std::vector<double> decays = {};               ///< blt: theta
  std::vector<double> weights = {};              ///< blt: omega
  std::optional<std::int64_t> arity = {};        ///< tree-k
  std::optional<bool> subtractive = {};          ///< tree-k
  std::optional<std::int64_t> height = {};       ///< smooth-tree: h
  std::optional<std::int64_t> weight = {};       ///< smooth-tree: w
  std::optional<double> nu = {};                 ///< nu
  std::optional<double> lambda = {};             ///< lambda-cgd
  std::optional<double> alpha = {};              ///< log-perturbed: error O(log^(1+alpha) t)
  std::optional<double> loglog_power = {};       ///< log-perturbed: delta
  std::optional<std::int64_t> horizon_cap = {};  ///< log-perturbed: steps the noise is scaled for

  std::optional<Objective> objective = {};  ///< of the optimised families; default max

  /// The optimised families: what a search found before, instead of searching. No other parameter
  /// goes with it.
  std::shared_ptr<const StrategyPlan> plan = {};

  /// Any prefix-sum strategy, started afresh every so many steps; the last epoch may be shorter.
  std::optional<std::int64_t> epoch_length = {};
  /// With epoch_length, trees: a finished epoch is completed with empty steps to a power of two, so
  /// that what it leaves behind is one node.
  bool complete_epochs = false;
  /// Any strategy: columns of C scaled to norm 1 (C D^-1), the workload kept.
  bool normalize_columns = false;
};

/// Objective that a mechanism with these parameters is made for; the largest error by default.
inline Objective objective_of(const StrategyParameters& parameters) {
  return parameters.plan ? parameters.plan->objective
                         : parameters.objective.value_or(Objective::max);
}

struct StrategyOptions {
  std::string name;
  std::int64_t num_steps = 0;
  /// Default: the prefix sums of num_steps steps. Its horizon must be num_steps.
  std::optional<Workload> workload = {};
  /// The encoder is made for this workload, while the prefix sums are decoded from it, for callers
  /// that compute the one from the other. Default: it is made for `workload`.
  std::optional<Workload> encoder_workload = {};
  StrategyParameters parameters = {};
  /// Participation to optimise for, in the families that search for their parameters and have a
  /// search for it: `optimal` (fixed epochs), `blt`, `banded-toeplitz`, `banded`. It is no part of
  /// the strategy: sensitivities are computed for any participation.
  Participation participation = Participation::single();
};

/// How a family serves workloads other than prefix sums. `adapted`: Toeplitz workloads get an
/// encoder made for them, the others are decoded. `decoded`: the encoder is that for prefix sums,
/// and those are decoded further, B = A_workload A^-1 B_prefix.
enum class WorkloadSupport { adapted, decoded };

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;      ///< one line
  std::string_view step_cost;    ///< time per step and coordinate
  std::string_view memory_cost;  ///< vectors of state
  std::string_view parameters;   ///< names of the parameters it takes, comma-separated; or empty
  WorkloadSupport workloads;
  std::int64_t max_steps;  ///< longest horizon of its formulas
  bool is_causal;          ///< see Strategy::is_causal
  /// Laplace noise in the place of the Gaussian gives pure differential privacy, for records chosen
  /// in the light of releases, too: l1_sensitivity.
  bool allows_pure_dp = true;
};

}  // namespace dpftrl
