// SPDX-License-Identifier: Apache-2.0
// Recursions with a few buffers, many steps at a time.
#pragma once

#include "simd/simd.hpp"
#include "simd/vectors.hpp"

namespace dpftrl::simd {
namespace {

/// Runs all steps on `N` vectors (or numbers) from coordinate `first` on, which hide each other's
/// latency. Count == 0 takes the number of buffers at run time; their states then stay in the
/// level-1 cache instead of registers.
template <std::size_t Count, std::size_t N, class V, class T>
inline void buffer_lanes(const Buffers<T>& buffers, const Steps<T>& steps, std::size_t first) {
  constexpr std::size_t kLanes = sizeof(V) / sizeof(T);
  constexpr std::size_t kMost = Count == 0 ? kMaxBuffers : Count;
  const std::size_t count = Count == 0 ? buffers.count : Count;
  V states[kMost][N], total[N];
  T weights[kMost], decays[kMost];
  for (std::size_t k = 0; k < count; ++k) {
    weights[k] = buffers.weights[k];
    decays[k] = buffers.decays[k];
    for (std::size_t n = 0; n < N; ++n)
      states[k][n] = load<V>(buffers.states[k] + first + n * kLanes);
  }
  for (std::size_t n = 0; n < N; ++n) total[n] = load<V>(buffers.total + first + n * kLanes);
  const T* fresh = steps.fresh + first;
  T* row = steps.rows + first;
  for (std::size_t t = 0; t < steps.count; ++t) {
    for (std::size_t n = 0; n < N; ++n) {
      V w = load<V>(fresh + n * kLanes);
      for (std::size_t k = 0; k < count; ++k) w += weights[k] * states[k][n];
      for (std::size_t k = 0; k < count; ++k) states[k][n] = decays[k] * states[k][n] + w;
      total[n] += w;
      store(row + n * kLanes, total[n]);
    }
    fresh += steps.fresh_stride;
    row += steps.row_stride;
  }
  for (std::size_t n = 0; n < N; ++n) {
    for (std::size_t k = 0; k < count; ++k)
      store(buffers.states[k] + first + n * kLanes, states[k][n]);
    store(buffers.total + first + n * kLanes, total[n]);
  }
}

template <std::size_t Count, class V, class T>
void buffer_steps(const Buffers<T>& buffers, const Steps<T>& steps, std::size_t width) {
  // Four vectors hide each other's latency; shorter vectors gain nothing from that many (measured).
  constexpr std::size_t kVectors = kVectorBytes == 32 ? 4 : 2;
  constexpr std::size_t kWidth = kVectors * sizeof(V) / sizeof(T);
  std::size_t i = 0;
  for (; i + kWidth <= width; i += kWidth) buffer_lanes<Count, kVectors, V>(buffers, steps, i);
  for (; i < width; ++i) buffer_lanes<0, 1, T>(buffers, steps, i);
}

template <class V, class T>
void run_buffers(const Buffers<T>& buffers, const Steps<T>& steps, std::size_t width) {
  // Four is the usual number. Other numbers share one loop that is a tenth slower.
  if (buffers.count == 4)
    buffer_steps<4, V>(buffers, steps, width);
  else
    buffer_steps<0, V>(buffers, steps, width);
}

void buffers_double(const Buffers<double>& buffers, const Steps<double>& steps, std::size_t width) {
  run_buffers<Doubles>(buffers, steps, width);
}

void buffers_float(const Buffers<float>& buffers, const Steps<float>& steps, std::size_t width) {
  run_buffers<Floats>(buffers, steps, width);
}

}  // namespace
}  // namespace dpftrl::simd
