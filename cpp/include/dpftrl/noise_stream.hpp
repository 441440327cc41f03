// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rows of B Z, one a step, Z i.i.d. standard normal addressed by (key, measurement, coordinate).

#include <cstdint>
#include <memory>
#include <span>

#include "dpftrl/random.hpp"
#include "dpftrl/strategy.hpp"
#include "dpftrl/types.hpp"

namespace dpftrl {

/// |computed - ideal| <= absolute + relative * |computed|, for every entry of a row.
struct RowErrorBound {
  double absolute;
  double relative;
};

struct NoiseStreamOptions {
  Key key;
  std::int64_t dimension = 1;
  std::int64_t first_coordinate = 0;  ///< a shard starts here and has the same bits as the whole
};

class NoiseStream {
 public:
  /// @throws Error{invalid_argument} dimension or first_coordinate out of range, a decoder form
  ///         that is malformed or has too few rows;
  ///         Error{resource_exhausted} noise generated in advance, or the rows that a recursion or
  ///         a filter keeps, would need more than 1 GiB.
  NoiseStream(const Strategy& strategy, const NoiseStreamOptions& options);
  ~NoiseStream();
  NoiseStream(NoiseStream&&) noexcept;
  NoiseStream& operator=(NoiseStream&&) noexcept;

  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t dimension() const { return options_.dimension; }
  /// Steps already given out; the next row is row `step()`.
  std::int64_t step() const { return step_; }

  /// Writes row step() of B Z (unit noise) and advances.
  /// @throws Error{past_horizon} all rows were given; Error{wrong_length} row.size() != dimension.
  ///         The stream is unchanged by a refused call.
  /// @cost   a form with blocks sets up each one at its first step, as a stream of its own would.
  void next(std::span<double> row);

  /// Bound for the row last written, against the ideal B Z: B as its stored doubles define it, Z
  /// the transform of infinite uniforms.
  /// @guarantee never below the true error, given that no u1 begins with 192 zeros (probability
  ///            2^-192 a normal, below 2^-100 in all the noise of a key; docs/math/grid.md).
  ///            Infinite or NaN where a recursion amplifies its roundings too much to say.
  /// @checked-by noise_stream_test "rows stay within their error bound", noise_kernels_test "rows
  ///             are the matrix of the form times the normals within the bound"
  RowErrorBound row_error_bound() const;

  /// floor(scale * entry + 1/2) of the ideal entry of the row last written, recomputed from the
  /// random bits with as many of them as the rounding takes.
  ///
  /// @param coordinate  0 <= coordinate < dimension().
  /// @param scale       0 <= scale <= 2^60.
  /// @exactness   exact, but for an event of probability below 2^-400 an entry; limited to +-2^61.
  /// @throws Error{invalid_argument} an argument out of range, or no row was written yet;
  ///         Error{unsupported} the strategy's recursion leaves the range of 62 bits;
  ///         std::bad_alloc.
  /// @cost        1.5 us a normal that enters the row (see docs/math/grid.md).
  /// @checked-by  exact_entry_test
  std::int64_t rounded(std::int64_t coordinate, double scale) const;

  class Kernel;  ///< one per DecoderForm, private to the implementation

 private:
  std::int64_t num_steps_;
  NoiseStreamOptions options_;
  std::unique_ptr<const DecoderForm> form_;  ///< stays where it is: kernels refer to it
  std::int64_t step_ = 0;
  std::unique_ptr<Kernel> kernel_;
};

/// Z itself, num_rows x dimension: the oracle of every stream.
Matrix noise_matrix(const NoiseStreamOptions& options, std::int64_t num_rows);

}  // namespace dpftrl
