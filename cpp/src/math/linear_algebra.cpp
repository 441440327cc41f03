// SPDX-License-Identifier: Apache-2.0
#include "math/linear_algebra.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

namespace dpftrl::detail {

Matrix multiply(const Matrix& a, const Matrix& b) {
  return a * b;
}

Eigensystem symmetric_eigen(const Matrix& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(symmetric);
  return {.values = solver.eigenvalues(), .vectors = solver.eigenvectors()};
}

Vector symmetric_eigenvalues(const Matrix& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(symmetric, Eigen::EigenvaluesOnly).eigenvalues();
}

Matrix cholesky(const Matrix& positive) {
  return Eigen::LLT<Matrix>(positive).matrixL();
}

std::optional<Matrix> inverse_of_positive(const Matrix& positive) {
  const Eigen::LLT<Matrix> factored(positive);
  if (factored.info() != Eigen::Success) return std::nullopt;
  const Matrix inverse = factored.solve(Matrix::Identity(positive.rows(), positive.cols()));
  return 0.5 * (inverse + inverse.transpose());
}

Matrix divide_by_lower(const Matrix& numerator, const Matrix& lower) {
  return lower.triangularView<Eigen::Lower>().transpose().solve(numerator.transpose()).transpose();
}

std::optional<Matrix> triangular_of_equal_gram(const Matrix& m) {
  // With J the reversal and J M^T M J = L L^T: T = J L^T J.
  const Matrix gram = multiply(m.transpose(), m).reverse();
  const Eigen::LLT<Matrix> factored(gram);
  if (factored.info() != Eigen::Success) return std::nullopt;
  const Matrix lower = factored.matrixL();
  return lower.transpose().reverse();
}

}  // namespace dpftrl::detail
