// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private running totals: clip -> grid -> accumulate -> add noise -> release; or, in mode lattice,
/// clip -> grid -> measure -> add noise -> decode -> release.
///
/// A step is one record, or any number of contributions. Noise is added to sums only here. With a
/// mechanism for a sliding window, totals cover the last steps: they are differences of running
/// totals, with noise calibrated for these differences. With a mechanism for decay, momentum, rates
/// or a matrix, they are weighted sums. A RecordStream (stream.hpp) adds readings, people and a
/// journal.
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
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/lattice/lattice.hpp"
#include "dpftrl/release/record.hpp"

namespace dpftrl {

namespace detail {
class GridRecord;
class ReleaseEngine;
class OpenSums;
}  // namespace detail

struct StepProbability {
  std::int64_t step;
  double probability;
  std::int64_t coordinate = 0;
};

/// Releases the sums of the mechanism's workload; in mode lattice, prefix sums only. A checkpoint
/// has `window * dimension` integers of 8 bytes for a sliding window, up to `steps * dimension` for
/// a matrix, and 40 bytes per coordinate for other weighted sums, or 80 with momentum.
///
/// A mechanism for k workloads (Mechanism::make_stack) takes a dimension of k d: a record is d
/// numbers, and a release is the d sums of the first workload, then those of the second, ...
class PrefixSum {
 public:
  /// @throws Error{invalid_argument} dimension < 1, a noise std below 2^-900, a grid that is not a
  ///         power of two or is too coarse or too fine for 62-bit sums, or for weighted sums a grid
  ///         above the noise of a release, or weights above 2^20; for active people a clip below 1
  ///         or a grid above 1; in mode lattice as LatticeMechanism::make; Error{unsupported} mode
  ///         lattice with a mechanism that has no integer encoder, or is for active people or a
  ///         workload other than prefix sums; active people without a delta; an option that
  ///         clipped_by_caller rules out; Error{resource_exhausted} as NoiseStream; in mode lattice
  ///         a state, and for other workloads sums and records, of more than 1 GiB.
  PrefixSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options);
  ~PrefixSum();
  PrefixSum(PrefixSum&&) noexcept;
  PrefixSum& operator=(PrefixSum&&) noexcept;

  /// Takes one record, clips it, and writes the private running total, or the total of the window.
  ///
  /// @param record  record_size() entries, in input units.
  /// @param noisy   dimension entries, in input units: multiples of grid(), or in mode lattice a
  ///                function of the noisy measurements so far. May be `record` itself, but
  ///                no other part of it.
  /// @param sink    also receives the release, unless null.
  /// @guarantee     mode grid: given ideal random bits, the releases are those of the ideal
  ///                Gaussian mechanism rounded to the grid, so the sequence is mu-GDP for the
  ///                mechanism's mu and neighbouring relation, for adaptively chosen records, with
  ///                nothing to add to delta. (The probability of any other value is below 2^-100
  ///                over the lifetime of a key.) Mode lattice: all measurements of the stream are
  ///                rho-zCDP (discrete Gaussian) or mu-GDP (rounded Gaussian) for rho and mu of
  ///                lattice()->certificate(). Mechanism::make_pure: the sequence is epsilon-DP,
  ///                with no delta, for adaptively chosen records, which are clipped in l1-norm over
  ///                all entries.
  /// @exactness     every entry is rounded as the ideal real number would be; an entry whose
  ///                rounding double precision leaves open is recomputed from more of its random
  ///                bits. Mode lattice: without noise the totals are those of the clipped integer
  ///                records, to the rounding of doubles and, with buffers, to decoding_bias().
  /// @cost          as NoiseStream::next_rounded, several rows at a time; for a recomputed entry as
  ///                NoiseStream::rounded_entry. Whether an entry is recomputed depends on the noise
  ///                alone, never on a record. Mode lattice: the cost of the encoder, and about 1 us
  ///                per discrete Gaussian.
  /// @checked-by    prefix_sum_test, window_sum_test, weighted_sum_test, exact_entry_test,
  ///             lattice_test, audit_test, pure_sum_test
  /// @throws Error{wrong_length, invalid_argument} the record is refused; Error{past_horizon} after
  ///         `steps` releases. Nothing changes in any of these cases.
  void release(std::span<const double> record, std::span<double> noisy,
               ReleaseSink* sink = nullptr);
  /// Releases a record that is not materialised; `noisy` must not overlap any part of it.
  void release(const ProductRecord& record, std::span<double> noisy, ReleaseSink* sink = nullptr);

