// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One person's part of a step (internal header).

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace dpftrl::detail {

/// Adds a contribution to a part, which is empty at first. Sums that overflow become the largest
/// double.
inline void add_to_part(std::vector<double>& part, std::span<const double> values) {
  part.resize(values.size());
  constexpr double kLargest = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < part.size(); ++i)
    part[i] = std::clamp(part[i] + values[i], -kLargest, kLargest);
}

}  // namespace dpftrl::detail
