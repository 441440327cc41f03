// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Engines that process integer records (internal header). PrefixSum chooses one:
///
///     GridEngine     mode grid, prefix sums               grid/grid_engine
///     WindowEngine   mode grid, a sliding window          grid/window_engine
///     WeightedEngine mode grid, other workloads           grid/weighted_engine
///     StackEngine    mode grid, several workloads         grid/stack_engine
///     LaplaceEngine  mode grid, a mechanism without delta laplace_engine
///     LatticeEngine  mode lattice                         lattice/lattice_engine
///
/// A record takes the same path through each of them:
///
///     record --quantised()--> GridRecord --release()--> total
///                 |                          |
///            clipped: its           its integers join the sums, and the
///            norm is decided        row of noise is added to those

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/release/lattice/lattice.hpp"
#include "dpftrl/release/record.hpp"
#include "noise/checkpoint.hpp"
#include "release/grid/quantiser.hpp"

namespace dpftrl::detail {

class GridReleases;

/// Keeps the true integers and adds noise to them. Callers check arguments: records have
/// PrefixSum::record_size entries, and steps are consecutive.
class ReleaseEngine {
 public:
  virtual ~ReleaseEngine() = default;

  virtual double grid() const = 0;
  /// Contributions that the integers have room for; see PrefixSum::max_contributions.
  virtual std::int64_t max_contributions() const = 0;
  /// Clips the record in the norm of the mechanism. GridRecord::add_to computes its integers later,
  /// so that they take no memory.
  /// @throws Error{invalid_argument} an entry is not finite; std::bad_alloc.
  virtual GridRecord quantised(const ProductRecord& record) const = 0;
  /// Puts changes of counts on the grid as they are. Only for mechanisms with takes_counts.
  /// @throws Error{invalid_argument} a change beyond the room for one; std::bad_alloc.
  virtual GridRecord unclipped(const CountChanges& /*changes*/) const { return {}; }
  /// Adds a record to the open step.
  virtual void add(const GridRecord& record) = 0;
  /// Adds a record, if it is not empty, to the step and ends the step. A call that throws changes
  /// nothing, and the noise of a step is the same however often it is computed.
  /// @param noisy  may be the memory of the record.
  /// @param sink   may be null.
  virtual void release(std::int64_t step, const GridRecord& record, std::span<double> noisy,
                       ReleaseSink* sink) = 0;
  /// Makes the same releases as `quantised` and `release`, for records of one finite number each
  /// from `step` on, in one loop without a GridRecord. Makes as many as there is noise for and
  /// returns their number; 0 if the engine has no such loop, and nothing was done.
  virtual std::int64_t release_numbers(std::int64_t /*step*/, std::span<const double> /*records*/,
                                       std::span<double> /*noisy*/) {
    return 0;
  }
  /// Measurements of the latest release; empty in mode grid, where the release is the measurement.
  virtual std::span<const std::int64_t> measurements() const { return {}; }
  virtual std::int64_t num_recomputed() const = 0;
  /// Std of the noise of each coordinate of the release at a step; see PrefixSum::release_stddev.
  virtual double release_stddev(std::int64_t step) const = 0;
  /// release_stddev of one coordinate, if coordinates differ.
  virtual double release_stddev_of(const ReleaseEntry& entry) const {
    return release_stddev(entry.step);
  }
  /// See PrefixSum::release_half_width.
  virtual double half_width(const ReleaseEntry& entry, double probability) const = 0;
  /// See PrefixSum::simultaneous_half_width.
  virtual double simultaneous_half_width(double probability) const = 0;
  /// Law of the noise of a node of a pure mechanism; empty for all other mechanisms.
  virtual std::optional<LaplaceNoise> laplace() const { return std::nullopt; }

  virtual CheckpointKind kind() const = 0;
  /// Appends everything that the releases depend on, except the key.
  virtual void append_fingerprint(Sha256& hash) const = 0;
  /// Appends the integers and the state to continue from, and returns the step of that state.
  virtual std::int64_t write_state(std::int64_t step, std::vector<std::byte>& out) = 0;
  /// @throws Error{bad_state} bytes of another length. After this nothing has changed.
  virtual void restore_state(std::int64_t state_step, std::span<const std::byte> state,
                             std::int64_t step) = 0;
};

/// Largest magnitude of sums of integers.
inline constexpr double kMaxSumInGrids = 0x1p62;
/// Largest std of noise in grid units: rows of doubles need fractional bits to be rounded, even in
/// the tails.
inline constexpr double kMaxNoiseInGrids = 0x1p40;

/// Largest entry of a record that is not clipped, in grid units, unless the horizon needs less.
inline constexpr double kMaxUnclippedInGrids = 0x1p40;

/// Refuses a probability for which one release, or all of them together, have no half-width.
/// @throws Error{invalid_argument}.
void require_probability(double probability);
void require_probability_of_all(double probability);

/// Whether records are changes of counts of active people.
inline bool takes_counts(const Mechanism& mechanism) {
  return mechanism.participation().kind() == Participation::Kind::active;
}

/// Checks that records of the mechanism's clip norm, their sums and its noise fit a grid.
/// @throws Error{invalid_argument}.
void require_grid(std::string_view where, const Mechanism& mechanism, double grid);

/// The mechanism must outlive the engine.
/// @param mechanism         a mechanism for prefix sums.
/// @param first_coordinate  first coordinate of the noise, where several engines share a key.
std::unique_ptr<GridReleases> make_grid_engine(const Mechanism& mechanism,
                                               const PrefixSumOptions& options,
                                               std::int64_t first_coordinate = 0);
/// @param mechanism  a mechanism for a window.
/// @throws Error{resource_exhausted} more than 1 GiB of integers in the window.
std::unique_ptr<GridReleases> make_window_engine(const Mechanism& mechanism,
                                                 const PrefixSumOptions& options);
/// @param mechanism  a mechanism for a workload with weights.
/// @throws Error{invalid_argument} a grid coarser than the noise of a release, weights beyond 2^20,
///         or a negligible weight of a record in its own step; Error{resource_exhausted} more than
///         1 GiB of sums or records.
std::unique_ptr<GridReleases> make_weighted_engine(const Mechanism& mechanism,
                                                   const PrefixSumOptions& options);
/// Makes one of the three engines above for the workload of the mechanism, or one for each of
/// several workloads or parts.
/// @throws Error{invalid_argument} a dimension that is not a multiple of the number of workloads or
///         parts; otherwise as the engine of each.
std::unique_ptr<ReleaseEngine> make_sums_engine(const Mechanism& mechanism,
                                                const PrefixSumOptions& options);
/// @param mechanism  a pure mechanism.
std::unique_ptr<ReleaseEngine> make_laplace_engine(const Mechanism& mechanism,
                                                   const PrefixSumOptions& options);
std::unique_ptr<ReleaseEngine> make_lattice_engine(std::shared_ptr<const LatticeMechanism> lattice,
                                                   const PrefixSumOptions& options);

}  // namespace dpftrl::detail
