// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/query_mechanism.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "math/linear_algebra.hpp"
#include "queries/kronecker.hpp"

namespace dpftrl {
namespace {

constexpr const char* kConsistencyFunction = "consistent_histogram";
constexpr int kMaxGradientSteps = 2000;

/// About the standard deviation of a measurement; positive even where noise is almost always 0.
double unit_of(const QueryMechanism& mechanism) {
  if (mechanism.noise() == QueryNoise::laplace) return mechanism.noise_stddev();
  return std::sqrt(mechanism.noise_scale() * mechanism.noise_scale() + 1.0 / 12);
}

/// M in units of the noise, and its transpose.
struct ScaledEncoder {
  /// @param ignored  measurements that are used as constraints instead.
  ScaledEncoder(const QueryFactorization& factorization, double noise,
                const std::vector<Eigen::Index>& ignored) {
    double unit = noise;
    for (const QueryFactorization::Factor& factor : factorization.factors) {
      forward.push_back(factor.encoder.cast<double>() / unit);
      for (const Eigen::Index i : ignored) forward.back().row(i).setZero();
      backward.push_back(forward.back().transpose());
      const Matrix gram = detail::multiply(backward.back(), forward.back());
      largest_eigenvalue *= detail::symmetric_eigenvalues(gram).maxCoeff();
      unit = 1;
    }
  }
  static Vector apply(const std::vector<Matrix>& factors, const Vector& x) {
    std::vector<const Matrix*> pointers;
    for (const Matrix& factor : factors) pointers.push_back(&factor);
    const std::vector<double> y =
        detail::apply_kronecker<Matrix>(pointers, {x.data(), x.data() + x.size()});
    return Eigen::Map<const Vector>(y.data(), static_cast<Eigen::Index>(y.size()));
  }

  std::vector<Matrix> forward;
  std::vector<Matrix> backward;
  double largest_eigenvalue = 1;  ///< largest eigenvalue of M^T M
};

/// Measurements that reveal the number of records without noise. None for products of several
/// factors, where these measurements are used like any others.
std::vector<Eigen::Index> told_totals(const QueryMechanism& mechanism) {
  std::vector<Eigen::Index> totals;
  const QueryFactorization& factorization = mechanism.factorization();
  if (mechanism.privacy().neighbours != Neighbours::replace_one || factorization.factors.size() > 1)
    return totals;
  const std::vector<bool> is_public = factorization.public_measurements();
  for (std::size_t i = 0; i < is_public.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    if (is_public[i] && factorization.factors[0].encoder(row, 0) != 0) totals.push_back(row);
  }
  return totals;
}

/// Nearest point with non-negative entries and, if given, this total.
Vector project(const Vector& x, const std::optional<std::int64_t>& total) {
  if (!total) return x.cwiseMax(0);
  std::vector<double> sorted(x.data(), x.data() + x.size());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = -static_cast<double>(*total), shift = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    const double candidate = sum / static_cast<double>(i + 1);
    if (sorted[i] > candidate || i == 0) shift = candidate;
  }
  return (x.array() - shift).cwiseMax(0);
}

/// Rounds x to integers whose sum is the rounded sum of x: entries with the largest fractions are
/// rounded up.
Vector rounded(const Vector& x) {
  Vector result = x.array().floor();
  std::vector<Eigen::Index> order(static_cast<std::size_t>(x.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) {
    const double first = x(a) - result(a), second = x(b) - result(b);
    return first != second ? first > second : a < b;
  });
  const auto missing = static_cast<std::size_t>(std::llround(x.sum() - result.sum()));
  for (std::size_t i = 0; i < missing; ++i) result(order[i]) += 1;
  return result;
}

}  // namespace

Vector consistent_histogram(const QueryMechanism& mechanism, const QueryRelease& release,
                            const ConsistencyOptions& options) {
  const QueryFactorization& factorization = mechanism.factorization();
  require_length(kConsistencyFunction, "measurements", std::ssize(release.measurements),
                 factorization.num_measurements());
  if (options.total) {
    require_between(kConsistencyFunction, "total", *options.total, 0, std::int64_t{1} << 53);
    if (mechanism.privacy().neighbours != Neighbours::replace_one)
      fail(ErrorCode::unsupported, "consistent_histogram", "total",
           "is public only with {neighbours} replace_one", "zero_out");
  }
  const double noise = unit_of(mechanism);
  const std::vector<Eigen::Index> totals = told_totals(mechanism);
  const ScaledEncoder encoder(factorization, noise, totals);
  std::optional<std::int64_t> total = options.total;
  if (!total && !totals.empty())
    total = release.measurements[static_cast<std::size_t>(totals[0])] /
            factorization.factors[0].encoder(totals[0], 0);
  Vector y(static_cast<Eigen::Index>(release.measurements.size()));
  for (Eigen::Index i = 0; i < y.size(); ++i)
    y(i) = static_cast<double>(release.measurements[static_cast<std::size_t>(i)]) / noise;
  const double step = 1 / encoder.largest_eigenvalue;
  // Relative to the effect of one standard error of a measurement.
  const double tolerance = 1e-7 * std::sqrt(step);
  Vector x = project(Vector::Zero(static_cast<Eigen::Index>(factorization.num_values())), total);
  Vector ahead = x;
  double momentum = 1;
  for (int i = 0; i < kMaxGradientSteps; ++i) {
    const Vector residual = ScaledEncoder::apply(encoder.forward, ahead) - y;
    const Vector gradient = ScaledEncoder::apply(encoder.backward, residual);
    const Vector next = project(ahead - step * gradient, total);
    // Restarts momentum that points uphill (O'Donoghue and Candes, arXiv 1204.3982).
    if ((ahead - next).dot(next - x) > 0) momentum = 1;
    const double following = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    const double change = (next - x).cwiseAbs().maxCoeff();
    ahead = next + (momentum - 1) / following * (next - x);
    momentum = following;
    x = next;
    if (change <= tolerance) break;
  }
  return options.integer ? rounded(x) : x;
}

}  // namespace dpftrl
