// SPDX-License-Identifier: Apache-2.0
#include "statistics/intervals.hpp"

#include "random/normal_tail.hpp"

namespace dpftrl::detail {
namespace {

/// Iterations; each shrinks the range by a part of the remaining noise.
constexpr int kRepetitions = 8;

}  // namespace

Interval operator*(const Interval& a, const Interval& b) {
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

double SumNoise::stddev_of(std::initializer_list<Factor> factors) const {
  double sum = 0;
  for (const auto& [value, times] : factors) sum += times * value * value;
  return stddev * std::sqrt(sum);
}

double SumNoise::half_width(std::initializer_list<Factor> factors, double normal) const {
  double rounding = 0;
  for (const auto& [value, times] : factors) rounding += times * std::abs(value) * grid / 2;
  return (normal * stddev_of(factors) + rounding) * kWidthRoundUp;
}

Interval quotients(const Interval& numerator, double denominator, Interval range,
                   const std::function<double(const Interval&)>& bound_for) {
  if (!(denominator > 0)) return range;
  for (int i = 0; i < kRepetitions; ++i) {
    const Interval found = numerator.widened(bound_for(range));
    range = Interval{found.low / denominator, found.high / denominator}.within(range);
  }
  return range;
}

}  // namespace dpftrl::detail
