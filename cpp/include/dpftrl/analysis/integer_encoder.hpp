// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Encoders C of integers: what mode `lattice` measures, and how far one user moves it.
///
/// Measurements are integers; one counts 2^-precision_bits of what a record entry counts.

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Sums over dyadic intervals, as DyadicDecoder has them; precision_bits = 0.
struct DyadicEncoder {
  std::vector<double> node_weights;  ///< of the decoder
};

/// y_t = sum_j coefficients_j q_{t-j}; the first coefficient is positive.
struct ToeplitzEncoder {
  std::vector<std::int64_t> coefficients;  ///< num_steps, or fewer: a band
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

/// The largest l2 norm of C u over what one user can contribute with rows of norm 1, the roundings
/// of a BufferedEncoder left out: sqrt(squared) / 2^fraction_bits, in measurements whose unit is
/// that of the record entries.
struct IntegerSensitivity {
  std::int64_t squared;
  int fraction_bits;
  Exactness exactness;
  std::string_view method;
};

/// Squared sensitivities are below this.
inline constexpr std::int64_t kMaxSquaredSensitivity = std::int64_t{1} << 62;

class IntegerEncoder {
 public:
  using Form = std::variant<DyadicEncoder, ToeplitzEncoder, BufferedEncoder>;

  /// The encoder of a strategy for prefix sums, coefficients rounded to precision_bits. Unset: 0
  /// for trees, 30 for buffers, else 16.
  ///
  ///     tree, honaker          DyadicEncoder
  ///     blt, blt-rational      BufferedEncoder
  ///     any other Toeplitz C   ToeplitzEncoder: a band where C is banded, else all coefficients
  ///
  /// @throws Error{unsupported} any other strategy, by name and with the reason, another workload,
  /// a
  ///         negative weight of a buffer or one above 1; Error{invalid_argument} precision_bits
  ///         outside 0 .. 30, not 0 where there is nothing to round, or so few that the first
  ///         coefficient becomes 0; more than 2^24 steps, but for trees and C = I.
  static IntegerEncoder of(const Strategy& strategy, std::optional<int> precision_bits = {});

  const Form& form() const { return form_; }
  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_measurements() const { return num_measurements_before(num_steps_); }
  /// Measurements that the steps before `step` make.
  std::int64_t num_measurements_before(std::int64_t step) const;
  int precision_bits() const { return precision_bits_; }

  /// Integers only: no coefficient is read but the rounded ones. Nothing if it is 2^62 or more.
  ///
  /// @exactness   exact for trees where sensitivity() is, and for Toeplitz encoders with one
  ///              participation, with bands up to the separation, without negative coefficients in
  ///              fixed epochs, or without negative and increasing ones; else an UPPER bound. Of
  ///              buffers always an UPPER bound: of coefficients that were rounded up.
  /// @guarantee   never below the true value.
  /// @throws Error{invalid_argument} a fixed-epoch schema of another horizon.
  /// @cost        O(num_steps) and as much memory.
  /// @checked-by  integer_encoder_test "sensitivity is that of all patterns"
  std::optional<IntegerSensitivity> sensitivity(const Participation& participation) const;

  /// Two streams of records move any coordinate of any measurement by what the matrix says, to
  /// within this: 0 for a matrix. In units of a measurement.
  /// @guarantee  sum_i (1 + weights_i min(num_steps, 1 / (1 - decays_i))), rounded up
  ///             (docs/math/lattice.md).
  /// @checked-by integer_encoder_test "roundings deviate by no more than the bound"
  double rounding_deviation() const;

  /// Bound on every integer on the way for records with entries up to 1 (units of a record entry).
  double largest_number() const;

 private:
  IntegerEncoder(Form form, std::int64_t num_steps, int precision_bits)
      : form_(std::move(form)), num_steps_(num_steps), precision_bits_(precision_bits) {}

  Form form_;
  std::int64_t num_steps_;
  int precision_bits_;
};

/// floor(value factor / 2^31 + 1/2) for |value| < 2^62, |factor| <= 2^31.
constexpr std::int64_t scale_rounded(std::int64_t value, std::int64_t factor) {
  constexpr std::int64_t kOne = std::int64_t{1} << kFactorBits;
  return (value >> kFactorBits) * factor +
         (((value & (kOne - 1)) * factor + kOne / 2) >> kFactorBits);
}

}  // namespace dpftrl
