// SPDX-License-Identifier: Apache-2.0

/// Sensitivity for records that are replaced by records at other steps: docs/math/sensitivity.md.
///
/// With records of norm at most 1 / sqrt 2 that have no negative inner product, the squared
/// distance between two streams is at most
///
///     sens^2 + sum over i in pi, j in pi' of max(0, -X_ij),     X = C^T C,
///
/// where pi and pi' are the patterns of the user's steps in the two streams, and never more than
/// 2 sens^2. Most encoders have no negative X_ij; encoders for windows do.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <span>
#include <variant>
#include <vector>

#include "analysis/sensitivity/pattern_sums.hpp"
#include "base/counting.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxOpposedSteps = 1024;
/// Largest number of products of coefficients.
constexpr std::int64_t kMaxScannedProducts = std::int64_t{1} << 27;

/// C = T D^-1, T lower-triangular Toeplitz.
struct ScaledCoefficients {
  std::span<const double> coefficients;  ///< empty for any other C
  std::span<const double> scales;        ///< D; all 1 if empty
};

ScaledCoefficients coefficients_of(const Strategy& strategy) {
  const ColumnStructure columns = strategy.columns();
  const auto* scaled = std::get_if<ScaledColumns>(&columns);
  if (scaled == nullptr) return {.coefficients = strategy.toeplitz_encoder(), .scales = {}};
  if (scaled->scales.empty()) return coefficients_of(*scaled->base);
  return {.coefficients = scaled->base->toeplitz_encoder(), .scales = scaled->scales};
}

/// Upper bound on max(0, -X_ij) for all i < j. With m = n - j and l = j - i,
///
///     X_ij = R_l(m) / (D_i D_j),     R_l(m) = sum_{t < m} c_t c_{t+l},
///
/// of which the first terms are summed; by Cauchy-Schwarz, later terms lower R_l(m) by at most the
/// sum of the squares of the remaining coefficients.
double largest_opposition(const ScaledCoefficients& columns) {
  const std::span<const double> c = columns.coefficients;
  const std::int64_t n = std::ssize(c);
  std::int64_t bands = n;
  while (bands > 1 && c[index_of(bands - 1)] == 0) --bands;
  std::vector<double> factors(c.size(), 1.0);  // 1 / D
  for (std::size_t i = 0; i < columns.scales.size(); ++i) factors[i] = 1 / columns.scales[i];
  const std::int64_t num_scanned = std::min(n, kMaxScannedProducts / bands);

  std::vector<double> products(index_of(bands));  // R_l(m)
  double largest = 0;
  for (std::int64_t m = 1; m <= num_scanned; ++m) {
    const double first = c[index_of(m - 1)];
    const std::int64_t num_lags = std::min(bands, n - m + 1);
    for (std::int64_t l = 1; l < std::min(num_lags, bands - m + 1); ++l)
      products[index_of(l)] += first * c[index_of(m - 1 + l)];
    double smallest = 0;
    for (std::int64_t l = 1; l < num_lags; ++l)
      smallest = std::min(smallest, products[index_of(l)] * factors[index_of(n - m - l)]);
    largest = std::max(largest, -smallest * factors[index_of(n - m)]);
  }
  if (num_scanned == n) return largest;
  const double left = detail::sum_of_squares(c.subspan(index_of(num_scanned)));
  const double factor = std::ranges::max(std::span(factors).first(index_of(n - num_scanned)));
  for (std::int64_t l = 1; l < std::min(bands, n - num_scanned); ++l)
    largest = std::max(largest, (left - products[index_of(l)]) * factor * factor);
  return largest;
}

/// Largest (X_ii + X_jj) / 2 + max(0, -X_ij) over all steps i, j.
double worst_pair(const Matrix& gram) {
  double largest = gram.diagonal().maxCoeff();
  for (Eigen::Index i = 0; i < gram.rows(); ++i)
    for (Eigen::Index j = 0; j < i; ++j)
      largest = std::max(largest, (gram(i, i) + gram(j, j)) / 2 - std::min(0.0, gram(i, j)));
  return largest;
}

/// Squared sensitivity for records that move, for an encoder with negative inner products.
Sensitivity squared_if_opposed(const Strategy& strategy, const Participation& participation,
                               const Sensitivity& fixed) {
  const double squared = fixed.value * fixed.value;
  const std::int64_t n = strategy.steps();
  const auto k = static_cast<double>(participation.times_within(n));
  if (n <= kMaxOpposedSteps) {
    const Matrix encoder = strategy.encoder();
    const Matrix gram = encoder.transpose() * encoder;
    if (k == 1) return {worst_pair(gram), fixed.exactness, "every pair of columns"};
    const double opposed = detail::largest_sum_of_rows((-gram).cwiseMax(0), participation);
    return {squared + opposed, Exactness::upper_bound,
            "two patterns, and their negative inner products"};
  }
  if (const ScaledCoefficients columns = coefficients_of(strategy); !columns.coefficients.empty())
    return {squared + k * k * largest_opposition(columns), Exactness::upper_bound,
            "two patterns, and the most negative inner product"};
  return {2 * squared, Exactness::upper_bound, "two patterns, one opposite to the other"};
}

}  // namespace

Sensitivity moving_sensitivity(const Strategy& strategy, const Participation& participation) {
  Sensitivity result = sensitivity(strategy, participation);
  const auto n = static_cast<double>(strategy.steps());
  const auto k = static_cast<double>(participation.times_within(strategy.steps()));
  if (!strategy.has_nonnegative_gram() && n > 1) {
    const double most = 2 * result.value * result.value;
    const Sensitivity squared = squared_if_opposed(strategy, participation, result);
    // An inner product of n terms is off by at most n 2^-53 times the product of the norms.
    const double value = std::min(squared.value * (1 + 2 * k * n * 0x1p-53), most);
    if (value > most / 2)
      result = {std::max(std::sqrt(value), result.value), squared.exactness, squared.method};
  }
  // Two patterns of columns move by up to 2 k slacks of 1 / sqrt 2; Mechanism covers k slacks.
  result.value *= 1 + k * strategy.encoder_slack();
  return result;
}

}  // namespace dpftrl
