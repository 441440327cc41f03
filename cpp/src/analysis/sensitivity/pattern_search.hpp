// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The worst pattern of participations at a minimum separation. Internal to the core.

#include <cstdint>
#include <optional>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

struct Pattern {
  double value;  ///< sum of X_ij over its steps i, j
  std::vector<std::int64_t> steps;
};

/// Pattern of at most k steps, at least b apart, with the largest sum of entries; nothing if the
/// width of the matrix makes the search too expensive.
///
/// If X_ij = 0 for |i - j| > w, the amount that a further step adds depends only on the earlier
/// steps within w, so a dynamic program over those suffices. They are few if w / b or k is small.
///
/// @param products  X, symmetric, no entry negative.
/// @exactness       exact up to the rounding of a sum of k^2 terms.
/// @cost            at most 2^20 operations; a larger search is not made.
/// @checked-by      sensitivity_test "the worst pattern is that of brute force"
std::optional<Pattern> largest_pattern(const Matrix& products, const Participation& participation);

}  // namespace dpftrl
