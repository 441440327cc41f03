// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/scaled_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/sensitivity/pair_sensitivity.hpp"
#include "base/counting.hpp"
#include "base/double_double.hpp"

namespace dpftrl {
namespace {

using Kind = Participation::Kind;

Sensitivity unknown() {
  return {std::numeric_limits<double>::infinity(), Exactness::upper_bound, "none"};
}

class ScaledToeplitz {
 public:
  ScaledToeplitz(std::span<const double> coefficients, std::span<const double> scales)
      : coefficients_(coefficients), scales_(scales), least_scales_(scales.begin(), scales.end()) {
    for (std::size_t j = 1; j < least_scales_.size(); ++j)
      least_scales_[j] = std::min(least_scales_[j], least_scales_[j - 1]);
  }

  std::int64_t steps() const { return std::ssize(coefficients_); }

  /// Calls visit(j, X_{j-l,j}), or visit(j, Y_j(l)) if `of_all_longer_lags`, for j = n - 1 down to
  /// l.
  template <class Visit>
  void visit_products(std::int64_t lag, bool of_all_longer_lags, const Visit& visit) const {
    const std::span<const double> earlier = of_all_longer_lags ? least_scales_ : scales_;
    DoubleDouble sum;
    for (std::int64_t j = steps() - 1; j >= lag; --j) {
      const std::int64_t p = steps() - 1 - j;
      sum = add(sum, coefficients_[index_of(p)] * coefficients_[index_of(p + lag)]);
      visit(j, sum.high / earlier[index_of(j - lag)] / scales_[index_of(j)]);
    }
  }

  /// Y_j(lag), or X_jj if lag is 0, for j = n - 1, n - 2, ...
  std::vector<double> products(std::int64_t lag) const {
    std::vector<double> products(coefficients_.size());
    visit_products(lag, lag > 0, [&](std::int64_t j, double product) {
      products[index_of(steps() - 1 - j)] = product;
    });
    return products;
  }

 private:
  std::span<const double> coefficients_, scales_;
  std::vector<double> least_scales_;
};

double largest_phase(const ScaledToeplitz& columns, const Participation& participation) {
  const std::int64_t k = participation.times(), b = participation.apart();
  std::vector<double> phases(index_of(b));
  for (std::int64_t d = 0; d < k; ++d)
    columns.visit_products(d * b, false, [&](std::int64_t j, double product) {
      phases[index_of(j % b)] += d == 0 ? product : 2 * product;
    });
  return rounded_up(std::ranges::max(phases), 2 * k * k);
}

}  // namespace

Sensitivity scaled_toeplitz_sensitivity(std::span<const double> coefficients,
                                        std::span<const double> column_scales,
                                        const Participation& participation,
                                        std::int64_t max_operations) {
  const std::int64_t n = std::ssize(coefficients);
  const std::int64_t k = participation.times_within(n);
  if (!std::ranges::all_of(coefficients, [](double c) { return c >= 0; })) return unknown();
  const ScaledToeplitz columns(coefficients, column_scales);
  const bool is_short = n <= max_operations / k;
  if (participation.kind() == Kind::fixed_epoch && is_short)
    return {std::sqrt(largest_phase(columns, participation)), Exactness::exact,
            "scaled Toeplitz: every phase of the epochs, no entry being negative"};
  if (!std::ranges::is_sorted(coefficients, std::ranges::greater())) return unknown();
  const ColumnPairs backward{.norms_squared = columns.products(0),
                             .products = [&](std::int64_t lag) { return columns.products(lag); }};
  return {std::sqrt(largest_pair_sum(backward, participation, max_operations)),
          Exactness::upper_bound, "scaled Toeplitz: bounds on the inner products"};
}

}  // namespace dpftrl
