// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The families of strategies. A new one is declared and listed in families.cpp, and defined beside
/// its strategy. Internal to the core.

#include <span>

#include "strategy/family_row.hpp"

namespace dpftrl {

struct StrategyOptions;

/// The families in the order in which they are best explained. A module with fewer of them links a
/// definition of its own, which takes the place of the library's, families.cpp.
std::span<FamilyRow (*const)()> family_makers();

/// The family independent for prefix sums alone.
FamilyRow plain_independent_family();
FamilyRow tree_family();
FamilyRow honaker_family();
/// The family blt from given buffers alone, without the search for them.
FamilyRow given_blt_family();
/// The family optimal without solvers: from a plan, or from the dual in closed form, which is close
/// to the optimum (docs/math/optimal.md).
FamilyRow closed_form_optimal_family();

/// A family for what its own maker does not do: workloads other than prefix sums, epochs, and
/// columns scaled to norm 1.
StrategyPointer adapted_strategy(const FamilyRow& family, const StrategyOptions& options,
                                 const Workload& workload);

}  // namespace dpftrl
