// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Quantises records to integers whose norm is within the clip norm, unconditionally (internal
/// header).

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/release/record.hpp"

namespace dpftrl::detail {

/// One record spans at most 2^31 grid points, so that squared norms fit 62 bits.
inline constexpr double kMaxNormInGrids = 0x1p31;

bool is_power_of_two(double value);
double power_of_two_at_most(double value);

/// floor((clip / grid)^2), for clip / grid between 1 and kMaxNormInGrids.
std::int64_t max_norm_squared(double clip, double grid);

/// Maps an entry x of a record to min(1, clip / ||record||) x.
class Clip {
 public:
  /// Leaves records unchanged.
  Clip() = default;
  /// @throws Error{invalid_argument} an entry is not finite, clip is not positive.
  Clip(const ProductRecord& record, double clip, RecordNorm norm = RecordNorm::l2);
  bool changes() const { return ratio_ > 0; }
  double operator()(double x) const { return changes() ? x / largest_ / ratio_ * clip_ : x; }

 private:
  double clip_ = 0;
  double largest_ = 0;  ///< largest magnitude of an entry
  double ratio_ = 0;    ///< norm / largest, or 0 if the record needs no clipping
};

/// A record, clipped, then rounded toward zero to multiples of the grid.
///
///     GridRecord(record)   decides how the entries are scaled, so that the integers are no
///                          longer than the clip norm; keeps the scale, not the integers
///     add_to(sums)         computes the integers, a block of entries at a time, and adds them
///
/// A record of 10^6 entries thus needs no additional memory. Only a record whose integers still
/// have to be shortened stores them.
///
/// @guarantee  the sum of squares of the integers is at most max_norm_squared(clip, grid).
/// @checked-by prefix_sum_test "what a record adds never exceeds the clip norm in integers"
class GridRecord {
 public:
  /// An empty record, which adds nothing.
  GridRecord() = default;
  /// @param record  must not change while the integers are read.
  /// @param grid    a power of two; clip / grid between 1 and kMaxNormInGrids.
  /// @throws Error{invalid_argument} an entry is not finite; std::bad_alloc.
  GridRecord(const ProductRecord& record, double clip, double grid);
  /// Leaves the norm of the record as it is.
  /// @param record  finite entries of at most 2^50 grid units; must not change, as above.
  GridRecord(const ProductRecord& record, double grid) : record_(record), per_grid_(1 / grid) {}
  /// Takes integers that were previously computed from records.
  explicit GridRecord(std::vector<std::int64_t> integers) : integers_(std::move(integers)) {}

  /// Adds the integers of entries first, first + 1, ... Does not throw.
  void add_to(std::span<std::int64_t> sums, std::size_t first = 0) const;

 private:
  std::int64_t integer(double entry) const {
    return static_cast<std::int64_t>(clip_(entry) * per_grid_);
  }
  std::int64_t norm_squared() const;
  void shorten(std::int64_t norm_squared, std::int64_t most);

  ProductRecord record_;
  Clip clip_;
  double per_grid_ = 0;
  /// The integers, if they were given, or if rounding makes the vector too long.
  std::vector<std::int64_t> integers_;
};

}  // namespace dpftrl::detail
