// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/optimal.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "optimal/realisation.hpp"
#include "optimal/resolvent.hpp"
#include "strategy/dense.hpp"
#include "strategy/families.hpp"
#include "strategy/toeplitz/filtered.hpp"

namespace dpftrl {
namespace {

using detail::Interval;
using detail::InverseRoot;

/// Full accuracy: the loss is of second order in this.
constexpr double kFullAccuracy = 1e-12;

/// Near the optimum without a solver: the duals for prefix sums, to about 10^-4 of the mean error
/// and 2 * 10^-2 of the largest (docs/math/optimal.md).
std::vector<double> closed_form_weights(std::int64_t num_steps, Objective objective) {
  std::vector<double> weights(static_cast<std::size_t>(num_steps));
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
  require_length("optimal", "column_weights", std::ssize(plan.column_weights),
                 workload.num_steps());
  require_length("optimal", "row_weights", std::ssize(plan.row_weights), workload.num_steps());
  require_between("optimal", "num_buffers", std::ssize(plan.shifts), 1,
                  OptimalStrategy::kMaxBuffers);
  require_length("optimal", "weights", std::ssize(plan.weights), std::ssize(plan.shifts));
  require_positive_numbers("column_weights", plan.column_weights);
  require_positive_numbers("row_weights", plan.row_weights);
  require_positive_numbers("shifts", plan.shifts);
  require_positive_numbers("weights", plan.weights);
  require_positive("optimal", "direct", plan.direct);
  if (!(plan.decay > 0 && plan.decay <= 1))
    fail_argument("optimal", "decay", "above 0 and at most 1", to_text(plan.decay));
}

/// The recursion that the plan stands for, its columns scaled to norm 1.
VaryingBufferedStrategy::Parts parts_of(const Workload& workload, const OptimalPlan& plan) {
  require_plan(workload, plan);
  (void)optimum_problem(workload, plan.objective);
  VaryingBufferedStrategy::Parts parts = unit_columns(
      OptimalStrategy::kName,
      detail::realise(
          {.shifts = plan.shifts, .weights = plan.weights, .direct = plan.direct},
          {.rows = plan.row_weights, .columns = plan.column_weights, .decay = plan.decay}));
  parts.parameters = {{"num_buffers", {static_cast<double>(plan.shifts.size())}},
                      {"shifts", plan.shifts},
                      {"weights", plan.weights},
                      {"direct", {plan.direct}}};
  return parts;
}

/// Fixed epochs of which the dense optimum is known how to find.
bool has_repeated_epochs(const Workload& workload, const Participation& participation) {
  return participation.kind() == Participation::Kind::fixed_epoch &&
         participation.max_participations() > 1 &&
         workload.num_steps() <= kMaxFixedEpochOptimumSteps;
}

}  // namespace

OptimumProblem optimum_problem(const Workload& workload, Objective objective) {
  OptimumProblem problem{.num_steps = workload.num_steps(), .objective = objective};
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
        fail(ErrorCode::unsupported, "optimal: rates must be positive");
      return problem;
    case Workload::Kind::window:
    case Workload::Kind::matrix:
      break;
  }
  fail(ErrorCode::unsupported,
       "optimal: the workload must be prefix sums, decay without momentum or rates without "
       "momentum, got " +
           workload.name());
}

bool has_optimum(const Workload& workload, Objective objective) {
  if (workload.is_prefix()) return true;
  if (workload.momentum() != 0) return false;
  if (workload.kind() == Workload::Kind::rates)
    return objective == Objective::mean &&
           std::ranges::all_of(workload.rates(), [](double rate) { return rate > 0; });
  return workload.kind() == Workload::Kind::momentum;
}

OptimalPlan plan_for_weights(const OptimumProblem& problem, std::int64_t num_buffers,
                             const Optimum* optimum) {
  require_between("optimal", "num_buffers", num_buffers, 0, OptimalStrategy::kMaxBuffers);
  OptimalPlan plan;
  plan.objective = problem.objective;
  plan.decay = problem.decay;
  if (optimum != nullptr) {
    plan.column_weights = optimum->column_weights;
    plan.row_weights = optimum->row_weights;
  } else {
    plan.column_weights = closed_form_weights(problem.num_steps, problem.objective);
    plan.row_weights.assign(plan.column_weights.size(), 1);
    if (problem.objective == Objective::max)
      plan.row_weights.assign(plan.column_weights.rbegin(), plan.column_weights.rend());
  }
  // Columns scaled by rates are columns with other weights.
  for (std::size_t j = 0; j < problem.rates.size(); ++j)
    plan.column_weights[j] *= problem.rates[j] * problem.rates[j];
  const Interval interval = detail::spectrum(
      {.rows = plan.row_weights, .columns = plan.column_weights, .decay = plan.decay});
  if (num_buffers == 0)
    num_buffers = std::min<std::int64_t>(
        OptimalStrategy::kMaxBuffers,
        std::ssize(detail::inverse_root_within(interval, kFullAccuracy).shifts));
  InverseRoot root = detail::inverse_root_with_direct_term(interval, num_buffers);
  plan.shifts = std::move(root.shifts);
  plan.weights = std::move(root.weights);
  plan.direct = root.direct;
  return plan;
}