  /// Takes the changes of counts of active people, which are not clipped, and writes the private
  /// counts. Mechanisms for active people take no other records.
  ///
  /// @param changes  record_size() changes, in whole people.
  /// @guarantee      that of Mechanism::make_active, if the caller counts each person in one
  ///                 coordinate (of each window), as the participation says.
  /// @checked-by     active_people_test
  /// @throws Error{unsupported} a mechanism that is not for active people; Error{invalid_argument}
  ///         a change beyond 2^40 grids (2^62 / steps() for more than 2^22 steps); as release.
  ///         Nothing changes in any of these cases.
  void release(const CountChanges& changes, std::span<double> noisy, ReleaseSink* sink = nullptr);

  /// Adds a contribution to the step that the next release ends. Each one is clipped and put on the
  /// grid separately, so a step may be the sum of many people's contributions.
  ///
  /// @param contribution  record_size() entries, in input units.
  /// @guarantee     as `release`, for streams that differ in contributions of one user, who
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

  /// Bytes from which `restore_without_journal` continues, like those of NoiseStream::checkpoint.
  /// May be called between two contributions to one step. The bytes contain the TRUE sums and are
  /// as secret as the records.
  /// @throws std::bad_alloc.
  std::vector<std::byte> checkpoint();

  /// Continues where `checkpoint` was called. Steps released since then would be released again
  /// with the same noise, and two releases of one step with different records reveal the difference
  /// of the records, so restore only the newest bytes. Journal enforces that.
  /// @throws as NoiseStream::restore; also if clip norm, noise or grid differ from the
  ///         checkpoint's.
  /// @checked-by checkpoint_test
  void restore_without_journal(std::span<const std::byte> bytes);

  /// Whether records are added as they are, because the caller has clipped them. mechanism().clip()
  /// is then the norm that the caller promises, plus sqrt(record_size()) grid, which bounds what
  /// truncation adds.
  /// @guarantee   that of `release` in mode grid, if at each step of a user neighbouring streams
  ///              differ in one record, by at most that norm (twice that norm for replace-one).
  /// @source      docs/math/grid.md, section 8
  /// @checked-by  increments_test "the norm covers what truncating a record adds"
  bool is_clipped_by_caller() const { return is_clipped_by_caller_; }
  /// Throws if a record that the caller has clipped would be refused.
  /// @throws Error{invalid_argument} an entry that is not finite, or beyond 2^40 grids (2^62 /
  ///         steps() for more than 2^22 steps), for which the sums have no room.
  void check(const ProductRecord& record) const;
  void check(std::span<const double> record) const;

