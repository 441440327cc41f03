// SPDX-License-Identifier: Apache-2.0
#include "optimal/banded/banded_toeplitz.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "math/toeplitz.hpp"
#include "optimal/blt/blt_search.hpp"

namespace dpftrl::detail {
namespace {

/// Up to this many bands, recursions are faster than transforms.
constexpr std::int64_t kMostDirectBands = 128;

/// |x| is smoothed to sqrt(x^2 + this^2), which costs about 1e-4 of the error and takes half as
/// many line searches as a value of 1e-4 would.
constexpr double kSmooth = 1e-3;

std::size_t size_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

}  // namespace

const Fft& SeriesProducts::transform(std::size_t at_least) {
  const std::size_t level = static_cast<std::size_t>(std::bit_width(at_least - 1));
  if (transforms_.size() <= level) transforms_.resize(level + 1);
  if (!transforms_[level]) transforms_[level] = std::make_unique<Fft>(static_cast<int>(level));
  return *transforms_[level];
}

std::vector<double> SeriesProducts::multiply(std::span<const double> a, std::span<const double> b,
                                             std::size_t count) {
  const Fft& fft = transform(std::max<std::size_t>(2, a.size() + b.size()));
  const std::size_t size = fft.size();
  std::vector<double> a_real(size), a_imaginary(size), b_real(size), b_imaginary(size);
  std::copy(a.begin(), a.end(), a_real.begin());
  std::copy(b.begin(), b.end(), b_real.begin());
  fft.forward(a_real, a_imaginary);
  fft.forward(b_real, b_imaginary);
  for (std::size_t k = 0; k < size; ++k) {
    const double real = a_real[k] * b_real[k] - a_imaginary[k] * b_imaginary[k];
    a_imaginary[k] = a_real[k] * b_imaginary[k] + a_imaginary[k] * b_real[k];
    a_real[k] = real;
  }
  fft.inverse(a_real, a_imaginary);
  a_real.resize(count);
  return a_real;
}

std::vector<double> SeriesProducts::inverse(std::span<const double> a) {
  std::vector<double> result{1 / a[0]};
  while (result.size() < length_) {
    const std::size_t next = std::min(length_, 2 * result.size());
    std::vector<double> residual = multiply(a.first(std::min(a.size(), next)), result, next);
    for (double& r : residual) r = -r;
    residual[0] += 2;
    result = multiply(result, residual, next);
  }
  return result;
}

bool has_signed_overlaps(const BandedProblem& problem) {
  const std::int64_t separation = problem.participation.apart();
  return problem.participation.kind() == Participation::Kind::fixed_epoch && separation >= 2 &&
         separation < problem.bands;
}

BandedToeplitzError::BandedToeplitzError(const BandedProblem& problem)
    : problem_(problem),
      repeats_(repeats_of(problem.participation, problem.steps)),
      has_signs_(has_signed_overlaps(problem)),
      is_direct_(problem.bands <= kMostDirectBands),
      products_(problem.steps) {}

double BandedToeplitzError::row_weight(std::int64_t step, Objective objective) const {
  if (objective == Objective::max) return 1;
  const double n = static_cast<double>(problem_.steps);
  return (n - static_cast<double>(step)) / n;
}

/// Returns || sum_{i<k} column i b ||^2, and adds the gradient of half its logarithm.
double BandedToeplitzError::sensitivity_squared(std::span<const double> c, Vector* gradient) const {
  const std::int64_t p = problem_.bands;
  std::vector<double> sum(size_of(problem_.steps), 0.0);
  const auto visit = [&](const auto& action) {
    for (std::int64_t i = 0; i < repeats_.num_participations; ++i) {
      const std::int64_t from = i * repeats_.separation;
      for (std::int64_t m = 0; m < std::min(p, problem_.steps - from); ++m)
        action(size_of(from + m), m);
    }
  };
  visit([&](std::size_t t, std::int64_t m) { sum[t] += c[size_of(m)]; });
  double total = 0;
  for (const double v : sum) total += v * v;
  if (gradient != nullptr)
    visit([&](std::size_t t, std::int64_t m) {
      (*gradient)(static_cast<Eigen::Index>(m)) += sum[t] / total;
    });
  return total;
}

/// Returns the smoothed sum of |X_ij| over the first phase, and adds its slopes. X_ij is the sum of
/// c_u c_{u + (j - i) b} over u < n - j b.
double BandedToeplitzError::phase_sum(std::span<const double> c, Vector& gradient) const {
  const std::int64_t n = problem_.steps, p = problem_.bands, b = repeats_.separation;
  const std::int64_t k = repeats_.num_participations;
  double total = 0;
  for (std::int64_t i = 0; i < k && i * b < p; ++i) {
    const std::int64_t lag = i * b, num_products = p - lag;
    const double times = i == 0 ? 1 : 2;
    std::vector<double> products(size_of(num_products + 1), 0.0);
    for (std::int64_t u = 0; u < num_products; ++u)
      products[size_of(u + 1)] = products[size_of(u)] + c[size_of(u)] * c[size_of(u + lag)];
    // slopes[j - i] sums the slopes of the pairs whose later column is at most j; c_u c_{u + lag}
    // counts in the pairs with j b < n - u.
    std::vector<double> slopes(size_of(k - i));
    double slope = 0;
    for (std::int64_t j = i; j < k; ++j) {
      const double product = products[size_of(std::min(num_products, n - j * b))];
      const double root = std::hypot(product, kSmooth);
      total += times * root;
      slopes[size_of(j - i)] = slope += times * product / root;
    }
    for (std::int64_t u = 0; u < num_products; ++u) {
      const double weight = slopes[size_of(std::min(k - 1, (n - 1 - u) / b) - i)];
      gradient(static_cast<Eigen::Index>(u)) += weight * c[size_of(u + lag)];
      gradient(static_cast<Eigen::Index>(u + lag)) += weight * c[size_of(u)];
    }
  }
  return total;
}

/// Coefficients of 1 / c.
std::vector<double> BandedToeplitzError::inverse(std::span<const double> c) {
  if (!is_direct_) return products_.inverse(c);
  const std::int64_t n = problem_.steps, p = problem_.bands;
  std::vector<double> e(size_of(n));
  e[0] = 1 / c[0];
  for (std::int64_t t = 1; t < n; ++t) {
    double sum = 0;
    for (std::int64_t m = 1; m <= std::min(p - 1, t); ++m) sum += c[size_of(m)] * e[size_of(t - m)];
    e[size_of(t)] = -sum / c[0];
  }
  return e;
}

double BandedToeplitzError::row_squared(const std::vector<double>& inverse,
                                        Objective objective) const {
  double b = 0, total = 0;
  for (std::int64_t t = 0; t < problem_.steps; ++t) {
    b += inverse[size_of(t)];
    total += row_weight(t, objective) * b * b;
  }
  return total;
}

/// Adds the gradient of ln(row) / 2, b = prefix sums of e, C e = (1, 0, ...). Adjoints: w_t b_t /
/// row for b_t, their sums from the end for e, and mu, C^-T times these sums. The slope in c_m is
/// -sum_t mu_t e_{t-m}.
void BandedToeplitzError::row_gradient(std::span<const double> c, const std::vector<double>& e,
                                       Vector& gradient) {
  const std::int64_t n = problem_.steps, p = problem_.bands;
  std::vector<double> b(size_of(n));
  double sum = 0, total = 0;
  for (std::int64_t t = 0; t < n; ++t) {
    b[size_of(t)] = sum += e[size_of(t)];
    total += row_weight(t, problem_.objective) * sum * sum;
  }
  std::vector<double> backward(size_of(n));  // backward[s] is at step n - 1 - s
  double adjoint = 0;
  for (std::int64_t t = n - 1; t >= 0; --t) {
    adjoint += row_weight(t, problem_.objective) * b[size_of(t)] / total;
    backward[size_of(n - 1 - t)] = adjoint;
  }
  // mu is 1/c times the sums, in reversed time.
  if (is_direct_) {
    for (std::int64_t s = 0; s < n; ++s) {
      double known = 0;
      for (std::int64_t m = 1; m <= std::min(p - 1, s); ++m)
        known += c[size_of(m)] * backward[size_of(s - m)];
      backward[size_of(s)] = (backward[size_of(s)] - known) / c[0];
    }
    for (std::int64_t m = 0; m < p; ++m) {
      double slope = 0;
      for (std::int64_t t = m; t < n; ++t)
        slope += backward[size_of(n - 1 - t)] * e[size_of(t - m)];
      gradient(static_cast<Eigen::Index>(m)) -= slope;
    }
    return;
  }
  const std::vector<double> mu = products_.multiply(e, backward, size_of(n));
  // sum_t mu(n-1-t) e_{t-m} is coefficient n - 1 - m of the product.
  const std::vector<double> slopes = products_.multiply(mu, e, size_of(n));
  for (std::int64_t m = 0; m < p; ++m)
    gradient(static_cast<Eigen::Index>(m)) -= slopes[size_of(n - 1 - m)];
}

double BandedToeplitzError::operator()(std::span<const double> c, Vector& gradient) {
  gradient.setZero();
  const std::vector<double> e = inverse(c);
  const double rows = row_squared(e, problem_.objective);
  if (!(rows > 0 && rows < 1e200)) return std::numeric_limits<double>::infinity();
  double sensitivity;
  if (has_signs_) {
    sensitivity = phase_sum(c, gradient);
    gradient /= 2 * sensitivity;
  } else {
    sensitivity = sensitivity_squared(c, &gradient);
  }
  row_gradient(c, e, gradient);
  return (std::log(sensitivity) + std::log(rows)) / 2;
}

FamilyErrors BandedToeplitzError::errors(std::span<const double> c) {
  std::vector<double> column(c.begin(), c.end());
  column.resize(size_of(problem_.steps));
  const double sensitivity =
      std::sqrt(has_signs_ ? sum_of_absolute_products(column, repeats_.separation).sum
                           : sensitivity_squared(c, nullptr));
  const std::vector<double> e = inverse(c);
  return {.sensitivity = sensitivity,
          .max_error = sensitivity * std::sqrt(row_squared(e, Objective::max)),
          .mean_error = sensitivity * std::sqrt(row_squared(e, Objective::mean))};
}

}  // namespace dpftrl::detail
