// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/strategy.hpp"

#include "dpftrl/base/error.hpp"

namespace dpftrl {

void Strategy::require_step(std::int64_t step) const {
  require_between(name(), "step", step, 0, steps() - 1);
}

std::ptrdiff_t Strategy::dense_size() const {
  if (steps() <= kMaxDenseSteps) return static_cast<std::ptrdiff_t>(steps());
  fail(ErrorCode::unsupported, name(), "steps",
       "must be at most " + to_text(kMaxDenseSteps) + " for matrices", to_text(steps()));
}

}  // namespace dpftrl
