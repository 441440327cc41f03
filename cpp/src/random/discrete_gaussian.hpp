// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Integer noise with an exactly known law, from addressed random bits by integer arithmetic only.
///
///     discrete Laplace     P[k] ~ exp(-|k| / scale)
///     discrete Gaussian    P[k] ~ exp(-k^2 / (2 variance))
///
/// A sample is a function of (key, row, coordinate): it uses only the words of ChaCha20 at that
/// address in stream `discrete_noise`, plane after plane. The number of words varies, so the time
/// of a sample reveals something about the noise (never about data).
///
/// @source  Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, arXiv
///          2004.00010. Proofs: docs/math/lattice.md.

#include <cstdint>
#include <memory>
#include <span>

#include "dpftrl/random/random.hpp"

namespace dpftrl {

namespace detail {
struct GaussianParts;
}

inline constexpr std::int64_t kMaxLaplaceScale = std::int64_t{1} << 46;
inline constexpr double kMinDiscreteVariance = 0x1p-10;
inline constexpr double kMaxDiscreteVariance = 0x1p92;

/// Address of the random words of a sample.
struct SampleAddress {
  std::uint64_t row;         ///< below kMaxRows
  std::uint64_t coordinate;  ///< below kMaxBlocks
};

class DiscreteLaplace {
 public:
  /// @param scale  1 .. kMaxLaplaceScale.
  /// @throws Error{invalid_argument} scale out of range.
  explicit DiscreteLaplace(std::int64_t scale);

  /// @exactness   the law is exact given ideal random words, except that samples of 2^14 scales and
  ///              more (probability e^-16384) are refused.
  /// @guarantee   same integers from every compiler and machine.
  /// @throws Error{invalid_argument} an address out of range; Error{resource_exhausted} see above.
  /// @checked-by  discrete_gaussian_test
  std::int64_t sample(const Key& key, const SampleAddress& address) const;

 private:
  std::uint64_t scale_;
};

class DiscreteGaussian {
 public:
  /// @param variance  sigma^2 of the law, kMinDiscreteVariance .. kMaxDiscreteVariance: taken
  ///                  exactly, as the dyadic fraction that the double is. The variance of a sample
  ///                  is at most this.
  /// @throws Error{invalid_argument} variance out of range.
  explicit DiscreteGaussian(double variance);
  ~DiscreteGaussian();
  DiscreteGaussian(DiscreteGaussian&&) noexcept;
  DiscreteGaussian& operator=(DiscreteGaussian&&) noexcept;

  /// As DiscreteLaplace::sample, with |sample| < 2^14 (sqrt(variance) + 1).
  /// @checked-by  discrete_gaussian_test
  std::int64_t sample(const Key& key, const SampleAddress& address) const;
  /// out[i] is the sample at coordinate first.coordinate + i.
  void fill(const Key& key, const SampleAddress& first, std::span<std::int64_t> out) const;

 private:
  std::unique_ptr<const detail::GaussianParts> parts_;
};

}  // namespace dpftrl
