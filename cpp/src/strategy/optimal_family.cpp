// SPDX-License-Identifier: Apache-2.0

/// The family `optimal`: streamed if there is a recursion, else from dense matrices.

#include <algorithm>
#include <string>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/dense.hpp"
#include "strategy/families.hpp"
#include "strategy/toeplitz/filtered.hpp"

namespace dpftrl {
namespace {

/// True for repeated fixed epochs for which there is a search.
bool has_repeated_epochs(const Workload& workload, Objective objective,
                         const Participation& participation) {
  return participation.kind() == Participation::Kind::fixed_epoch && participation.times() > 1 &&
         (workload.steps() <= kMaxFixedEpochOptimumSteps ||
          has_long_epochs(workload, objective, participation));
}

}  // namespace

bool is_densely_optimal(const Workload& workload, std::optional<std::int64_t> buffers,
                        Objective objective, const Participation& participation) {
  if (buffers.value_or(0) != 0) return false;
  return has_repeated_epochs(workload, objective, participation) ||
         (!has_optimum(workload, objective) && workload.steps() <= DenseStrategy::kMaxSteps);
}

Participation densely_optimised_for(const Workload& workload, Objective objective,
                                    const Participation& participation) {
  return has_repeated_epochs(workload, objective, participation) ? participation
                                                                 : Participation::single();
}

std::string_view optimised_for(const StrategyOptions& options) {
  const Participation& wanted = options.participation;
  if (options.name != OptimalStrategy::kName || options.parameters.plan ||
      wanted.times_within(options.steps) == 1)
    return "";
  const Workload workload = options.workload.value_or(Workload::prefix_sums(options.steps));
  const Objective objective = objective_of(options.parameters);
  const bool is_searched_for =
      is_densely_optimal(workload, options.parameters.buffers, objective, wanted) &&
      densely_optimised_for(workload, objective, wanted) == wanted;
  return is_searched_for ? "" : "single participation";
}

void require_recursion(const Workload& workload, std::optional<std::int64_t> buffers,
                       Objective objective) {
  if (buffers == 0 && !has_optimum(workload, objective))
    fail(ErrorCode::unsupported, "optimal", "steps",
         "must be at most " + to_text(DenseStrategy::kMaxSteps) + ", as full accuracy for " +
             workload.name() +
             " takes dense matrices (with {buffers} the encoder is that for prefix sums)",
         to_text(workload.steps()));
}

void require_known_errors(const StrategyOptions& options) {
  const Objective objective = objective_of(options.parameters);
  const bool is_searched = options.name == OptimalStrategy::kName && !options.parameters.plan;
  if (!is_searched || !options.workload || options.steps <= DenseStrategy::kMaxSteps) return;
  const Workload& workload = *options.workload;
  if (has_optimum(workload, objective)) return;
  const std::int64_t blt_steps =
      workload.kind() == Workload::Kind::matrix ? 0 : FilteredStrategy::kMaxSteps;
  const std::string hint = has_optimum(workload, Objective::mean)
                               ? "; objective mean has an optimum there, and blt has errors"
                           : options.steps <= blt_steps ? "; blt has errors there"
                                                        : "";
  fail(ErrorCode::unsupported, "optimal", "steps",
       "must be at most " + to_text(DenseStrategy::kMaxSteps) +
           (objective == Objective::max ? " for the max" : " for the mean") + " objective and " +
           workload.name() + ", which take dense matrices; beyond that errors are not known" + hint,
       to_text(options.steps));
}

namespace {

std::shared_ptr<const Strategy> dense_optimum(const Workload& workload, Objective objective,
                                              const Participation& participation) {
  return dense_optimal_strategy(
      workload, {.objective = objective,
                 .participation = densely_optimised_for(workload, objective, participation)});
}

/// Gap at which the search for a plan ends, which bounds how far the plan is above the least error.
/// Beyond 2^17 steps a smaller gap would take too long, and 8 buffers lose about as much
/// (docs/math/optimal.md, section 3).
double plan_gap(std::int64_t steps, std::optional<std::int64_t> buffers) {
  return buffers == 0 || steps <= std::int64_t{1} << 17 ? kPlanGap : 1e-3;
}

/// Finds a plan for the workload, or for prefix sums if that workload has no optimum.
OptimalPlan find_plan(const Workload& workload, std::optional<std::int64_t> buffers,
                      Objective objective) {
  require_recursion(workload, buffers, objective);
  const Workload designed_for =
      has_optimum(workload, objective) ? workload : Workload::prefix_sums(workload.steps());
  return plan_optimal(designed_for, {.objective = objective,
                                     .buffers = buffers.value_or(kDefaultPlanBuffers),
                                     .solver = {.gap = plan_gap(workload.steps(), buffers)}})
      .plan;
}

}  // namespace

std::shared_ptr<const Strategy> optimal_strategy(const Workload& workload,
                                                 std::optional<std::int64_t> buffers,
                                                 Objective objective,
                                                 const Participation& participation) {
  require_between(OptimalStrategy::kName, "steps", workload.steps(), 1, OptimalStrategy::kMaxSteps);
  if (is_densely_optimal(workload, buffers, objective, participation))
    return dense_optimum(workload, objective, participation);
  return strategy_of_plan(workload, find_plan(workload, buffers, objective));
}

std::shared_ptr<const Strategy> prefix_sums_of_optimum(const Workload& workload,
                                                       std::optional<std::int64_t> buffers,
                                                       Objective objective,
                                                       const Participation& participation) {
  const bool is_dense = is_densely_optimal(workload, buffers, objective, participation);
  if (!is_dense && !has_optimum(workload, objective))
    fail(ErrorCode::unsupported, "optimal", "encoder_workload",
         "must be one from whose encoder prefix sums can be decoded: at most " +
             to_text(DenseStrategy::kMaxSteps) +
             " steps, no given {buffers}, and not the max objective for rates",
         workload.name());
  const Workload prefix = Workload::prefix_sums(workload.steps());
  if (!is_dense)
    return std::make_shared<const OptimalStrategy>(prefix, find_plan(workload, buffers, objective));
  const auto own = dense_optimum(workload, objective, participation);
  return std::make_shared<const DenseStrategy>(
      prefix, DenseStrategy::Parts{.name = OptimalStrategy::kName, .encoder = own->encoder()});
}

namespace {

/// Bound of a plan with duals; k numbers per step mean k epochs.
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
          .participation = k == 1
                               ? Participation::single()
                               : Participation::fixed_epoch({.epochs = k, .epoch_length = n / k}),
          .duals = std::move(duals)};
}

