// SPDX-License-Identifier: Apache-2.0
#include "optimal/anderson.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>

namespace dpftrl::detail {

void AndersonMixing::advance(Vector& x, const Vector& residual) {
  if (last_x_.size() > 0) {
    if (std::ssize(steps_) == options_.depth) {
      steps_.erase(steps_.begin());
      changes_.erase(changes_.begin());
      const Eigen::Index kept = products_.rows() - 1;
      products_ = products_.bottomRightCorner(kept, kept).eval();
    }
    steps_.push_back(x - last_x_);
    changes_.push_back(residual - last_residual_);
    const Eigen::Index size = products_.rows() + 1;
    products_.conservativeResize(size, size);
    for (Eigen::Index i = 0; i < size; ++i)
      products_(i, size - 1) = products_(size - 1, i) =
          changes_[static_cast<std::size_t>(i)].dot(changes_.back());
  }
  last_x_ = x;
  last_residual_ = residual;
  Vector step = options_.mixing * residual;
  if (!changes_.empty()) {
    const Vector gamma = least_squares(residual);
    for (std::size_t i = 0; i < changes_.size(); ++i)
      step -= gamma(static_cast<Eigen::Index>(i)) * (steps_[i] + options_.mixing * changes_[i]);
  }
  const double largest = step.cwiseAbs().maxCoeff();
  if (largest > options_.max_step) step *= options_.max_step / largest;
  x += step;
}

Vector AndersonMixing::least_squares(const Vector& residual) const {
  // Normal equations with columns scaled to norm 1; directions that double precision cannot tell
  // from the others are left out.
  const Eigen::Index size = products_.rows();
  Vector scale(size), right(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    scale(i) = 1 / std::sqrt(std::max(products_(i, i), 1e-300));
    right(i) = scale(i) * changes_[static_cast<std::size_t>(i)].dot(residual);
  }
  const Matrix scaled = scale.asDiagonal() * products_ * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(scaled);
  Vector coordinates = solver.eigenvectors().transpose() * right;
  const double smallest = 1e-14 * solver.eigenvalues()(size - 1);
  for (Eigen::Index i = 0; i < size; ++i)
    coordinates(i) =
        solver.eigenvalues()(i) > smallest ? coordinates(i) / solver.eigenvalues()(i) : 0;
  return scale.asDiagonal() * (solver.eigenvectors() * coordinates);
}

}  // namespace dpftrl::detail
