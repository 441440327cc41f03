// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/problem/participation.hpp"

#include <string>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

ContributionBound::ContributionBound(const Participation& participation)
    : times_(participation.times()), apart_(participation.apart()) {
  if (participation.kind() == Participation::Kind::fixed_epoch ||
      participation.kind() == Participation::Kind::active)
    fail_argument("contribution_bound", "participation", "single or min-separation",
                  std::string(participation.name()));
}

bool ContributionBound::admits(Counted& before, std::int64_t step) {
  if (step < latest_)
    fail_argument("contribution_bound", "step",
                  "at least " + to_text(latest_) + ", that of the call before", to_text(step));
  latest_ = step;
  const bool is_new = before.times == 0;
  if (!is_new && before.last == step) return true;
  const bool counts = is_new || (before.times < times_ && step - before.last >= apart_);
  if (counts) before = {.times = before.times + 1, .last = step};
  return counts;
}

}  // namespace dpftrl
