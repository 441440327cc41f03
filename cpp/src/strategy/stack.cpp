// SPDX-License-Identifier: Apache-2.0
#include "strategy/stack.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/toeplitz_matrix.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/dense.hpp"
#include "strategy/families.hpp"
#include "strategy/toeplitz/square_root.hpp"

namespace dpftrl {
namespace {

Matrix weighted(const Stack& stack, std::size_t i) {
  return std::sqrt(stack.weights[i]) * stack.workloads[i].matrix();
}

Readers decoded_all(const Encoder& encoder, const Stack& stack) {
  Readers readers;
  for (const Workload& workload : stack.workloads)
    readers.strategies.push_back(decoded(encoder, workload));
  return readers;
}

Readers dense_optimum(const StrategyOptions& options, const Stack& stack) {
  const Workload whole = workload_of_stack(stack);
  const auto own = dense_optimal_strategy(
      whole,
      {.objective = Objective::mean,
       .participation = densely_optimised_for(whole, Objective::mean, options.participation)});
  const auto prefix = std::make_shared<const DenseStrategy>(
      Workload::prefix_sums(stack.steps()),
      DenseStrategy::Parts{.name = OptimalStrategy::kName, .encoder = own->encoder()});
  Readers readers = decoded_all({.base = prefix, .is_normalized = false}, stack);
  readers.lower_bound = own->certified_lower_bound(Objective::mean, options.participation);
  return readers;
}

bool has_encoders_for_toeplitz(const FamilyRow& family, const StrategyParameters& given) {
  // The encoder of `output` is the workload itself.
  return family.info.workloads == WorkloadSupport::adapted && family.makes == Makes::toeplitz &&
         family.info.name != "output" && !given.plan && !given.epoch_length;
}

}  // namespace

Stack Stack::leading(std::int64_t steps) const {
  Stack first{.workloads = {}, .weights = weights};
  for (const Workload& workload : workloads) first.workloads.push_back(workload.leading(steps));
  return first;
}

Workload workload_of_stack(const Stack& stack) {
  Matrix root = lower_triangular_encoder(weighted(stack, 0));
  for (std::size_t i = 1; i < stack.workloads.size(); ++i) {
    Matrix both(2 * root.rows(), root.cols());
    both << root, weighted(stack, i);
    root = lower_triangular_encoder(both);
  }
  root.triangularView<Eigen::StrictlyUpper>().setZero();
  return Workload::lower_triangular(std::move(root));
}

Workload toeplitz_workload_of_stack(const Stack& stack) {
  const Workload whole = workload_of_stack(stack);
  std::vector<double> column;
  for (std::int64_t t = 0; t < whole.steps(); ++t) column.push_back(whole.entry(t, 0));
  return Workload::lower_triangular(lower_triangular_toeplitz(column));
}

bool is_dense_optimum_of_stack(const StrategyOptions& options) {
  const StrategyParameters& given = options.parameters;
  return options.name == OptimalStrategy::kName && !given.plan && !given.epoch_length &&
         !given.normalize_columns && given.buffers.value_or(0) == 0 &&
         options.steps <= DenseStrategy::kMaxSteps;
}

Readers readers_of(StrategyOptions options, const Stack& stack, const Workload& designed_for) {
  options.workload.reset();
  options.encoder_workload.reset();
  require_strategy_options(options);
  if (is_dense_optimum_of_stack(options)) return dense_optimum(options, stack);
  if (options.parameters.plan)
    return decoded_all({.base = make_strategy(options), .is_normalized = false}, stack);
  return decoded_all(encoder_of(find_family(options.name), options, designed_for), stack);
}

std::vector<Workload> designs_for(const StrategyOptions& options, const Stack& stack) {
  std::vector<Workload> designs{Workload::prefix_sums(stack.steps())};
  if (!has_encoders_for_toeplitz(find_family(options.name), options.parameters)) return designs;
  for (const Workload& workload : stack.workloads)
    if (workload.is_toeplitz() && !workload.is_prefix()) designs.push_back(workload);
  if (stack.steps() <= kMaxDenseSteps && stack.workloads.size() > 1) {
    Workload common = toeplitz_workload_of_stack(stack);
    if (has_better_root(common)) designs.push_back(std::move(common));
  }
  return designs;
}

}  // namespace dpftrl
