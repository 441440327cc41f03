// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/scaled_window.hpp"

#include <algorithm>

#include "base/counting.hpp"
#include "base/double_double.hpp"

namespace dpftrl {
namespace {

/// Inner products <G_{s+k}, G_s> of one step s with its neighbours at lags k, for growing s.
class LaggedProducts {
 public:
  explicit LaggedProducts(std::size_t num_lags) : products_(num_lags) {}

  /// Adds factor * values[k] to the product at lag k, and returns by how much the squared norm
  /// changes with a step of scale scales[0], whose neighbours have the scales scales[k], k > 0.
  DoubleDouble advance(double factor, std::span<const double> values, const double* scales) {
    DoubleDouble sum;
    for (std::size_t k = values.size() - 1; k > 0; --k) {
      products_[k] += factor * values[k];
      sum = add(sum, two_product(2 * scales[k], products_[k]));
    }
    products_[0] += factor * values[0];
    return multiply(add(sum, two_product(scales[0], products_[0])), scales[0]);
  }

 private:
  std::vector<double> products_;
};

}  // namespace

std::vector<double> scaled_window_rows(std::int64_t width, std::span<const double> inverse,
                                       std::span<const double> column_scales) {
  const std::size_t n = inverse.size(), num_lags = std::min(index_of(width), n);
  // Backwards, so that the steps before t follow it.
  const std::vector<double> backward(inverse.rbegin(), inverse.rend()),
      backward_scales(column_scales.rbegin(), column_scales.rend());
  LaggedProducts entering(num_lags), leaving(num_lags);
  std::vector<double> rows;
  rows.reserve(n);
  DoubleDouble total;
  for (std::size_t t = 0; t < n; ++t) {
    if (t >= num_lags) {
      const std::size_t q = t - num_lags;
      total = add(total, negative(leaving.advance(inverse[q], inverse.subspan(q, num_lags),
                                                  &column_scales[q])));
    }
    const std::size_t at = n - 1 - t, length = std::min(num_lags, t + 1);
    total = add(total, entering.advance(inverse[t], std::span(backward).subspan(at, length),
                                        &backward_scales[at]));
    rows.push_back(total.high);
  }
  return rows;
}

}  // namespace dpftrl
