// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/statistics/statistic_sum.hpp"

#include "dpftrl/base/error.hpp"

namespace dpftrl::detail {

std::shared_ptr<const Mechanism> statistic_mechanism(MechanismOptions options, double distance,
                                                     std::string_view where) {
  // Negative weights would make variances and counts that are none.
  if (options.workload && !options.workload->is_prefix() &&
      options.workload->kind() != Workload::Kind::window)
    fail_argument(where, "workload", "prefix or a window", options.workload->name());
  // Neighbours differ by one distance, whatever they are: that of two records is not twice a norm.
  options.neighbours = Neighbours::zero_out;
  options.clip_norm = distance;
  return Mechanism::make(options);
}

}  // namespace dpftrl::detail
