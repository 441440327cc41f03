// SPDX-License-Identifier: Apache-2.0
#include "optimal/banded/banded_rows.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace dpftrl::detail {
namespace {

Eigen::Index index(std::int64_t i) {
  return static_cast<Eigen::Index>(i);
}

/// Runs forward over the steps. `system` and `covariance` are as in BandedRowErrors, with n rows
/// and p + 1 columns.
void append_variances(const Matrix& columns, Matrix& system, Matrix& covariance,
                      std::vector<double>& variances) {
  const Eigen::Index bands = columns.cols();
  for (Eigen::Index row = 0; row < columns.rows(); ++row) {
    const Eigen::Index order = std::min(bands, row);
    // K_{t,s} = C_{t,s} - C_{t,s+1}
    const double diagonal = columns(row, 0);
    system(row, 0) = 1 / diagonal;
    for (Eigen::Index m = 1; m <= order; ++m) {
      const double left = m < bands ? columns(row - m, m) : 0;
      system(row, m) = (left - columns(row - m + 1, m - 1)) / diagonal;
    }
    double variance = system(row, 0) * system(row, 0);
    for (Eigen::Index i = 1; i <= order; ++i) {
      double sum = 0;
      for (Eigen::Index m = 1; m <= i; ++m) sum -= system(row, m) * covariance(row - m, i - m);
      for (Eigen::Index m = i + 1; m <= order; ++m)
        sum -= system(row, m) * covariance(row - i, m - i);
      covariance(row, i) = sum;
      variance -= system(row, i) * sum;
    }
    covariance(row, 0) = variance;
    variances.push_back(variance);
  }
}

}  // namespace

std::vector<double> banded_row_norms_squared(const Matrix& columns) {
  Matrix system = Matrix::Zero(columns.rows(), columns.cols() + 1);
  Matrix covariance = system;
  std::vector<double> variances;
  append_variances(columns, system, covariance, variances);
  return variances;
}

std::vector<double> banded_row_norm_bounds_squared(const Matrix& columns) {
  const Eigen::Index n = columns.rows(),
                     last = columns.cols() - 1;  // states: w_{t-1}, ..., the sum
  // A factor is rounded twice, a sum of its products with covariances once per term.
  const double unit = static_cast<double>(columns.cols() + 4) * 0x1p-53;
  constexpr double kSlack = 1 + 0x1p-20;  // for the rounding of these bounds
  Matrix covariance = Matrix::Zero(last + 1, last + 1), next = covariance;
  Vector factors = Vector::Zero(last), with_w(last + 1), errors(last + 1), excess(last + 1);
  std::vector<double> bounds;
  for (Eigen::Index t = 0; t < n; ++t) {
    const double inverse = 1 / columns(t, 0);
    for (Eigen::Index m = 1; m <= std::min(last, t); ++m)
      factors(m - 1) = columns(t - m, m) * inverse;
    with_w = -covariance.leftCols(last) * factors;
    errors = unit * (covariance.leftCols(last).cwiseAbs() * factors.cwiseAbs());
    const double w = inverse * inverse - factors.dot(with_w.head(last));
    const double magnitude =
        inverse * inverse +
        factors.cwiseAbs().dot(with_w.head(last).cwiseAbs() + errors.head(last));
    const double w_error = unit * magnitude + factors.cwiseAbs().dot(errors.head(last));

    const double sum_with_w = with_w(last) + w;
    const double sum_error = errors(last) + w_error + unit * (std::abs(with_w(last)) + std::abs(w));
    if (last > 0) {
      next.block(1, 1, last - 1, last - 1) = covariance.topLeftCorner(last - 1, last - 1);
      next(0, 0) = w;
      for (Eigen::Index i = 1; i < last; ++i) {
        next(0, i) = next(i, 0) = with_w(i - 1);
        next(i, last) = next(last, i) = covariance(i - 1, last) + with_w(i - 1);
      }
      next(0, last) = next(last, 0) = sum_with_w;
    }
    next(last, last) = covariance(last, last) + 2 * with_w(last) + w;
    const double total_error =
        2 * errors(last) + w_error +
        unit * (std::abs(covariance(last, last)) + 2 * std::abs(with_w(last)) + std::abs(w));
    excess.setZero();
    excess(last) = total_error;
    if (last > 0) {
      excess(0) = w_error + sum_error;
      excess(last) += sum_error;
    }
    for (Eigen::Index i = 1; i < last; ++i) {
      const double pair = errors(i - 1);
      const double with_sum = pair + unit * (std::abs(next(i, last)) + std::abs(with_w(i - 1)));
      excess(0) += pair;
      excess(i) += pair + with_sum;
      excess(last) += with_sum;
    }
    next.diagonal() += kSlack * excess;
    std::swap(covariance, next);
    bounds.push_back(covariance(last, last));
  }
  return bounds;
}

