// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/optimal.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "optimal/realisation.hpp"
#include "optimal/resolvent.hpp"
#include "strategy/families.hpp"

namespace dpftrl {
namespace {

using detail::InverseRoot;
using detail::SpectralInterval;

/// An error that counts as full accuracy, because the loss is of second order in it.
constexpr double kFullAccuracy = 1e-12;

/// Weights close to the optimal weights, found without a solver: the duals for prefix sums, to
/// within 10^-4 of the mean error and 2.8 * 10^-2 of the largest error, up to 2^18 steps
/// (docs/math/optimal.md).
std::vector<double> closed_form_weights(std::int64_t steps, Objective objective) {
  std::vector<double> weights(static_cast<std::size_t>(steps));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double passed = static_cast<double>(i),
                 left = static_cast<double>(weights.size() - 1 - i);
    weights[i] = objective == Objective::mean
                     ? std::pow(passed + 0.07, -0.23) * std::pow(left + 0.02, 0.15)
                     : std::sqrt(std::log(left + 2.5) / std::log(passed + 2.4));
  }
  return weights;
}

void require_positive_numbers(const char* name, const std::vector<double>& numbers) {
  for (const double number : numbers)
    if (!(number > 0 && std::isfinite(number)))
      fail_argument("optimal", name, "positive and finite", to_text(number));
}

void require_plan(const Workload& workload, const OptimalPlan& plan) {
  require_length("optimal", "column_weights", std::ssize(plan.column_weights), workload.steps());
  require_length("optimal", "row_weights", std::ssize(plan.row_weights), workload.steps());
  require_between("optimal", "buffers", std::ssize(plan.shifts), 1, OptimalStrategy::kMaxBuffers);
  require_length("optimal", "weights", std::ssize(plan.weights), std::ssize(plan.shifts));
  require_positive_numbers("column_weights", plan.column_weights);
  require_positive_numbers("row_weights", plan.row_weights);
  require_positive_numbers("shifts", plan.shifts);
  require_positive_numbers("weights", plan.weights);
  require_positive("optimal", "direct", plan.direct);
  if (!(plan.decay > 0 && plan.decay <= 1))
    fail_argument("optimal", "decay", "above 0 and at most 1", to_text(plan.decay));
}

/// Recursion that the plan defines, with columns scaled to norm 1.
VaryingBufferedStrategy::Parts parts_of(const Workload& workload, const OptimalPlan& plan) {
  require_plan(workload, plan);
  (void)optimum_problem(workload, plan.objective);
  return {.name = OptimalStrategy::kName,
          .numbers = std::make_shared<const VaryingBuffers>(detail::realise(
              {.shifts = plan.shifts, .weights = plan.weights, .direct = plan.direct},
              {.rows = plan.row_weights, .columns = plan.column_weights, .decay = plan.decay})),
          .parameters = {{"buffers", {static_cast<double>(plan.shifts.size())}},
                         {"shifts", plan.shifts},
                         {"weights", plan.weights},
                         {"direct", {plan.direct}}}};
}

}  // namespace

OptimumProblem optimum_problem(const Workload& workload, Objective objective) {
  OptimumProblem problem{.steps = workload.steps(), .objective = objective};
  const bool has_momentum = workload.momentum() != 0;
  switch (workload.kind()) {
    case Workload::Kind::prefix:
      return problem;
    case Workload::Kind::momentum:
      if (has_momentum) break;
      problem.decay = workload.decay();
      return problem;
    case Workload::Kind::rates:
      if (has_momentum) break;
      problem.rates = workload.rates();
      if (std::ranges::any_of(problem.rates, [](double rate) { return rate < 0; }))
        fail(ErrorCode::unsupported, "optimal", "rates", "must be positive");
      return problem;
    case Workload::Kind::window:
    case Workload::Kind::matrix:
      break;
  }
  fail(ErrorCode::unsupported, "optimal", "workload",
       "must be prefix sums, decay without momentum or rates without momentum", workload.name());
}

