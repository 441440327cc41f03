// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The families of strategies. A new family is declared and listed in families.cpp, and defined
/// beside its strategy. Internal to the core.

#include <span>

#include "strategy/family_row.hpp"

namespace dpftrl {

struct StrategyOptions;

/// The families in the order in which documentation lists them. A module with fewer families links
/// its own definition in place of families.cpp.
std::span<FamilyRow (*const)()> family_makers();

/// The family `independent` for prefix sums only.
FamilyRow plain_independent_family();
FamilyRow tree_family();
FamilyRow honaker_family();
/// The family `blt` from given buffers only, without a search.
FamilyRow given_blt_family();
/// The family `optimal` without solvers: from a plan, or from the closed-form dual, which is close
/// to the optimum (docs/math/optimal.md).
FamilyRow closed_form_optimal_family();

/// Adapts a family to problems that its own maker does not support: workloads other than prefix
/// sums, epochs, and columns scaled to norm 1.
StrategyPointer adapted_strategy(const FamilyRow& family, const StrategyOptions& options,
                                 const Workload& workload);

/// Family with this name.
/// @throws Error{invalid_argument} there is none.
const FamilyRow& find_family(std::string_view name);

/// An encoder with its decoder for the prefix sums.
struct Encoder {
  StrategyPointer base;  ///< strategy for prefix sums
  bool is_normalized;    ///< true if its columns are still to be scaled to norm 1
};

/// Encoder of a family made for `designed_for`, restarted after every epoch if the options give an
/// epoch length.
Encoder encoder_of(const FamilyRow& family, const StrategyOptions& options,
                   const Workload& designed_for);

/// Strategy that decodes a workload from the encoder. All workloads share one C^-1: B_i = A_i C^-1.
StrategyPointer decoded(const Encoder& encoder, const Workload& workload);

}  // namespace dpftrl
