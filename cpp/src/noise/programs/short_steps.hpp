// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Runs steps with few buffers or bands by dedicated kernels.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "noise/programs/program.hpp"
#include "simd/simd.hpp"

namespace dpftrl::noise {

/// Runs steps from `first_step` on for coordinates first .. first + width - 1 of the state; `steps`
/// points at the first coordinate.
template <class Value>
void run_steps(const StepShape& shape, std::int64_t first_step, const simd::Steps<Value>& steps,
               std::vector<std::vector<Value>>& state, std::size_t first, std::size_t width);

extern template void run_steps(const StepShape&, std::int64_t, const simd::Steps<float>&,
                               std::vector<std::vector<float>>&, std::size_t, std::size_t);
extern template void run_steps(const StepShape&, std::int64_t, const simd::Steps<double>&,
                               std::vector<std::vector<double>>&, std::size_t, std::size_t);

}  // namespace dpftrl::noise
