// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr const char* kAddedNoiseFunction = "added_noise_bounds";
/// Covers the rounding of sums of up to 2^14 positive terms and of the functions of the C++
/// library.
constexpr double kAddedNoiseRoundDown = 1 - 0x1p-30;
constexpr double kAddedNoiseRoundUp = 1 + 0x1p-30;
/// A smaller epsilon is scaled up to about this value by taking several records together.
constexpr double kLeastEpsilon = 0.01;
/// Beyond this epsilon, the bound on the variance is below 10^-300 and counts as 0.
constexpr double kLargestEpsilon = 700;
constexpr double kLargestVariance = 1e300;
/// Powers below e^-50 change nothing.
constexpr double kLargestExponent = 50;

/// The sums over i = 1..m of q^i, i q^i and i^2 q^i, and the power q^m.
struct Sums {
  double ones = 0, firsts = 0, squares = 0, power = 1;
};

class Table {
 public:
  explicit Table(double q) : q_(q) {}

  const Sums& at(std::size_t m) {
    while (sums_.size() <= m) {
      Sums next = sums_.back();
      const double i = static_cast<double>(sums_.size());
      next.power *= q_;
      next.ones += next.power;
      next.firsts += i * next.power;
      next.squares += i * i * next.power;
      sums_.push_back(next);
    }
    return sums_[m];
  }

 private:
  double q_;
  std::vector<Sums> sums_{Sums{}};
};

/// Largest `value` for which w^2 + y(w) + y(-w) >= value on [-1/2, 1/2], rounded down, where y has
/// values in [0, top]: y(w) is the least over m of
///     g_m(w) = sum_{i=1..m} q^i ((w - i)^2 - value) + q^m top,   w <= 1/2;
/// 0 if y would be negative.
double proved_value(Table& table, double epsilon, double top, double guess) {
  // As m grows, g_m falls while (m + 1 - w)^2 is below value + (e^epsilon - 1) top, and rises
  // beyond.
  const double turn = top * std::expm1(epsilon);
  const double low = std::floor(std::sqrt(turn)) - 3, high = std::sqrt(turn + guess) + 3;
  const auto first = static_cast<std::size_t>(std::max(0.0, low));
  const auto last = static_cast<std::size_t>(high);
  double value = std::numeric_limits<double>::infinity();
  for (std::size_t m = first; m <= last; ++m)
    for (std::size_t k = first; k <= m; ++k) {
      const Sums a = table.at(m), b = table.at(k);
      const double curvature = 1 + a.ones + b.ones;
      const double slope = 2 * (b.firsts - a.firsts);
      const double w = std::clamp(-slope / (2 * curvature), -0.5, 0.5);
      const double rest = a.squares + b.squares + top * (a.power + b.power);
      value = std::min(value, w * w + (slope * w + rest) / curvature);
    }
  value *= kAddedNoiseRoundDown;
  for (std::size_t m = first; m <= last; ++m) {
    const Sums a = table.at(m);
    const double falling = a.firsts + value * a.ones;
    if (!(a.squares + a.ones / 4 + top * a.power >= falling * kAddedNoiseRoundUp)) return 0;
  }
  return value;
}

/// Lower bound on the variance of noise on integers, from `proved_value` for the best m.
double dual_bound(double epsilon, double delta) {
  const double q = std::exp(-epsilon);
  Table table(q);
  std::size_t m = 0;
  const auto goes_on = [&](const Sums& next) {
    return next.power > delta * (1 + 2 * next.ones) &&
           static_cast<double>(m) * epsilon < kLargestExponent;
  };
  while (goes_on(table.at(m + 1))) ++m;
  // The top at which m and m + 1 give the same bound.
  const Sums at = table.at(m), next = table.at(m + 1);
  const double i = static_cast<double>(m + 1), both = 1 + 2 * at.ones;
  const double top = q * (i * i * both - 2 * at.squares) / (both * (1 - q) + 2 * next.power);
  const double guess = 2 * (at.squares + top * at.power) / both;
  return proved_value(table, epsilon, top, guess) - 2 * top * delta * kAddedNoiseRoundUp;
}

}  // namespace

double least_added_variance(const ApproximateDp& target) {
  const double given = require_positive(kAddedNoiseFunction, "epsilon", target.epsilon);
  if (!(target.delta >= 0 && target.delta < 1))
    fail_argument(kAddedNoiseFunction, "delta", "at least 0 and below 1", to_text(target.delta));
  if (given > kLargestEpsilon) return 0;
  const double records = std::max(1.0, std::ceil(kLeastEpsilon / given));
  const double epsilon = records * given;
  const double delta =
      records == 1 ? target.delta
                   : target.delta * (std::expm1(epsilon) / std::expm1(given)) * kAddedNoiseRoundUp;
  double least = 0;
  if (delta < 1) least = dual_bound(epsilon, delta) * records * records;
  const double distance =
      (std::expm1(given) + 2 * target.delta) / (std::exp(given) + 1) * kAddedNoiseRoundUp;
  if (distance < 1) least = std::max(least, (1 / (distance * distance) - 1) / 12);
  return std::clamp(least * kAddedNoiseRoundDown, 0.0, kLargestVariance);
}

AddedNoiseBounds added_noise_bounds(std::int64_t steps, const ApproximateDp& target) {
  require_between(kAddedNoiseFunction, "steps", steps, 1, kMaxNumSteps);
  const double variance = least_added_variance(target);
  const Workload prefix = Workload::prefix_sums(steps);
  const auto least = [&](Objective objective) {
    return certified_lower_bound(prefix, Participation::single(), objective)->value *
           std::sqrt(variance) * kAddedNoiseRoundDown;
  };
  return {.max = least(Objective::max), .mean = least(Objective::mean), .variance = variance};
}

}  // namespace dpftrl
