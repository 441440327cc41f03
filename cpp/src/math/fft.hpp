// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dpftrl {

/// Complex discrete Fourier transform of length 2^log2_size, with the same bits on every platform.
///
/// Real and imaginary parts are separate arrays. `forward` takes natural order and leaves
/// bit-reversed order, `inverse` the other way round (scaled by 1/size), so pointwise products need
/// no reordering. Library transforms take sines from libm, whose last bits differ between
/// platforms; this one uses the polynomials of the normal sampler.
class Fft {
 public:
  explicit Fft(int log2_size);

  std::size_t size() const { return size_; }
  void forward(std::span<double> real, std::span<double> imaginary) const;
  void inverse(std::span<double> real, std::span<double> imaginary) const;

  /// ||computed - exact||_2 <= this * ||exact||_2, for either direction.
  /// @source  Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorem 24.2; the
  ///          decimation-in-frequency stages are within the same per-stage constant
  ///          (docs/math/grid.md).
  /// @checked-by fft_test "forward is the definition and stays within its error bound"
  double relative_error_bound() const { return relative_error_bound_; }

 private:
  void forward(double* real, double* imaginary, std::size_t length) const;
  /// Inverse transform without the scaling.
  void inverse(double* real, double* imaginary, std::size_t length) const;
  const double* cosines(std::size_t half) const { return cosines_.data() + (half - 1); }
  const double* sines(std::size_t half) const { return sines_.data() + (half - 1); }

  std::size_t size_;
  double relative_error_bound_;
  /// Twiddles of the stage of half-length h at h - 1 + k: exp(-2 pi i k / (2h)).
  std::vector<double> cosines_;
  std::vector<double> sines_;
};

}  // namespace dpftrl
