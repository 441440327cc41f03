// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Empirical lower bounds on epsilon, and the number of trials they take.
///
/// An attack computes a statistic of a stream and says "the user took part" if it is above a
/// threshold. For an (epsilon, delta)-DP mechanism and every threshold,
///
///     P[says so | took part] <= e^epsilon P[says so | did not] + delta,
///
/// so that the rates bound epsilon from below. Chernoff's bound limits how far observed rates are
/// from true ones: of N trials with rate p, P[count / N >= q] <= exp(-N KL(q, p)) for q > p, and
/// symmetrically below.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace dpftrl::testing {

/// Thresholds in standard deviations of the honest statistic, fixed before any trial.
inline constexpr std::array kThresholds = {0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25,
                                           2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0, 4.25};
/// -ln of the probability that one bound on a rate is wrong. Two bounds at 16 thresholds are wrong
/// with probability below 32 e^-21 < 3 10^-8 per audit.
inline constexpr double kLogConfidence = 21;
/// -ln of 0.0005: two rates stay within their bounds with probability 0.999.
inline constexpr double kLogPower = 7.7;

inline double divergence(double q, double p) {
  const auto term = [](double a, double b) { return a > 0 ? a * std::log(a / b) : 0; };
  return term(q, p) + term(1 - q, 1 - p);
}

/// Largest true rate at which `observed` or less has probability e^-log_odds or more.
inline double rate_at_most(double observed, double num_trials, double log_odds) {
  double low = observed, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (num_trials * divergence(observed, middle) <= log_odds ? low : high) = middle;
  }
  return high;
}

inline double rate_at_least(double observed, double num_trials, double log_odds) {
  return 1 - rate_at_most(1 - observed, num_trials, log_odds);
}

struct Rates {
  double detected;  ///< rate among streams with the user
  double alarmed;   ///< rate among streams without the user
};

/// Lower bound on epsilon at confidence 1 - 2 e^-kLogConfidence; minus infinity if the rates imply
/// none.
inline double epsilon_at_least(const Rates& rates, double num_trials, double delta) {
  const double detected = rate_at_least(rates.detected, num_trials, kLogConfidence);
  const double alarmed = rate_at_most(rates.alarmed, num_trials, kLogConfidence);
  return detected > delta ? std::log((detected - delta) / alarmed) : -INFINITY;
}

/// Best lower bound over all thresholds, from equally many statistics with and without the user.
inline double audited_epsilon(std::span<const double> with, std::span<const double> without,
                              double delta) {
  const auto num_trials = static_cast<double>(with.size());
  double best = -INFINITY;
  for (const double threshold : kThresholds) {
    const auto rate = [&](std::span<const double> statistics) {
      return static_cast<double>(
                 std::ranges::count_if(statistics, [&](double x) { return x > threshold; })) /
             num_trials;
    };
    best = std::max(best, epsilon_at_least({.detected = rate(with), .alarmed = rate(without)},
                                           num_trials, delta));
  }
  return best;
}

inline double normal_tail(double x) {
  return std::erfc(x / std::sqrt(2.0)) / 2;
}

/// Size of an audit whose statistic is N(shift, spread^2) with the user and N(0, spread^2) without.
struct Size {
  double shift;
  double spread;
  double num_trials;
  double delta;
};
/// Epsilon that audited_epsilon reaches with probability 0.999 in an audit of this size, computed
/// from the worst rates that Chernoff's bound allows.
inline double epsilon_surely_found(const Size& size) {
  double best = -INFINITY;
  for (const double threshold : kThresholds) {
    const Rates true_rates = {.detected = normal_tail((threshold - size.shift) / size.spread),
                              .alarmed = normal_tail(threshold / size.spread)};
    // Worst observed rates, by inverting Chernoff's bound.
    const auto unlucky_above = [&](double rate) {
      double low = rate, high = 1;
      for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (size.num_trials * divergence(middle, rate) <= kLogPower ? low : high) = middle;
      }
      return high;
    };
    const Rates unlucky = {.detected = 1 - unlucky_above(1 - true_rates.detected),
                           .alarmed = unlucky_above(true_rates.alarmed)};
    best = std::max(best, epsilon_at_least(unlucky, size.num_trials, size.delta));
  }
  return best;
}

}  // namespace dpftrl::testing
