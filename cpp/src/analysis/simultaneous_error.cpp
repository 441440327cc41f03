// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "math/linear_algebra.hpp"

// Every probability of a large error is rounded up. A level is returned only if the computed total
// is at most beta, or if this follows from a tail below the smallest double.

namespace dpftrl {
namespace {

constexpr double kInvSqrt2 = std::numbers::sqrt2 / 2;
/// Covers the error of row norms, which are correct to 10 digits.
constexpr double kSimultaneousRoundUp = 1 + 0x1p-34;
/// Covers the error of tails: erfc is accurate to 2^-41 for arguments up to 40.
constexpr double kTailUp = 1 + 0x1p-38;
constexpr std::int64_t kMaxListedSteps = std::int64_t{1} << 20;
constexpr std::int64_t kMaxMatrixSteps = 1024;
/// Up to this many steps, only rows of equal norm are merged.
constexpr std::int64_t kMaxPlainSteps = 4096;
constexpr double kMerged = 1 - 0x1p-14;
/// Steps t, ..., t + t / 512 are one run.
constexpr std::int64_t kRunFraction = 512;
/// 2^71 tails beyond 40 standard deviations sum to less than the smallest double.
constexpr double kFar = 40;

/// Upper bound on P(|N| > h) = Gamma(a, y) / Gamma(a), a = d / 2, y = h^2 / 2, for a vector N of d
/// standard normals:
///
///     y^(a-1) e^-y / Gamma(a) (1 + (a-1) / y + (a-1)(a-2) / y^2 + ...)  [+ erfc(sqrt y), odd d]
///
/// down to the last factor that is not negative; 1 if terms would grow first.
double norm_tail(double h, std::int64_t dimension) {
  if (dimension == 1) return std::erfc(h * kInvSqrt2) * kTailUp;
  const double a = static_cast<double>(dimension) / 2;
  const double y = h * h / 2;
  if (y <= a - 1) return 1;
  double sum = 0, term = 1;
  for (double factor = a - 1; factor > -0.5 && term > sum * 0x1p-80; --factor) {
    sum += term;
    term *= factor / y;
  }
  const double grow = (a - 1) * std::log(y), gamma = std::lgamma(a);
  const double slack = 0x1p-48 * (std::abs(grow) + y + std::abs(gamma));
  const double head = std::exp(grow - y - gamma + slack) * sum;
  const double rest = dimension % 2 == 0 ? 0 : std::erfc(std::sqrt(y));
  return std::min(1.0, (head + rest) * kTailUp);
}

/// Rows of about the same norm.
struct Rows {
  double stddev;  ///< at least the std of each step
  double count;
};

std::vector<Rows> by_norm(std::vector<double> stddevs) {
  std::ranges::sort(stddevs, std::greater<>());
  const double merged = std::ssize(stddevs) > kMaxPlainSteps ? kMerged : 1;
  std::vector<Rows> rows;
  for (const double stddev : stddevs)
    if (!rows.empty() && stddev >= rows.back().stddev * merged)
      ++rows.back().count;
    else
      rows.push_back({.stddev = stddev, .count = 1});
  return rows;
}

/// Level in (0, high] at which `holds` is true, close to the least such level. `holds` must be true
/// at `high`.
template <class Holds>
double least_level(double high, double precision, const Holds& holds) {
  double low = 0;
  while (high - low > high * precision) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

/// Upper bound on the sum of the tails `of_tail` over all rows.
double sum_of_tails(std::span<const Rows> rows, double level, std::int64_t dimension,
                    double (*of_tail)(double)) {
  double sum = 0;
  for (const Rows& group : rows) {
    if (!(group.stddev > 0)) break;  // sorted
    sum += group.count * of_tail(norm_tail(level / group.stddev, dimension));
  }
  return sum * kTailUp;
}

/// -ln P(|N| <= h) for the tail P(|N| > h).
double cost_of(double tail) {
  return tail < 1 ? -std::log1p(-tail) : std::numeric_limits<double>::infinity();
}

/// A run of steps, with bounds for all of them.
struct Run {
  double count;
  double longest;          ///< norm of B_t
  double shortest;         ///< norm of B_t
  double shortest_before;  ///< norm of B_(t-1)
  double correlation;      ///< least |correlation| of B_t and B_(t-1)
};

/// Lower bound on P(|X| > h, |Y| > k) of standard normals of correlation r: twice
///
///     int_h^inf phi(v) Phi((r v - k) / s) dv,  s = sqrt(1 - r^2).
///
/// Phi is convex in v up to k / r and concave beyond, so that on a cell its mean is at least its
/// value at the mean of v, or the chord's value there.
double both_beyond(double h, double k, double correlation) {
  constexpr double kLeastCorrelation = 0x1p-10, kLargestCorrelation = 1 - 0x1p-26;
  constexpr int kCells = 12;
  constexpr double kGrowth = 1.7;
  if (!(correlation > kLeastCorrelation)) return 0;
  const double r = std::min(correlation, kLargestCorrelation);
  const double s = std::sqrt((1 - r) * (1 + r));
  const auto phi = [](double v) {
    return std::exp(-0.5 * v * v) / std::sqrt(2 * std::numbers::pi);
  };
  const auto beyond = [](double v) { return 0.5 * std::erfc(v * kInvSqrt2); };
  const auto factor = [&](double v) { return beyond((k - r * v) / s); };
  double sum = 0;
  const auto add_cell = [&](double a, double b, bool convex) {
    const double mass = beyond(a) - beyond(b);
    if (!(mass > 0)) return;
    const double mean = std::clamp((phi(a) - phi(b)) / mass, a, b);
    const double low = factor(a);
    sum += mass * (convex ? factor(mean) : low + (factor(b) - low) * ((mean - a) / (b - a)));
  };
  const double centre = std::max(h, k / r);
  const double first = std::min(s, 1 / (1 + centre)) / 4;
  double width = first;
  double from = centre;
  for (int cell = 0; cell < kCells; ++cell, width *= kGrowth) {
    add_cell(from, from + width, false);
    from += width;
  }
  sum += beyond(from) * factor(from);
  width = first;
  double to = centre;
  for (int cell = 1; to > h; ++cell, width *= kGrowth) {
    const double start = cell < kCells ? std::max(h, to - width) : h;
    add_cell(start, to, true);
    to = start;
  }
  return 2 * sum * (1 - 0x1p-20);
}

/// First column of B if B is a Toeplitz matrix and the whole column is kept; else empty.
std::span<const double> decoder_column(const Strategy& strategy) {
  const std::span<const double> column = strategy.toeplitz_decoder();
  return std::ssize(column) == strategy.steps() ? column : std::span<const double>();
}

/// <B_t, B_(t-1)> for t = 1, 2, ...; empty if that takes too long.
std::vector<double> neighbour_products(const Strategy& strategy, const Matrix& decoder) {
  std::vector<double> products;
  for (Eigen::Index t = 1; t < decoder.rows(); ++t)
    products.push_back(decoder.row(t).dot(decoder.row(t - 1)));
  const std::span<const double> column = decoder_column(strategy);
  if (decoder.size() > 0 || std::ssize(column) > kMaxListedSteps) return products;
  double product = 0;
  for (std::size_t t = 1; t < column.size(); ++t)
    products.push_back(product += column[t] * column[t - 1]);
  return products;
}

std::vector<Run> runs_of(std::span<const double> stddevs, std::span<const double> products) {
  std::vector<Run> runs{{1, stddevs[0], stddevs[0], stddevs[0], 0}};
  std::size_t next = 1;
  for (std::size_t t = 1; t < stddevs.size(); ++t) {
    const double now = stddevs[t], before = stddevs[t - 1];
    const double slack = 0x1p-36 * (now * now + before * before);
    const double scale = now * before;
    const double r = scale > 0 ? std::max(0.0, std::abs(products[t - 1]) - slack) / scale : 0;
    if (t == next) {
      next += 1 + t / kRunFraction;
      runs.push_back({1, now, now, before, r});
      continue;
    }
    Run& run = runs.back();
    ++run.count;
    run.longest = std::max(run.longest, now);
    run.shortest = std::min(run.shortest, now);
    run.shortest_before = std::min(run.shortest_before, before);
    run.correlation = std::min(run.correlation, r);
  }
  return runs;
}

/// Upper bound on P(max_t |N_t| > level) of one coordinate.
double tail_of_runs(std::span<const Run> runs, double level) {
  double sum = 0;
  for (const Run& run : runs) {
    if (!(run.longest > 0)) continue;
    const double tail = norm_tail(level / run.longest, 1);
    const double both = run.correlation > 0 ? both_beyond(level / run.shortest_before,
                                                          level / run.shortest, run.correlation)
                                            : 0;
    sum += run.count * std::max(0.0, tail - both);
  }
  return sum * kTailUp;
}

/// Sums and bounds of the eigenvalues of B B^T.
struct Spectrum {
  double sum;
  double sum_of_squares;  ///< upper bound
  double largest;         ///< upper bound
};

Spectrum spectrum_of(const Strategy& strategy, const Matrix& decoder) {
  const double sum = strategy.row_norms().mean_squared * static_cast<double>(strategy.steps()) *
                     kSimultaneousRoundUp;
  double largest = sum;
  if (decoder.size() > 0) {
    const Matrix gram = detail::multiply(decoder, decoder.transpose()).cwiseAbs();
    // No eigenvalue is larger than max_i (|G| x)_i / x_i, for any x > 0 (Collatz, Wielandt).
    Vector x = Vector::Ones(gram.rows());
    for (int turn = 0; turn < 30; ++turn) {
      const Vector next = gram * x;
      largest = std::min(largest, next.cwiseQuotient(x).maxCoeff() * kSimultaneousRoundUp);
      x = (next / next.maxCoeff()).array() + 0x1p-30;
    }
    return {sum, std::min(largest * sum, gram.squaredNorm() * kSimultaneousRoundUp), largest};
  }
  // The spectral norm of a lower-triangular Toeplitz matrix is at most the l1-norm of its first
  // column.
  double total = 0;
  for (const double entry : decoder_column(strategy)) total += std::abs(entry);
  if (total > 0) largest = std::min(largest, total * total * kSimultaneousRoundUp);
  return {sum, largest * sum, largest};
}

/// Level q with P(sum_i a_i X_i >= q) <= beta, X_i chi-squared with d = `dimension` degrees of
/// freedom. For 0 < 2 l a_i < 1, the logarithm of the expectation of exp(l a_i (X_i - d)) is -(d /
/// 2) (ln(1 - u) + u), u = 2 l a_i. (-ln(1 - u) - u) / u^2 rises, so the logarithm for the sum is
/// at most the logarithm for nu = d sum a^2 / max a^2 degrees with the largest a. For the best l, z
/// = u / (1 - u) solves z - ln(1 + z) = 2 ln(1 / beta) / nu.
double chi_squared_level(const Spectrum& spectrum, const SimultaneousOptions& options) {
  const double d = static_cast<double>(options.dimension);
  if (!(spectrum.largest > 0)) return 0;
  const double shape = spectrum.sum_of_squares / spectrum.largest / spectrum.largest;
  const double degrees = d * shape;
  const double x = -std::log(options.beta) / degrees;
  // Newton's method from above; it stays above because z - ln(1 + z) is convex.
  double z = 2 * (std::sqrt(x) + x);
  for (int turn = 0; turn < 50; ++turn)
    z -= std::max(0.0, (z - std::log1p(z) - 2 * x) * (1 + z) / z);
  return d * spectrum.sum + spectrum.largest * degrees * z * (1 + 0x1p-20);
}

/// Levels for the coordinates of the errors and for their norms, at sensitivity 1.
SimultaneousError levels_of(std::span<const double> stddevs, std::span<const Rows> rows,
                            std::span<const double> products, const SimultaneousOptions& options) {
  const double d = static_cast<double>(options.dimension);
  const double longest = rows.front().stddev;
  const double cost = -std::log1p(-options.beta) / kTailUp;
  const auto identity = [](double tail) { return tail; };
  SimultaneousError error{};
  error.union_bound = least_level(kFar * longest, 0x1p-44, [&](double level) {
    return sum_of_tails(rows, level, 1, identity) <= options.beta / d;
  });
  error.value = least_level(kFar * longest, 0x1p-44, [&](double level) {
    return sum_of_tails(rows, level, 1, cost_of) <= cost / d;
  });
  error.norm = options.dimension == 1
                   ? error.value
                   : least_level((std::sqrt(d) + kFar) * longest, 0x1p-44, [&](double level) {
                       return sum_of_tails(rows, level, options.dimension, cost_of) <= cost;
                     });
  if (!products.empty()) {
    const std::vector<Run> runs = runs_of(stddevs, products);
    const double beta_each = -std::expm1(-cost / d) / kTailUp;
    const double level = least_level(
        error.value, 0x1p-20, [&](double at) { return tail_of_runs(runs, at) <= beta_each; });
    error.uses_correlation = level < error.value;
    error.value = level;
    if (options.dimension == 1) error.norm = level;
  }
  return error;
}

}  // namespace

SimultaneousError simultaneous_error(const Strategy& strategy, const Participation& participation,
                                     const SimultaneousOptions& options) {
  require_inside("simultaneous_error", "beta", options.beta, 0, 1);
  require_between("simultaneous_error", "dimension", options.dimension, 1, kMaxDimension);
  const std::int64_t n = strategy.steps();
  std::vector<double> stddevs;
  if (n <= kMaxListedSteps)
    for (std::int64_t t = 0; t < n; ++t) stddevs.push_back(std::sqrt(strategy.row_norm_squared(t)));
  const std::vector<Rows> rows =
      n <= kMaxListedSteps ? by_norm(stddevs)
                           : std::vector<Rows>{{std::sqrt(strategy.row_norms().max_squared),
                                                static_cast<double>(n)}};
  Matrix decoder;
  if (n <= kMaxMatrixSteps) decoder = strategy.decoder();
  SimultaneousError error =
      levels_of(stddevs, rows, neighbour_products(strategy, decoder), options);
  const Spectrum spectrum = spectrum_of(strategy, decoder);
  error.frobenius = std::sqrt(chi_squared_level(spectrum, options));
  error.frobenius_rms = std::sqrt(static_cast<double>(options.dimension) * spectrum.sum);
  const double scale = sensitivity(strategy, participation).value * kSimultaneousRoundUp;
  for (double* each :
       {&error.value, &error.union_bound, &error.norm, &error.frobenius, &error.frobenius_rms})
    *each *= scale;
  return error;
}

}  // namespace dpftrl
