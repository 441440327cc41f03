// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Steps with few buffers go through a kernel of their own.

#include <cstddef>
#include <vector>

#include "noise/program.hpp"
#include "simd/simd.hpp"

namespace dpftrl::noise {

/// Coordinates first .. first + width - 1 of the state; `steps` points at the first of them.
template <class Value>
void run_steps(const BufferShape& shape, const simd::BufferSteps<Value>& steps,
               std::vector<std::vector<Value>>& state, std::size_t first, std::size_t width) {
  simd::Buffers<Value> buffers{};
  buffers.count = shape.states.size();
  const auto row = [&](Slot slot) {
    return state[static_cast<std::size_t>(slot.index)].data() + first;
  };
  for (std::size_t i = 0; i < buffers.count; ++i) {
    buffers.weights[i] = static_cast<Value>(shape.weights[i]);
    buffers.decays[i] = static_cast<Value>(shape.decays[i]);
    buffers.states[i] = row(shape.states[i]);
  }
  buffers.total = row(shape.total);
  if constexpr (sizeof(Value) == 8)
    simd::kernels().buffers_double(buffers, steps, width);
  else
    simd::kernels().buffers_float(buffers, steps, width);
}

}  // namespace dpftrl::noise
