// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Records to integers whose norm is within the clip norm, unconditionally (internal header).

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dpftrl::detail {

/// One record spans at most 2^31 grid points, so that squared norms fit 62 bits.
inline constexpr double kMaxNormInGrids = 0x1p31;

bool is_power_of_two(double value);

/// min(1, clip_norm / ||record||) x, for the entries x of a record.
class Clip {
 public:
  /// @throws Error{invalid_argument} an entry is not finite, clip_norm is not positive.
  Clip(std::span<const double> record, double clip_norm);
  bool changes() const { return ratio_ > 0; }
  double operator()(double x) const { return changes() ? x / largest_ / ratio_ * clip_norm_ : x; }

 private:
  double clip_norm_;
  double largest_ = 0;  ///< magnitude
  double ratio_ = 0;    ///< norm / largest, or 0 where the record is short enough
};

class Quantiser {
 public:
  /// @param grid  clip_norm / grid between 1 and kMaxNormInGrids.
  Quantiser(double clip_norm, double grid, std::int64_t dimension);

  /// Clips, then rounds toward zero to multiples of the grid. Valid until the next call.
  /// @guarantee  the sum of squares is at most max_norm_squared().
  /// @throws Error{invalid_argument} an entry is not finite.
  std::span<const std::int64_t> operator()(std::span<const double> record);

  /// floor((clip_norm / grid)^2).
  std::int64_t max_norm_squared() const { return max_norm_squared_; }

 private:
  double clip_norm_;
  double grid_;
  std::int64_t max_norm_squared_;
  std::vector<std::int64_t> quantised_;
};

}  // namespace dpftrl::detail
