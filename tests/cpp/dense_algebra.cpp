// SPDX-License-Identifier: Apache-2.0
#include "dense_algebra.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/SVD>

namespace dpftrl::testing {
namespace {

constexpr double kRankTolerance = 1e-12;

/// The only instantiation of a singular value decomposition.
using Svd = Eigen::JacobiSVD<Eigen::MatrixXd>;

SingularSystem parts_of(const Svd& svd) {
  return {.u = svd.matrixU(), .values = svd.singularValues(), .v = svd.matrixV()};
}

}  // namespace

Eigensystem symmetric_eigen(const Matrix& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(symmetric);
  return {.values = solver.eigenvalues(), .vectors = solver.eigenvectors()};
}

SingularSystem full_svd(const Matrix& matrix) {
  return parts_of(Svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV));
}

SingularSystem thin_svd(const Matrix& matrix) {
  return parts_of(Svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV));
}

Vector singular_values(const Matrix& matrix) {
  return Svd(matrix).singularValues();
}

Matrix inverse(const Matrix& matrix) {
  return matrix.inverse();
}

Matrix upper_cholesky(const Matrix& positive) {
  return positive.llt().matrixU();
}

Matrix divide_by_lower(const Matrix& numerator, const Matrix& lower) {
  return lower.transpose().triangularView<Eigen::Upper>().solve(numerator.transpose()).transpose();
}

Matrix pseudo_inverse(const Matrix& matrix) {
  const SingularSystem svd = thin_svd(matrix);
  const double smallest = kRankTolerance * svd.values[0];
  const Vector inverted = (svd.values.array() > smallest)
                              .select(svd.values.cwiseInverse(), Vector::Zero(svd.values.size()));
  return svd.v * inverted.asDiagonal() * svd.u.transpose();
}

Eigen::Index rank_of(const Matrix& matrix) {
  return matrix.fullPivLu().rank();
}

}  // namespace dpftrl::testing
