// SPDX-License-Identifier: Apache-2.0
#include "problem/running_workload.hpp"

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

std::vector<double> Workload::apply(std::vector<double> sequence) const {
  require_length("workload", "sequence", std::ssize(sequence), steps_);
  if (kind_ == Kind::matrix) return apply_matrix(std::move(sequence));
  detail::RunningWorkload running(*this);
  for (double& entry : sequence) entry = running.next(entry);
  return sequence;
}

}  // namespace dpftrl
