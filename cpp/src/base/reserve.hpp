// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace dpftrl {

/// Reserves room for one more value, so that appending it cannot fail.
template <typename Value>
void reserve_one_more(std::vector<Value>& values) {
  if (values.size() == values.capacity()) values.reserve(2 * values.size() + 8);
}

}  // namespace dpftrl
