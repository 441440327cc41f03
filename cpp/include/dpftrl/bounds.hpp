// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Closed-form bounds for prefix sums over n steps, unit noise, single participation.

#include <cstdint>

namespace dpftrl {

/// Schatten-1 lower bound on the mean and max error of EVERY factorization,
///     (1/n) sum_{i=1..n} 1 / (2 sin((2i-1) pi / (4n+2))).
/// @guarantee  at most the error of any factorization (to rounding, 1e-13 relative).
/// @cost       O(n) up to 2^22 steps; beyond that unsupported.
/// @source     Henzinger, Upadhyay, Upadhyay, "Almost Tight Error Bounds on Differentially Private
///             Continual Counting", SODA 2023, Lemma 1 and Theorem 19.
/// @checked-by strategy_test "no strategy is below the lower bound"
double schatten_lower_bound(std::int64_t num_steps);

/// Upper bound on the max error of the square-root factorization (its squared sensitivity):
/// 1 + ln((4n-1)/3) / pi. Replaces the published 1 + ln(4n/5)/pi, which is below the true value at
/// every n.
/// @checked-by strategy_test "square-root stays below its corrected bounds"
double square_root_max_error_bound(std::int64_t num_steps);

/// Upper bound on the mean error of the square-root factorization:
/// sqrt((1 + ln((4n-1)/3)/pi) (1 + ln((2n+1)/3)/pi)).
double square_root_mean_error_bound(std::int64_t num_steps);

}  // namespace dpftrl
