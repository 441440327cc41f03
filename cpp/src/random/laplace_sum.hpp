// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sums of discrete Laplace variables (internal header): their variance and their tail.
/// docs/math/pure.md, section 4.

#include <cstdint>
#include <vector>

namespace dpftrl::detail {

/// Variance of the law P[k] ~ exp(-|k| / scale): 2 q / (1 - q)^2, q = exp(-1 / scale).
/// @param scale  > 0. @exactness  relative error below 1e-13. @checked-by laplace_sum_test
double discrete_laplace_variance(double scale);

/// Law of X_1 + ... + X_m, X_i independent with P[k] ~ exp(-|k| / scale).
class LaplaceSum {
 public:
  /// @param num_terms  m >= 0.
  /// @param scale      >= 1.
  /// @cost             O(m^2).
  LaplaceSum(std::int64_t num_terms, std::int64_t scale);

  /// P[sum >= x], x >= 1, from sums of positive terms only, so that nothing cancels.
  /// @exactness  above the true value, by less than 2e-9 of it if that is at least 1e-300.
  /// @cost       O(m).
  /// @checked-by laplace_sum_test "the tail is that of the convolution"
  double tail(std::int64_t x) const;

  /// Smallest x >= 0 with P[|sum| > x] at most the probability, according to `tail`.
  /// @param probability  1e-290 .. 1.
  std::int64_t half_width(double probability) const;

 private:
  double scale_;
  /// ln P[N <= r], r = 0 .. m - 1: N is the number of successes in H + m - 1 trials, see the
  /// constructor.
  std::vector<double> log_left_;
};

/// Smallest integer x >= 0 with is_enough(x), provided is_enough holds for all larger integers.
template <class IsEnough>
std::int64_t least_that(const IsEnough& is_enough) {
  std::int64_t low = -1, high = 0;  // low is too little
  while (!is_enough(high)) {
    low = high;
    high = 2 * high + 1;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace dpftrl::detail
