// SPDX-License-Identifier: Apache-2.0
#include "queries/ranges.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "math/linear_algebra.hpp"

namespace dpftrl::detail {

Matrix ranges_of(const Matrix& prefixes) {
  const std::int64_t m = prefixes.rows();
  Matrix rows(static_cast<Eigen::Index>(num_ranges(m)), prefixes.cols());
  for_every_range(m, [&](std::int64_t query, std::int64_t i, std::int64_t j) {
    auto row = rows.row(static_cast<Eigen::Index>(query));
    row = prefixes.row(static_cast<Eigen::Index>(j));
    if (i > 0) row -= prefixes.row(static_cast<Eigen::Index>(i - 1));
  });
  return rows;
}

Vector range_norms_squared(const Matrix& prefixes) {
  const std::int64_t m = prefixes.rows();
  const Matrix gram = multiply(prefixes, prefixes.transpose());
  Vector squares(static_cast<Eigen::Index>(num_ranges(m)));
  for_every_range(m, [&](std::int64_t query, std::int64_t i, std::int64_t j) {
    const auto last = static_cast<Eigen::Index>(j), before = static_cast<Eigen::Index>(i - 1);
    double square = gram(last, last);
    if (i > 0) square += gram(before, before) - 2 * gram(last, before);
    squares(static_cast<Eigen::Index>(query)) = std::max(0.0, square);
  });
  return squares;
}

Matrix range_root(std::int64_t num_values) {
  const auto m = static_cast<Eigen::Index>(num_values);
  Matrix root = Matrix::Zero(m, m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const double place = static_cast<double>(i + 1);
    for (Eigen::Index j = 0; j <= i; ++j)
      root(i, j) = static_cast<double>(j + 1) * std::sqrt(2 / (place * (place + 1)));
  }
  return root;
}

double range_root_rounding(const Matrix& root) {
  return 0x1p-49 * root.norm() / std::sqrt(static_cast<double>(root.rows()));
}

}  // namespace dpftrl::detail
