// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sensitivity of the dyadic tree under repeated participation. Internal to the core.

#include <cstdint>
#include <optional>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

/// The encoder has one row for every dyadic interval (node) completed within the steps. Its Gram
/// matrix has no negative entry, so
///     sens^2 = max over patterns of  sum over completed nodes of (participations in the node)^2.
/// Exact if the search fits its budget (fixed epoch: 2^29 node visits; min separation: see
/// largest_tree_sum), else level_by_level_bound.
Sensitivity tree_sensitivity(std::int64_t steps, const Participation& participation);

/// Computes the maximum of tree_sensitivity for a min-separation schema by dynamic programming over
/// the levels; returns nothing if that takes more than 2^28 elementary operations, or too much
/// memory.
std::optional<std::int64_t> largest_tree_sum(std::int64_t steps,
                                             const Participation& participation);

/// Upper bound on the maximum of tree_sensitivity for any schema: level l has at most k'
/// participations, at most min(k', ceil(2^l / b)) of them in one node, and adds at most the product
/// of the two.
double level_by_level_bound(std::int64_t steps, const Participation& participation);

}  // namespace dpftrl
