// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Mode `lattice`: private running totals from noisy integers. PrefixSum, and every class built on
/// it, releases in this mode if its options select it.
///
///     record --clip, grid--> integers q --C, integers--> C q --+ integer noise--> y --> total
///                                                                                decoding
///
/// Privacy rests on the noisy measurements y; everything after them is a function of y alone, so
/// floating-point arithmetic there cannot leak anything. docs/math/lattice.md has the proofs.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// const auto lattice = dpftrl::LatticeMechanism::make(mechanism, {});
/// assert(lattice->certificate().noise == dpftrl::LatticeNoise::discrete_gaussian);
/// assert(lattice->release_stddev(/*step=*/99) > mechanism->release_stddev(99));
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

// Integer encoders C: the measurements of mode `lattice`, and how far one user moves them.
//
// Measurements are integers in units of 2^-precision_bits of the unit of record entries.

/// Sums over dyadic intervals, as in DyadicDecoder; precision_bits = 0.
struct DyadicEncoder {
  std::vector<double> node_weights;  ///< of the decoder
};

/// y_t = sum_j coefficients_j q_{t-j}; the first coefficient is positive.
struct ToeplitzEncoder {
  std::vector<std::int64_t> coefficients;  ///< one per step, or fewer for a band
};

/// With p = precision_bits and round(x) = floor(x + 1/2):
///     y_t = 2^p q_t + sum_i round(weights_i s_i / 2^31),
///     s_i <- round(decays_i s_i / 2^31) + 2^p q_t,    s_i = 0 at first.
/// Without the roundings this is a buffered linear Toeplitz matrix.
struct BufferedEncoder {
  std::vector<std::int64_t> decays;   ///< theta 2^31, each 0 .. 2^31 - 1
  std::vector<std::int64_t> weights;  ///< omega 2^31, each 0 .. 2^31
};
inline constexpr int kFactorBits = 31;

/// Largest l2 norm of C u over all contributions u of one user with rows of norm 1, ignoring the
/// roundings of a BufferedEncoder. It is sqrt(squared) / 2^fraction_bits, for measurements in units
/// of record entries.
struct IntegerSensitivity {
  std::int64_t squared;
  int fraction_bits;
  Exactness exactness;
  std::string_view method;
};

/// Exclusive upper limit on squared sensitivities.
inline constexpr std::int64_t kMaxSquaredSensitivity = std::int64_t{1} << 62;

class IntegerEncoder {
 public:
  using Form = std::variant<DyadicEncoder, ToeplitzEncoder, BufferedEncoder>;

  /// The encoder of a strategy for prefix sums, with coefficients rounded to precision_bits.
  /// Default: 0 for trees, C = I and C = A; 30 for buffers; else 16.
  ///
  ///     tree, honaker          DyadicEncoder
  ///     blt, blt-rational      BufferedEncoder
  ///     any other Toeplitz C   ToeplitzEncoder: a band where C is banded, else all coefficients
  ///
  /// @throws Error{unsupported} any other strategy (the message names it and the reason), another
  ///         workload, a buffer weight that is negative or above 1; Error{invalid_argument}
  ///         precision_bits outside 0 .. 30, nonzero if there is nothing to round, or so small that
  ///         the first coefficient becomes 0; more than 2^24 steps, except for trees and C = I.
  static IntegerEncoder of(const Strategy& strategy, std::optional<int> precision_bits = {});

