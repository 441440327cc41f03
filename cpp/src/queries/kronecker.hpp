// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Products with Kronecker products, factor by factor (internal header).

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "queries/ranges.hpp"

namespace dpftrl::detail {

/// Turns prefixes into ranges along the index of x that has `rows` entries.
template <class Scalar>
std::vector<Scalar> ranges_along(const std::vector<Scalar>& x, std::size_t left, std::size_t rows,
                                 std::size_t right) {
  const auto count = static_cast<std::size_t>(num_ranges(static_cast<std::int64_t>(rows)));
  std::vector<Scalar> result(left * count * right);
  for (std::size_t l = 0; l < left; ++l)
    for_every_range(static_cast<std::int64_t>(rows), [&](std::int64_t query, std::int64_t i,
                                                         std::int64_t j) {
      Scalar* out = result.data() + (l * count + static_cast<std::size_t>(query)) * right;
      const Scalar* last = x.data() + (l * rows + static_cast<std::size_t>(j)) * right;
      const Scalar* before = x.data() + (l * rows + static_cast<std::size_t>(i)) * right - right;
      for (std::size_t r = 0; r < right; ++r) out[r] = i > 0 ? last[r] - before[r] : last[r];
    });
  return result;
}

/// Computes (M_1 x M_2 x ...) x, each factor in turn along its own index of x. With integers, every
/// intermediate number is at most prod max|M| * sum |x|; the caller must ensure that this fits.
/// @param are_ranges  factors whose prefixes are differenced into ranges; empty if none.
template <class AnyMatrix>
std::vector<typename AnyMatrix::Scalar> apply_kronecker(std::span<const AnyMatrix* const> factors,
                                                        std::vector<typename AnyMatrix::Scalar> x,
                                                        const std::vector<bool>& are_ranges = {}) {
  using Scalar = typename AnyMatrix::Scalar;
  std::size_t left = 1;
  std::size_t right = x.size();
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const AnyMatrix* factor = factors[f];
    const auto rows = static_cast<std::size_t>(factor->rows());
    const auto columns = static_cast<std::size_t>(factor->cols());
    right /= columns;
    std::vector<Scalar> product(left * rows * right, Scalar{0});
    for (std::size_t l = 0; l < left; ++l) {
      for (std::size_t i = 0; i < rows; ++i) {
        Scalar* out = product.data() + (l * rows + i) * right;
        const Scalar* weights = factor->data() + i * columns;
        for (std::size_t j = 0; j < columns; ++j) {
          const Scalar* in = x.data() + (l * columns + j) * right;
          if (weights[j] == Scalar{0}) continue;
          for (std::size_t r = 0; r < right; ++r) out[r] += weights[j] * in[r];
        }
      }
    }
    x = std::move(product);
    if (f < are_ranges.size() && are_ranges[f]) {
      x = ranges_along(x, left, rows, right);
      left = x.size() / right;
    } else {
      left *= rows;
    }
  }
  return x;
}

/// A x B as a matrix.
template <class AnyMatrix>
AnyMatrix kronecker_product(const AnyMatrix& a, const AnyMatrix& b) {
  AnyMatrix product(a.rows() * b.rows(), a.cols() * b.cols());
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < a.cols(); ++j)
      product.block(i * b.rows(), j * b.cols(), b.rows(), b.cols()) = a(i, j) * b;
  return product;
}

}  // namespace dpftrl::detail
