// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The exponential mechanism from exact coin tosses (internal header; Coin as in
/// discrete_sampling.hpp).

#include <cmath>
#include <cstdint>

#include "base/wide_unsigned.hpp"
#include "random/discrete_sampling.hpp"

namespace dpftrl::detail {

/// epsilon / divisor as a fraction, digits / denominator. For epsilon in 2^-30 .. 2^20 and divisors
/// below 2^32, `digits` is below 2^53 and `denominator` below 2^114.
struct UnitLoss {
  using Number = WideUnsigned<8>;  ///< room for 2^54 (utility) times 2^32 (toss and series)
  Number digits;
  Number denominator;

  UnitLoss(double epsilon, std::uint64_t divisor) {
    int exponent = 0;
    const double mantissa = std::frexp(epsilon, &exponent);
    digits = Number(static_cast<std::uint64_t>(std::ldexp(mantissa, 53)));
    denominator = Number(divisor);
    denominator = denominator.shifted_left(static_cast<std::size_t>(53 - exponent));
  }
};

/// Decides whether to take a candidate whose utility is `distance` below the best: true with
/// probability exp(-distance digits / denominator).
template <class Coin>
bool is_taken(Coin& coin, std::uint64_t distance, const UnitLoss& loss) {
  return bernoulli_exp(coin, loss.digits * UnitLoss::Number(distance), loss.denominator);
}

}  // namespace dpftrl::detail
