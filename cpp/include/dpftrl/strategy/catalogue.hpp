// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All strategies by name.
///
/// ```cpp
/// const auto strategy = dpftrl::make_strategy(
///     {.name = "banded-square-root", .num_steps = 1000, .parameters = {.num_bands = 8}});
/// assert(strategy->num_bands() == 8);
/// for (const dpftrl::StrategyInfo& info : dpftrl::strategy_catalogue())
///   assert(!info.summary.empty());
/// ```

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "dpftrl/strategy/strategy_info.hpp"

namespace dpftrl {

/// @throws Error{invalid_argument} unknown name (the message lists the known ones), bad num_steps
///         or parameters, a fixed-epoch schema of another horizon; Error{unsupported}
///         encoder_workload of a family that has no encoder for it (Toeplitz workloads: families of
///         Toeplitz encoders; `optimal`: workloads with an optimum, others up to 2048 steps), with
///         epochs, with another workload than the prefix sums.
std::shared_ptr<const Strategy> make_strategy(const StrategyOptions& options);

/// Refuses what make_strategy refuses before it makes anything: an unknown name, parameters that
/// the family does not take, a workload of another horizon.
void require_strategy_options(const StrategyOptions& options);

/// All known strategies, in the order in which they are best explained.
const std::vector<StrategyInfo>& strategy_catalogue();

/// Whether a plan can define this mechanism.
bool has_plans(std::string_view mechanism);
/// Names of all such mechanisms, comma-separated.
std::string names_with_plans();

/// @param workload  the one the plan was made for; another one gets a strategy that is not optimal.
/// @throws Error{invalid_argument, wrong_length} a mechanism without plans, a list that is missing,
///         unknown or of the wrong length, a number out of range: the message names it.
/// @exactness  see StrategyPlan
std::shared_ptr<const Strategy> planned_strategy(std::string_view mechanism,
                                                 const StrategyPlan& plan,
                                                 const Workload& workload);

}  // namespace dpftrl
