// SPDX-License-Identifier: Apache-2.0

/// Adapts families to workloads other than prefix sums, to epochs, and to columns of norm 1.

#include <utility>

#include "dpftrl/strategy/catalogue.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/families.hpp"
#include "strategy/toeplitz/filtered.hpp"
#include "strategy/toeplitz/square_root.hpp"
#include "strategy/trees/restart.hpp"

namespace dpftrl {

Encoder encoder_of(const FamilyRow& family, const StrategyOptions& options,
                   const Workload& designed_for) {
  const bool is_normalized = options.parameters.normalize_columns || family.normalizes_columns;
  if (!options.parameters.epoch_length)
    return {.base = family.make({.designed_for = designed_for,
                                 .workload = Workload::prefix_sums(options.steps),
                                 .participation = options.participation},
                                options.parameters),
            .is_normalized = is_normalized};
  StrategyOptions plain = options;
  plain.workload.reset();
  plain.parameters.normalize_columns = false;
  plain.participation = Participation::single();  // the given schema is for the whole horizon
  // Epochs of a normalised family already have normalised columns.
  return {.base = RestartStrategy::make(plain, make_strategy),
          .is_normalized = options.parameters.normalize_columns};
}

StrategyPointer decoded(const Encoder& encoder, const Workload& workload) {
  if (encoder.is_normalized) return normalized_strategy(encoder.base, workload);
  return workload.is_prefix() ? encoder.base : decoded_strategy(encoder.base, workload);
}

StrategyPointer adapted_strategy(const FamilyRow& family, const StrategyOptions& options,
                                 const Workload& workload) {
  const Workload aim = options.encoder_workload.value_or(workload);
  if (!aim.is_prefix() && workload.is_prefix() && family.info.name == OptimalStrategy::kName)
    return prefix_sums_of_optimum(aim, options.parameters.buffers, objective_of(options.parameters),
                                  options.participation);
  const bool is_adapted = family.info.workloads == WorkloadSupport::adapted &&
                          (aim.is_toeplitz() || has_better_root(aim));
  const Workload designed_for = is_adapted ? aim : Workload::prefix_sums(options.steps);
  const bool is_wrapped = options.parameters.normalize_columns || options.parameters.epoch_length ||
                          family.normalizes_columns;
  const bool is_made = workload.is_prefix() || family.makes == Makes::any ||
                       (workload.is_toeplitz() && family.makes == Makes::toeplitz);
  if (is_wrapped || !is_made) return decoded(encoder_of(family, options, designed_for), workload);
  return family.make(
      {.designed_for = designed_for, .workload = workload, .participation = options.participation},
      options.parameters);
}

}  // namespace dpftrl
