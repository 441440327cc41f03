// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lower-triangular Toeplitz matrices as truncated power series, given by their first columns.

#include <cstdint>
#include <span>
#include <vector>

namespace dpftrl {

/// Coefficients of (1-x)^(-1/2): f_0 = 1, f_j = f_{j-1} (2j-1) / (2j).
/// @return     num_coefficients values, each with a relative error of at most 2^-53 (1 + 2^-24).
/// @checked-by toeplitz_test "square-root coefficients are the exact fractions, rounded"
std::vector<double> square_root_coefficients(std::int64_t num_coefficients);

/// Coefficients of (1-x)^(1/2), the inverse: g_j = f_j - f_{j-1} = -f_j / (2j-1).
std::vector<double> inverse_square_root_coefficients(std::int64_t num_coefficients);

/// Series whose coefficients follow a three-term recurrence, evaluated in double-double: the
/// relative error is at most 2^-53 (1 + 2^-24) (coefficients below 2^-800 become 0).
struct QuadraticRoot {
  double alpha = 0;      ///< 0 <= alpha <= 1
  double beta = 0;       ///< 0 <= beta <= 1
  bool inverse = false;  ///< false: ((1 - alpha x)(1 - beta x))^(-1/2), true: its inverse
  bool summed = false;   ///< true divides by 1 - x, which sums the coefficients
};
/// @checked-by toeplitz_test "root of a quadratic times itself is the workload"
std::vector<double> quadratic_root_coefficients(const QuadraticRoot& root,
                                                std::int64_t num_coefficients);

struct WindowRoot {
  std::int64_t width;    ///< W >= 1
  bool inverse = false;  ///< false: ((1 - x^W) / (1 - x))^(1/2), true: its inverse
  bool summed = false;   ///< true divides by 1 - x
};
/// Square root of 1 + x + ... + x^(W-1), with the relative error of `QuadraticRoot` and an absolute
/// error of 2^-90, since these coefficients have both signs and may cancel. O(num_coefficients).
std::vector<double> window_root_coefficients(const WindowRoot& root, std::int64_t num_coefficients);

/// Coefficients of 1 / divisor, divisor[0] != 0, in O(num_coefficients * divisor.size()).
std::vector<double> reciprocal_series(std::span<const double> divisor,
                                      std::int64_t num_coefficients);

/// Square root y of a series, y y = series, y_0 > 0; as many coefficients as the argument has, in
/// O(n^2).
/// @throws Error{invalid_argument} series[0] is not positive and finite.
std::vector<double> square_root_of_series(std::span<const double> series);

/// Logarithm of a series that begins with 1, and exponential of a series that begins with 0; as
/// many coefficients as the argument has, in O(n log^2 n).
std::vector<double> logarithm_of_series(std::span<const double> series);
std::vector<double> exponential_of_series(std::span<const double> series);

/// Full product of two sequences by FFT, O(n log n), with a bound on the error of every term.
/// @guarantee  the bound of docs/math/grid.md, section 3.4.
/// @checked-by toeplitz_test "fast products stay within their error bound"
struct BoundedProduct {
  std::vector<double> terms;  ///< a.size() + b.size() - 1
  double error_bound;
};
BoundedProduct multiply_by_fft(std::span<const double> a, std::span<const double> b);

/// `reciprocal_series` up to rounding errors relative to the largest coefficient, by Newton's
/// iteration with fast products in O(n log n). Only for computing errors: noise needs the bits of
/// reciprocal_series.
/// @checked-by toeplitz_test "a fast reciprocal is that of the recursion"
std::vector<double> reciprocal_series_by_fft(std::span<const double> divisor,
                                             std::int64_t num_coefficients);

/// First min(a.size(), b.size()) coefficients of the product of two series, O(n^2).
std::vector<double> multiply_series(std::span<const double> a, std::span<const double> b);

/// Sum of the absolute inner products of columns 0, b, 2b, ... of a Toeplitz matrix.
struct ColumnSum {
  double sum;
  bool has_negative;  ///< one of the products is negative
};
/// @return      the sum over all pairs of these columns of the matrix with first column
///              `coefficients`, including each column with itself; in twice the precision, O(n) per
///              column that overlaps with the first column
/// @checked-by  toeplitz_test "sums of absolute products are those of the Gram matrix"
ColumnSum sum_of_absolute_products(std::span<const double> coefficients, std::int64_t separation);

/// Upper bound on the number of products and columns that sum_of_absolute_products visits.
std::int64_t cost_of_absolute_products(std::int64_t bands, std::int64_t steps,
                                       std::int64_t separation);

}  // namespace dpftrl
