// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Options of a release, clipping of records, and sinks that receive the release.
///
/// ```cpp
/// std::array<double, 2> record{3, 4};
/// dpftrl::clip_to_norm(record, /*clip=*/1);
/// assert(std::abs(record[0] - 0.6) < 1e-12 && std::abs(record[1] - 0.8) < 1e-12);
/// const std::array<double, 3> scales{1, 0, -1};
/// assert((dpftrl::ProductRecord{.scales = scales, .features = record}.size()) == 6);
/// ```

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/lattice/lattice.hpp"

namespace dpftrl {

/// How releases are protected against leaks through the low-order bits of floating-point numbers.
enum class ReleaseMode {
  grid,     ///< integer sums plus exactly rounded noise: the exact release, rounded to the grid
  lattice,  ///< noisy integer measurements, decoded afterwards: see lattice.hpp
};

struct PrefixSumOptions {
  Key key;
  std::int64_t dimension = 1;
  ReleaseMode mode = ReleaseMode::grid;
  /// Spacing of the grid on which records are put and, in mode grid, sums are released: a power of
  /// two. Default: `default_grid`, or finer for pure mechanisms, several workloads and records
  /// clipped by the caller.
  std::optional<double> grid = {};
  /// Computes every entry of noise digit by digit: the same releases, but slowly.
  bool exact_only = false;
  /// For mode lattice, which does not use the mechanism's own noise: see LatticeOptions.
  LatticeNoise lattice_noise = LatticeNoise::discrete_gaussian;
  std::optional<int> precision_bits = {};
  /// Whether the caller has clipped the records, so that they are put on the grid as they are. The
  /// caller promises that records of neighbours differ by at most the mechanism's clip (twice that
  /// for replace-one); the noise is calibrated for this and for what truncation may add. Not
  /// allowed in mode lattice, without a delta, with several workloads, or with people, whose
  /// records are clipped here.
  bool clipped_by_caller = false;
};

/// Largest power of two that exceeds none of
///
///     1                             integers are kept exactly
///     least release std / 64
///     clip / (64 sqrt(dimension))   small entries survive
///     RMS release std / (4 n)       truncating n records costs at most a quarter of the noise
///
/// where n is the number of steps (for workloads other than prefix sums, a bound on the row sums of
/// |A|), but at most 2^18. Coarser if 62-bit sums require it.
double default_grid(const Mechanism& mechanism, std::int64_t dimension);

/// Scales the record by min(1, clip / ||record||), in place.
/// @throws Error{invalid_argument} an entry is not finite.
void clip_to_norm(std::span<double> record, double clip);

/// A record of scales.size() * features.size() entries that is not materialised: entry
/// k * features.size() + i is scales[k] * features[i]. Gradients of linear models have this form.
struct ProductRecord {
  std::span<const double> scales;
  std::span<const double> features;
  std::int64_t size() const { return std::int64_t{std::ssize(scales)} * std::ssize(features); }
};

/// Record of a mechanism for active people: by how many people each count changes in a step. It is
/// added as it is, because the sensitivity is that of all changes of a person together
/// (Participation::active), and clipping the changes of many people would break that pattern.
struct CountChanges {
  std::span<const std::int64_t> counts;
};

/// Noise of each coordinate of each node of a pure mechanism's tree, or of each step of a window of
/// one step: the integer k with probability proportional to exp(-|k| / scale). docs/math/pure.md.
struct LaplaceNoise {
  std::int64_t scale;     ///< in grids; at least distance / epsilon
  std::int64_t distance;  ///< largest l1 norm of what one user changes in all nodes, in grids
  std::int64_t max_norm;  ///< largest l1-norm of a record, in grids

  /// Std of the sum of num_nodes independent noises, in grids.
  double stddev(double num_nodes) const;
  /// Smallest integer that the magnitude of this sum exceeds with at most the probability.
  std::int64_t half_width(double num_nodes, double probability) const;
};

/// One coordinate of the release at a step.
struct ReleaseEntry {
  std::int64_t step;
  std::int64_t coordinate;
};

/// Receives a release block by block, each while it is in the cache, so that a learner updates its
/// iterate without a second pass over memory. Must not throw, because the release cannot be undone,
/// and must not write to the record, whose later blocks are still to be read.
class ReleaseSink {
 public:
  virtual ~ReleaseSink() = default;
  /// Coordinates per block in mode grid with a delta; the last block of a workload may be shorter.
  /// Other releases have a single block.
  static constexpr std::size_t kBlock = 1024;
  /// Takes coordinates first, first + 1, ..., in order and each once; in mode grid with a delta,
  /// before they are written to the output of the release.
  virtual void take(std::size_t first, std::span<const double> block) = 0;
};

}  // namespace dpftrl
