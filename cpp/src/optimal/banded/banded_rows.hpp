// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "optimal/descent_search.hpp"

namespace dpftrl::detail {

/// Squared row norms of prefix sums * C^-1, accurate to rounding if C is far from singular. Row j
/// of `columns` is C_jj, C_{j+1,j}, ..., with 0 past the last row of C.
std::vector<double> banded_row_norms_squared(const Matrix& columns);

/// Tight upper bounds on the squared row norms of prefix sums * C^-1; infinity or NaN where double
/// precision gives no bound. Row j of `columns` is C_jj, C_{j+1,j}, ..., with 0 past the last row
/// of C; C_jj > 0.
///
/// Tracks the covariance of the last p - 1 entries of w = C^-1 Z and of the sum of all its entries
/// so far. Every step adds to each diagonal entry the sum of the possible rounding errors in its
/// row, so the computed matrix stays above the true one in the order of positive semi-definite
/// matrices, which a step preserves.
/// @checked-by varying_bands_test "bounds of row norms hold ..."
std::vector<double> banded_row_norm_bounds_squared(const Matrix& columns);

/// Squared row norms of B = prefix sums * C^-1 for C with p bands and columns of norm 1: C_{j+m,j}
/// = x_{j,m} / norm, x_{j,0} = 1; the other x_{j,m} are the parameters, column after column.
///
/// B Z is an autoregression of order p: with K = C * prefix sums^-1, K (B Z) = Z. The next row
/// needs only a band of its covariance.
class BandedRowErrors final : public RowErrors {
 public:
  BandedRowErrors(std::int64_t steps, std::int64_t bands);

  /// p - 1 for each column, fewer for the last p - 1 columns.
  Eigen::Index num_parameters() const { return num_parameters_; }
  /// The parameters of columns proportional to `coefficients`.
  Vector parameters_of(const std::vector<double>& coefficients) const;
  /// Row j: the entries of column j from the diagonal down.
  Matrix columns_at(const Vector& point) const;

  const std::vector<double>& values(const Vector& point) override;
  const std::vector<double>& multiplicities() const override { return ones_; }
  void pull_back(const std::vector<double>& weights, Vector& gradient) override;

 private:
  std::int64_t below(std::int64_t column) const {
    return std::min(bands_ - 1, steps_ - 1 - column);
  }

  std::int64_t steps_;
  std::int64_t bands_;
  Eigen::Index num_parameters_;
  std::vector<double> ones_;
  std::vector<double> values_;
  Matrix columns_;     ///< entries of C, column by column
  Matrix system_;      ///< K_{t,t-m} / K_tt for m = 1 .. p; column 0: 1 / K_tt
  Matrix covariance_;  ///< covariance of rows t and t-m, m = 0 .. p
};

}  // namespace dpftrl::detail
