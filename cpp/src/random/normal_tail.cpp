// SPDX-License-Identifier: Apache-2.0
#include "random/normal_tail.hpp"

#include <numbers>

namespace dpftrl::detail {

double normal_half_width(double probability) {
  double low = 0;
  double high = 40;  // erfc is below every normal double there
  for (int i = 0; i < 64; ++i) {
    const double middle = (low + high) / 2;
    const bool is_enough = std::erfc(middle / std::numbers::sqrt2) * kWidthRoundUp <= probability;
    (is_enough ? high : low) = middle;
  }
  return high;
}

}  // namespace dpftrl::detail
