// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sensitivity under repeated participation of strategies other than Toeplitz, banded and dyadic
/// ones, at any horizon. Internal to the core.

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Distance from which on columns are orthogonal: the number of bands, or the epoch length of
/// restarts; 0 if none is known.
std::int64_t orthogonal_distance(const Strategy& strategy);

/// Sensitivity for more than one participation, from the structure of a family:
///
///     restarts             blocks are orthogonal: their squares add up
///     scaled columns       scaled_toeplitz_sensitivity; for other bases, as if all columns were
///                          scaled by the largest of their factors
///     trees and Haar       level_sensitivity
///     varying coefficients largest_pair_sum over Strategy::later_products
///
/// @exactness  see the result; an infinite upper bound for other families
/// @guarantee  never below the true value (to 2^-39 relative)
/// @checked-by sensitivity_test "long horizons agree with brute force"
Sensitivity family_sensitivity(const Strategy& strategy, const Participation& participation);

}  // namespace dpftrl
