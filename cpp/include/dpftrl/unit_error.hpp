// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dpftrl/participation.hpp"
#include "dpftrl/sensitivity.hpp"
#include "dpftrl/strategy.hpp"

namespace dpftrl {

/// Error of a factorization at noise multiplier 1 and clip norm 1, zero-out neighbours: multiply by
/// noise_multiplier * clip_norm * neighbour distance for input units.
struct UnitError {
  Sensitivity sensitivity;
  double max_error;   ///< sensitivity * max_t ||B_t||
  double mean_error;  ///< sensitivity * ||B||_F / sqrt(num_steps), the root mean squared error
};

UnitError unit_error(const Strategy& strategy, const Participation& participation);

/// sensitivity * ||B_t|| for every step t.
/// @throws Error{unsupported} more than 2^26 steps.
std::vector<double> unit_error_per_step(const Strategy& strategy,
                                        const Participation& participation);

/// The best lower bound that is cheaply had on the error of every factorization of the strategy's
/// workload under that participation: unit noise, largest or root mean square error.
///
///     the strategy's own          if it was made by a solver (certified_lower_bound)
///     prefix sums, decay, rates   the certified optimum to 10^-5, up to 2^17 steps
///     any workload, fixed epochs  the dense certified optimum, up to 128 steps
///     else                        error_lower_bound
///
/// A bound for one participation, or for the mean error, holds for more and for the largest; it is
/// taken where there is none of its own.
///
/// @guarantee  at most the error of any factorization, rounding included.
/// @cost       some ten iterations of a solver: 0.3 s at 10^5 steps.
/// @checked-by unit_error_test "no strategy is below its certified bound and the optimum is close"
std::optional<double> certified_lower_bound(const Strategy& strategy,
                                            const Participation& participation,
                                            Objective objective);

}  // namespace dpftrl
