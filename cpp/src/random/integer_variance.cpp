// SPDX-License-Identifier: Apache-2.0
#include "random/integer_variance.hpp"

#include <cmath>
#include <numbers>

namespace dpftrl::detail {
namespace {

/// In standard deviations; the mass beyond is below 2^-1074.
constexpr double kBeyond = 39;

}  // namespace

double rounded_gaussian_variance(double stddev) {
  using std::numbers::pi;
  const double square = stddev * stddev;
  if (stddev >= 1) {  // the next term of the series is below 2^-110
    const double first = std::exp(-2 * pi * pi * square);
    return square + 1.0 / 12 - first * (4 * square + 1 / (pi * pi));
  }
  // k^2 = 1 + 3 + ... + (2 k - 1): the sum over the tails has positive terms only.
  double sum = 0;
  for (double k = 1; k - 0.5 <= kBeyond * stddev; ++k)
    sum += (2 * k - 1) * std::erfc((k - 0.5) / (stddev * std::numbers::sqrt2));
  return sum;
}

double rounded_difference_variance(double stddev) {
  using std::numbers::pi;
  constexpr double kSmall = 1.0 / 64;  // |stddev N| is then below 1, up to a mass below 2^-2900
  if (stddev < kSmall) return stddev * std::sqrt(2 / pi);
  double sum = stddev * stddev + 1.0 / 6;
  for (double k = 1;; ++k) {
    const double term = std::exp(-2 * pi * pi * k * k * stddev * stddev) / (pi * pi * k * k);
    sum -= term;
    if (term < 0x1p-60 * sum) return sum;
  }
}

double discrete_gaussian_variance(double parameter) {
  if (parameter >= 4) return parameter;  // the difference is below 2^-100 of it
  double total = 0.5;
  double sum = 0;
  for (double k = 1; k * k <= kBeyond * kBeyond * parameter; ++k) {
    const double mass = std::exp(-k * k / (2 * parameter));
    total += mass;
    sum += k * k * mass;
  }
  return sum / total;
}

}  // namespace dpftrl::detail
