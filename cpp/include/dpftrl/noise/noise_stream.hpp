// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rows of B Z, one per step, with Z i.i.d. standard normal addressed by (key, measurement,
/// coordinate); and an upper bound on the simultaneous error, from sampled streams.
///
/// ```cpp
/// #include "dpftrl/strategy/catalogue.hpp"
/// const auto strategy = dpftrl::make_strategy({.name = "tree", .steps = 8});
/// dpftrl::NoiseStream noise(*strategy,
///                           {.key = dpftrl::Key::from_entropy(), .dimension = 2});
/// std::array<double, 2> first{}, row{};
/// noise.next(first);
/// noise.seek(0);
/// noise.next(row);
/// assert(row == first && noise.step() == 1);
///
/// const std::optional<double> level =
///     dpftrl::sampled_error(*strategy, dpftrl::Participation::single(), {.beta = 0.05});
/// assert(level > 0);
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

namespace detail {
class JointRows;
class RoundedRows;
struct NoiseShard;
struct WideFraction;
}  // namespace detail

/// |computed - ideal| <= absolute + relative * |computed|, for every entry of a row.
struct RowErrorBound {
  double absolute;
  double relative;
};

/// Written by next_rounded for an entry whose rounding its error bound does not decide.
inline constexpr std::int64_t kUndecided = INT64_MIN;

struct NoiseStreamOptions {
  Key key;
  std::int64_t dimension = 1;
  std::int64_t first_coordinate = 0;  ///< start of a shard, which has the bits of the whole stream
  /// Makes next_rounded leave every entry undecided, and rounded_entry use exact arithmetic alone:
  /// the same integers, but slowly.
  bool exact_only = false;
  /// Makes rows of C^-1 Z, the increments of the noise, instead of rows of A C^-1 Z, for callers
  /// that add noise to each gradient. Running sums of these rows are the rows of A C^-1 Z, up to
  /// rounding. Only for prefix sums and encoders whose inverse has few bands (`independent`,
  /// banded-inverse-square-root, lambda-cgd). Every row draws all its normals again, so nothing is
  /// kept, seeking costs nothing, a checkpoint has 64 bytes, and a row costs as many normals as the
  /// inverse has bands. NoiseIncrements provides increments for every encoder, as integers.
  bool increments = false;

  operator detail::NoiseShard() const;  ///< for recomputation
};

class NoiseStream {
 public:
  /// @throws Error{invalid_argument} dimension or first_coordinate out of range, a decoder form
  ///         that is malformed or has too few rows;
  ///         Error{unsupported} increments for an encoder that does not support them;
  ///         Error{resource_exhausted} noise generated in advance, or the rows that a recursion or
  ///         a filter keeps, would need more than 1 GiB.
  NoiseStream(const Strategy& strategy, const NoiseStreamOptions& options);
  ~NoiseStream();
  NoiseStream(NoiseStream&&) noexcept;
  NoiseStream& operator=(NoiseStream&&) noexcept;

  std::int64_t steps() const { return steps_; }
  std::int64_t dimension() const { return options_.dimension; }
  /// Position of the stream; the next row is row `step()`.
  std::int64_t step() const { return step_; }

  /// Makes row `step` the next one, with the same bits as in a stream that was read up to there.
  /// Rows do not change, so seeking back returns the same noise again.
  ///
  /// @param step  0 .. steps(); steps() is the end.
  /// @cost  O(1) for rows that are kept, for `output`, for noise generated in advance (square root)
  ///        and with `increments`; O(log n) normals for tree, trees of arity k, Haar, and blocks of
  ///        those. Otherwise a row adds up noise of all earlier steps, so the stream generates and
  ///        discards rows from the current step, or from the start when seeking back (for blocks,
  ///        from the first block whose total needs that). A FilteredDecoder (column scales, and
  ///        most workloads other than prefix sums) always requires this.
  /// @throws Error{invalid_argument} step out of range; std::bad_alloc.
  /// @checked-by noise_seek_test "a stream that seeks has the bits of one that walks"
  void seek(std::int64_t step);

  /// Bytes for `restore`: a header of 64 bytes (docs/math/checkpoints.md) and the state, which is
  /// empty for forms that seek without one. They do not contain the key, but the state is noise and
  /// as secret as the key.
  /// @cost  one copy of the state. The first call may generate and discard rows, as `seek` does;
  ///        from then on the stream keeps a second copy, the state before the last rows that it
  ///        generated at once.
  /// @throws std::bad_alloc.
  std::vector<std::byte> checkpoint();

  /// Continues where `checkpoint` was called: the same rows follow, natively and in WebAssembly.
  /// The bytes do not record later releases: restoring old ones repeats noise. Journal
  /// prevents that for releases.
  /// @throws Error{bad_state} damaged or truncated bytes, or bytes of another version, strategy,
  ///         dimension, range of coordinates or key; nothing changes then. std::bad_alloc.
  /// @cost  reading the state and generating up to window_size() rows; forms whose steps differ
  ///        (weighted trees, blocks, filters, recursions with varying coefficients) also pass over
  ///        all earlier steps, without drawing normals.
  /// @checked-by checkpoint_test
  void restore(std::span<const std::byte> bytes);

