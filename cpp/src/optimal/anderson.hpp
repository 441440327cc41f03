// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "math/packed_series.hpp"

namespace dpftrl::detail {

/// Anderson acceleration (type II) of a fixed-point iteration x <- x + f(x):
///     x+ = x + mixing f - (dX + mixing dF) gamma,    gamma = argmin ||f - dF gamma||,
/// where dX, dF are the last `depth` differences. The largest entry of a step is limited.
class AndersonMixing {
 public:
  struct Options {
    std::int64_t depth;
    double mixing;
    double max_step;
  };
  explicit AndersonMixing(const Options& options) : options_(options) {}

  /// Replaces x with the next iterate.
  /// @cost  one pass over the differences, which are all it stores besides two vectors. From 2^17
  ///        entries on they are packed: dF and dX together take 2 to 4 bytes per entry.
  void advance(Vector& x, Vector residual);

  /// Forgets all differences, because f has changed.
  void restart() { *this = AndersonMixing(options_); }

 private:
  /// A vector that is read piece by piece, packed if it is long.
  class Difference {
   public:
    explicit Difference(Eigen::Index size);
    void set_piece(Eigen::Index first, const Vector& piece);
    /// @param scratch  has room for a piece.
    Eigen::Map<const Vector> piece(Eigen::Index first, Eigen::Index count, Vector& scratch) const;

   private:
    Vector whole_;  ///< empty if packed
    PackedSeries packed_;
  };

  void add_difference(const Vector& x, const Vector& residual);
  Vector least_squares() const;

  Options options_;
  std::vector<Difference> changes_;  ///< dF; the oldest is overwritten
  std::vector<Difference> moves_;    ///< dX + mixing dF
  Matrix products_;                  ///< <dF_i, dF_j>
  Vector right_;                     ///< <dF_i, f>
  std::size_t newest_ = 0;
  Vector last_x_, last_residual_;
};

}  // namespace dpftrl::detail
