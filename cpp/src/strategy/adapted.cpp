// SPDX-License-Identifier: Apache-2.0

/// Families for other workloads than prefix sums, in epochs, or with columns of norm 1.

#include <utility>

#include "dpftrl/strategy/catalogue.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/families.hpp"
#include "strategy/toeplitz/filtered.hpp"
#include "strategy/toeplitz/square_root.hpp"
#include "strategy/trees/restart.hpp"

namespace dpftrl {
namespace {

/// The encoder of a family for prefix sums, made for `designed_for`, and then what any strategy can
/// be wrapped in: epochs first, then columns of norm 1, then another workload.
StrategyPointer wrap(const FamilyRow& family, const StrategyOptions& options,
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
  if (options.parameters.normalize_columns || family.normalizes_columns)
    return normalized_strategy(std::move(base), workload);
  return workload.is_prefix() ? base : decoded_strategy(std::move(base), workload);
}

}  // namespace

StrategyPointer adapted_strategy(const FamilyRow& family, const StrategyOptions& options,
                                 const Workload& workload) {
  const Workload aim = options.encoder_workload.value_or(workload);
  if (!aim.is_prefix() && workload.is_prefix() && family.info.name == OptimalStrategy::kName)
    return prefix_sums_of_optimum(aim, options.parameters.num_buffers,
                                  objective_of(options.parameters), options.participation);
  const bool is_adapted = family.info.workloads == WorkloadSupport::adapted &&
                          (aim.is_toeplitz() || has_better_root(aim));
  const Workload designed_for = is_adapted ? aim : Workload::prefix_sums(options.num_steps);
  const bool is_wrapped = options.parameters.normalize_columns || options.parameters.epoch_length ||
                          family.normalizes_columns;
  const bool is_made = workload.is_prefix() || family.makes == Makes::any ||
                       (workload.is_toeplitz() && family.makes == Makes::toeplitz);
  if (is_wrapped || !is_made) return wrap(family, options, designed_for, workload);
  return family.make(
      {.designed_for = designed_for, .workload = workload, .participation = options.participation},
      options.parameters);
}

}  // namespace dpftrl