OptimalPlanResult plan_optimal(const Workload& workload, const OptimalPlanOptions& options) {
  require_between("optimal", "num_buffers", options.num_buffers, 0, OptimalStrategy::kMaxBuffers);
  const OptimumProblem problem = optimum_problem(workload, options.objective);
  if (!options.use_solver)
    return {.plan = plan_for_weights(problem, options.num_buffers, nullptr),
            .status = SolverStatus::stopped,
            .iterations = 0,
            .gap = 0,
            .lower_bound = 0};
  const Optimum optimum = find_optimum(problem, options.solver);
  return {.plan = plan_for_weights(problem, options.num_buffers, &optimum),
          .status = optimum.status,
          .iterations = optimum.iterations,
          .gap = optimum.upper_bound / optimum.lower_bound - 1,
          .lower_bound = optimum.lower_bound};
}

std::shared_ptr<const Strategy> strategy_of_plan(const Workload& workload, OptimalPlan plan) {
  if (has_optimum(workload, plan.objective))
    return std::make_shared<const OptimalStrategy>(workload, std::move(plan));
  return decoded_strategy(std::make_shared<const OptimalStrategy>(
                              Workload::prefix_sums(workload.num_steps()), std::move(plan)),
                          workload);
}

bool is_densely_optimal(const Workload& workload, std::optional<std::int64_t> num_buffers,
                        Objective objective, const Participation& participation) {
  if (num_buffers.value_or(0) != 0) return false;
  return has_repeated_epochs(workload, participation) ||
         (!has_optimum(workload, objective) && workload.num_steps() <= DenseStrategy::kMaxSteps);
}

Participation densely_optimised_for(const Workload& workload, const Participation& participation) {
  return has_repeated_epochs(workload, participation) ? participation : Participation::single();
}

void require_recursion(const Workload& workload, std::optional<std::int64_t> num_buffers,
                       Objective objective) {
  if (num_buffers == 0 && !has_optimum(workload, objective))
    fail(ErrorCode::unsupported, "optimal: full accuracy for " + workload.name() +
                                     " takes dense matrices, num_steps up to " +
                                     to_text(DenseStrategy::kMaxSteps) + ", got " +
                                     to_text(workload.num_steps()) +
                                     "; a number of buffers takes the encoder for prefix sums");
}

void require_known_errors(const StrategyOptions& options) {
  const Objective objective = objective_of(options.parameters);
  const bool is_searched = options.name == OptimalStrategy::kName && !options.parameters.plan;
  if (!is_searched || !options.workload || options.num_steps <= DenseStrategy::kMaxSteps) return;
  const Workload& workload = *options.workload;
  if (has_optimum(workload, objective)) return;
  const Workload::Kind kind = workload.kind();
  const std::int64_t blt_steps = kind == Workload::Kind::matrix ? 0
                                 : kind == Workload::Kind::window
                                     ? FilteredStrategy::kMaxToeplitzSteps
                                     : FilteredStrategy::kMaxSteps;
  const std::string hint = has_optimum(workload, Objective::mean)
                               ? "; objective mean has an optimum there, and blt has errors"
                           : options.num_steps <= blt_steps ? "; blt has errors there"
                                                            : "";
  fail(ErrorCode::unsupported,
       "optimal: " + std::string(objective == Objective::max ? "the max" : "the mean") +
           " objective for " + workload.name() + " takes dense matrices, num_steps up to " +
           to_text(DenseStrategy::kMaxSteps) + ", got " + to_text(options.num_steps) +
           ", and beyond that its errors are not known" + hint);
}

namespace {

std::shared_ptr<const Strategy> dense_optimum(const Workload& workload, Objective objective,
                                              const Participation& participation) {
  return dense_optimal_strategy(
      workload,
      {.objective = objective, .participation = densely_optimised_for(workload, participation)});
}

/// Finds a plan for the workload, or for prefix sums where that workload has no optimum.
OptimalPlan find_plan(const Workload& workload, std::optional<std::int64_t> num_buffers,
                      Objective objective) {
  require_recursion(workload, num_buffers, objective);
  const Workload designed_for =
      has_optimum(workload, objective) ? workload : Workload::prefix_sums(workload.num_steps());
  return plan_optimal(designed_for, {.objective = objective,
                                     .num_buffers = num_buffers.value_or(kDefaultPlanBuffers),
                                     .solver = {.gap = kPlanGap}})
      .plan;
}

}  // namespace

std::shared_ptr<const Strategy> optimal_strategy(const Workload& workload,
                                                 std::optional<std::int64_t> num_buffers,
                                                 Objective objective,
                                                 const Participation& participation) {
  require_between(OptimalStrategy::kName, "num_steps", workload.num_steps(), 1,
                  OptimalStrategy::kMaxSteps);
  if (is_densely_optimal(workload, num_buffers, objective, participation))
    return dense_optimum(workload, objective, participation);
  return strategy_of_plan(workload, find_plan(workload, num_buffers, objective));
}

