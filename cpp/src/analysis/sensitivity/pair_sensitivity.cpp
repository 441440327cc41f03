// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/pair_sensitivity.hpp"

#include <algorithm>
#include <span>

#include "base/counting.hpp"

namespace dpftrl {
namespace {

/// Dynamic program over f_r(i), the best sum of r participations, the first at step i or later.
/// Fewer than k participations can be better, because k leave less room.
double best_ordered_sum(const ColumnPairs& columns, std::int64_t k, std::int64_t b) {
  const std::int64_t n = std::ssize(columns.norms_squared);
  std::vector<double> added = columns.norms_squared, fewer(index_of(n)), best(index_of(n));
  double best_of_all = 0;
  for (std::int64_t r = 1; r <= k; ++r) {
    const std::int64_t num_firsts = n - (r - 1) * b;
    if (r > 1) {
      const std::vector<double> products = columns.products((r - 1) * b);
      for (std::int64_t i = 0; i < num_firsts; ++i) added[index_of(i)] += 2 * products[index_of(i)];
    }
    double largest = 0;
    for (std::int64_t i = num_firsts - 1; i >= 0; --i) {
      const double after = r > 1 ? fewer[index_of(i + b)] : 0;
      largest = std::max(largest, added[index_of(i)] + after);
      best[index_of(i)] = largest;
    }
    best_of_all = std::max(best_of_all, largest);
    std::swap(fewer, best);
  }
  return rounded_up(best_of_all, 2 * k * k);
}

/// Adds k columns, and for every d the 2 (k - d) pairs with d - 1 participations between them.
double largest_products_sum(const ColumnPairs& columns, std::int64_t k, std::int64_t b) {
  const std::int64_t n = std::ssize(columns.norms_squared);
  double sum = static_cast<double>(k) * std::ranges::max(columns.norms_squared);
  for (std::int64_t d = 1; d < k;) {
    const std::int64_t next = std::min(k, std::max(d + 1, d + d / 2));
    const std::vector<double> products = columns.products(d * b);
    const double largest = std::ranges::max(std::span(products).first(index_of(n - d * b)));
    // 2 ((k - d) + ... + (k - next + 1))
    sum += static_cast<double>(next - d) * static_cast<double>(2 * k - d - next + 1) * largest;
    d = next;
  }
  return rounded_up(sum, 256);
}

}  // namespace

double rounded_up(double squared, std::int64_t num_terms) {
  return squared * (1 + (static_cast<double>(num_terms) + 16) * 0x1p-52);
}

double largest_pair_sum(const ColumnPairs& columns, const Participation& participation,
                        std::int64_t max_operations) {
  const std::int64_t n = std::ssize(columns.norms_squared);
  const std::int64_t k = participation.times_within(n);
  const std::int64_t b = participation.apart();
  return n <= max_operations / k ? best_ordered_sum(columns, k, b)
                                 : largest_products_sum(columns, k, b);
}

}  // namespace dpftrl