BandedRowErrors::BandedRowErrors(std::int64_t steps, std::int64_t bands)
    : steps_(steps),
      bands_(bands),
      num_parameters_(0),
      ones_(static_cast<std::size_t>(steps), 1.0),
      columns_(Matrix::Zero(index(steps), index(bands))),
      system_(Matrix::Zero(index(steps), index(bands) + 1)),
      covariance_(Matrix::Zero(index(steps), index(bands) + 1)) {
  for (std::int64_t j = 0; j < steps; ++j) num_parameters_ += index(below(j));
}

Vector BandedRowErrors::parameters_of(const std::vector<double>& coefficients) const {
  Vector point(num_parameters_);
  Eigen::Index next = 0;
  for (std::int64_t j = 0; j < steps_; ++j)
    for (std::int64_t m = 1; m <= below(j); ++m)
      point(next++) = coefficients[static_cast<std::size_t>(m)] / coefficients[0];
  return point;
}

Matrix BandedRowErrors::columns_at(const Vector& point) const {
  Matrix columns = Matrix::Zero(index(steps_), index(bands_));
  Eigen::Index next = 0;
  for (std::int64_t j = 0; j < steps_; ++j) {
    const Eigen::Index count = index(below(j));
    columns(index(j), 0) = 1;
    columns.row(index(j)).segment(1, count) = point.segment(next, count).transpose();
    columns.row(index(j)) /= columns.row(index(j)).norm();
    next += count;
  }
  return columns;
}

const std::vector<double>& BandedRowErrors::values(const Vector& point) {
  columns_ = columns_at(point);
  values_.clear();
  append_variances(columns_, system_, covariance_, values_);
  return values_;
}

void BandedRowErrors::pull_back(const std::vector<double>& weights, Vector& gradient) {
  Matrix by_covariance = Matrix::Zero(index(steps_), index(bands_) + 1);
  Matrix by_column = Matrix::Zero(index(steps_), index(bands_));
  Vector by_system(index(bands_) + 1);
  for (std::int64_t t = steps_; t-- > 0;) {
    const Eigen::Index row = index(t);
    const std::int64_t order = std::min(bands_, t);
    const double by_variance = by_covariance(row, 0) + weights[static_cast<std::size_t>(t)];
    by_system.setZero();
    by_system(0) = 2 * by_variance * system_(row, 0);
    for (std::int64_t i = 1; i <= order; ++i) {
      by_system(index(i)) -= by_variance * covariance_(row, index(i));
      const double by_sum = by_covariance(row, index(i)) - by_variance * system_(row, index(i));
      for (std::int64_t m = 1; m <= order; ++m) {
        const Eigen::Index later = row - index(std::min(i, m));
        const Eigen::Index distance = index(std::abs(i - m));
        by_system(index(m)) -= by_sum * covariance_(later, distance);
        by_covariance(later, distance) -= by_sum * system_(row, index(m));
      }
    }
    // Propagates derivatives back through K_{t,t-m} / K_tt and 1 / K_tt.
    const double inverse = system_(row, 0);
    double by_diagonal = -by_system(0) * inverse * inverse;
    for (std::int64_t m = 1; m <= order; ++m) {
      const double by_entry = by_system(index(m)) * inverse;
      by_diagonal -= by_entry * system_(row, index(m));
      if (m < bands_) by_column(row - index(m), index(m)) += by_entry;
      by_column(row - index(m) + 1, index(m) - 1) -= by_entry;
    }
    by_column(row, 0) += by_diagonal;
  }
  // Columns are x / ||x|| with x_0 = 1: column_0 = 1 / ||x||.
  Eigen::Index next = 0;
  for (std::int64_t j = 0; j < steps_; ++j) {
    const Eigen::Index row = index(j);
    const double radial = by_column.row(row).dot(columns_.row(row));
    for (std::int64_t m = 1; m <= below(j); ++m)
      gradient(next++) =
          (by_column(row, index(m)) - radial * columns_(row, index(m))) * columns_(row, 0);
  }
}

}  // namespace dpftrl::detail
