// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/analysis/unit_error.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "analysis/diagonal_blocks.hpp"
#include "base/double_double.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "math/linear_algebra.hpp"
#include "math/nuclear_norm.hpp"

namespace dpftrl {
namespace {

using detail::multiply;
using detail::nuclear_norm_bound;

constexpr std::int64_t kMaxSummedSteps = std::int64_t{1} << 22;
/// Longest horizon for which the published bounds were compared with the true values.
constexpr std::int64_t kMaxCheckedSteps = kMaxSummedSteps;
constexpr std::int64_t kMaxAutomaticCertificateSteps = 256;
/// Longer horizons are certified by their diagonal blocks; if the blocks differ, only up to
/// kMaxBlocksSteps.
constexpr std::int64_t kBlockSteps = 128;
constexpr std::int64_t kMaxBlocksSteps = 4096;

double steps_as_double(const char* function, std::int64_t steps) {
  return static_cast<double>(require_between(function, "steps", steps, 1, kMaxNumSteps));
}

/// Approximates U V^T for W = U S V^T, an orthogonal matrix whose inner product with W is the
/// nuclear norm. The certificate is valid for any matrix, and as tight as the approximation is
/// accurate.
///
/// Uses Newton-Schulz steps, singular values s -> r s (3 - r^2 s^2) / 2, with the r that is best
/// for values from `smallest` to 1 (Chen, Chow 2014). Small values grow by a factor of 2.6 per step
/// at first.
Matrix polar_factor(const Matrix& w) {
  constexpr int kMaxIterations = 40;
  const double rows = w.cwiseAbs().rowwise().sum().maxCoeff();
  const double columns = w.cwiseAbs().colwise().sum().maxCoeff();
  Matrix q = w / std::sqrt(rows * columns);
  double smallest = 0x1p-13;
  for (int i = 0; i < kMaxIterations; ++i) {
    Matrix step = multiply(q.transpose(), q);
    const bool is_last =
        (step - Matrix::Identity(q.rows(), q.rows())).cwiseAbs().maxCoeff() < 0x1p-26;
    const double r = is_last ? 1 : std::sqrt(3 / (1 + smallest + smallest * smallest));
    step *= -0.5 * r * r * r;
    step.diagonal().array() += 1.5 * r;
    q = multiply(q, step);
    smallest = std::min(1.0, 0.5 * r * smallest * (3 - r * r * smallest * smallest));
    if (is_last) break;
  }
  return q;
}

double sum_of(const Vector& values) {
  DoubleDouble sum;
  for (const double value : values) sum = add(sum, value);
  return sum.high;
}

Vector weights(const char* function, const char* parameter, std::span<const double> values,
               std::int64_t steps) {
  require_length(function, parameter, std::ssize(values), steps);
  require_all_finite(function, parameter, values);
  const double largest = std::ranges::max(values);
  if (!(largest > 0))
    fail_argument(function, parameter, "non-negative and not all zero", to_text(largest));
  // Any weights give a bound, so the given ones may be scaled and rounded.
  Vector scaled(static_cast<Eigen::Index>(steps));
  for (Eigen::Index i = 0; i < scaled.size(); ++i)
    scaled(i) = values[static_cast<std::size_t>(i)] / largest;
  return scaled;
}

/// ||D_u^(1/2) A D_v^(1/2)||_* / sqrt(sum u sum v), rounded down.
double certificate(const Workload& workload, const Vector& u, const Vector& v) {
  Matrix w = u.cwiseSqrt().asDiagonal() * workload.matrix() * v.cwiseSqrt().asDiagonal();
  const double scale = w.cwiseAbs().maxCoeff();
  if (!(scale > 0)) return 0;
  w /= scale;
  // An entry of A, scaled by two roots and `scale`, has fewer than 8 rounding errors.
  const Matrix magnitude = w.cwiseAbs();
  return scale *
         nuclear_norm_bound({.values = w, .magnitude = magnitude, .relative_error = 0x1p-50},
                            polar_factor(w)) /
         std::sqrt(sum_of(u) * sum_of(v)) * (1 - 0x1p-48);
}

void require_certificate_size(const char* function, const Workload& workload) {
  if (workload.steps() > kMaxCertificateSteps)
    fail(ErrorCode::unsupported, function, "steps",
         "must be at most " + to_text(kMaxCertificateSteps), to_text(workload.steps()));
}

Vector column_weights_of(const char* function, const Workload& workload,
                         std::span<const double> values) {
  const Vector v = weights(function, "column_weights", values, workload.steps());
  for (std::size_t i = 0; i < values.size(); ++i)
    require_positive(function, "column_weights[" + std::to_string(i) + "]", values[i]);
  return v;
}

/// Covers the rounding of the angles, their sines and the sums.
constexpr double kBoundRoundDown = 1 - 0x1p-48;

/// Lower bound on sum_i 1 / (2n sin x_i) from 1 / sin x >= 1/x + x/6 + 7 x^3 / 360 and
///
///     sum 1 / (2i-1) = H_2n - H_n / 2 >= ln 2 + (ln n + gamma) / 2 - 1 / (48 n^2),
///     sum (2i-1)     = n^2,
///     sum (2i-1)^3   = n^2 (2 n^2 - 1).
double truncated_cosecants(double n) {
  const double unit = std::numbers::pi / (4 * n + 2);  // x_i = (2i-1) unit
  const double harmonic =
      std::numbers::ln2 + (std::log(n) + std::numbers::egamma) / 2 - 1 / (48 * n * n);
  const double linear = unit * n * n / 6;
  const double cubic = 7.0 / 360 * unit * unit * unit * n * n * (2 * n * n - 1);
  return (harmonic / unit + linear + cubic) / (2 * n) * kBoundRoundDown;
}

/// Sum of the nuclear norms of diagonal blocks A_b, at most sum ||B_b||_F ||C_b||_F <= ||B||_F
/// ||C||_F. Blocks are single steps where certificates would be too expensive.
double nuclear_norm_of_blocks(const Workload& workload) {
  const std::int64_t n = workload.steps();
  if (!workload.is_toeplitz() && n > kMaxBlocksSteps) {
    double sum = 0;
    for (const double rate : workload.rates()) sum += std::abs(rate);
    return sum * (1 - 0x1p-30);
  }
  const std::int64_t size = n <= kMaxAutomaticCertificateSteps ? n : kBlockSteps;
  double sum = 0;
  detail::visit_diagonal_blocks(workload, size, [&](const Workload& block, std::int64_t times) {
    const std::int64_t steps = block.steps();
    const std::vector<double> ones(static_cast<std::size_t>(steps), 1.0);
    sum += mean_error_certificate(block, ones) * static_cast<double>(steps * times);
  });
  return sum;
}

double log_of_four_fifths(double n) {
  return 1 + std::log(0.8 * n) * std::numbers::inv_pi;
}

/// @param holds_from  0 if the bound holds nowhere in the checked range.
PublishedBound published(double value, std::int64_t steps, std::int64_t holds_from) {
  const bool is_within = steps >= holds_from && steps <= kMaxCheckedSteps;
  return {.value = value,
          .holds = holds_from > 0 && is_within,
          .holds_from = holds_from,
          .checked_to = kMaxCheckedSteps};
}

}  // namespace

double schatten_lower_bound(std::int64_t steps) {
  const double n = steps_as_double("schatten_lower_bound", steps);
  if (steps > kMaxSummedSteps) return truncated_cosecants(n);
  DoubleDouble sum;
  for (std::int64_t i = steps; i >= 1; --i) {
    const double angle = (2 * static_cast<double>(i) - 1) * std::numbers::pi / (4 * n + 2);
    sum = add(sum, 1 / (2 * std::sin(angle)));
  }
  return sum.high / n * kBoundRoundDown;
}

double square_root_max_error_bound(std::int64_t steps) {
  const double n = steps_as_double("square_root_max_error_bound", steps);
  return 1 + std::log((4 * n - 1) / 3) * std::numbers::inv_pi;
}

double square_root_mean_error_bound(std::int64_t steps) {
  const double n = steps_as_double("square_root_mean_error_bound", steps);
  return std::sqrt(square_root_max_error_bound(steps) *
                   (1 + std::log((2 * n + 1) / 3) * std::numbers::inv_pi));
}

SquareRootErrors square_root_errors(std::int64_t steps) {
  const double n = steps_as_double("square_root_errors", steps);
  double sum = 0;          // S_n
  double scaled_last = 0;  // n f_n^2
  if (steps <= kMaxSummedSteps) {
    DoubleDouble exact;
    double squared = 1;
    for (std::int64_t j = 0; j < steps; ++j) {
      exact = add(exact, squared);
      const double ratio = 1 - 1 / (2 * static_cast<double>(j) + 2);
      squared *= ratio * ratio;
    }
    sum = exact.high;
    scaled_last = n * squared;
  } else {
    const double x = n - 0.25;
    sum = (std::log(x) + std::numbers::egamma + 4 * std::numbers::ln2 + 11 / (192 * x * x)) *
          std::numbers::inv_pi;
    scaled_last = n / (n + 0.25) * std::numbers::inv_pi;
  }
  // By (2j + 1)^2 f_j^2 = (2j + 2)^2 f_(j+1)^2, sum_{j<n} j f_j^2 = n^2 f_n^2 - S_n / 4.
  return {.max = sum, .mean_squared = sum * ((1 + 1 / (4 * n)) * sum - scaled_last)};
}

double mean_error_certificate(const Workload& workload, std::span<const double> column_weights) {
  constexpr const char* kFunction = "mean_error_certificate";
  require_certificate_size(kFunction, workload);
  const Vector v = column_weights_of(kFunction, workload, column_weights);
  return certificate(workload, Vector::Ones(v.size()), v);
}

double max_error_certificate(const Workload& workload, std::span<const double> row_weights,
                             std::span<const double> column_weights) {
  constexpr const char* kFunction = "max_error_certificate";
  require_certificate_size(kFunction, workload);
  const Vector v = column_weights_of(kFunction, workload, column_weights);
  const Vector u = weights(kFunction, "row_weights", row_weights, workload.steps());
  for (std::size_t i = 0; i < row_weights.size(); ++i)
    require_non_negative(kFunction, "row_weights[" + std::to_string(i) + "]", row_weights[i]);
  return certificate(workload, u, v);
}

std::int64_t num_patterns_to_cover(std::int64_t steps, const Participation& participation) {
  participation.require_horizon(steps);
  const std::int64_t k = participation.times(), b = participation.apart();
  if (participation.kind() == Participation::Kind::single) return steps;
  const std::int64_t rounds = steps / b, longer = steps % b;
  const auto patterns = [k](std::int64_t size) { return size / k + (size % k == 0 ? 0 : 1); };
  return longer * patterns(rounds + 1) + (b - longer) * patterns(rounds);
}

double error_lower_bound(const Workload& workload, const Participation& participation) {
  const std::int64_t n = workload.steps();
  const double repeats = std::sqrt(static_cast<double>(n) /
                                   static_cast<double>(num_patterns_to_cover(n, participation)));
  const double once = workload.is_prefix()
                          ? schatten_lower_bound(n)
                          : nuclear_norm_of_blocks(workload) / static_cast<double>(n);
  return once * repeats * kBoundRoundDown;
}

PublishedBound published_max_error_bound(std::int64_t steps) {
  return published(log_of_four_fifths(steps_as_double("published_max_error_bound", steps)), steps,
                   0);
}

PublishedBound published_mean_error_bound(std::int64_t steps) {
  return published(log_of_four_fifths(steps_as_double("published_mean_error_bound", steps)), steps,
                   7);
}

PublishedBound published_lower_bound(std::int64_t steps) {
  const double n = steps_as_double("published_lower_bound", steps);
  const double value =
      (2 + std::log((2 * n + 1) / 5) + std::log(2 * n + 1) / (2 * n)) * std::numbers::inv_pi;
  return published(value, steps, 1);
}

}  // namespace dpftrl
