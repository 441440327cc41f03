// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Sensitivity to changes of activity, see `sensitivity`: the closed form of the strategy, or else
/// active_energy_bound of its dense encoder.
Sensitivity active_sensitivity(const Strategy& strategy, const ActivePattern& pattern);

/// Bound on u^T X u over the patterns u of active steps, for any symmetric X.
///
///     u = r_1 + r_2 + ... (runs)
///     u^T X u <= sum_i r_i^T X r_i + 2 sum_i r_i^T X r_{i-1} + sum of X_ij > 0 of other pairs
///
/// The last sum is over all pairs of steps that can be in non-adjacent runs, that is, with at least
/// `window` + 2 steps between them; it is 0 if no off-diagonal entry is positive, as for encoders
/// with a convex column.
///
/// @exactness  an upper bound; exact to rounding for at most two runs
/// @guarantee  never below the largest u^T X u
/// @cost       about n^4 / 24 multiplications for short windows, times `runs` if given. If this
///             exceeds 2^34, products of consecutive runs move to the last sum, too.
/// @source     docs/math/active.md, theorem 4
/// @checked-by active_sensitivity_test "is never below any pattern"
struct EnergyBound {
  double squared;
  bool is_exact;
};
EnergyBound active_energy_bound(const Matrix& gram, const ActivePattern& pattern);

}  // namespace dpftrl