/// Makes the strategy of a plan that stores a dense matrix.
StrategyPointer dense_from_plan(const StrategyPlan& plan, const Workload& workload) {
  const std::int64_t n = workload.steps();
  const auto stray = std::ranges::find_if(plan.numbers, [](const PlanNumbers& list) {
    return list.name != "columns" && list.name != kColumnDuals && list.name != kRowDuals;
  });
  if (stray != plan.numbers.end())
    fail(ErrorCode::invalid_argument, "plan", stray->name, "cannot be given with columns");
  std::optional<DenseStrategy::Bound> bound;
  if (plan.has(kColumnDuals) || plan.has(kRowDuals)) bound = dense_bound(plan, n);
  return strategy_of_columns(OptimalStrategy::kName, workload,
                             plan.columns(n, kMaxDenseOptimumColumns), std::move(bound));
}

StrategyPointer from_plan(const StrategyPlan& plan, const Workload& workload) {
  if (plan.has("columns")) return dense_from_plan(plan, workload);
  const FamilyRow streamed = closed_form_optimal_family();
  if (has_optimum(workload, plan.objective)) return streamed.from_plan(plan, workload);
  return decoded_strategy(streamed.from_plan(plan, Workload::prefix_sums(workload.steps())),
                          workload);
}

}  // namespace

FamilyRow optimal_family() {
  FamilyRow row = closed_form_optimal_family();
  row.info.summary = "the certified optimum, streamed with few buffers";
  row.make = [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
    return optimal_strategy(request.workload, parameters.buffers, objective_of(parameters),
                            request.participation);
  };
  row.from_plan = from_plan;
  return row;
}

}  // namespace dpftrl
