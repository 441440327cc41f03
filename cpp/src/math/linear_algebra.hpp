// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Products and decompositions of dense matrices (internal header). Plain functions over Eigen, so
/// that each is compiled once and appears once in the WebAssembly module.

#include <Eigen/Core>
#include <optional>

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

/// A B.
Matrix multiply(const Matrix& a, const Matrix& b);

/// A = V diag(values) V^T of a symmetric A; values ascending, vectors in columns.
struct Eigensystem {
  Vector values;
  Matrix vectors;
};

/// @param symmetric  only its lower triangle is read.
Eigensystem symmetric_eigen(const Matrix& symmetric);

/// The values of `symmetric_eigen`, in ascending order, without the vectors.
Vector symmetric_eigenvalues(const Matrix& symmetric);

/// Lower triangular L with L L^T = A.
/// @param positive  symmetric positive definite; only its lower triangle is read.
Matrix cholesky(const Matrix& positive);

/// A^-1, symmetric to the bit; nothing if Cholesky factorization of A fails.
/// @param positive  symmetric positive definite.
std::optional<Matrix> inverse_of_positive(const Matrix& positive);

/// N L^-1.
/// @param lower  lower triangular, without zeros on its diagonal.
Matrix divide_by_lower(const Matrix& numerator, const Matrix& lower);

/// Lower triangular T with T^T T = G; nothing if Cholesky factorization fails.
/// @param gram  symmetric positive definite; only its upper triangle is read.
std::optional<Matrix> triangular_of_gram(const Matrix& gram);

/// Lower triangular T with T^T T = M^T M; nothing if M^T M is not positive definite.
std::optional<Matrix> triangular_of_equal_gram(const Matrix& m);

}  // namespace dpftrl::detail
