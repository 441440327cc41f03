// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Oracles for the optimisers of strategy families: dense errors, exhaustive sensitivities and
/// finite differences.

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dense_algebra.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"
#include "math/optimize.hpp"
#include "optimal/family_optimum.hpp"

namespace dpftrl::testing {

inline Matrix prefix_sums(std::int64_t n) {
  const Eigen::Index size = static_cast<Eigen::Index>(n);
  return Matrix(Matrix::Ones(size, size).triangularView<Eigen::Lower>());
}

/// Largest || sum of columns in the pattern || over all allowed patterns.
inline double exhaustive_sensitivity(const Matrix& encoder, const Participation& participation) {
  const std::int64_t n = encoder.cols();
  double largest = 0;
  for (std::uint64_t set = 1; set < std::uint64_t{1} << n; ++set) {
    std::vector<std::int64_t> steps;
    for (std::int64_t t = 0; t < n; ++t)
      if ((set >> t) & 1U) steps.push_back(t);
    if (!participation.allows(steps, n)) continue;
    Vector sum = Vector::Zero(encoder.rows());
    for (const std::int64_t t : steps) sum += encoder.col(static_cast<Eigen::Index>(t));
    largest = std::max(largest, sum.norm());
  }
  return largest;
}

/// Errors from the row norms of prefix sums times C^-1, for a sensitivity given by the caller.
inline FamilyErrors dense_errors(const Matrix& encoder, double sensitivity) {
  const Matrix a = prefix_sums(encoder.cols());
  const Matrix decoder = divide_by_lower(a, encoder);
  const Vector rows = decoder.rowwise().squaredNorm();
  return {.sensitivity = sensitivity,
          .max_error = sensitivity * std::sqrt(rows.maxCoeff()),
          .mean_error = sensitivity * std::sqrt(rows.mean())};
}

/// Largest difference between the gradient and central differences, relative to the gradient's
/// norm.
inline double gradient_error(const SmoothFunction& function, const Vector& point,
                             double step = 1e-5) {
  Vector gradient(point.size()), unused(point.size()), differences(point.size());
  (void)function(point, gradient);
  for (Eigen::Index k = 0; k < point.size(); ++k) {
    Vector at = point;
    at(k) += step;
    const double above = function(at, unused);
    at(k) -= 2 * step;
    differences(k) = (above - function(at, unused)) / (2 * step);
  }
  return (gradient - differences).norm() / gradient.norm();
}

inline Vector random_vector(Eigen::Index size, double spread, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal(0, spread);
  Vector result(size);
  for (Eigen::Index k = 0; k < size; ++k) result(k) = normal(bits);
  return result;
}

inline Objective objective_named(const char* name) {
  return std::string(name) == "max" ? Objective::max : Objective::mean;
}

inline double error_of(const FamilyErrors& errors, Objective objective) {
  return objective == Objective::max ? errors.max_error : errors.mean_error;
}

}  // namespace dpftrl::testing
