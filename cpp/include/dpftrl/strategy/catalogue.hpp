// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All strategies by name.
///
/// ```cpp
/// const auto strategy = dpftrl::make_strategy(
///     {.name = "banded-square-root", .steps = 1000, .parameters = {.bands = 8}});
/// assert(strategy->bands() == 8);
/// for (const dpftrl::StrategyInfo& info : dpftrl::strategy_catalogue())
///   assert(!info.summary.empty());
/// ```

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/strategy.hpp"
#include "dpftrl/strategy/strategy_info.hpp"

namespace dpftrl {

/// @throws Error{invalid_argument} unknown name (the message lists the known ones), bad steps
///         or parameters, a fixed-epoch schema of another horizon; Error{unsupported}
///         encoder_workload for a family that has no encoder for it (Toeplitz workloads: families
///         of Toeplitz encoders; `optimal`: workloads with an optimum, others up to 2048 steps),
///         with epochs, or with a workload other than prefix sums.
std::shared_ptr<const Strategy> make_strategy(const StrategyOptions& options);

/// Makes the checks of make_strategy that need no construction: throws for an unknown name,
/// parameters that the family does not accept, or a workload with another horizon.
void require_strategy_options(const StrategyOptions& options);

/// All known strategies for records of any kind, in the order in which documentation lists them.
/// `offset-ar` is made by name, too, but is good for counts of active people only
/// (Participation::active).
const std::vector<StrategyInfo>& strategy_catalogue();

/// True if a plan can define this mechanism.
bool has_plans(std::string_view mechanism);
/// Names of the mechanisms that have plans, comma-separated.
std::string names_with_plans();

/// @param workload  workload that the plan was made for; for another one, the strategy is not
///                  optimal.
/// @throws Error{invalid_argument, wrong_length} a mechanism without plans, a list that is missing,
///         unknown or of the wrong length, or a number out of range; the message names it.
/// @exactness  see StrategyPlan
std::shared_ptr<const Strategy> planned_strategy(std::string_view mechanism,
                                                 const StrategyPlan& plan,
                                                 const Workload& workload);

}  // namespace dpftrl
