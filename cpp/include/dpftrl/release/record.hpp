// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Records on their way to a release: how they are clipped, what is asked for, who takes it.
///
/// ```cpp
/// std::array<double, 2> record{3, 4};
/// dpftrl::clip_to_norm(record, /*clip_norm=*/1);
/// assert(std::abs(record[0] - 0.6) < 1e-12 && std::abs(record[1] - 0.8) < 1e-12);
/// const std::array<double, 3> scales{1, 0, -1};
/// assert((dpftrl::ProductRecord{.scales = scales, .features = record}.size()) == 6);
/// ```

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/lattice/lattice.hpp"

namespace dpftrl {

/// How a release is made safe against the low-order bits of floating-point numbers.
enum class ReleaseMode {
  grid,     ///< integer sums plus exactly rounded noise: the exact release, rounded to the grid
  lattice,  ///< noisy integer measurements, decoded afterwards: see lattice.hpp
};

struct PrefixSumOptions {
  Key key;
  std::int64_t dimension = 1;
  ReleaseMode mode = ReleaseMode::grid;
  /// Spacing of the released values, a power of two; default `default_grid`.
  std::optional<double> grid = {};
  /// Every entry of noise is computed digit by digit: the same releases, slowly.
  bool exact_only = false;
  /// Mode lattice only, where the mechanism's own noise is not used: see LatticeOptions.
  LatticeNoise lattice_noise = LatticeNoise::discrete_gaussian;
  std::optional<int> precision_bits = {};
};

/// Largest power of two that is at most 1, so that integers lose nothing; 1/64 of the smallest
/// release std; clip_norm / (64 sqrt(dimension)), so that small entries survive; and 1 / (4 n) of
/// the typical (root mean square) release std, n = num_steps (or the width of a window) up to 2^18,
/// so that what truncation takes from n records stays below a quarter of the noise. Coarser where
/// 62-bit sums require it.
double default_grid(const Mechanism& mechanism, std::int64_t dimension);

/// min(1, clip_norm / ||record||) * record, in place.
/// @throws Error{invalid_argument} an entry is not finite.
void clip_to_norm(std::span<double> record, double clip_norm);

/// A record of scales.size() * features.size() entries that is not written out: entry
/// k * features.size() + i is scales[k] * features[i]. A gradient of a linear model is one.
struct ProductRecord {
  std::span<const double> scales;
  std::span<const double> features;
  std::int64_t size() const { return std::int64_t{std::ssize(scales)} * std::ssize(features); }
};

/// Noise of each node of the tree of a pure mechanism, and of each coordinate: the integer k with
/// probability proportional to exp(-|k| / scale). docs/math/pure.md.
struct LaplaceNoise {
  std::int64_t scale;     ///< grids; at least distance / epsilon
  std::int64_t distance;  ///< most by which a user moves all nodes and coordinates together, grids
  std::int64_t max_norm;  ///< largest l1-norm of a record, grids

  /// Std of the sum of so many, grids.
  double stddev(double num_nodes) const;
  /// Smallest integer that the magnitude of their sum exceeds with at most this probability.
  std::int64_t half_width(double num_nodes, double probability) const;
};

/// A coordinate of the release at a step.
struct ReleaseEntry {
  std::int64_t step;
  std::int64_t coordinate;
};

/// Receives a release block by block, each while it is in the cache, so that a learner updates its
/// iterate without a second pass over memory. Must not throw, as the release is spent, and must not
/// write to the record, whose later blocks are still to be read.
class ReleaseSink {
 public:
  virtual ~ReleaseSink() = default;
  /// Coordinates of a block in mode grid, except the last; other releases have a single block.
  static constexpr std::size_t kBlock = 1024;
  /// Coordinates first, first + 1, ...: in order, each once; in mode grid before they are written
  /// to where the release goes.
  virtual void take(std::size_t first, std::span<const double> block) = 0;
};

}  // namespace dpftrl
