// SPDX-License-Identifier: Apache-2.0
// Recursions and sums over the last few steps, many steps at a time.
#pragma once

#include "simd/simd.hpp"
#include "simd/vectors.hpp"

namespace dpftrl::simd {
namespace {

/// Runs all steps on `N` vectors (or numbers) from coordinate `first` on, which hide each other's
/// latency. The history is gathered in the level-1 cache, oldest first; in `bands`, its steps are
/// whole rows apart.
template <std::size_t N, class V, class T>
inline void band_lanes(const Bands<T>& bands, const Steps<T>& steps, std::size_t first) {
  constexpr std::size_t kLanes = sizeof(V) / sizeof(T);
  V kept[kMaxLags + kMaxSteps][N], total[N];
  for (std::size_t lag = bands.num_lags; lag > 0; --lag) {
    const T* row = bands.history[(bands.next + bands.num_rows - lag) % bands.num_rows] + first;
    for (std::size_t n = 0; n < N; ++n) kept[bands.num_lags - lag][n] = load<V>(row + n * kLanes);
  }
  for (std::size_t n = 0; n < N; ++n) total[n] = load<V>(bands.total + first + n * kLanes);
  V(*now)[N] = kept + bands.num_lags;
  for (std::size_t t = 0; t < steps.count; ++t, ++now) {
    const T* fresh = steps.fresh + t * steps.fresh_stride + first;
    V w[N];
    for (std::size_t n = 0; n < N; ++n) {
      const V z = load<V>(fresh + n * kLanes);
      now[0][n] = z;
      w[n] = bands.factors[0] * z;
    }
    for (std::size_t lag = 1; lag <= bands.num_lags; ++lag) {
      const V(&past)[N] = *(now - lag);
      const T factor = bands.factors[lag];
      for (std::size_t n = 0; n < N; ++n) w[n] += factor * past[n];
    }
    T* row = steps.rows + t * steps.row_stride + first;
    for (std::size_t n = 0; n < N; ++n) {
      if (!bands.keeps_fresh) now[0][n] = w[n];
      total[n] += w[n];
      store(row + n * kLanes, total[n]);
    }
  }
  const std::size_t num_new = steps.count < bands.num_rows ? steps.count : bands.num_rows;
  for (std::size_t age = 1; age <= num_new; ++age) {
    T* row = bands.history[(bands.next + steps.count - age) % bands.num_rows] + first;
    for (std::size_t n = 0; n < N; ++n) store(row + n * kLanes, (*(now - age))[n]);
  }
  for (std::size_t n = 0; n < N; ++n) store(bands.total + first + n * kLanes, total[n]);
}

template <class V, class T>
void run_bands(const Bands<T>& bands, const Steps<T>& steps, std::size_t width) {
  // A sum is a chain of additions; eight chains hide their latency. Shorter vectors gain nothing
  // from that many.
  constexpr std::size_t kVectors = kVectorBytes == 32 ? 8 : 4;
  constexpr std::size_t kWidth = kVectors * sizeof(V) / sizeof(T);
  std::size_t i = 0;
  for (; i + kWidth <= width; i += kWidth) band_lanes<kVectors, V>(bands, steps, i);
  for (; i < width; ++i) band_lanes<1, T>(bands, steps, i);
}

void bands_double(const Bands<double>& bands, const Steps<double>& steps, std::size_t width) {
  run_bands<Doubles>(bands, steps, width);
}

void bands_float(const Bands<float>& bands, const Steps<float>& steps, std::size_t width) {
  run_bands<Floats>(bands, steps, width);
}

}  // namespace
}  // namespace dpftrl::simd
