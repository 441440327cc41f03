// SPDX-License-Identifier: Apache-2.0
#include "fft.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "gaussian_kernels.hpp"

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

/// Lengths that the compiler knows: loops of one or two turns cost more than what they do.
using One = std::integral_constant<std::size_t, 1>;
using Two = std::integral_constant<std::size_t, 2>;

// The arrays do not overlap: so said, compilers make vectors of the loops.

template <class Half>
void forward_stage(double* real, double* imaginary, std::size_t length, Half half,
                   const double* __restrict cosine, const double* __restrict sine) {
  for (std::size_t start = 0; start < length; start += 2 * half) {
    double* const __restrict low_re = real + start;
    double* const __restrict low_im = imaginary + start;
    double* const __restrict high_re = low_re + half;
    double* const __restrict high_im = low_im + half;
    for (std::size_t k = 0; k < half; ++k) {
      const double difference_re = low_re[k] - high_re[k];
      const double difference_im = low_im[k] - high_im[k];
      low_re[k] += high_re[k];
      low_im[k] += high_im[k];
      high_re[k] = difference_re * cosine[k] - difference_im * sine[k];
      high_im[k] = difference_re * sine[k] + difference_im * cosine[k];
    }
  }
}

template <class Half>
void inverse_stage(double* real, double* imaginary, std::size_t length, Half half,
                   const double* __restrict cosine, const double* __restrict sine) {
  for (std::size_t start = 0; start < length; start += 2 * half) {
    double* const __restrict low_re = real + start;
    double* const __restrict low_im = imaginary + start;
    double* const __restrict high_re = low_re + half;
    double* const __restrict high_im = low_im + half;
    for (std::size_t k = 0; k < half; ++k) {
      const double turned_re = high_re[k] * cosine[k] + high_im[k] * sine[k];
      const double turned_im = high_im[k] * cosine[k] - high_re[k] * sine[k];
      high_re[k] = low_re[k] - turned_re;
      high_im[k] = low_im[k] - turned_im;
      low_re[k] += turned_re;
      low_im[k] += turned_im;
    }
  }
}

}  // namespace

Fft::Fft(int log2_size) : size_(std::size_t{1} << log2_size), cosines_(size_), sines_(size_) {
  const double total = log2_size * stage_constant();
  relative_error_bound_ = total / (1 - total);
  // Those of the last stage; every other one of them makes the stage before it.
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

// A long transform leaves the cache after every stage; so its halves are finished one by one.

void Fft::forward(double* real, double* imaginary, std::size_t length) const {
  std::size_t half = length / 2;
  if (length > kCacheLength) {
    forward_stage(real, imaginary, length, half, cosines(half), sines(half));
    forward(real, imaginary, half);
    forward(real + half, imaginary + half, half);
    return;
  }
  for (; half > 2; half /= 2)
    forward_stage(real, imaginary, length, half, cosines(half), sines(half));
  if (half == 2) forward_stage(real, imaginary, length, Two(), cosines(2), sines(2));
  if (length > 1) forward_stage(real, imaginary, length, One(), cosines(1), sines(1));
}

void Fft::inverse(double* real, double* imaginary, std::size_t length) const {
  std::size_t half = length / 2;
  if (length > kCacheLength) {
    inverse(real, imaginary, half);
    inverse(real + half, imaginary + half, half);
    inverse_stage(real, imaginary, length, half, cosines(half), sines(half));
    return;
  }
  if (length > 1) inverse_stage(real, imaginary, length, One(), cosines(1), sines(1));
  if (length > 2) inverse_stage(real, imaginary, length, Two(), cosines(2), sines(2));
  for (half = 4; half < length; half *= 2)
    inverse_stage(real, imaginary, length, half, cosines(half), sines(half));
}

}  // namespace dpftrl
