// SPDX-License-Identifier: Apache-2.0
#include "fft.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "gaussian_kernels.hpp"

namespace dpftrl {
namespace {

/// gamma_4 = 4u / (1 - 4u) and the twiddles' own error give Higham's per-stage constant.
double stage_constant() {
  constexpr double kGamma4 = 4 * 0x1p-53 / (1 - 4 * 0x1p-53);
  const double twiddle_error = std::sqrt(2.0) * detail::kSinCosErrorBound;
  return twiddle_error + kGamma4 * (std::sqrt(2.0) + twiddle_error);
}

}  // namespace

Fft::Fft(int log2_size) : size_(std::size_t{1} << log2_size), cosines_(size_), sines_(size_) {
  const double total = log2_size * stage_constant();
  relative_error_bound_ = total / (1 - total);
  for (std::size_t half = 1; half < size_; half *= 2) {
    const int log2_length = std::countr_zero(half) + 1;
    for (std::size_t k = 0; k < half; ++k) {
      const detail::SinCos turn =
          detail::sincos_2pi(static_cast<std::uint64_t>(k) << (64 - log2_length));
      cosines_[half - 1 + k] = turn.cos;
      sines_[half - 1 + k] = -turn.sin;
    }
  }
}

void Fft::forward(std::span<double> real, std::span<double> imaginary) const {
  for (std::size_t half = size_ / 2; half >= 1; half /= 2) {
    const double* const cosine = cosines_.data() + (half - 1);
    const double* const sine = sines_.data() + (half - 1);
    for (std::size_t start = 0; start < size_; start += 2 * half) {
      double* const low_re = real.data() + start;
      double* const low_im = imaginary.data() + start;
      double* const high_re = low_re + half;
      double* const high_im = low_im + half;
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
}

void Fft::inverse(std::span<double> real, std::span<double> imaginary) const {
  for (std::size_t half = 1; half < size_; half *= 2) {
    const double* const cosine = cosines_.data() + (half - 1);
    const double* const sine = sines_.data() + (half - 1);
    for (std::size_t start = 0; start < size_; start += 2 * half) {
      double* const low_re = real.data() + start;
      double* const low_im = imaginary.data() + start;
      double* const high_re = low_re + half;
      double* const high_im = low_im + half;
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
  const double scale = 1 / static_cast<double>(size_);  // a power of two: exact
  for (double& x : real) x *= scale;
  for (double& x : imaginary) x *= scale;
}

}  // namespace dpftrl
