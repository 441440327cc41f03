// SPDX-License-Identifier: Apache-2.0
/// Special values that every argument must reject, and the normal distribution function.
#pragma once

#include <cmath>
#include <limits>

namespace dpftrl::testing {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Probability that a standard normal is at most x.
inline double normal_cdf(double x) {
  return 0.5 * std::erfc(-x * std::sqrt(0.5));
}

}  // namespace dpftrl::testing