std::shared_ptr<const Strategy> prefix_sums_of_optimum(const Workload& workload,
                                                       std::optional<std::int64_t> num_buffers,
                                                       Objective objective,
                                                       const Participation& participation) {
  const bool is_dense = is_densely_optimal(workload, num_buffers, objective, participation);
  if (!is_dense && !has_optimum(workload, objective))
    fail(ErrorCode::unsupported,
         "optimal: prefix sums cannot be decoded from an encoder for " + workload.name() +
             " beyond " + to_text(DenseStrategy::kMaxSteps) + " steps, with given buffers, or " +
             "with the max objective for rates");
  const Workload prefix = Workload::prefix_sums(workload.num_steps());
  if (!is_dense)
    return std::make_shared<const OptimalStrategy>(prefix,
                                                   find_plan(workload, num_buffers, objective));
  const auto own = dense_optimum(workload, objective, participation);
  return std::make_shared<const DenseStrategy>(
      prefix, DenseStrategy::Parts{.name = OptimalStrategy::kName, .encoder = own->encoder()});
}

OptimalStrategy::OptimalStrategy(Workload workload, OptimalPlan plan)
    : VaryingBufferedStrategy(workload, parts_of(workload, plan)), plan_(std::move(plan)) {}

Strategy::OwnBound OptimalStrategy::certified_lower_bound(Objective objective,
                                                          const Participation&) const {
  // The largest error is at least the mean one; one participation is among any others.
  const bool is_for_it = plan_.objective == objective || plan_.objective == Objective::mean;
  if (!is_for_it) return {};
  const OptimumProblem problem = optimum_problem(workload(), plan_.objective);
  std::vector<double> weights = plan_.column_weights;
  for (std::size_t j = 0; j < problem.rates.size(); ++j)
    weights[j] /= problem.rates[j] * problem.rates[j];
  return {.value = optimum_bounds(problem, weights, kPlanGap / 100).lower};
}

namespace {

/// Duals of k numbers a step are for k epochs.
DenseStrategy::Bound dense_bound(const StrategyPlan& plan, std::int64_t n) {
  DenseDuals duals{.columns = plan.list(kColumnDuals), .rows = {}};
  const std::int64_t size = std::ssize(duals.columns);
  const std::int64_t k = size / n;
  if (size == 0 || size % n != 0 || n % k != 0)
    fail_argument("plan", kColumnDuals,
                  "one number, or one for each epoch, for each of " + to_text(n) + " steps",
                  to_text(size));
  if (plan.has(kRowDuals)) duals.rows = plan.list(kRowDuals);
  require_length("plan", kRowDuals, std::ssize(duals.rows),
                 plan.objective == Objective::max ? n : 0);
  return {.objective = plan.objective,
          .participation =
              k == 1 ? Participation::single()
                     : Participation::fixed_epoch({.num_epochs = k, .epoch_length = n / k}),
          .duals = std::move(duals)};
}

/// From dense matrices.
StrategyPointer dense_from_plan(const StrategyPlan& plan, const Workload& workload) {
  const std::int64_t n = workload.num_steps();
  const auto stray = std::ranges::find_if(plan.numbers, [](const PlanNumbers& list) {
    return list.name != "columns" && list.name != kColumnDuals && list.name != kRowDuals;
  });
  if (stray != plan.numbers.end())
    fail(ErrorCode::invalid_argument, "plan: " + stray->name + " cannot be given with columns");
  std::optional<DenseStrategy::Bound> bound;
  if (plan.has(kColumnDuals) || plan.has(kRowDuals)) bound = dense_bound(plan, n);
  return strategy_of_columns(OptimalStrategy::kName, workload,
                             plan.columns(n, kMaxDenseOptimumColumns), std::move(bound));
}

StrategyPointer from_plan(const StrategyPlan& plan, const Workload& workload) {
  if (plan.has("columns")) return dense_from_plan(plan, workload);
  return strategy_of_plan(workload, {.objective = plan.objective,
                                     .decay = plan.number("decay"),
                                     .column_weights = plan.list("column_weights"),
                                     .row_weights = plan.list("row_weights"),
                                     .shifts = plan.list("shifts"),
                                     .weights = plan.list("weights"),
                                     .direct = plan.number("direct")});
}

}  // namespace

FamilyRow optimal_family() {
  return {.info = {.name = OptimalStrategy::kName,
                   .summary = "the certified optimum, streamed with few buffers",
                   .step_cost = "O(num_buffers)",
                   .memory_cost = "num_buffers vectors",
                   .parameters = "num_buffers, objective",
                   .workloads = WorkloadSupport::adapted,
                   .max_steps = OptimalStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::any,
          .make =
              [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
                return optimal_strategy(request.workload, parameters.num_buffers,
                                        objective_of(parameters), request.participation);
              },
          .plan_lists = {"column_weights", "row_weights", "shifts", "weights", "direct", "decay",
                         "columns", kColumnDuals, kRowDuals},
          .from_plan = from_plan};
}

}  // namespace dpftrl
