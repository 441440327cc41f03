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

std::optional<Matrix> triangular_of_gram(const Matrix& gram) {
  // With J the reversal and J G J = L L^T: T = J L^T J.
  const Eigen::LLT<Matrix> factored(gram.reverse());
  if (factored.info() != Eigen::Success) return std::nullopt;
  const Matrix lower = factored.matrixL();
  return lower.transpose().reverse();
}

std::optional<Matrix> triangular_of_equal_gram(const Matrix& m) {
  return triangular_of_gram(multiply(m.transpose(), m));
}

}  // namespace dpftrl::detail
