// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "dpftrl/participation.hpp"
#include "dpftrl/strategy.hpp"

namespace dpftrl {

enum class Exactness { exact, upper_bound };
std::string_view to_string(Exactness exactness);

struct Sensitivity {
  double value;  ///< in clip norms, for neighbours at distance 1
  Exactness exactness;
};

/// l2-sensitivity of the encoder C: how far C G moves when one user's rows of G change by norm 1.
///
/// @exactness      exact: under single participation it is the largest column norm of C.
/// @guarantee      the true value to 2^-39 relative (docs/math/grid.md); Mechanism rounds the noise
///                 up by more.
/// @checked-by     strategy_test "brute force over all single participations".
Sensitivity sensitivity(const Strategy& strategy, const Participation& participation);

}  // namespace dpftrl
