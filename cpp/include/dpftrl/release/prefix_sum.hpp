// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private running totals: clip -> grid -> accumulate -> add noise -> release; or, in mode lattice,
/// clip -> grid -> measure -> add noise -> decode -> release.
///
/// A step is one record, or any number of contributions. Noise is added to sums only here. With a
/// mechanism for a sliding window, totals cover the last steps: they are differences of running
/// totals, with noise made for these. With one for decay, momentum, rates or a matrix, they are
/// weighted sums. A RecordStream (stream.hpp) adds readings, people and a journal.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// dpftrl::PrefixSum visits(mechanism, {.key = dpftrl::Key::from_entropy()});
/// std::array<double, 1> total{};
/// for (const double visit : {1.0, 0.0, 1.0}) visits.release(std::array{visit}, total);
/// assert(visits.step() == 3);  // total[0] is 2 and noise
///
/// const auto weekly = dpftrl::Mechanism::make(
///     {.strategy = "normalized-square-root",
///      .steps = 100,
///      .target = {.epsilon = 1, .delta = 1e-6},
///      .workload = dpftrl::Workload::sliding_window({.steps = 100, .window = 7})});
/// dpftrl::PrefixSum last_week(weekly, {.key = dpftrl::Key::from_entropy()});
/// for (int day = 0; day < 9; ++day) last_week.release(std::array{1.0}, total);
/// // total[0] is 7 and noise
///
/// const auto fading = dpftrl::Mechanism::make(
///     {.strategy = "optimal",
///      .steps = 100,
///      .target = {.epsilon = 1, .delta = 1e-6},
///      .workload = dpftrl::Workload::momentum({.steps = 100, .momentum = 0, .decay = 0.5})});
/// dpftrl::PrefixSum lately(fading, {.key = dpftrl::Key::from_entropy()});
/// for (int day = 0; day < 3; ++day) lately.release(std::array{1.0}, total);
/// // total[0] is 1.75 and noise
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/lattice/lattice.hpp"
#include "dpftrl/release/record.hpp"

namespace dpftrl {

namespace detail {
class ReleaseEngine;
class OpenSums;
}  // namespace detail

struct StepProbability {
  std::int64_t step;
  double probability;
  std::int64_t coordinate = 0;
};

/// Releases the sums of the mechanism's workload: prefix sums or, in mode grid with a mechanism
/// that is not pure, any other. A sliding window keeps `width * dimension` integers of 8 bytes, a
/// matrix those of all steps; other weights keep 40 bytes per coordinate, or 80 with momentum.
/// Checkpoints include them.
///
/// A mechanism for k workloads (Mechanism::make_stack) takes a dimension of k d: a record is d
/// numbers, and a release is the d sums of the first workload, then those of the second, ...
class PrefixSum {
 public:
  /// @throws Error{invalid_argument} dimension < 1, a noise std below 2^-900, a grid that is not a
  ///         power of two or is too coarse or too fine for 62-bit sums, or for weighted sums a grid
  ///         above the noise of a release, or weights above 2^20; in mode lattice as
  ///         LatticeMechanism::make; Error{unsupported} mode lattice of a mechanism without an
  ///         integer encoder, or for another workload; Error{resource_exhausted} see NoiseStream;
  ///         in mode lattice a state, and for other workloads sums and records, of more than 1 GiB.
  PrefixSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options);
  ~PrefixSum();
  PrefixSum(PrefixSum&&) noexcept;
  PrefixSum& operator=(PrefixSum&&) noexcept;

  /// Takes one record, clips it, and writes the private running total, or the total of the window.
  ///
  /// @param record  record_size() entries, input units.
  /// @param noisy   dimension entries, input units: multiples of grid(), or in mode lattice a
  ///                function of the noisy measurements so far. May be `record` itself, but
  ///                no other part of it.
  /// @param sink    also receives the release, unless null.
  /// @guarantee     mode grid: given ideal random bits, the releases are those of the ideal
  ///                Gaussian mechanism rounded to the grid, so the sequence is mu-GDP for the
  ///                mechanism's mu and neighbouring relation, for adaptively chosen records, with
  ///                nothing to add to delta. (Probability of another value: below 2^-100 in a key's
  ///                lifetime.) Mode lattice: all measurements of the stream are rho-zCDP (discrete
  ///                Gaussian) or mu-GDP (rounded Gaussian) for rho and mu of
  ///                lattice()->certificate(). Mechanism::make_pure: the sequence is epsilon-DP,
  ///                with no delta, for adaptively chosen records, which are clipped in l1-norm over
  ///                all entries.
  /// @exactness     every entry is rounded as the ideal real number would be; an entry that double
  ///                precision leaves open is recomputed from more of its random bits. Mode lattice:
  ///                without noise the totals are those of the clipped integer records, to the
  ///                rounding of doubles; with buffers, also to decoding_bias().
  /// @cost          that of NoiseStream::next_rounded, several rows at a time; for a recomputed
  ///                entry NoiseStream::rounded_entry. Whether one is recomputed depends on the
  ///                noise alone, never on a record. Mode lattice: that of the encoder, and about
  ///                1 us for a discrete Gaussian.
  /// @checked-by    prefix_sum_test, window_sum_test, weighted_sum_test, exact_entry_test,
  ///             lattice_test, audit_test, pure_sum_test
  /// @throws Error{wrong_length, invalid_argument} the record is refused; Error{past_horizon} after
  ///         `steps` releases. Nothing changes in any of these cases.
  void release(std::span<const double> record, std::span<double> noisy,
               ReleaseSink* sink = nullptr);
  /// The same for a record that is not materialised; `noisy` must not overlap any part of it.
  void release(const ProductRecord& record, std::span<double> noisy, ReleaseSink* sink = nullptr);

