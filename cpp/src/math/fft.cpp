// SPDX-License-Identifier: Apache-2.0
#include "math/fft.hpp"

#include <cmath>
#include <cstdint>

#include "math/sincos.hpp"
#include "simd/simd.hpp"

namespace dpftrl {
namespace {

/// gamma_4 = 4u / (1 - 4u) and the twiddles' own error give Higham's per-stage constant.
double stage_constant() {
  constexpr double kGamma4 = 4 * 0x1p-53 / (1 - 4 * 0x1p-53);
  const double twiddle_error = std::sqrt(2.0) * detail::kSinCosErrorBound;
  return twiddle_error + kGamma4 * (std::sqrt(2.0) + twiddle_error);
}

/// Points that fit into a level-2 cache together with their twiddles.
constexpr std::size_t kCacheLength = std::size_t{1} << 14;

}  // namespace

Fft::Fft(int log2_size) : size_(std::size_t{1} << log2_size), cosines_(size_), sines_(size_) {
  const double total = log2_size * stage_constant();
  relative_error_bound_ = total / (1 - total);
  // Twiddle factors of the last stage; the stage before it uses every other factor.
  const std::size_t last = size_ / 2;
  for (std::size_t k = 0; k < last; ++k) {
    const detail::SinCos turn =
        detail::sincos_2pi(static_cast<std::uint64_t>(k) << (64 - log2_size));
    cosines_[last - 1 + k] = turn.cos;
    sines_[last - 1 + k] = -turn.sin;
  }
  for (std::size_t half = last / 2; half >= 1; half /= 2)
    for (std::size_t k = 0; k < half; ++k) {
      cosines_[half - 1 + k] = cosines_[2 * half - 1 + 2 * k];
      sines_[half - 1 + k] = sines_[2 * half - 1 + 2 * k];
    }
}

void Fft::forward(std::span<double> real, std::span<double> imaginary) const {
  forward(real.data(), imaginary.data(), size_);
}

void Fft::inverse(std::span<double> real, std::span<double> imaginary) const {
  inverse(real.data(), imaginary.data(), size_);
  const double scale = 1 / static_cast<double>(size_);  // a power of two: exact
  for (double& x : real) x *= scale;
  for (double& x : imaginary) x *= scale;
}

// The data of a long transform would leave the cache in every stage, so its halves are finished one
// by one.

void Fft::forward(double* real, double* imaginary, std::size_t length) const {
  const auto stage = simd::kernels().forward_stage;
  std::size_t half = length / 2;
  if (length > kCacheLength) {
    stage(real, imaginary, length, half, cosines(half), sines(half));
    forward(real, imaginary, half);
    forward(real + half, imaginary + half, half);
    return;
  }
  for (; half > 0; half /= 2) stage(real, imaginary, length, half, cosines(half), sines(half));
}

void Fft::inverse(double* real, double* imaginary, std::size_t length) const {
  const auto stage = simd::kernels().inverse_stage;
  std::size_t half = length / 2;
  if (length > kCacheLength) {
    inverse(real, imaginary, half);
    inverse(real + half, imaginary + half, half);
    stage(real, imaginary, length, half, cosines(half), sines(half));
    return;
  }
  for (half = 1; half < length; half *= 2)
    stage(real, imaginary, length, half, cosines(half), sines(half));
}

}  // namespace dpftrl
