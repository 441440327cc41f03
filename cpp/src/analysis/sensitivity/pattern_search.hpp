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

/// The pattern of at most k steps, at least b apart, whose sum of entries is largest, if it is
/// found within a number of operations that the widths of the matrix decide.
///
/// With X_ij = 0 for |i - j| > w, what a further step adds depends on the steps before it that are
/// within w: a dynamic program over those. They are few where w / b is small, or k.
///
/// @param products  X, symmetric, no entry negative.
/// @exactness       exact, but for the rounding of a sum of k^2 terms.
/// @cost            at most 2^20 steps of the program, else nothing is tried.
/// @checked-by      sensitivity_test "the worst pattern is that of brute force"
std::optional<Pattern> largest_pattern(const Matrix& products, const Participation& participation);

}  // namespace dpftrl
