// SPDX-License-Identifier: Apache-2.0
#include "noise/programs/short_steps.hpp"

namespace dpftrl::noise {

template <class Value>
void run_steps(const StepShape& shape, std::int64_t first_step, const simd::Steps<Value>& steps,
               std::vector<std::vector<Value>>& state, std::size_t first, std::size_t width) {
  const auto row = [&](Slot slot) {
    return state[static_cast<std::size_t>(slot.index)].data() + first;
  };
  constexpr bool kIsDouble = sizeof(Value) == 8;
  if (shape.kind == StepShape::Kind::buffers) {
    simd::Buffers<Value> buffers{};
    buffers.count = shape.states.size();
    for (std::size_t i = 0; i < buffers.count; ++i) {
      buffers.weights[i] = static_cast<Value>(shape.weights[i]);
      buffers.decays[i] = static_cast<Value>(shape.decays[i]);
      buffers.states[i] = row(shape.states[i]);
    }
    buffers.total = row(shape.total);
    if constexpr (kIsDouble)
      simd::kernels().buffers_double(buffers, steps, width);
    else
      simd::kernels().buffers_float(buffers, steps, width);
    return;
  }
  simd::Bands<Value> bands{};
  bands.num_lags = shape.weights.size() - 1;
  bands.keeps_fresh = shape.kind == StepShape::Kind::inverse_bands;
  bands.num_rows = shape.states.size();
  bands.next = static_cast<std::size_t>(first_step % static_cast<std::int64_t>(bands.num_rows));
  for (std::size_t i = 0; i <= bands.num_lags; ++i)
    bands.factors[i] = static_cast<Value>(shape.weights[i]);
  for (std::size_t i = 0; i < bands.num_rows; ++i) bands.history[i] = row(shape.states[i]);
  bands.total = row(shape.total);
  if constexpr (kIsDouble)
    simd::kernels().bands_double(bands, steps, width);
  else
    simd::kernels().bands_float(bands, steps, width);
}

template void run_steps(const StepShape&, std::int64_t, const simd::Steps<float>&,
                        std::vector<std::vector<float>>&, std::size_t, std::size_t);
template void run_steps(const StepShape&, std::int64_t, const simd::Steps<double>&,
                        std::vector<std::vector<double>>&, std::size_t, std::size_t);

}  // namespace dpftrl::noise
