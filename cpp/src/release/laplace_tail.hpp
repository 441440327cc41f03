// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Tails of all releases of a pure mechanism together (internal header): docs/math/pure.md,
/// section 4.

#include <cstdint>

#include "dpftrl/release/record.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl::detail {

/// Least x at which the tails of one coordinate, summed over all steps, are at most `probability`.
std::int64_t simultaneous_laplace_width(const Strategy& tree, const LaplaceNoise& law,
                                        double probability);

}  // namespace dpftrl::detail
