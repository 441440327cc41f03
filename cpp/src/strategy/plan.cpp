// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/plan.hpp"

#include <algorithm>
#include <array>

#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/dense.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "dpftrl/strategy/toeplitz/banded.hpp"
#include "dpftrl/strategy/toeplitz/blt.hpp"
#include "dpftrl/strategy/toeplitz/blt_scaled.hpp"
#include "dpftrl/strategy/toeplitz/filtered.hpp"
#include "dpftrl/strategy/varying_bands.hpp"

namespace dpftrl {
namespace {

using StrategyPointer = std::shared_ptr<const Strategy>;

constexpr std::string_view kFunction = "plan";
constexpr std::string_view kColumnDuals = "column_duals";
constexpr std::string_view kRowDuals = "row_duals";

double single(const StrategyPlan& plan, std::string_view name) {
  const std::vector<double>& values = plan.list(name);
  require_length(kFunction, name, std::ssize(values), 1);
  return values.front();
}

/// The columns of an encoder: as many numbers a step, at most `most_bands`.
Matrix columns_of(const StrategyPlan& plan, std::int64_t n, std::int64_t most_bands) {
  const std::vector<double>& columns = plan.list("columns");
  const std::int64_t size = std::ssize(columns);
  if (size == 0 || size % n != 0)
    fail_argument(kFunction, "columns", "as many numbers for each of " + to_text(n) + " steps",
                  to_text(size));
  const std::int64_t bands =
      require_between(kFunction, "num_bands of columns", size / n, 1, most_bands);
  return Eigen::Map<const Matrix>(columns.data(), static_cast<Eigen::Index>(n),
                                  static_cast<Eigen::Index>(bands));
}

bool has_list(const StrategyPlan& plan, std::string_view name) {
  return std::ranges::find(plan.numbers, name, &PlanNumbers::name) != plan.numbers.end();
}

/// Duals of k numbers a step are for k epochs.
DenseStrategy::Bound dense_bound(const StrategyPlan& plan, std::int64_t n) {
  DenseDuals duals{.columns = plan.list(kColumnDuals), .rows = {}};
  const std::int64_t size = std::ssize(duals.columns);
  const std::int64_t k = size / n;
  if (size == 0 || size % n != 0 || n % k != 0)
    fail_argument(kFunction, kColumnDuals,
                  "one number, or one for each epoch, for each of " + to_text(n) + " steps",
                  to_text(size));
  if (has_list(plan, kRowDuals)) duals.rows = plan.list(kRowDuals);
  require_length(kFunction, kRowDuals, std::ssize(duals.rows),
                 plan.objective == Objective::max ? n : 0);
  return {.objective = plan.objective,
          .participation =
              k == 1 ? Participation::single()
                     : Participation::fixed_epoch({.num_epochs = k, .epoch_length = n / k}),
          .duals = std::move(duals)};
}

/// From dense matrices.
StrategyPointer make_dense_optimal(const StrategyPlan& plan, const Workload& workload) {
  const std::int64_t n = workload.num_steps();
  const auto stray = std::ranges::find_if(plan.numbers, [](const PlanNumbers& list) {
    return list.name != "columns" && list.name != kColumnDuals && list.name != kRowDuals;
  });
  if (stray != plan.numbers.end())
    fail(ErrorCode::invalid_argument, "plan: " + stray->name + " cannot be given with columns");
  std::optional<DenseStrategy::Bound> bound;
  if (has_list(plan, kColumnDuals) || has_list(plan, kRowDuals)) bound = dense_bound(plan, n);
  return strategy_of_columns(OptimalStrategy::kName, workload,
                             columns_of(plan, n, kMaxDenseOptimumColumns), std::move(bound));
}

StrategyPointer make_optimal(const StrategyPlan& plan, const Workload& workload) {
  if (has_list(plan, "columns")) return make_dense_optimal(plan, workload);
  return strategy_of_plan(workload, {.objective = plan.objective,
                                     .decay = single(plan, "decay"),
                                     .column_weights = plan.list("column_weights"),
                                     .row_weights = plan.list("row_weights"),
                                     .shifts = plan.list("shifts"),
                                     .weights = plan.list("weights"),
                                     .direct = single(plan, "direct")});
}

/// A Toeplitz encoder for prefix sums, decoded for any workload.
template <class Make>
StrategyPointer decoded_toeplitz(const Workload& workload, const Make& make) {
  const Workload prefix = Workload::prefix_sums(workload.num_steps());
  if (workload.is_toeplitz()) return make({.designed_for = prefix, .workload = workload});
  return decoded_strategy(make({.designed_for = prefix, .workload = prefix}), workload);
}

StrategyPointer make_blt(const StrategyPlan& plan, const Workload& workload) {
  return decoded_toeplitz(workload, [&](const ToeplitzRequest& request) {
    return blt_strategy(request, {plan.list("decays"), plan.list("weights")});
  });
}

StrategyPointer make_blt_normalized(const StrategyPlan& plan, const Workload& workload) {
  return blt_normalized_strategy(workload, {plan.list("decays"), plan.list("weights")});
}

StrategyPointer make_blt_scaled(const StrategyPlan& plan, const Workload& workload) {
  return blt_scaled_strategy(workload, {.buffers = {plan.list("decays"), plan.list("weights")},
                                        .row_scales = plan.list("row_scales")});
}

StrategyPointer make_banded_toeplitz(const StrategyPlan& plan, const Workload& workload) {
  return decoded_toeplitz(workload, [&](const ToeplitzRequest& request) {
    return banded_toeplitz_strategy(request, plan.list("coefficients"));
  });
}

StrategyPointer make_banded(const StrategyPlan& plan, const Workload& workload) {
  return banded_strategy(workload, columns_of(plan, workload.num_steps(), kMaxNumBands));
}

struct PlannedFamily {
  std::string_view mechanism;
  std::vector<std::string_view> lists;
  StrategyPointer (*make)(const StrategyPlan& plan, const Workload& workload);
};

const std::vector<PlannedFamily>& planned_families() {
  static const std::vector<PlannedFamily> families = {
      {OptimalStrategy::kName,
       {"column_weights", "row_weights", "shifts", "weights", "direct", "decay", "columns",
        kColumnDuals, kRowDuals},
       make_optimal},
      {kBlt, {"decays", "weights"}, make_blt},
      {kBltNormalized, {"decays", "weights"}, make_blt_normalized},
      {kBltScaled, {"decays", "weights", "row_scales"}, make_blt_scaled},
      {kBandedToeplitz, {"coefficients"}, make_banded_toeplitz},
      {kBanded, {"columns"}, make_banded},
  };
  return families;
}

const PlannedFamily* find_planned(std::string_view mechanism) {
  const auto found = std::ranges::find(planned_families(), mechanism, &PlannedFamily::mechanism);
  return found == planned_families().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<double>& StrategyPlan::list(std::string_view name) const {
  const auto found = std::ranges::find(numbers, name, &PlanNumbers::name);
  if (found == numbers.end()) fail_argument(kFunction, name, "a list of numbers", "nothing");
  return found->values;
}

StrategyPlan StrategyPlan::leading(std::int64_t num_steps, std::int64_t of_steps) const {
  StrategyPlan plan = *this;
  std::erase_if(plan.numbers, [](const PlanNumbers& list) {
    return list.name == kColumnDuals || list.name == kRowDuals;
  });
  for (PlanNumbers& list : plan.numbers) {
    const std::int64_t size = std::ssize(list.values);
    const std::int64_t kept = size > of_steps ? size / of_steps * num_steps : num_steps;
    list.values.resize(static_cast<std::size_t>(std::min(size, kept)));
  }
  return plan;
}

std::string names_with_plans() {
  std::string names;
  for (const PlannedFamily& family : planned_families())
    names.append(names.empty() ? "" : ", ").append(family.mechanism);
  return names;
}

bool has_plans(std::string_view mechanism) {
  return find_planned(mechanism) != nullptr;
}

StrategyPointer planned_strategy(std::string_view mechanism, const StrategyPlan& plan,
                                 const Workload& workload) {
  const PlannedFamily* family = find_planned(mechanism);
  if (family == nullptr)
    fail(ErrorCode::invalid_argument,
         "plan: " + std::string(mechanism) + " is not a mechanism that a plan can define");
  for (const PlanNumbers& list : plan.numbers) {
    if (std::ranges::find(family->lists, list.name) == family->lists.end())
      fail(ErrorCode::invalid_argument,
           "plan: " + list.name + " is not a list of " + std::string(mechanism));
    if (std::ranges::count(plan.numbers, list.name, &PlanNumbers::name) > 1)
      fail(ErrorCode::invalid_argument, "plan: " + list.name + " is given twice");
  }
  return family->make(plan, workload);
}

}  // namespace dpftrl
