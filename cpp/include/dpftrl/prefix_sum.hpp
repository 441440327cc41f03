// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private running totals: clip -> grid -> accumulate -> add noise -> release.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/mechanism.hpp"
#include "dpftrl/noise_stream.hpp"
#include "dpftrl/random.hpp"

namespace dpftrl {

/// How a release is made safe against the low-order bits of floating-point numbers.
enum class ReleaseMode {
  grid,  ///< integer sums plus exactly rounded noise: the exact release, rounded to the grid
};

struct PrefixSumOptions {
  Key key;
  std::int64_t dimension = 1;
  ReleaseMode mode = ReleaseMode::grid;
  /// Spacing of the released values, a power of two; default `default_grid`.
  std::optional<double> grid = {};
};

/// Largest power of two that is at most 1, so that integers lose nothing; 1/64 of the smallest
/// release std; clip_norm / (64 sqrt(dimension)), so that small entries survive; and 1 / (4 n) of
/// the typical (root mean square) release std, n = num_steps up to 2^18, so that what truncation
/// takes from n records stays below a quarter of the noise. Coarser where 62-bit sums require it.
double default_grid(const Mechanism& mechanism, std::int64_t dimension);

/// min(1, clip_norm / ||record||) * record, in place.
/// @throws Error{invalid_argument} an entry is not finite.
void clip_to_norm(std::span<double> record, double clip_norm);

class PrefixSum {
 public:
  /// @throws Error{invalid_argument} a mechanism for another workload, dimension < 1, a noise std
  ///         below 2^-900, or a grid that is not a power of two or is too coarse or too fine for
  ///         62-bit sums;
  ///         Error{resource_exhausted} see NoiseStream.
  PrefixSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options);

  /// Takes one record, clips it, and writes the private running total.
  ///
  /// @param record  dimension entries, input units.
  /// @param noisy   dimension entries: multiples of grid().
  /// @guarantee     given ideal random bits, the releases are those of the ideal Gaussian mechanism
  ///                rounded to the grid, so the sequence is mu-GDP for the mechanism's mu and
  ///                neighbouring relation, for adaptively chosen records, with nothing to add to
  ///                delta. (Probability of another value: below 2^-100 in a key's lifetime.)
  /// @exactness     every entry is rounded as the ideal real number would be; an entry that double
  ///                precision leaves open is recomputed from more of its random bits.
  /// @cost          that of NoiseStream::next; for a recomputed entry NoiseStream::rounded. Whether
  ///                one is recomputed depends on the noise alone, never on a record.
  /// @checked-by    prefix_sum_test, exact_entry_test
  /// @throws Error{wrong_length, invalid_argument} the record is refused; Error{past_horizon} after
  ///         num_steps releases. Nothing changes in any of these cases.
  void release(std::span<const double> record, std::span<double> noisy);

  const Mechanism& mechanism() const { return *mechanism_; }
  std::int64_t dimension() const { return noise_.dimension(); }
  std::int64_t num_steps() const { return noise_.num_steps(); }
  /// Releases already made.
  std::int64_t step() const { return noise_.step(); }
  double grid() const { return grid_; }
  /// Entries of noise that were recomputed because double precision left their rounding open.
  /// For tests and statistics: like the time of a release, it is not covered by the guarantee.
  std::int64_t num_recomputed() const { return num_recomputed_; }

 private:
  void quantise(std::span<const double> record);
  std::optional<std::int64_t> round_if_certain(double unit_noise, const RowErrorBound& bound) const;

  std::shared_ptr<const Mechanism> mechanism_;
  NoiseStream noise_;
  double grid_;
  double noise_scale_;             ///< noise_stddev / grid
  std::int64_t max_norm_squared_;  ///< floor((clip_norm / grid)^2)
  std::int64_t num_recomputed_ = 0;
  std::vector<std::int64_t> sums_;  ///< true sums, in grids; never leaves this object
  std::vector<std::int64_t> quantised_;
  std::vector<std::int64_t> rounded_noise_;
  std::vector<double> scratch_;
};

}  // namespace dpftrl
