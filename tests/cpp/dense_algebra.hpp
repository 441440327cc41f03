// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Decompositions of dense matrices as oracles for tests. Plain functions over Eigen that are
/// compiled once, not in every test, and share no code with the core.

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

/// U and V are square.
SingularSystem full_svd(const Matrix& matrix);

/// U and V have as many columns as there are values.
SingularSystem thin_svd(const Matrix& matrix);

/// Descending.
Vector singular_values(const Matrix& matrix);

/// Inverse of a square matrix of full rank.
Matrix inverse(const Matrix& matrix);

/// Upper triangular U with U^T U = A for a symmetric positive definite A.
Matrix upper_cholesky(const Matrix& positive);

/// N L^-1 for a lower triangular L.
Matrix divide_by_lower(const Matrix& numerator, const Matrix& lower);

/// A^+; singular values below 1e-12 of the largest count as zero.
Matrix pseudo_inverse(const Matrix& matrix);

/// Rank as far as rounding lets it be seen, by elimination with full pivoting.
Eigen::Index rank_of(const Matrix& matrix);

}  // namespace dpftrl::testing
