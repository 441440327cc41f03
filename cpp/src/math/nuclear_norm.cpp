// SPDX-License-Identifier: Apache-2.0
#include "math/nuclear_norm.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "base/double_double.hpp"
#include "math/linear_algebra.hpp"

namespace dpftrl::detail {
namespace {

/// Upper bound on ||Q||_op^2 = ||G||_op, G = Q^T Q.
///
/// Takes the largest row sum of |G|, plus gamma_n |Q|^T |Q| for the rounding of the product in any
/// order of summation, doubled for the rounding of the sums. If that is not close to 1, Q may still
/// be a partial isometry, whose G is a projector: an eigenvalue l > 1 of G has l - 1 < l (l - 1),
/// which is at most ||G^2 - G||.
double operator_norm_squared_bound(const Matrix& q) {
  const auto n = static_cast<double>(q.rows());
  Matrix gram = multiply(q.transpose(), q);
  gram = (0.5 * (gram + gram.transpose())).eval();
  Vector rounding = Vector::Zero(q.cols());
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    const double row_sum = q.row(k).cwiseAbs().sum();
    rounding += (n + 8) * 0x1p-52 * row_sum * q.row(k).cwiseAbs().transpose();
  }
  const double slack = 1 + (n + static_cast<double>(q.cols())) * 0x1p-51;
  const Vector sums = gram.cwiseAbs().rowwise().sum();
  const double direct = (sums + rounding).maxCoeff() * slack;
  if (direct <= 1 + 0x1p-20) return direct;
  const double norm = sums.maxCoeff(), error = rounding.maxCoeff();
  const double squaring = (static_cast<double>(q.cols()) + 8) * 0x1p-52 * norm * norm;
  const double defect = (multiply(gram, gram) - gram).rowwise().norm().norm();
  return std::min(direct, (1 + defect + squaring + error * (2 * norm + 1 + error)) * slack);
}

}  // namespace

Matrix orthogonalized(Matrix q) {
  for (int turn = 0; turn < 3; ++turn) {
    const Matrix step = 0.5 * (q - multiply(q, multiply(q.transpose(), q)));
    q += step;
    if (step.cwiseAbs().maxCoeff() <= 0x1p-28) break;
  }
  return q;
}

double nuclear_norm_bound(const RoundedMatrix& w, const Matrix& q) {
  DoubleDouble product;
  double error = 0;
  for (Eigen::Index i = 0; i < q.rows(); ++i) {
    double row_error = 0;
    for (Eigen::Index j = 0; j < q.cols(); ++j) {
      product = add(product, q(i, j) * w.values(i, j));
      row_error += std::abs(q(i, j)) * w.magnitude(i, j);
    }
    error += row_error;
  }
  // The second term covers rounding of the products and of the sums of magnitudes.
  error *= w.relative_error + 0x1p-50;
  const double bound = (product.high - error) / std::sqrt(operator_norm_squared_bound(q));
  return bound > 0 ? bound * (1 - 0x1p-48) : 0;
}

}  // namespace dpftrl::detail
