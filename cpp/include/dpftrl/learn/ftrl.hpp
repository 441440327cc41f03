// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Follow the regularised leader, and its regret theorem with constants.

#include <cstdint>
#include <memory>
#include <span>

#include "dpftrl/learn/domain.hpp"
#include "dpftrl/mechanism.hpp"
#include "dpftrl/types.hpp"

namespace dpftrl {

/// Coordinates of one model; a vector of them must be addressable on 32-bit machines.
inline constexpr std::int64_t kMaxModelDimension = std::int64_t{1} << 30;

struct FtrlOptions {
  std::int64_t dimension = 1;            ///< 1 .. kMaxModelDimension
  double lambda = 0;                     ///< > 0
  std::shared_ptr<const Domain> domain;  ///< K
  Vector start;                          ///< w_1, a point of K; empty: the origin
};

/// Plays w_1, w_2, ... with
///
///     w_{t+1} = argmin_{w in K} <s_t, w> + (lambda / 2) ||w - w_1||^2 = Pi_K(w_1 - s_t / lambda),
///
/// s_t the sum of the first t gradients, exact or noisy. Nothing is remembered but w_1 and the
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
  double lambda() const { return lambda_; }

 private:
  double lambda_;
  std::shared_ptr<const Domain> domain_;
  Vector start_;
  Vector iterate_;
  Vector next_;
  Vector played_sum_;
  std::int64_t num_updates_ = 0;
};

/// What the regret theorem is told.
struct RegretSetting {
  std::int64_t num_steps = 0;  ///< n >= 1
  double gradient_bound = 1;   ///< L > 0: every gradient has norm at most L (the clip norm)
  double radius = 1;           ///< D > 0: comparators within D of w_1
  std::int64_t dimension = 1;  ///< d
  /// Root mean square over the steps of the std of one coordinate of the release, in units of L:
  /// neighbour distance * noise multiplier * mean_error. 0: exact sums.
  double release_noise = 0;
};

/// The setting of a learner that reads the releases of a mechanism; L is its clip norm.
RegretSetting regret_setting(const Certificate& certificate, std::int64_t dimension, double radius);

/// Terms of the bound on the expected AVERAGE regret.
struct RegretBound {
  double regularisation;  ///< lambda D^2 / (2 n)
  double stability;       ///< L^2 / (2 lambda)
  double noise;           ///< (L^2 / lambda) sqrt(d) release_noise
  double total() const { return regularisation + stability + noise; }
};

/// Regret of FTRL on noisy sums, for convex losses whose gradients are never clipped:
///
///     E (1/n) sum_t [l_t(w_t) - l_t(w*)]  <=  lambda D^2/(2n) + L^2/(2 lambda) + noise term
///
/// for every w* with ||w* - w_1|| <= D. Proof idea: the iterate w'_t of the same algorithm on exact
/// sums of the same gradients has regret at most the first two terms, and since a projection is
/// non-expansive ||w_t - w'_t|| <= ||Z_{t-1}|| / lambda, Z the noise of the release.
///
/// @exactness   upper bound.
/// @source      McMahan, A survey of algorithms and analysis for adaptive online learning, JMLR
///              2017; Kairouz et al., arXiv 2103.00039. Constants derived in docs/math/learning.md.
/// @checked-by  learn_ftrl_test, simulation_test "mean regret stays below the expected bound"
RegretBound regret_bound(const RegretSetting& setting, double lambda);

/// The lambda that makes `regret_bound` smallest:
///     (L / D) sqrt(n (1 + 2 sqrt(d) release_noise)),
/// with which the bound is (L D / sqrt(n)) sqrt(1 + 2 sqrt(d) release_noise).
/// @checked-by  learn_ftrl_test "theorem_lambda minimises the bound"
double theorem_lambda(const RegretSetting& setting);

}  // namespace dpftrl
