// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/workload.hpp"

#include "dpftrl/error.hpp"
#include "dpftrl/toeplitz.hpp"

namespace dpftrl {

Workload Workload::prefix_sums(std::int64_t num_steps) {
  return Workload(require_between("prefix_sums", "num_steps", num_steps, 1, kMaxNumSteps));
}

Matrix Workload::matrix() const {
  if (num_steps_ > kMaxDenseSteps)
    fail(ErrorCode::unsupported, "workload: matrices are made for num_steps up to " +
                                     to_text(kMaxDenseSteps) + ", got " + to_text(num_steps_));
  const std::vector<double> ones(static_cast<std::size_t>(num_steps_), 1.0);
  return lower_triangular_toeplitz(ones);
}

}  // namespace dpftrl
