// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/scaled_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/sensitivity/pair_sensitivity.hpp"
#include "base/counting.hpp"
#include "base/double_double.hpp"
#include "math/toeplitz.hpp"

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

  std::int64_t num_steps() const { return std::ssize(coefficients_); }

  /// Calls visit(j, X_{j-l,j}), or visit(j, Y_j(l)) if `of_all_longer_lags`, for j = n - 1 down to
  /// l.
  template <class Visit>
  void visit_products(std::int64_t lag, bool of_all_longer_lags, const Visit& visit) const {
    const std::span<const double> earlier = of_all_longer_lags ? least_scales_ : scales_;
    DoubleDouble sum;
    for (std::int64_t j = num_steps() - 1; j >= lag; --j) {
      const std::int64_t p = num_steps() - 1 - j;
      sum = add(sum, coefficients_[index_of(p)] * coefficients_[index_of(p + lag)]);
      visit(j, sum.high / earlier[index_of(j - lag)] / scales_[index_of(j)]);
    }
  }

  /// Returns Y_j(l) backward in time, that of step n - 1 first.
  std::vector<double> products(std::int64_t lag) const {
    std::vector<double> products(coefficients_.size());
    visit_products(lag, lag > 0, [&](std::int64_t j, double product) {
      products[index_of(num_steps() - 1 - j)] = product;
    });
    return products;
  }

 private:
  std::span<const double> coefficients_, scales_;
  std::vector<double> least_scales_;
};

double largest_phase(const ScaledToeplitz& columns, const Participation& participation) {
  const std::int64_t k = participation.max_participations(), b = participation.separation();
  std::vector<double> phases(index_of(b));
  for (std::int64_t d = 0; d < k; ++d)
    columns.visit_products(d * b, false, [&](std::int64_t j, double product) {
      phases[index_of(j % b)] += d == 0 ? product : 2 * product;
    });
  return rounded_up(std::ranges::max(phases), 2 * k * k);
}

/// Returns r(l) for l < n, and a bound on the error of each.
BoundedProduct autocorrelation(const std::vector<double>& circulant) {
  const BoundedProduct product =
      multiply_by_fft(circulant, std::vector<double>(circulant.rbegin(), circulant.rend()));
  const std::size_t order = circulant.size();
  BoundedProduct result{{}, 2 * product.error_bound};
  for (std::size_t lag = 0; lag < order / 2; ++lag)
    result.terms.push_back(product.terms[order - 1 + lag] +
                           (lag == 0 ? 0 : product.terms[lag - 1]));
  return result;
}

/// Returns sum_{d < m} 2 (m - d) |r(d)|' + m r(0), with |r(d)|' the largest |r| between the
/// shortest and the longest distance that two of m participations can have with d - 1 others
/// between them.
double windowed_sum(std::span<const double> sizes, std::int64_t m, std::int64_t b) {
  double sum = static_cast<double>(m) * sizes[0];
  for (std::int64_t d = 1; d < m; ++d) {
    const auto window = sizes.first(index_of(std::ssize(sizes) - (m - 1 - d) * b));
    sum += 2 * static_cast<double>(m - d) * std::ranges::max(window.subspan(index_of(d * b)));
  }
  return sum;
}

}  // namespace

Sensitivity scaled_toeplitz_sensitivity(std::span<const double> coefficients,
                                        std::span<const double> column_scales,
                                        const Participation& participation,
                                        std::int64_t max_operations) {
  const std::int64_t n = std::ssize(coefficients);
  const std::int64_t k = participation.max_participations_within(n);
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

Sensitivity circulant_sensitivity(const Strategy& strategy, const Participation& participation) {
  constexpr std::int64_t kMaxOperations = std::int64_t{1} << 28;
  const std::int64_t n = strategy.num_steps();
  const std::int64_t k = participation.max_participations_within(n);
  const std::int64_t b = participation.separation();
  const ToeplitzDecoder form = std::get<ToeplitzDecoder>(strategy.decoder_form());
  // The lags are 1 - 2n .. n - 1; s_m also has lag m - 2n.
  std::vector<double> circulant = {form.coefficients[index_of(form.num_future)]};
  circulant.insert(circulant.end(), form.coefficients.begin(),
                   form.coefficients.begin() + static_cast<std::ptrdiff_t>(form.num_future));
  const double norm_squared = strategy.max_column_norm_squared();
  if (participation.kind() == Kind::fixed_epoch && n <= kMaxOperations / k) {
    double sum = static_cast<double>(k) * norm_squared;
    bool is_nonnegative = true;
    for (std::int64_t d = 1; d < k; ++d) {
      DoubleDouble product;
      for (std::int64_t m = 0; m < 2 * n; ++m)
        product = add(product, circulant[index_of(m)] * circulant[index_of((m + d * b) % (2 * n))]);
      is_nonnegative = is_nonnegative && product.high >= 0;
      sum += 2 * static_cast<double>(k - d) * std::abs(product.high);
    }
    return {std::sqrt(rounded_up(sum, 2 * k)),
            is_nonnegative ? Exactness::exact : Exactness::upper_bound,
            "circulant: inner products at the distances of the epochs"};
  }
  BoundedProduct products = autocorrelation(circulant);
  for (double& product : products.terms) product = std::abs(product) + products.error_bound;
  products.terms[0] = norm_squared;
  double largest = 0;
  if (n <= kMaxOperations / k / k) {
    for (std::int64_t m = 1; m <= k; ++m)
      largest = std::max(largest, windowed_sum(products.terms, m, b));
  } else {
    const std::vector<double> majorant = non_increasing_majorant(products.terms);
    largest = static_cast<double>(k) * norm_squared;
    for (std::int64_t d = 1; d < k; ++d)
      largest += 2 * static_cast<double>(k - d) * majorant[index_of(d * b)];
  }
  return {std::sqrt(rounded_up(largest, 2 * k)), Exactness::upper_bound,
          "circulant: largest inner products at every distance"};
}

}  // namespace dpftrl