  /// In mode lattice, releases do not have the noise of this mechanism.
  const Mechanism& mechanism() const { return *mechanism_; }
  /// Mechanism that states the guarantee of mode lattice; nullptr in mode grid.
  const LatticeMechanism* lattice() const { return lattice_.get(); }
  /// Std, in input units, of the noise of each coordinate of the release at a step in either mode,
  /// including the rounding of noise to integers. Clipping, and the truncation of records to the
  /// grid, add a bias that this std does not include: see docs/math/grid.md, section 7.
  /// @checked-by  prefix_sum_test "the predicted std is that of the releases, on coarse grids too"
  double release_stddev(std::int64_t step) const;
  /// release_stddev of one coordinate. In a stack, coordinates differ, and release_stddev returns
  /// that of the first workload.
  double release_stddev_of(const ReleaseEntry& entry) const;
  /// x, in input units, such that the noise of a coordinate of the release at a step exceeds x in
  /// magnitude with at most this probability, rounding included.
  /// @exactness   mode grid: the normal tail, plus half a grid for the rounding. Pure mechanisms:
  ///              the smallest x for the sum of the noises (docs/math/pure.md). Mode lattice: an
  ///              upper bound, LatticeMechanism::release_half_width.
  /// @throws Error{invalid_argument} step or coordinate out of range, or a probability that is not
  ///         between 1e-290 and 1.
  /// @cost        a search if the probability differs from that of the last call; for pure
  ///              mechanisms, quadratic in the number of nodes of a total, which is about 25.
  /// @checked-by  half_width_test, pure_sum_test "the tail of a release is that of the convolution"
  double release_half_width(const StepProbability& wanted) const;
  /// x, in input units, such that with at most this probability the noise of some coordinate of
  /// some release exceeds x in magnitude.
  /// @exactness   an upper bound: a union bound over steps and coordinates. Pure mechanisms: each
  ///              step has the tail of the sum of its noises; beyond 2^20 steps, each step is
  ///              assumed to have the largest number of nodes, and numbers of nodes above 64 are
  ///              rounded up by at most a thirty-second. Others: each step is assumed to have the
  ///              noise of the noisiest step.
  /// @guarantee   over all steps of the horizon, released or not, rounding included.
  /// @throws Error{invalid_argument} a probability that is not between 1e-200 and 1.
  /// @cost        O(steps) for pure mechanisms up to 2^20 steps, and in mode lattice.
  /// @checked-by  half_width_test, pure_sum_test "all releases keep to their bound together"
  double simultaneous_half_width(double probability) const;
  /// Law of the noise of a pure mechanism; empty for other mechanisms.
  std::optional<LaplaceNoise> laplace() const;
  std::int64_t dimension() const { return dimension_; }
  /// Entries of a record: fewer than dimension() for several workloads.
  std::int64_t record_size() const {
    return mechanism_->has_parts() ? dimension_ : dimension_ / mechanism_->num_readers();
  }
  std::int64_t steps() const { return mechanism_->steps(); }
  /// Releases made so far.
  std::int64_t step() const { return step_; }
  double grid() const { return grid_; }
  /// Number of records and contributions that fit the sums, including those that have left a
  /// window: at least steps(), and at least 2^31 for records clipped here and sums without weights.
  /// In mode lattice, contributions to one step.
  std::int64_t max_contributions() const { return max_contributions_; }
  /// Mode lattice: the noisy integers of the last release, measurement after measurement.
  std::span<const std::int64_t> measurements() const;
  /// Noise entries that were recomputed because double precision left their rounding open. For
  /// tests and statistics; like the time of a release, it is not covered by the guarantee.
  std::int64_t num_recomputed() const;

 private:
  friend class detail::OpenSums;
  struct Checked {};
  PrefixSum(Checked, const std::shared_ptr<const Mechanism>& mechanism,
            const PrefixSumOptions& options);
  std::array<std::byte, 16> fingerprint() const;
  void restore(std::span<const std::byte> bytes);
  void require_room(std::int64_t num_records) const;
  void require_left(std::int64_t num_records) const;
  void add(const ProductRecord& contribution);
  template <class Record>
  void end_step_with(const Record& record, std::span<double> noisy, ReleaseSink* sink);
  detail::GridRecord integers_of(const ProductRecord& record) const;
  detail::GridRecord integers_of(const CountChanges& changes) const;
  /// Releases a step with a given sum. A call that throws changes nothing.
  void release_integers(std::vector<std::int64_t> integers, std::int64_t num_contributions,
                        std::span<double> noisy);
  void end_step();

  std::shared_ptr<const Mechanism> mechanism_;
  std::shared_ptr<const LatticeMechanism> lattice_;  ///< in mode lattice
  std::array<std::byte, 16> commitment_;             ///< to the key
  std::unique_ptr<detail::ReleaseEngine> engine_;
  std::int64_t dimension_;
  double grid_;
  bool is_clipped_by_caller_;
  bool counts_;  ///< whether records are CountChanges
  std::int64_t max_contributions_;
  std::int64_t num_contributions_ = 0;  ///< in mode lattice, to the open step only
  std::int64_t step_ = 0;
};

}  // namespace dpftrl