  /// Writes row step() of B Z (unit noise) and advances.
  /// @throws Error{past_horizon} after the last row; Error{wrong_length} row.size() != dimension. A
  ///         refused call leaves the stream unchanged. After std::bad_alloc, the next call
  ///         generates the same row, at the cost of a seek.
  /// @cost   several rows are generated at once and kept, up to 16 rows and 64 MiB (64 rows up to
  ///         dimension 64). A form with blocks sets up each block at its first step, as a separate
  ///         stream would.
  void next(std::span<double> row);

  /// Writes rows step() .. step() + num_rows - 1, one after the other, and advances. The bits are
  /// those of `next`, without another copy in memory.
  /// @throws as next; rows.size() must be num_rows * dimension.
  /// @checked-by noise_seek_test "a stream that seeks has the bits of one that walks"
  void next_rows(std::span<double> rows, std::int64_t num_rows);

  /// Writes floor(scale * entry + 1/2) of the ideal entries of rows step() .. step() + num_rows - 1
  /// and advances. An entry whose rounding its error bound does not decide is written as
  /// kUndecided; rounded_entry computes it.
  ///
  /// @param scale  0 <= scale <= 2^60.
  /// @return true if all entries are decided.
  /// @exactness    the integers written are those of the ideal entries (docs/math/grid.md, section
  ///               2).
  /// @throws as next_rows; Error{invalid_argument} scale out of range.
  /// @checked-by noise_rounding_test
  bool next_rounded(std::span<std::int64_t> rows, std::int64_t num_rows, double scale);

  /// Bound on the error of the last row written, compared with the ideal B Z, where B is defined by
  /// its stored doubles and Z is the transform of infinitely precise uniforms.
  /// @guarantee never below the true error, unless the uniform for the radius of a normal begins
  ///            with 192 zero bits or the noise exceeds 19.9 standard deviations (probability below
  ///            2^-100 in all the noise of a key; docs/math/grid.md, theorem 2). Infinite or NaN if
  ///            a recursion amplifies its rounding errors too much for a bound.
  /// @throws Error{invalid_argument} no row was written yet, or none since a seek to a row that is
  ///         not kept.
  /// @checked-by noise_stream_test "rows stay within their error bound", noise_kernels_test "rows
  ///             are the matrix of the form times the normals within the bound"
  RowErrorBound row_error_bound() const;

  /// floor(scale * entry + 1/2) of the ideal entry of row step() - 1, recomputed from as many
  /// random bits as the rounding needs.
  ///
  /// @param coordinate  0 <= coordinate < dimension().
  /// @param scale       0 <= scale <= 2^60.
  /// @exactness   exact, except for the events of row_error_bound and one of probability below
  ///              2^-400 per entry.
  /// @throws Error{invalid_argument} an argument out of range, or step() is 0; Error{unsupported}
  ///         the scaled entry is 2^61 or more, or the strategy's recursion exceeds 62 bits;
  ///         std::bad_alloc.
  /// @cost        1.5 us per normal that enters the row (see docs/math/grid.md).
  /// @checked-by  exact_entry_test
  std::int64_t rounded(std::int64_t coordinate, double scale) const;

  struct Entry {
    std::int64_t step;
    std::int64_t coordinate;
  };
  /// `rounded` for any row before step().
  std::int64_t rounded_entry(const Entry& entry, double scale) const;

  /// Largest number of rows that are generated at once; a longer call takes several rounds.
  std::int64_t window_size() const;

 private:
  class Maker;
  friend class detail::RoundedRows;  // for checkpoints that contain the state of the noise
  friend class detail::JointRows;    // likewise, and for entries rounded together with a sum

  RowErrorBound bound_of_row() const;
  std::array<std::byte, 16> fingerprint() const;
  /// Appends the state at `step` or an earlier step, and returns the step of that state.
  std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out);
  void restore_state(std::int64_t state_step, std::span<const std::byte> state, std::int64_t step);
  struct Approximation {
    double value;
    RowErrorBound bound;
  };
  std::optional<Approximation> refined_entry(const Entry& entry) const;
  std::optional<std::int64_t> rounded_by_refined_row(const Entry& entry, double scale) const;

  std::int64_t steps_;
  NoiseStreamOptions options_;
  std::unique_ptr<const DecoderForm> form_;  ///< has a stable address, because programs refer to it
  std::int64_t step_ = 0;
  std::unique_ptr<Maker> maker_;
};

/// Rounded rows of C^-1 Z, the increments of the noise, for every strategy for prefix sums: for
/// callers that add noise to the gradient of a step and keep no sums. They are differences of
/// rounded rows of B Z:
///
///     row t = round(scale (B Z)_t) - round(scale (B Z)_{t-1}),    row 0 = round(scale (B Z)_0)
///
/// Their running sums are the integers that PrefixSum adds to its sums, so the same proofs hold
/// (docs/math/grid.md, section 8). For encoders whose inverse has few bands, they are instead the
/// rows of NoiseStreamOptions::increments, each rounded separately.
///
/// @checked-by noise_increments_test
class NoiseIncrements {
 public:
  /// `options.increments` is ignored.
  /// @throws as NoiseStream; Error{unsupported} a strategy for another workload.
  NoiseIncrements(const Strategy& strategy, const NoiseStreamOptions& options);
  ~NoiseIncrements();
  NoiseIncrements(NoiseIncrements&&) noexcept;
  NoiseIncrements& operator=(NoiseIncrements&&) noexcept;

