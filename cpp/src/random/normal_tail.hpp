// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Tails of normal and sub-Gaussian noise (internal header).

#include <cmath>

namespace dpftrl::detail {

/// Covers the rounding of results derived from a normal_half_width.
inline constexpr double kWidthRoundUp = 1 + 0x1p-30;

/// Smallest number that the magnitude of a standard normal exceeds with at most this probability,
/// rounded up.
double normal_half_width(double probability);

/// Number that the magnitude of a sub-Gaussian variable with parameter 1 exceeds with at most this
/// probability: the Chernoff bound.
inline double sub_gaussian_half_width(double probability) {
  return std::sqrt(2 * std::log(2 / probability)) * kWidthRoundUp;
}

/// normal_half_width with a cache, for callers that need it for the same probability many times.
class NormalHalfWidth {
 public:
  double operator()(double probability) {
    if (probability != probability_) half_width_ = normal_half_width(probability);
    probability_ = probability;
    return half_width_;
  }

 private:
  double probability_ = 1;
  double half_width_ = 0;
};

}  // namespace dpftrl::detail
