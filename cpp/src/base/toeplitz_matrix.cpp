// SPDX-License-Identifier: Apache-2.0
#include "base/toeplitz_matrix.hpp"

#include <Eigen/Core>
#include <cstddef>

namespace dpftrl {

Matrix lower_triangular_toeplitz(std::span<const double> coefficients) {
  const Eigen::Index size = static_cast<Eigen::Index>(coefficients.size());
  Matrix matrix = Matrix::Zero(size, size);
  for (Eigen::Index row = 0; row < size; ++row)
    for (Eigen::Index column = 0; column <= row; ++column)
      matrix(row, column) = coefficients[static_cast<std::size_t>(row - column)];
  return matrix;
}

}  // namespace dpftrl
