// SPDX-License-Identifier: Apache-2.0
// Converts records to integers on a grid, by definition.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "dpftrl/release/record.hpp"

namespace dpftrl::testing {

/// Integers of a record after clipping it to norm 1.
inline std::vector<std::int64_t> integers_of(std::vector<double> values, double grid) {
  clip_to_norm(values, 1);
  std::vector<std::int64_t> integers;
  for (const double x : values) integers.push_back(static_cast<std::int64_t>(std::trunc(x / grid)));
  return integers;
}

}  // namespace dpftrl::testing
