// SPDX-License-Identifier: Apache-2.0
// Stages of the Fourier transform.
#pragma once

#include <cstddef>
#include <type_traits>

#include "simd/vectors.hpp"

namespace dpftrl::simd {
namespace {

/// Lengths known at compile time: in a loop of one or two iterations, the overhead exceeds the
/// work.
using One = std::integral_constant<std::size_t, 1>;
using Two = std::integral_constant<std::size_t, 2>;

// __restrict: the arrays do not overlap, so compilers can vectorise the loops.

template <bool kIsForward, class Half>
inline void butterflies(double* real, double* imaginary, std::size_t length, Half half,
                        const double* __restrict cosine, const double* __restrict sine) {
  for (std::size_t start = 0; start < length; start += 2 * half) {
    double* const __restrict low_re = real + start;
    double* const __restrict low_im = imaginary + start;
    double* const __restrict high_re = low_re + half;
    double* const __restrict high_im = low_im + half;
    for (std::size_t k = 0; k < half; ++k) {
      if constexpr (kIsForward) {
        const double difference_re = low_re[k] - high_re[k];
        const double difference_im = low_im[k] - high_im[k];
        low_re[k] += high_re[k];
        low_im[k] += high_im[k];
        high_re[k] = difference_re * cosine[k] - difference_im * sine[k];
        high_im[k] = difference_re * sine[k] + difference_im * cosine[k];
      } else {
        const double turned_re = high_re[k] * cosine[k] + high_im[k] * sine[k];
        const double turned_im = high_im[k] * cosine[k] - high_re[k] * sine[k];
        high_re[k] = low_re[k] - turned_re;
        high_im[k] = low_im[k] - turned_im;
        low_re[k] += turned_re;
        low_im[k] += turned_im;
      }
    }
  }
}

template <class Stage>
inline void with_known_length(std::size_t half, const Stage& stage) {
  if (half == 1)
    stage(One());
  else if (half == 2)
    stage(Two());
  else
    stage(half);
}

void forward_stage(double* real, double* imaginary, std::size_t length, std::size_t half,
                   const double* cosine, const double* sine) {
  with_known_length(
      half, [=](auto known) { butterflies<true>(real, imaginary, length, known, cosine, sine); });
}

void inverse_stage(double* real, double* imaginary, std::size_t length, std::size_t half,
                   const double* cosine, const double* sine) {
  with_known_length(
      half, [=](auto known) { butterflies<false>(real, imaginary, length, known, cosine, sine); });
}

}  // namespace
}  // namespace dpftrl::simd
