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

/// The family of that name.
/// @throws Error{invalid_argument} there is none.
const FamilyRow& find_family(std::string_view name);

/// An encoder, and what decodes the prefix sums from it.
struct Encoder {
  StrategyPointer base;  ///< for the prefix sums
  bool is_normalized;    ///< its columns are still to be scaled to norm 1
};

/// The encoder of a family made for `designed_for`, started afresh after epochs where options say
/// so.
Encoder encoder_of(const FamilyRow& family, const StrategyOptions& options,
                   const Workload& designed_for);

/// The strategy of the encoder for a workload. Of several workloads, decoders are the workloads
/// times one and the same matrix.
StrategyPointer decoded(const Encoder& encoder, const Workload& workload);

}  // namespace dpftrl
