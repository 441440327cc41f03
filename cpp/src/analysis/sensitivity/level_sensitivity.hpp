// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sensitivity of encoders with levels under repeated participation. Internal to the core.

#include <optional>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

/// In Haar bases and k-ary trees, two columns have the inner product
///
///     X_ij = sum of the weights of the levels on which i and j lie in one node,
///
/// where a node is a run of steps. With m_v participations in node v of weight w_v, a pattern moves
/// the measurements by a squared distance of at most sum_v w_v m_v^2. Fixed epochs without negative
/// inner products are computed phase by phase and node by node, up to 2^29 nodes. Otherwise the
/// bound is taken level by level: k participations, each in a node with at most min(k, ceil(s / b))
/// of them, s the steps of the node. Returns nothing for any other encoder.
///
/// @exactness  exact for fixed epochs if no inner product is negative; else an upper bound
/// @checked-by sensitivity_test "long horizons agree with brute force"
std::optional<Sensitivity> level_sensitivity(const Strategy& strategy,
                                             const Participation& participation);

}  // namespace dpftrl