  std::int64_t steps() const;
  std::int64_t dimension() const;
  /// Position of the stream; the next row is row `step()`.
  std::int64_t step() const;

  /// Makes row `step` the next one. The work is deferred until that row is read. Its cost is that
  /// of NoiseStream::seek; for a difference, to the row before it, which is then generated, too.
  /// @throws Error{invalid_argument} step out of range.
  void seek(std::int64_t step);

  /// As in NoiseStream. For differences, the state also holds the rounded row of B Z before step(),
  /// if it is known.
  std::vector<std::byte> checkpoint();
  void restore(std::span<const std::byte> bytes);

  /// Writes rows step() .. step() + num_rows - 1, one after the other, all decided, and advances.
  ///
  /// @param scale  0 <= scale <= 2^60. Changing it costs as much as `seek`.
  /// @exactness    exact: differences of the integers of the ideal entries. They are at most one
  ///               unit from scale (C^-1 Z)_t, or half a unit if C^-1 has few bands.
  /// @throws as NoiseStream::next_rounded and rounded_entry; the call may be repeated.
  /// @cost         for differences, that of the rounded rows of B Z, plus one subtraction per entry
  ///               and one more row of memory.
  void next_rounded(std::span<std::int64_t> rows, std::int64_t num_rows, double scale);

 private:
  class Rows;
  std::unique_ptr<Rows> rows_;
};

/// Rows of B Z in single precision for `simulation`: noise of the same law, without an error bound,
/// from separate bits (Stream::noise_float; a ToeplitzDecoder uses those of NoiseStream). Never for
/// a release.
class FloatNoiseStream {
 public:
  /// @throws as NoiseStream.
  FloatNoiseStream(const Strategy& strategy, const NoiseStreamOptions& options);
  ~FloatNoiseStream();
  FloatNoiseStream(FloatNoiseStream&&) noexcept;
  FloatNoiseStream& operator=(FloatNoiseStream&&) noexcept;

  std::int64_t steps() const { return steps_; }
  std::int64_t dimension() const { return dimension_; }
  std::int64_t step() const { return step_; }

  /// As NoiseStream::seek.
  void seek(std::int64_t step);

  /// As NoiseStream::next and next_rows. The noise of a ToeplitzDecoder, which is convolved in
  /// advance, is computed in doubles and then rounded to floats.
  void next(std::span<float> row);
  void next_rows(std::span<float> rows, std::int64_t num_rows);

 private:
  class Maker;

  std::int64_t steps_;
  std::int64_t dimension_;
  std::unique_ptr<const DecoderForm> form_;
  std::int64_t step_ = 0;
  std::unique_ptr<Maker> maker_;
};

/// The matrix Z, num_rows x dimension: the test oracle of every stream.
Matrix noise_matrix(const NoiseStreamOptions& options, std::int64_t num_rows);

/// Largest number of paths that one call of sampled_error draws, and of their rows together.
inline constexpr std::int64_t kMaxSampledPaths = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxSampledRows = std::int64_t{1} << 33;
/// Bound on the probability, over the seed, that a sampled level is too low.
inline constexpr double kSampledRisk = 1e-6;

struct SampledErrorOptions {
  double beta;                     ///< probability of a larger error, 0 < beta < 1
  std::int64_t dimension = 1;      ///< entries of a record, 1..kMaxDimension
  std::int64_t num_paths = 20000;  ///< number of one-coordinate streams to draw
  std::uint64_t seed = 0;          ///< of the sampled noise, for a reproducible level
};

/// Upper bound on the error of every coordinate at every step with probability 1 - beta, at unit
/// noise: an order statistic of the largest errors of `num_paths` streams. It bounds the same
/// quantity as SimultaneousError::value and is usually lower, but is itself random: over the seeds,
/// it is too low with probability at most kSampledRisk.
///
/// @return     empty if num_paths is too small to prove a bound (about 14 dimension / beta are
///             needed), or if the noise has no error bound.
/// @guarantee  as stated, provided that the bits of a seed are as good as random. Binomial counts,
///             noise entries and the result are rounded up.
/// @throws Error{invalid_argument} an option outside its range; Error{unsupported} more than
///         kMaxSampledRows rows; as NoiseStream.
/// @cost       num_paths streams of noise, natively about 40 ns per entry.
/// @source     Clopper, Pearson, Biometrika 26 (1934); docs/math/simultaneous.md.
/// @checked-by sampled_error_test
std::optional<double> sampled_error(const Strategy& strategy, const Participation& participation,
                                    const SampledErrorOptions& options);

}  // namespace dpftrl