  /// Adds a contribution to the step that the next release ends. Each one is clipped and put on the
  /// grid separately, so a step may be the sum of many people's contributions.
  ///
  /// @param contribution  record_size() entries, input units.
  /// @guarantee     that of `release`, for streams that differ in contributions of one user, who
  ///                makes at most one per step and only at steps that the mechanism's participation
  ///                allows. People (people.hpp) enforces that.
  /// @checked-by    prefix_sum_test, people_test
  /// @throws Error{wrong_length, invalid_argument} the contribution is refused; Error{past_horizon}
  ///         after `steps` releases; Error{resource_exhausted} after max_contributions() of them.
  ///         Nothing changes in any of these cases.
  void contribute(std::span<const double> contribution);
  void contribute(const ProductRecord& contribution);

  /// Ends the step of the contributions made since the last release, if any.
  /// @throws Error{wrong_length}, Error{past_horizon}: nothing changes.
  void release(std::span<double> noisy, ReleaseSink* sink = nullptr);

  /// Releases num_records records in turn, with the same results as one call of `release` for each.
  ///
  /// @param records  num_records * record_size() entries.
  /// @param noisy    num_records * dimension entries.
  /// @throws as release. All records are checked first, so a refused call changes nothing.
  /// @checked-by prefix_sum_test "a batch is its releases one by one"
  void release_batch(std::span<const double> records, std::span<double> noisy,
                     std::int64_t num_records);

  /// Returns bytes from which `restore_without_journal` continues, as NoiseStream::checkpoint, also
  /// between two contributions to one step. They contain the TRUE sums and are as secret as the
  /// records.
  /// @throws std::bad_alloc.
  std::vector<std::byte> checkpoint();

  /// Continues where `checkpoint` was called. Records released since then would be released with
  /// the same noise again, and two releases of one step with different records reveal the
  /// difference of the records, so restore only the newest bytes. Journal enforces that.
  /// @throws as NoiseStream::restore; also for another clip norm, noise or grid.
  /// @checked-by checkpoint_test
  void restore_without_journal(std::span<const std::byte> bytes);

  /// In mode lattice, its noise is not the noise of the releases.
  const Mechanism& mechanism() const { return *mechanism_; }
  /// Mechanism that states the claims of mode lattice; nullptr in mode grid.
  const LatticeMechanism* lattice() const { return lattice_.get(); }
  /// Std of the noise of each coordinate of the release at a step, input units, in either mode,
  /// including the rounding of noise to integers. Clipping, and the truncation of records to the
  /// grid, add a bias that this std does not include: see docs/math/grid.md, section 7.
  /// @checked-by  prefix_sum_test "the predicted std is that of the releases, on coarse grids too"
  double release_stddev(std::int64_t step) const;
  /// The same for one coordinate. In a stack they differ, and release_stddev returns that of the
  /// first.
  double release_stddev_of(const ReleaseEntry& entry) const;
  /// x, input units, that the magnitude of the noise of a coordinate of the release at a step
  /// exceeds with at most this probability, rounding included.
  /// @exactness   mode grid: the normal tail, and half a grid for the rounding. Pure mechanisms:
  /// the
  ///              smallest x for the sum of the noises (docs/math/pure.md). Mode lattice: an upper
  ///              bound, LatticeMechanism::release_half_width.
  /// @throws Error{invalid_argument} step or coordinate out of range, or a probability that is not
  ///         between 1e-290 and 1.
  /// @cost        a search, for another probability than the last one; for pure mechanisms the
  ///              square of the number of nodes, about 25.
  /// @checked-by  half_width_test, pure_sum_test "the tail of a release is that of the convolution"
  double release_half_width(const StepProbability& wanted) const;
  /// x, input units, such that with at most this probability the noise of some coordinate of some
  /// release exceeds x in magnitude.
  /// @exactness   an upper bound: the union over steps and coordinates. Pure mechanisms: each with
  ///              the tail of the sum of its noises; beyond 2^20 steps, each step is assumed to
  ///              have the most nodes, and numbers of nodes above 64 are rounded up by at most a
  ///              thirty-second. Others: each with the noise of the step that has most.
  /// @guarantee   over all steps of the horizon, released or not, rounding included.
  /// @throws Error{invalid_argument} a probability that is not between 1e-200 and 1.
  /// @cost        O(steps) for pure mechanisms up to 2^20 steps, and in mode lattice.
  /// @checked-by  half_width_test, pure_sum_test "all releases keep to their bound together"
  double simultaneous_half_width(double probability) const;
  /// Law of the noise of a node of a pure mechanism; empty for other mechanisms.
  std::optional<LaplaceNoise> laplace() const;
  std::int64_t dimension() const { return dimension_; }
  /// Number of entries of a record, which is less than dimension() for several workloads.
  std::int64_t record_size() const { return dimension_ / mechanism_->num_readers(); }
  std::int64_t steps() const { return mechanism_->steps(); }
  /// Number of releases made so far.
  std::int64_t step() const { return step_; }
  double grid() const { return grid_; }
  /// Number of records and contributions that the sums have room for, at least steps() and
  /// 2^31, including those that have left a window; in mode lattice, contributions to one step.
  std::int64_t max_contributions() const { return max_contributions_; }
  /// Mode lattice: the noisy integers of the last release, measurement after measurement.
  std::span<const std::int64_t> measurements() const;
  /// Number of noise entries that were recomputed because double precision left their rounding
  /// open. For tests and statistics; like the time of a release, it is not covered by the
  /// guarantee.
  std::int64_t num_recomputed() const;

