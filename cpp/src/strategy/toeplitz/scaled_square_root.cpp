// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/scaled_square_root.hpp"

#include <bit>
#include <utility>

#include "base/double_double.hpp"
#include "math/online_product.hpp"
#include "math/toeplitz.hpp"

namespace dpftrl {
namespace {

/// Leading terms of the product of two sequences of equal length.
std::vector<double> leading_product(std::span<const double> a, std::span<const double> b) {
  const BlockProducts products(std::countr_zero(std::bit_ceil(a.size())), 1, b);
  BlockProducts::Spectrum spectrum = products.zero();
  products.add_product(products.transformed(a), 0, spectrum);
  std::vector<double> terms(a.size());
  products.write_first_half(std::move(spectrum), terms);
  return terms;
}

}  // namespace

std::vector<double> scaled_square_root_rows(std::span<const double> column_scales) {
  const std::size_t n = column_scales.size();
  const std::vector<double> root = square_root_coefficients(std::ssize(column_scales));
  std::vector<double> changes(n), kernel(n);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double odd = 2 * static_cast<double>(i) + 1;
    changes[i] = (column_scales[i] - column_scales[i + 1]) * odd * root[i];
    kernel[i + 1] = 1 / odd;
  }
  const std::vector<double> shared = leading_product(changes, kernel);
  std::vector<double> rows;
  rows.reserve(n);
  DoubleDouble total;
  for (std::size_t t = 0; t < n; ++t) {
    const double own = column_scales[t] * root[t];
    total = add(total, own * (own - 2 * shared[t]));
    rows.push_back(total.high);
  }
  return rows;
}

}  // namespace dpftrl
