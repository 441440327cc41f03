// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/toeplitz.hpp"

#include <algorithm>

#include "double_double.hpp"
#include "dpftrl/error.hpp"

namespace dpftrl {

std::vector<double> square_root_coefficients(std::int64_t num_coefficients) {
  require_between("square_root_coefficients", "num_coefficients", num_coefficients, 1,
                  kMaxNumSteps);
  std::vector<double> coefficients(static_cast<std::size_t>(num_coefficients));
  DoubleDouble current{1, 0};
  coefficients[0] = 1;
  for (std::size_t j = 1; j < coefficients.size(); ++j) {
    const double twice = 2 * static_cast<double>(j);
    current = divide(multiply(current, twice - 1), twice);
    coefficients[j] = current.high;
  }
  return coefficients;
}

std::vector<double> inverse_square_root_coefficients(std::int64_t num_coefficients) {
  std::vector<double> coefficients = square_root_coefficients(num_coefficients);
  for (std::size_t j = 1; j < coefficients.size(); ++j)
    coefficients[j] /= 1 - 2 * static_cast<double>(j);
  return coefficients;
}

std::vector<double> multiply_series(std::span<const double> a, std::span<const double> b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::vector<double> product(size, 0.0);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; i + j < size; ++j) product[i + j] += a[i] * b[j];
  return product;
}

Matrix lower_triangular_toeplitz(std::span<const double> coefficients) {
  const Eigen::Index size = static_cast<Eigen::Index>(coefficients.size());
  Matrix matrix = Matrix::Zero(size, size);
  for (Eigen::Index row = 0; row < size; ++row)
    for (Eigen::Index column = 0; column <= row; ++column)
      matrix(row, column) = coefficients[static_cast<std::size_t>(row - column)];
  return matrix;
}

}  // namespace dpftrl
