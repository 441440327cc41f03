// SPDX-License-Identifier: Apache-2.0
#include "optimal/epochs/dual_blocks.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace dpftrl::detail {

double log_of(double x) {
  return std::log(std::max(x, std::numeric_limits<double>::min()));
}

DualBlock::DualBlock(const Matrix& root_of_l) {
  const Eigensystem system = symmetric_eigen(root_of_l);
  const Vector y = (root_of_l.rowwise().norm() / root_of_l.norm());  // root of y
  root = y.cwiseInverse().asDiagonal() * root_of_l;
  inverse_root = apply_to_eigenvalues(system, [](double e) { return 1 / e; }) * y.asDiagonal();
  logarithm = apply_to_eigenvalues(system, [](double e) { return 2 * std::log(e); });
  fourth_root = apply_to_eigenvalues(system, [](double e) { return std::sqrt(e); });
}

Matrix kept_positive(const Matrix& root_of_l, const Matrix& proposed) {
  const double least = symmetric_eigen(root_of_l).values(0);
  const double floor = std::max(kLeastKept * least, kLeastRoot);
  return apply_to_eigenvalues(symmetric_eigen(proposed),
                              [floor](double e) { return std::max(e, floor); });
}

Matrix block_residual(const DualBlock& block, const Matrix& root, double level, double barrier) {
  const auto log_of_ratio = [barrier, level](double eigenvalue) {
    return log_of((eigenvalue / level + barrier) / (1 + barrier));
  };
  const Matrix logarithm = apply_to_eigenvalues(symmetric_eigen(root), log_of_ratio);
  return 0.5 * (block.fourth_root * (logarithm - block.logarithm) * block.fourth_root);
}

double distance_with_repeats(double gap, const Vector& residual) {
  // Share of the residual that counts as the distance if it is below the gap.
  constexpr double kResidualShare = 0.1;
  return std::min(gap, kResidualShare * residual.norm());
}

Vector levelled(std::span<const double> numbers) {
  if (numbers.empty()) return {};
  Vector values = Eigen::Map<const Vector>(numbers.data(), std::ssize(numbers));
  int exponent = 0;
  (void)std::frexp(values.cwiseAbs().maxCoeff(), &exponent);
  return values.unaryExpr([exponent](double x) {
    const double scaled = std::ldexp(x, -exponent);
    return std::abs(scaled) < 0x1p-200 ? 0.0 : scaled;
  });
}

}  // namespace dpftrl::detail
