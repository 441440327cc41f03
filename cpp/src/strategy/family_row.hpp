// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The row of a family in the catalogue, which stands in the family's own file. Internal to the
/// core.

#include <memory>
#include <string_view>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "dpftrl/strategy/strategy_info.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

using StrategyPointer = std::shared_ptr<const Strategy>;

/// Which workloads the maker of a family takes.
enum class Makes {
  prefix_sums,  ///< prefix sums alone
  toeplitz,     ///< any ToeplitzRequest
  any,          ///< every workload, the one of the request
};

struct FamilyRow {
  StrategyInfo info;
  Makes makes;
  StrategyPointer (*make)(const ToeplitzRequest& request, const StrategyParameters& parameters);
  /// Its strategies get their columns scaled to norm 1, whatever the parameters say.
  bool normalizes_columns = false;
  /// Names of the lists of numbers of its plans; empty: it has no plans.
  std::vector<std::string_view> plan_lists = {};
  StrategyPointer (*from_plan)(const StrategyPlan& plan, const Workload& workload) = nullptr;
};

}  // namespace dpftrl
