// SPDX-License-Identifier: Apache-2.0

/// Plans for the optimum from its solver, and the lower bounds that they prove.

#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/toeplitz/filtered.hpp"

namespace dpftrl {

OptimalPlanResult plan_optimal(const Workload& workload, const OptimalPlanOptions& options) {
  require_between("optimal", "buffers", options.buffers, 0, OptimalStrategy::kMaxBuffers);
  const OptimumProblem problem = optimum_problem(workload, options.objective);
  if (!options.use_solver)
    return {.plan = plan_for_weights(problem, options.buffers, nullptr),
            .status = SolverStatus::stopped,
            .iterations = 0,
            .gap = 0,
            .lower_bound = 0};
  const Optimum optimum = find_optimum(problem, options.solver);
  return {.plan = plan_for_weights(problem, options.buffers, &optimum),
          .status = optimum.status,
          .iterations = optimum.iterations,
          .gap = optimum.upper_bound / optimum.lower_bound - 1,
          .lower_bound = optimum.lower_bound};
}

std::shared_ptr<const Strategy> strategy_of_plan(const Workload& workload, OptimalPlan plan) {
  if (has_optimum(workload, plan.objective))
    return std::make_shared<const OptimalStrategy>(workload, std::move(plan));
  return decoded_strategy(std::make_shared<const OptimalStrategy>(
                              Workload::prefix_sums(workload.steps()), std::move(plan)),
                          workload);
}

Strategy::OwnBound OptimalStrategy::certified_lower_bound(Objective objective,
                                                          const Participation&) const {
  // The largest error is at least the mean error, and every schema includes single participation.
  const bool is_for_it = plan_.objective == objective || plan_.objective == Objective::mean;
  if (!is_for_it) return {};
  const OptimumProblem problem = optimum_problem(workload(), plan_.objective);
  std::vector<double> weights = plan_.column_weights;
  for (std::size_t j = 0; j < problem.rates.size(); ++j)
    weights[j] /= problem.rates[j] * problem.rates[j];
  return {.value = optimum_bounds(problem, weights, kPlanGap / 100).lower};
}

}  // namespace dpftrl
