// SPDX-License-Identifier: Apache-2.0
#include "random/laplace_sum.hpp"

#include <cmath>
#include <cstddef>

namespace dpftrl::detail {
namespace {

/// Covers the rounding of logarithms of magnitude up to 10^5 and of their exponentials.
constexpr double kRoundUp = 1 + 0x1p-30;

double log_binomial(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

}  // namespace

double discrete_laplace_variance(double scale) {
  const double stop = -std::expm1(-1 / scale);
  return 2 * std::exp(-1 / scale) / (stop * stop);
}

// A sum is G - H, where both count the failures before the m-th success of trials that succeed with
// probability p = 1 - e^(-1 / scale). G >= H + x means that at most m - 1 of H + x + m - 1 trials
// succeed: i of x trials, and at most m - 1 - i of the other H + m - 1.
LaplaceSum::LaplaceSum(std::int64_t num_terms, std::int64_t scale)
    : scale_(static_cast<double>(scale)) {
  const double log_stop = std::log(-std::expm1(-1 / scale_));
  const double log_both = std::log1p(std::exp(-1 / scale_));  // ln(1 + q)
  const auto m = static_cast<double>(num_terms), a = m - 1;
  double left = 0;
  for (double r = 0; r < m; ++r) {
    for (double i = 0; i <= r; ++i)
      left += std::exp(log_binomial(a, r - i) + log_binomial(a + i, i) + (r - i) * log_stop -
                       (a - r + 2 * i) / scale_ - (m + i) * log_both);
    log_left_.push_back(std::log(left));
  }
}

double LaplaceSum::tail(std::int64_t x) const {
  const auto num_trials = static_cast<double>(x);
  // ln(p / q)
  const double log_odds = std::log(std::expm1(1 / scale_));
  double log_term = -num_trials / scale_;
  double sum = 0;
  for (std::size_t i = 0; i < log_left_.size() && static_cast<double>(i) <= num_trials; ++i) {
    const auto successes = static_cast<double>(i);
    if (i > 0) log_term += std::log((num_trials - successes + 1) / successes) + log_odds;
    sum += std::exp(log_term + log_left_[log_left_.size() - 1 - i]);
  }
  return sum * kRoundUp;
}

std::int64_t LaplaceSum::half_width(double probability) const {
  return least_that([&](std::int64_t x) { return 2 * tail(x + 1) <= probability; });
}

}  // namespace dpftrl::detail
