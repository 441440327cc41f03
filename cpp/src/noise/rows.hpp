// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rows of double-double numbers. Plain loops over coordinates, which compilers vectorise.
/// docs/math/grid.md derives the errors stated here.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "double_double.hpp"

namespace dpftrl::noise {

/// One DoubleDouble a coordinate.
struct DoubleDoubles {
  explicit DoubleDoubles(std::size_t width = 0) : high(width), low(width) {}

  void assign(std::span<const double> values) {
    std::copy(values.begin(), values.end(), high.begin());
    std::fill(low.begin(), low.end(), 0.0);
  }
  void clear() {
    std::fill(high.begin(), high.end(), 0.0);
    std::fill(low.begin(), low.end(), 0.0);
  }
  std::size_t size() const { return high.size(); }

  std::vector<double> high;
  std::vector<double> low;
};

/// sum += x. Absolute error at most 2 u^2 (|sum before| + |sum after|).
inline void add(DoubleDoubles& sum, std::span<const double> x) {
  double* const high = sum.high.data();
  double* const low = sum.low.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const DoubleDouble s = dpftrl::add(DoubleDouble{high[i], low[i]}, x[i]);
    high[i] = s.high;
    low[i] = s.low;
  }
}

/// sum -= x, with the same error.
inline void subtract(DoubleDoubles& sum, std::span<const double> x) {
  double* const high = sum.high.data();
  double* const low = sum.low.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const DoubleDouble s = dpftrl::add(DoubleDouble{high[i], low[i]}, -x[i]);
    high[i] = s.high;
    low[i] = s.low;
  }
}

/// sum += x. Absolute error at most 5 u^2 (|sum before| + |sum after|).
inline void add(DoubleDoubles& sum, const DoubleDoubles& x) {
  add(sum, std::span<const double>(x.high));
  add(sum, std::span<const double>(x.low));
}

/// sum -= x, with the same error.
inline void subtract(DoubleDoubles& sum, const DoubleDoubles& x) {
  subtract(sum, std::span<const double>(x.high));
  subtract(sum, std::span<const double>(x.low));
}

/// Relative error of a sum of num_terms products made by add_product and normalised once, against
/// the sum of the magnitudes of start and products.
inline double product_sum_error(double num_terms) {
  return (num_terms + 3) * (num_terms + 3) * 0x1p-103;
}

/// sum += factor * x, not normalised.
inline void add_product(DoubleDoubles& sum, double factor, const DoubleDoubles& x) {
  double* const high = sum.high.data();
  double* const low = sum.low.data();
  const double* const x_high = x.high.data();
  const double* const x_low = x.low.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const DoubleDouble product = two_product(factor, x_high[i]);
    const DoubleDouble s = two_sum(high[i], product.high);
    high[i] = s.high;
    low[i] += s.low + (product.low + factor * x_low[i]);
  }
}

/// sum += factor * x, not normalised.
inline void add_product(DoubleDoubles& sum, const DoubleDouble& factor, std::span<const double> x) {
  double* const high = sum.high.data();
  double* const low = sum.low.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const DoubleDouble product = two_product(factor.high, x[i]);
    const DoubleDouble s = two_sum(high[i], product.high);
    high[i] = s.high;
    low[i] += s.low + (product.low + factor.low * x[i]);
  }
}

/// |low| <= u |high| again, without error.
inline void normalize(DoubleDoubles& row) {
  double* const high = row.high.data();
  double* const low = row.low.data();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const DoubleDouble s = two_sum(high[i], low[i]);
    high[i] = s.high;
    low[i] = s.low;
  }
}

/// state = factor * state + x. Absolute error at most 2^-101 (|factor * state| + |x|).
inline void multiply_add(DoubleDoubles& state, double factor, const DoubleDoubles& x) {
  double* const high = state.high.data();
  double* const low = state.low.data();
  const double* const x_high = x.high.data();
  const double* const x_low = x.low.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const DoubleDouble product = two_product(factor, high[i]);
    const DoubleDouble s = two_sum(product.high, x_high[i]);
    const DoubleDouble result =
        two_sum(s.high, s.low + ((product.low + factor * low[i]) + x_low[i]));
    high[i] = result.high;
    low[i] = result.low;
  }
}

/// row *= factor. Absolute error at most 2^-101 |factor * row|.
inline void scale(DoubleDoubles& row, double factor) {
  double* const high = row.high.data();
  double* const low = row.low.data();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const DoubleDouble product = two_product(factor, high[i]);
    const DoubleDouble result = two_sum(product.high, product.low + factor * low[i]);
    high[i] = result.high;
    low[i] = result.low;
  }
}

/// What fades away becomes 0 below 2^-200 instead of going through the slow subnormal numbers.
inline void drop_tiny(DoubleDoubles& row) {
  double* const high = row.high.data();
  double* const low = row.low.data();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double factor = std::abs(high[i]) < 0x1p-200 ? 0 : 1;
    high[i] *= factor;
    low[i] *= factor;
  }
}

/// Largest magnitude of a row. A NaN is passed over: entries that are NaN fail every test anyway.
inline double max_magnitude(std::span<const double> row) {
  double largest = 0;
  for (const double x : row) largest = std::max(largest, std::abs(x));
  return largest;
}

}  // namespace dpftrl::noise