 private:
  friend class detail::OpenSums;
  std::array<std::byte, 16> fingerprint() const;
  void restore(std::span<const std::byte> bytes);
  void require_room(std::int64_t num_records) const;
  void require_left(std::int64_t num_records) const;
  void add(const ProductRecord& contribution);
  void end_step_with(const ProductRecord& record, std::span<double> noisy, ReleaseSink* sink);
  /// Adds the integers of a record.
  void add_integers_of(const ProductRecord& record, std::span<std::int64_t> sum) const;
  /// Releases a step with that sum. A call that throws changes nothing.
  void release_integers(std::vector<std::int64_t> integers, std::int64_t num_contributions,
                        std::span<double> noisy);
  void end_step();

  std::shared_ptr<const Mechanism> mechanism_;
  std::shared_ptr<const LatticeMechanism> lattice_;  ///< in mode lattice
  std::array<std::byte, 16> commitment_;             ///< to the key
  std::unique_ptr<detail::ReleaseEngine> engine_;
  std::int64_t dimension_;
  double grid_;
  std::int64_t max_contributions_;
  std::int64_t num_contributions_ = 0;  ///< in mode lattice to the open step
  std::int64_t step_ = 0;
};

struct GradientNoiseOptions {
  MechanismOptions mechanism;  ///< for prefix sums; the caller guarantees `clip`
  Key key;
  std::int64_t dimension = 1;
  /// Spacing of the results, a power of two. Default: default_grid, or finer: at most clip /
  /// (1024 sqrt(dimension)).
  std::optional<double> grid = {};
};

/// Noise for sums of clipped gradients that callers keep themselves: row t of C^-1 Z for the sum of
/// step t. Sums of the results are running totals with the noise of PrefixSum, bit for bit, except
/// that encoders whose inverse has few bands round each row separately (NoiseIncrements), so those
/// sums are off by at most a unit per step.
///
///     sum of step t --truncate--> q_t     (q_t + round(row of totals t) - round(that before)) grid
///
/// @guarantee  that of mode grid of PrefixSum, for neighbouring streams whose sums, as passed in
///             here, differ at each step of the user by at most the promised norm. The noise is
///             made for mechanism().clip(), which includes what truncating a sum adds to that
///             norm, below sqrt(dimension) grid: docs/math/grid.md, section 8. The caller is
///             responsible for clipping, and for the rounding of the sums.
/// @checked-by gradient_noise_test
class GradientNoise {
 public:
  /// @throws as Mechanism::make, PrefixSum and NoiseIncrements.
  explicit GradientNoise(const GradientNoiseOptions& options);

  /// Adds the noise of a step and advances to the next one. Steps may be skipped; none is used
  /// twice, unless noise() seeks back.
  ///
  /// @param sum  dimension entries, input units; becomes a multiple of grid().
  /// @param step  step() .. steps() - 1.
  /// @throws Error{wrong_length} sum; Error{past_horizon} step; Error{already_released} a step
  ///         before step(): two sums with the same noise reveal their difference;
  ///         Error{invalid_argument} an entry that is not finite, or beyond 2^52 grids. Nothing
  ///         changes in any of these cases.
  void add_noise_to(std::span<double> sum, std::int64_t step);

  /// Rows, checkpoints and `seek`, which can also go back: for callers who know that no later step
  /// was released.
  NoiseIncrements& noise() { return noise_; }
  const NoiseIncrements& noise() const { return noise_; }
  /// The mechanism for the promised norm plus the effect of truncation.
  const Mechanism& mechanism() const { return *mechanism_; }
  double clip() const { return clip_; }  ///< as promised by the caller
  double grid() const { return grid_; }

 private:
  GradientNoise(const GradientNoiseOptions& options, std::shared_ptr<const Mechanism> promised);

  double clip_;
  double grid_;
  std::shared_ptr<const Mechanism> mechanism_;
  NoiseIncrements noise_;
  std::vector<std::int64_t> row_;
};

}  // namespace dpftrl
