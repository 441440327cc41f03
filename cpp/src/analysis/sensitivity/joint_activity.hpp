// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "strategy/offset_ar.hpp"

namespace dpftrl {

/// One of several windows, each with its own `offset-ar` noise.
struct ActiveWindow {
  std::int64_t window;  ///< steps
  OffsetArStrategy::Parameters parameters;
  double sensitivity;  ///< s, the sensitivity of this window alone
};

/// Bound on how far one person moves the measurements of several windows together, each in units
/// of its sensitivity: the square root of the largest sum over the windows of u^T X u / s^2.
///
///     events     x  x                x
///     window 1   1..1................1...
///     window 3   111111..............111.      the events determine the pattern of each window
///
/// With u^T X u = f - kappa g^2 (theorem 1), -kappa g^2 <= kappa l^2 - 2 kappa l g for every l. The
/// right side is a sum over active steps, runs and ends, and a dynamic program finds its largest
/// value over all events. Every l gives a bound; a search looks for good ones.
///
/// @param has_open_start  whether there may be an event before the first step.
/// @exactness   an upper bound; exact for the right side at the l that the search finds
/// @guarantee   never below the true value, with zero-out neighbours and no cap on runs
/// @cost        about 200 * steps * windows^2 operations
/// @source      docs/math/active.md, theorem 7
/// @checked-by  joint_activity_test "is never below any events"
double joint_activity(std::int64_t steps, bool has_open_start,
                      std::span<const ActiveWindow> windows);

}  // namespace dpftrl
