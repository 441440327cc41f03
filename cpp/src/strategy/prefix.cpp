// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/prefix.hpp"

#include "dpftrl/workload.hpp"

namespace dpftrl {

double OutputStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return static_cast<double>(num_steps() - step);
}

double OutputStrategy::max_column_norm_squared() const {
  return static_cast<double>(num_steps());
}

double OutputStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return 1;
}

Matrix OutputStrategy::encoder() const {
  return Workload::prefix_sums(num_steps()).matrix();
}

Matrix OutputStrategy::decoder() const {
  return Matrix::Identity(dense_size(), dense_size());
}

}  // namespace dpftrl