  const Form& form() const { return form_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t num_measurements() const { return num_measurements_before(steps_); }
  /// Measurements of the steps before `step`.
  std::int64_t num_measurements_before(std::int64_t step) const;
  int precision_bits() const { return precision_bits_; }

  /// Computes the sensitivity in integers, from the rounded coefficients only. Empty if its square
  /// would be kMaxSquaredSensitivity or more.
  ///
  /// @exactness   exact for trees where sensitivity() is, and for Toeplitz encoders with one
  ///              participation, with bands up to the separation, with non-negative coefficients in
  ///              fixed epochs, or with non-negative, non-increasing coefficients; else an UPPER
  ///              bound. For buffers it is always an UPPER bound, computed from coefficients that
  ///              are rounded up.
  /// @guarantee   never below the true value.
  /// @throws Error{invalid_argument} a fixed-epoch schema for another horizon.
  /// @cost        O(steps) time and memory; up to 2^27 products for coefficients of both signs in
  ///              fixed epochs.
  /// @checked-by  integer_encoder_test "sensitivity is that of all patterns"
  std::optional<IntegerSensitivity> sensitivity(const Participation& participation) const;

  /// Bound on how much rounding can change the difference between two streams in any coordinate of
  /// any measurement, in units of a measurement; 0 for encoders without rounding.
  /// @guarantee  sum_i (1 + weights_i min(steps, 1 / (1 - decays_i))), rounded up
  ///             (docs/math/lattice.md).
  /// @checked-by integer_encoder_test "roundings deviate by no more than the bound"
  double rounding_deviation() const;

  /// Bound on the magnitude of every intermediate integer, for records with entries of magnitude up
  /// to 1.
  double largest_number() const;

 private:
  IntegerEncoder(Form form, std::int64_t steps, int precision_bits)
      : form_(std::move(form)), steps_(steps), precision_bits_(precision_bits) {}

  Form form_;
  std::int64_t steps_;
  int precision_bits_;
};

/// floor(value factor / 2^31 + 1/2) for |value| < 2^62, |factor| <= 2^31.
constexpr std::int64_t scale_rounded(std::int64_t value, std::int64_t factor) {
  constexpr std::int64_t kOne = std::int64_t{1} << kFactorBits;
  return (value >> kFactorBits) * factor +
         (((value & (kOne - 1)) * factor + kOne / 2) >> kFactorBits);
}

/// Law of the integer noise, which determines the kind of privacy.
enum class LatticeNoise {
  discrete_gaussian,  ///< rho-zCDP, converted to (epsilon, delta): more noise for the same target
  rounded_gaussian,   ///< exactly rounded normals: mu-GDP, as in mode `grid`
};
std::string_view to_string(LatticeNoise noise);

struct LatticeOptions {
  std::int64_t dimension = 1;
  LatticeNoise noise = LatticeNoise::discrete_gaussian;
  /// Unit of record entries, a power of two; default `default_grid`.
  std::optional<double> grid = {};
  /// Fractional bits of the encoder's coefficients. Default: as in IntegerEncoder::of, but reduced
  /// to as few as 16 to leave room for 2^20 contributions per step, and further if the integer
  /// widths require it.
  std::optional<int> precision_bits = {};
};

/// Everything the privacy guarantee rests on. Lengths are in units of a measurement unless marked
/// as input units.
struct LatticeCertificate {
  std::string strategy;
  std::string participation;
  std::int64_t steps;
  std::int64_t dimension;
  Neighbours neighbours;
  LatticeNoise noise;
  double epsilon;
  double delta;
  double rho;                     ///< zCDP parameter
  std::optional<double> mu;       ///< Gaussian DP parameter; none for the discrete Gaussian
  double clip;                    ///< input units
  double grid;                    ///< input units
  std::int64_t max_norm_squared;  ///< of an integer record
  int precision_bits;
  IntegerSensitivity sensitivity;
  double rounding_deviation;       ///< IntegerEncoder::rounding_deviation
  double distance;                 ///< bound on ||C q - C q'|| of neighbours, roundings included
  double noise_variance;           ///< sigma^2 of the integer noise
  double measurement_unit;         ///< grid / 2^precision_bits, input units
  std::int64_t max_contributions;  ///< limit for one step, so that no integer overflows
};

class LatticeMechanism {
 public:
  /// @param mechanism  provides strategy, participation and target; its own noise is for mode grid.
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
  std::int64_t steps() const { return encoder_.steps(); }

  /// Std, in input units, of each coordinate of the release at a step: the std of a measurement's
  /// integer noise times the norm of the decoder's row.
  /// @throws Error{invalid_argument} step out of range; as PrefixSum.
  /// @cost   trees O(log n), others as much as the releases up to the latest step requested.
  /// @checked-by lattice_test "the predicted std is that of the releases, of small integers too"
  double release_stddev(std::int64_t step) const;
  /// release_stddev for continuous noise: sqrt(noise_variance) times the norm of the decoder's row.
  double ideal_stddev(std::int64_t step) const;

  /// x, in input units, such that the noise of a coordinate of the release at a step exceeds x in
  /// magnitude with at most this probability, including the rounding of buffers.
  /// @exactness  an upper bound: the tail of a sub-Gaussian variable. A discrete Gaussian has the
  ///             parameter sqrt(noise_variance); the rounding of a normal to an integer adds 1/2.
  /// @source     docs/math/lattice.md, section 7.
  /// @checked-by half_width_test
  double release_half_width(std::int64_t step, double probability) const;
  /// release_half_width for all coordinates of all releases together: a union bound.
  double simultaneous_half_width(double probability) const;

  /// Bound, in input units, on the error that the rounding of buffers adds to the noiseless totals
  /// of a BufferedEncoder; 0 for other encoders.
  /// @guarantee  an upper bound, to the rounding of doubles.
  /// @cost       that of n releases.
  /// @checked-by lattice_test "totals of buffers stay within the stated bias"
  double decoding_bias() const;

 private:
  class DecoderNorms;

  double largest_stddev() const;
  double half_width(double stddev, double probability) const;

  LatticeMechanism(std::shared_ptr<const Mechanism> real, IntegerEncoder encoder,
                   LatticeCertificate certificate);

  std::shared_ptr<const Mechanism> real_;  ///< its strategy has the coefficients before rounding
  IntegerEncoder encoder_;
  LatticeCertificate certificate_;
  std::shared_ptr<DecoderNorms> norms_;  ///< of Toeplitz decoders, computed on demand
};

}  // namespace dpftrl
