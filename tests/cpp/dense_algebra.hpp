// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Decompositions of dense matrices, used as oracles in tests. They are plain functions over Eigen,
/// compiled once instead of in every test, and share no code with the core.

#include <Eigen/Core>

#include "dpftrl/base/types.hpp"

namespace dpftrl::testing {

/// A = V diag(values) V^T of a symmetric A; values ascending, vectors in columns.
struct Eigensystem {
  Vector values;
  Matrix vectors;
};

Eigensystem symmetric_eigen(const Matrix& symmetric);

/// A = U diag(values) V^T; values descending.
struct SingularSystem {
  Matrix u;
  Vector values;
  Matrix v;
};

/// Singular value decomposition with square U and V.
SingularSystem full_svd(const Matrix& matrix);

/// Singular value decomposition in which U and V have one column per singular value.
SingularSystem thin_svd(const Matrix& matrix);

/// Singular values in descending order.
Vector singular_values(const Matrix& matrix);

/// Inverse of a square matrix of full rank.
Matrix inverse(const Matrix& matrix);

/// Upper triangular U with U^T U = A for a symmetric positive definite A.
Matrix upper_cholesky(const Matrix& positive);

/// N L^-1 for a lower triangular L.
Matrix divide_by_lower(const Matrix& numerator, const Matrix& lower);

/// Moore-Penrose inverse A^+; singular values below 1e-12 of the largest count as zero.
Matrix pseudo_inverse(const Matrix& matrix);

/// Numerical rank, by elimination with full pivoting.
Eigen::Index rank_of(const Matrix& matrix);

}  // namespace dpftrl::testing
