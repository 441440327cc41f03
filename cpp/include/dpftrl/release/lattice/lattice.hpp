// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Mode `lattice`: private running totals by noisy integers. PrefixSum, and all that is built on
/// it, releases in this mode when its options say so.
///
///     record --clip, grid--> integers q --C, integers--> C q --+ integer noise--> y --> total
///                                                                                decoding
///
/// The noisy measurements y are what is private; everything after them is a function of y alone, so
/// that floating-point arithmetic there can leak nothing. docs/math/lattice.md has the proofs.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dpftrl/analysis/integer_encoder.hpp"
#include "dpftrl/analysis/mechanism.hpp"

namespace dpftrl {

/// Law of the integer noise, and with it the kind of privacy.
enum class LatticeNoise {
  discrete_gaussian,  ///< rho-zCDP, converted to (epsilon, delta): more noise for the same target
  rounded_gaussian,   ///< exactly rounded normals: mu-GDP, as in mode `grid`
};
std::string_view to_string(LatticeNoise noise);

struct LatticeOptions {
  std::int64_t dimension = 1;
  LatticeNoise noise = LatticeNoise::discrete_gaussian;
  /// Unit in which record entries are counted, a power of two; default `default_grid`.
  std::optional<double> grid = {};
  /// Bits after the point of the encoder's coefficients. Default: IntegerEncoder's; down to 16 of
  /// them if that gives a step room for 2^20 contributions, and fewer where the widths of the
  /// integers leave no more.
  std::optional<int> precision_bits = {};
};

/// Everything the privacy claim rests on. Lengths in units of a measurement, unless they say input.
struct LatticeCertificate {
  std::string strategy;
  std::string participation;
  std::int64_t num_steps;
  std::int64_t dimension;
  Neighbours neighbours;
  LatticeNoise noise;
  double epsilon;
  double delta;
  double rho;                     ///< zCDP parameter
  std::optional<double> mu;       ///< Gaussian DP parameter; none for the discrete Gaussian
  double clip_norm;               ///< input units
  double grid;                    ///< input units
  std::int64_t max_norm_squared;  ///< of an integer record
  int precision_bits;
  IntegerSensitivity sensitivity;
  double rounding_deviation;       ///< IntegerEncoder::rounding_deviation
  double distance;                 ///< bound on ||C q - C q'|| of neighbours, with the roundings
  double noise_variance;           ///< sigma^2 of the integer noise
  double measurement_unit;         ///< grid / 2^precision_bits, input units
  std::int64_t max_contributions;  ///< to one step, so that no integer overflows
};

class LatticeMechanism {
 public:
  /// @param mechanism  strategy, participation and target; its noise is that of mode grid.
  /// @guarantee  noise_variance is at least distance^2 / (2 rho) (discrete Gaussian) or
  ///             (distance / mu)^2 (rounded Gaussian), where rho and mu do not exceed what the
  ///             target allows; distance is never below the true value.
  /// @throws Error{invalid_argument} as PrefixSum; precision_bits so large that the integers exceed
  ///         61 bits, the variance 2^92 or the squared sensitivity 2^62;
  ///         Error{unsupported} a strategy without an integer encoder (IntegerEncoder::of), or no
  ///         precision at which the integers fit.
  /// @checked-by lattice_test
  static std::shared_ptr<const LatticeMechanism> make(std::shared_ptr<const Mechanism> mechanism,
                                                      const LatticeOptions& lattice);

  const LatticeCertificate& certificate() const { return certificate_; }
  const IntegerEncoder& encoder() const { return encoder_; }
  std::int64_t num_steps() const { return encoder_.num_steps(); }

  /// Std of each coordinate of the release at a step, input units: that of the integer noise of a
  /// measurement times the norm of the decoder's row.
  /// @throws Error{invalid_argument} step out of range; as PrefixSum.
  /// @cost   trees O(log n), others as the releases up to the latest step that was asked for.
  /// @checked-by lattice_test "the predicted std is that of the releases, of small integers too"
  double release_stddev(std::int64_t step) const;
  /// The same with real noise: sqrt(noise_variance) times the norm of the decoder's row.
  double ideal_stddev(std::int64_t step) const;

  /// How far the totals of a BufferedEncoder can be from the true ones for want of exact buffers,
  /// without noise, input units; 0 for the other encoders.
  /// @guarantee  an upper bound, to the rounding of doubles.
  /// @cost       num_steps releases.
  /// @checked-by lattice_test "totals of buffers stay within the stated bias"
  double decoding_bias() const;

 private:
  class DecoderNorms;

  LatticeMechanism(std::shared_ptr<const Mechanism> real, IntegerEncoder encoder,
                   LatticeCertificate certificate);

  std::shared_ptr<const Mechanism> real_;  ///< the strategy with real coefficients
  IntegerEncoder encoder_;
  LatticeCertificate certificate_;
  std::shared_ptr<DecoderNorms> norms_;  ///< of Toeplitz decoders, as far as they were asked for
};

}  // namespace dpftrl
