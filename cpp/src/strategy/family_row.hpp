// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Row of a family in the catalogue, defined in the family's own file. Internal to the core.

#include <memory>
#include <string_view>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "dpftrl/strategy/strategy_info.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

using StrategyPointer = std::shared_ptr<const Strategy>;

/// Workloads that the maker of a family supports.
enum class Makes {
  prefix_sums,  ///< prefix sums only
  toeplitz,     ///< any ToeplitzRequest
  any,          ///< every workload, namely `request.workload`
};

struct FamilyRow {
  StrategyInfo info;
  Makes makes;
  StrategyPointer (*make)(const ToeplitzRequest& request, const StrategyParameters& parameters);
  /// True if it is for active people only; `strategy_catalogue` does not list it.
  bool is_for_active_people = false;
  /// True if its strategies always have columns scaled to norm 1.
  bool normalizes_columns = false;
  /// Names of the number lists in its plans; empty if it has no plans.
  std::vector<std::string_view> plan_lists = {};
  StrategyPointer (*from_plan)(const StrategyPlan& plan, const Workload& workload) = nullptr;
};

/// Row of a tree family for prefix sums whose only parameter is the number of steps.
template <class Family>
FamilyRow row_of_tree(std::string_view summary, bool is_causal) {
  return {.info = {.name = Family::kName,
                   .summary = summary,
                   .step_cost = "O(1) amortised",
                   .memory_cost = "O(log n) vectors",
                   .parameters = "",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = kMaxNumSteps,
                   .is_causal = is_causal},
          .makes = Makes::prefix_sums,
          .make = [](const ToeplitzRequest& request, const StrategyParameters&) -> StrategyPointer {
            return std::make_shared<const Family>(request.workload.steps());
          }};
}

/// Row of a family that serves every Toeplitz workload with one vector of memory.
inline FamilyRow row_of_one_vector(std::string_view name, std::string_view summary,
                                   StrategyPointer (*make)(const ToeplitzRequest&,
                                                           const StrategyParameters&)) {
  return {.info = {.name = name,
                   .summary = summary,
                   .step_cost = "O(1)",
                   .memory_cost = "1 vector",
                   .parameters = "",
                   .workloads = WorkloadSupport::adapted,
                   .max_steps = kMaxNumSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = make};
}

}  // namespace dpftrl
