// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

/// Best bounds that an iteration has found on a minimum, and the iterates they come from.
class BestBounds {
 public:
  explicit BestBounds(const Vector& first) : lower_point_(first), upper_point_(first) {}

  void raise_lower(double bound, const Vector& point) {
    if (!(bound > lower_)) return;
    lower_ = bound;
    lower_point_ = point;
  }
  /// @return whether the bound is the best so far.
  bool reduce_upper(double bound, const Vector& point) {
    if (!(bound < upper_)) return false;
    upper_ = bound;
    upper_point_ = point;
    return true;
  }

  const Vector& lower_point() const { return lower_point_; }
  const Vector& upper_point() const { return upper_point_; }
  /// upper / lower - 1, clamped at 0 because rounding can make it negative.
  double gap() const { return std::max(0.0, upper_ / lower_ - 1); }

 private:
  double lower_ = 0;
  double upper_ = std::numeric_limits<double>::infinity();
  Vector lower_point_;
  Vector upper_point_;
};

}  // namespace dpftrl::detail
