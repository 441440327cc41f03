// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Progress of a search with upper and lower bounds (internal header).

#include <algorithm>
#include <cmath>

namespace dpftrl::detail {

/// Measures on a logarithmic scale how far the gap between the bounds has closed.
class GapProgress {
 public:
  explicit GapProgress(double wanted) : wanted_(wanted) {}
  void reached(double gap) {
    if (first_ == 0) first_ = gap;
    last_ = gap;
  }
  double fraction() const {
    if (first_ == 0) return 0;
    const double way = std::log(first_ / wanted_);
    return way > 0 ? std::clamp(std::log(first_ / last_) / way, 0.0, 1.0) : 1;
  }

 private:
  double wanted_;
  double first_ = 0, last_ = 0;
};

}  // namespace dpftrl::detail
