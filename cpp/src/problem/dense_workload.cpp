// SPDX-License-Identifier: Apache-2.0
// Workloads as matrices. Modules without them leave this file out.
#include <Eigen/Core>
#include <cmath>
#include <memory>
#include <utility>

#include "base/toeplitz_matrix.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

Workload Workload::lower_triangular(Matrix matrix) {
  if (matrix.rows() < 1 || matrix.rows() != matrix.cols())
    fail_argument("lower_triangular", "matrix", "square and not empty",
                  std::to_string(matrix.rows()) + " x " + std::to_string(matrix.cols()));
  if (matrix.rows() > kMaxDenseSteps)
    fail(ErrorCode::unsupported, "lower_triangular", "steps",
         "must be at most " + to_text(kMaxDenseSteps), std::to_string(matrix.rows()));
  for (Eigen::Index row = 0; row < matrix.rows(); ++row)
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      const double entry = matrix(row, column);
      const bool fits = column > row ? entry == 0 : column < row || entry != 0;
      if (std::isfinite(entry) && fits) continue;
      const char* constraint = "finite";
      if (column > row) constraint = "0, above the diagonal";
      if (column == row && entry == 0)
        constraint =
            "other than 0 on the diagonal (else the workload has no inverse; 1e-9 instead changes "
            "errors by about that)";
      fail_argument("lower_triangular",
                    "matrix(" + std::to_string(row) + ", " + std::to_string(column) + ")",
                    constraint, to_text(entry));
    }
  Workload workload(Kind::matrix, matrix.rows());
  const Eigen::Index rest = matrix.rows() - 1;
  workload.has_toeplitz_matrix_ =
      matrix.topLeftCorner(rest, rest) == matrix.bottomRightCorner(rest, rest);
  workload.matrix_ = std::make_shared<const Matrix>(std::move(matrix));
  return workload;
}

Matrix Workload::matrix() const {
  if (steps_ > kMaxDenseSteps)
    fail(ErrorCode::unsupported, "workload", "steps",
         "must be at most " + to_text(kMaxDenseSteps) + " for matrices", to_text(steps_));
  if (kind_ == Kind::matrix) return *matrix_;
  if (is_toeplitz()) return lower_triangular_toeplitz(coefficients());
  const auto size = static_cast<std::size_t>(steps_);
  Matrix matrix(static_cast<Eigen::Index>(size), static_cast<Eigen::Index>(size));
  for (std::size_t column = 0; column < size; ++column) {
    std::vector<double> unit(size);
    unit[column] = 1;
    const std::vector<double> entries = apply(std::move(unit));
    matrix.col(static_cast<Eigen::Index>(column)) =
        Eigen::Map<const Vector>(entries.data(), static_cast<Eigen::Index>(size));
  }
  return matrix;
}

std::vector<double> Workload::apply_matrix(std::vector<double> sequence) const {
  Eigen::Map<Vector> entries(sequence.data(), static_cast<Eigen::Index>(steps_));
  const Vector product = matrix_->triangularView<Eigen::Lower>() * Vector(entries);
  entries = product;
  return sequence;
}

}  // namespace dpftrl
