// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/sensitivity.hpp"

#include <cmath>

namespace dpftrl {

std::string_view to_string(Exactness exactness) {
  return exactness == Exactness::exact ? "exact" : "upper bound";
}

Sensitivity sensitivity(const Strategy& strategy, const Participation& /*single*/) {
  return {std::sqrt(strategy.max_column_norm_squared()), Exactness::exact};
}

}  // namespace dpftrl
