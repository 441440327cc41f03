// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Tails of all releases of a pure mechanism together (internal header): docs/math/pure.md,
/// section 4.

#include <cstdint>

#include "dpftrl/release/record.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl::detail {

/// Smallest integer that the sum of the tails of one coordinate over all steps keeps to.
std::int64_t simultaneous_laplace_width(const Strategy& tree, const LaplaceNoise& law,
                                        double probability);

}  // namespace dpftrl::detail
