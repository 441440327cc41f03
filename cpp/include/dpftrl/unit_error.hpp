// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

}  // namespace dpftrl
