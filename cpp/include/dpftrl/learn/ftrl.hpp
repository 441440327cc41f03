// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Follow the regularised leader.

#include <cstdint>
#include <memory>
#include <span>

#include "dpftrl/learn/domain.hpp"
#include "dpftrl/types.hpp"

namespace dpftrl {

/// Coordinates of one model; a vector of them must be addressable on 32-bit machines.
inline constexpr std::int64_t kMaxModelDimension = std::int64_t{1} << 30;

struct FtrlOptions {
  std::int64_t dimension = 1;            ///< 1 .. kMaxModelDimension
  double lambda = 0;                     ///< > 0
  std::shared_ptr<const Domain> domain;  ///< K with its regulariser R
  Vector start = {};                     ///< w_1, a point of K; empty: that of the domain
  bool doubling = false;                 ///< see `lambda_at`
};

/// lambda for the point played at `step` (0-based): `first` without doubling, else `first` times
/// the square root of the least power of two that is at least step + 1, for horizons nobody knows.
double lambda_at(double first, bool doubling, std::int64_t step);

/// Plays w_1, w_2, ... with
///
///     w_{t+1} = argmin_{w in K} <s_t, w> + lambda R(w),
///
/// for the Euclidean regulariser R(w) = ||w - w_1||^2 / 2 that is Pi_K(w_1 - s_t / lambda). s_t is
/// the sum of the first t gradients, exact or noisy. Nothing is remembered but w_1 and the
/// average: the next iterate is a function of the latest sum alone, and only the iterate is
/// projected, never the sum.
class Ftrl {
 public:
  /// @throws Error{invalid_argument} lambda or dimension out of range, no domain, start outside K;
  ///         Error{wrong_length} start.
  explicit Ftrl(const FtrlOptions& options);

  /// The current iterate counts as played; the next one follows from s_t.
  /// @throws Error{wrong_length, invalid_argument} prefix_sum of another length or not finite:
  ///         nothing changes.
  void update(std::span<const double> prefix_sum);

  /// w_{t+1} after t updates: the point to play next.
  const Vector& iterate() const { return iterate_; }
  /// (w_1 + ... + w_t) / t over the points already played; w_1 before the first update.
  Vector average() const;
  std::int64_t num_updates() const { return num_updates_; }
  std::int64_t dimension() const { return start_.size(); }
  /// That of the point to play next.
  double lambda() const { return lambda_at(lambda_, doubling_, num_updates_); }

 private:
  double lambda_;
  bool doubling_;
  std::shared_ptr<const Domain> domain_;
  Vector start_;
  Vector iterate_;
  Vector next_;
  Vector played_sum_;
  std::int64_t num_updates_ = 0;
};

}  // namespace dpftrl
