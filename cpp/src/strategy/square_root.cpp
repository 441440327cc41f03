// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/square_root.hpp"

#include "double_double.hpp"
#include "dpftrl/error.hpp"
#include "dpftrl/toeplitz.hpp"

namespace dpftrl {

SquareRootStrategy::SquareRootStrategy(std::int64_t num_steps) : Strategy(num_steps) {
  require_between(kName, "num_steps", num_steps, 1, kMaxSteps);
  coefficients_ = square_root_coefficients(num_steps);
  sums_of_squares_.reserve(coefficients_.size());
  DoubleDouble sum;
  for (const double coefficient : coefficients_) {
    sum = add(sum, coefficient * coefficient);
    sums_of_squares_.push_back(sum.high);
  }
}

double SquareRootStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return sums_of_squares_[static_cast<std::size_t>(num_steps() - 1 - step)];
}

double SquareRootStrategy::max_column_norm_squared() const {
  return sums_of_squares_.back();
}

double SquareRootStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return sums_of_squares_[static_cast<std::size_t>(step)];
}

RowNorms SquareRootStrategy::row_norms() const {
  DoubleDouble total;
  for (const double row : sums_of_squares_) total = add(total, row);
  return {1, sums_of_squares_.back(), total.high / static_cast<double>(num_steps())};
}

Matrix SquareRootStrategy::encoder() const {
  (void)dense_size();
  return lower_triangular_toeplitz(coefficients_);
}

}  // namespace dpftrl
