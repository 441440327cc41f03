// SPDX-License-Identifier: Apache-2.0
#include "optimal/sign_gauge.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dpftrl/optimal/optimum.hpp"

namespace dpftrl::detail {
namespace {

/// Any number of sweeps gives a bound; after this many, at most 10^-4 of the bound is left to gain.
constexpr int kMaxSweeps = 400;
constexpr double kSmallChange = 1e-7;

/// Signs of the steps. The first one is positive; bit i - 1 of `code` is the sign of step i.
Vector signs_of(std::uint32_t code, Eigen::Index steps) {
  Vector signs = Vector::Ones(steps);
  for (Eigen::Index i = 1; i < steps; ++i)
    if ((code >> (i - 1) & 1U) != 0) signs(i) = -1;
  return signs;
}

double off_diagonal(const Matrix& rest) {
  return (rest.cwiseAbs().sum() - rest.diagonal().cwiseAbs().sum()) / 2;
}

}  // namespace

double sign_gauge(const Matrix& lambda) {
  const Eigen::Index k = lambda.rows();
  const double largest = lambda.diagonal().maxCoeff();
  if (k <= 2) return largest;
  if (k > kMaxSignedEpochs) return std::numeric_limits<double>::infinity();
  std::vector<Vector> signs;
  for (std::uint32_t code = 0; code < 1U << (k - 1); ++code) signs.push_back(signs_of(code, k));
  std::vector<double> weights(signs.size(), 0.0);
  // Non-negative least squares, one weight after the other. Only the largest diagonal entry matters
  // in the bound, so all are raised to it here.
  Matrix rest = lambda;
  rest.diagonal().setConstant(largest);
  const double num_entries = static_cast<double>(k * k);
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    double change = 0;
    for (std::size_t s = 0; s < signs.size(); ++s) {
      const double wanted = weights[s] + signs[s].dot(rest * signs[s]) / num_entries;
      const double step = std::max(0.0, wanted) - weights[s];
      if (step == 0) continue;
      rest -= step * signs[s] * signs[s].transpose();
      weights[s] += step;
      change = std::max(change, std::abs(step));
    }
    if (change <= kSmallChange * largest) break;
  }
  // Recomputes the rest from the weights, without the rounding of the steps.
  rest = lambda;
  double sum = 0;
  for (std::size_t s = 0; s < signs.size(); ++s) {
    rest -= weights[s] * signs[s] * signs[s].transpose();
    sum += weights[s];
  }
  const double more = std::max(rest.diagonal().maxCoeff(), off_diagonal(rest));
  const double rounding = static_cast<double>(signs.size() + 8) * num_entries * 0x1p-52;
  return std::max(sum + more, 0.0) + rounding * (sum + lambda.cwiseAbs().maxCoeff());
}

}  // namespace dpftrl::detail
