// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Intervals for ratios of noisy sums (internal header): docs/math/moments.md, section 4.

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>

#include "random/normal_tail.hpp"

namespace dpftrl::detail {

struct Interval {
  double low;
  double high;

  double magnitude() const { return std::max(std::abs(low), std::abs(high)); }
  Interval widened(double by) const { return {low - by, high + by}; }
  Interval within(const Interval& other) const {
    return {std::clamp(low, other.low, other.high), std::clamp(high, other.low, other.high)};
  }
};

/// Interval of x y for x in `a` and y in `b`.
Interval operator*(const Interval& a, const Interval& b);

/// Factor that some sums share, and the number of these sums.
struct Factor {
  Factor(double the_value, double how_often = 1) : value(the_value), times(how_often) {}

  double value;
  double times;
};

/// Noise of the sums of a step: independent normals, rounded to a grid.
struct SumNoise {
  double stddev;
  double grid;

  /// Std of a combination of the noise of several sums.
  double stddev_of(std::initializer_list<Factor> factors) const;
  /// Bound on the magnitude of a combination, given a normal_half_width.
  double half_width(std::initializer_list<Factor> factors, double normal) const;
};

/// Interval for the numbers x of a range with
///
///     |numerator - x denominator| <= bound,     bound = bound_for(an interval that contains x)
///
/// for some numerator in its interval. Calls bound_for repeatedly with the remaining range. A
/// denominator that is not positive leaves the whole range.
/// @exactness  may contain more numbers than these, never fewer; a point if there are none.
Interval quotients(const Interval& numerator, double denominator, Interval range,
                   const std::function<double(const Interval&)>& bound_for);

}  // namespace dpftrl::detail
