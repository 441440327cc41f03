// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace dpftrl::detail {

/// Weight mu of a logarithmic barrier for a dual some of whose variables are 0 at the optimum: the
/// equation solved is v = (d + mu c) / ((1 + mu) c), c = mean d, instead of v = d / c. Its
/// solutions stay away from 0 and have a gap of at most mu (docs/math/optimal.md). The weight
/// starts high and is lowered whenever the gap of the iterate is at most four times the weight.
class Barrier {
 public:
  static constexpr double kFirst = 0.1;
  /// @param gap    requested gap; the last weight is half of it.
  /// @param first  weight to begin with, if it is larger than the last one.
  explicit Barrier(double gap, double first = kFirst)
      : last_(gap / 2), weight_(std::max(last_, first)) {}

  double weight() const { return weight_; }

  /// @param gap  gap of the iterate.
  /// @return whether the weight has changed.
  bool lower(double gap) {
    if (weight_ <= last_ || !(gap <= 4 * weight_)) return false;
    weight_ = std::max(last_, weight_ / 4);
    return true;
  }

 private:
  double last_;
  double weight_;
};

}  // namespace dpftrl::detail
