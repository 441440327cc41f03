// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lower-triangular Toeplitz matrices as truncated power series: the first column is all there is.

#include <cstdint>
#include <span>
#include <vector>

#include "dpftrl/types.hpp"

namespace dpftrl {

/// Coefficients of (1-x)^(-1/2): f_0 = 1, f_j = f_{j-1} (2j-1) / (2j).
/// @return     num_coefficients values, each within 2^-53 (1 + 2^-24) relative of the exact
/// fraction.
/// @checked-by toeplitz_test "square-root coefficients are the exact fractions, rounded"
std::vector<double> square_root_coefficients(std::int64_t num_coefficients);

/// Coefficients of (1-x)^(1/2), the inverse: g_j = f_j - f_{j-1} = -f_j / (2j-1).
std::vector<double> inverse_square_root_coefficients(std::int64_t num_coefficients);

/// First min(a.size(), b.size()) coefficients of the product of two series, O(n^2).
std::vector<double> multiply_series(std::span<const double> a, std::span<const double> b);

/// Dense matrix with first column `coefficients`.
Matrix lower_triangular_toeplitz(std::span<const double> coefficients);

}  // namespace dpftrl
