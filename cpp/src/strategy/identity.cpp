// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/identity.hpp"

#include "dpftrl/workload.hpp"

namespace dpftrl {

double IndependentStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return 1;
}

double IndependentStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return static_cast<double>(step + 1);
}

RowNorms IndependentStrategy::row_norms() const {
  const double n = static_cast<double>(num_steps());
  return {1, n, (n + 1) / 2};
}

Matrix IndependentStrategy::encoder() const {
  return Matrix::Identity(dense_size(), dense_size());
}

Matrix IndependentStrategy::decoder() const {
  return Workload::prefix_sums(num_steps()).matrix();
}

}  // namespace dpftrl
