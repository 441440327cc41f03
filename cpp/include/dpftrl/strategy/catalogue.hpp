// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All strategies by name.
///
/// ```cpp
/// #include <Eigen/Core>
/// const auto strategy = dpftrl::make_strategy(
///     {.name = "banded-square-root", .steps = 1000, .parameters = {.bands = 8}});
/// assert(strategy->bands() == 8);
/// for (const dpftrl::StrategyInfo& info : dpftrl::strategy_catalogue())
///   assert(!info.summary.empty());
///
/// dpftrl::Matrix encoder(2, 2);  // of your own
/// encoder << 1, 0, 0.5, 1;
/// const auto own = dpftrl::make_strategy(
///     {.name = "banded", .steps = 2, .parameters = dpftrl::encoder_parameters(encoder)});
/// assert(own->decoder()(1, 0) == 0.5);
/// ```

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/strategy/strategy.hpp"
#include "dpftrl/strategy/strategy_info.hpp"

namespace dpftrl {

/// @throws Error{invalid_argument} unknown name (the message lists the known ones), bad steps or
///         parameters, a fixed-epoch schema for another horizon; Error{unsupported}
///         encoder_workload for a family that has no encoder for it (families of Toeplitz encoders
///         have one for Toeplitz workloads; `optimal` has one for workloads with an optimum, and
///         up to 2048 steps for others), with epoch_length or a plan, or with a workload other than
///         prefix sums.
std::shared_ptr<const Strategy> make_strategy(const StrategyOptions& options);

/// Makes the checks of make_strategy that need no construction: throws for an unknown name,
/// parameters that the family does not accept, or a workload with another horizon.
void require_strategy_options(const StrategyOptions& options);

/// All known strategies for records of any kind, in the order in which documentation lists them.
/// `offset-ar` can also be made by name, but is only good for counts of active people
/// (Participation::active).
const std::vector<StrategyInfo>& strategy_catalogue();

/// Parameters that make "banded" the factorization by an encoder of your own, A = (A C^-1) C, for
/// any workload; beyond 2048 steps, for prefix sums only.
///
/// @param encoder  C, lower triangular with a positive diagonal.
/// @throws Error{wrong_length} C is not square; Error{invalid_argument} not 1 to 4096 rows, an
///         entry that is not finite, one above the diagonal that is not 0, a diagonal that is not
///         positive. The message names the entry.
/// @exactness  the sensitivity is that of C, entry for entry.
/// @checked-by encoder_test
StrategyParameters encoder_parameters(const Matrix& encoder);

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