bool has_optimum(const Workload& workload, Objective objective) {
  if (workload.is_prefix()) return true;
  if (workload.momentum() != 0) return false;
  if (workload.kind() == Workload::Kind::rates)
    return objective == Objective::mean &&
           std::ranges::all_of(workload.rates(), [](double rate) { return rate > 0; });
  return workload.kind() == Workload::Kind::momentum;
}

OptimalPlan plan_for_weights(const OptimumProblem& problem, std::int64_t buffers,
                             const Optimum* optimum) {
  require_between("optimal", "buffers", buffers, 0, OptimalStrategy::kMaxBuffers);
  OptimalPlan plan;
  plan.objective = problem.objective;
  plan.decay = problem.decay;
  if (optimum != nullptr) {
    plan.column_weights = optimum->column_weights;
    plan.row_weights = optimum->row_weights;
  } else {
    plan.column_weights = closed_form_weights(problem.steps, problem.objective);
    plan.row_weights.assign(plan.column_weights.size(), 1);
    if (problem.objective == Objective::max)
      plan.row_weights.assign(plan.column_weights.rbegin(), plan.column_weights.rend());
  }
  // Scaling columns by rates only changes their weights.
  for (std::size_t j = 0; j < problem.rates.size(); ++j)
    plan.column_weights[j] *= problem.rates[j] * problem.rates[j];
  const SpectralInterval interval = detail::spectrum(
      {.rows = plan.row_weights, .columns = plan.column_weights, .decay = plan.decay});
  if (buffers == 0)
    buffers = std::min<std::int64_t>(
        OptimalStrategy::kMaxBuffers,
        std::ssize(detail::inverse_root_within(interval, kFullAccuracy).shifts));
  InverseRoot root = detail::inverse_root_with_direct_term(interval, buffers);
  plan.shifts = std::move(root.shifts);
  plan.weights = std::move(root.weights);
  plan.direct = root.direct;
  return plan;
}

OptimalStrategy::OptimalStrategy(Workload workload, OptimalPlan plan)
    : VaryingBufferedStrategy(workload, parts_of(workload, plan)), plan_(std::move(plan)) {}

FamilyRow closed_form_optimal_family() {
  return {.info = {.name = OptimalStrategy::kName,
                   .summary = "close to the optimum, in closed form, streamed with few buffers",
                   .step_cost = "O(buffers)",
                   .memory_cost = "buffers vectors",
                   .parameters = "buffers, objective",
                   .workloads = WorkloadSupport::adapted,
                   .max_steps = OptimalStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::any,
          .make = [](const ToeplitzRequest& request,
                     const StrategyParameters& parameters) -> StrategyPointer {
            require_between(OptimalStrategy::kName, "steps", request.workload.steps(), 1,
                            OptimalStrategy::kMaxSteps);
            return std::make_shared<const OptimalStrategy>(
                request.workload,
                plan_for_weights(optimum_problem(request.workload, objective_of(parameters)),
                                 parameters.buffers.value_or(kDefaultPlanBuffers), nullptr));
          },
          .plan_lists = {"column_weights", "row_weights", "shifts", "weights", "direct", "decay",
                         "columns", kColumnDuals, kRowDuals},
          .from_plan = [](const StrategyPlan& plan, const Workload& workload) -> StrategyPointer {
            if (plan.has("columns"))
              fail(ErrorCode::unsupported, "plan", "columns",
                   "are a dense factorization, which this module does not read");
            return std::make_shared<const OptimalStrategy>(
                workload, OptimalPlan{.objective = plan.objective,
                                      .decay = plan.number("decay"),
                                      .column_weights = plan.list("column_weights"),
                                      .row_weights = plan.list("row_weights"),
                                      .shifts = plan.list("shifts"),
                                      .weights = plan.list("weights"),
                                      .direct = plan.number("direct")});
          }};
}

}  // namespace dpftrl
