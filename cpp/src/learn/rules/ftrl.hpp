// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Follow the regularised leader.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "learn/rules/update_rule.hpp"

namespace dpftrl {

struct FtrlOptions {
  std::int64_t dimension = 1;            ///< 1 .. kMaxModelDimension
  double lambda = 0;                     ///< > 0
  std::shared_ptr<const Domain> domain;  ///< K with its regulariser R
  Vector start = {};                     ///< w_1, a point of K; empty: the domain's start
  bool doubling = false;                 ///< see `lambda_at`
  Penalty penalty = {};                  ///< psi, added once for each gradient in the sums
  std::int64_t num_scores = 1;           ///< rows of the model, of dimension / num_scores weights
};

/// Plays w_1, w_2, ... with
///
///     w_{t+1} = argmin_{w in K} <s_t, w> + t psi(w) + lambda R(w),
///
/// which is Pi_K(w_1 - s_t / lambda) for the Euclidean regulariser R(w) = ||w - w_1||^2 / 2 and no
/// penalty psi; with a penalty, w_1 - s_t / lambda is first shrunk (`shrink`, times = t / lambda).
/// s_t is the sum of the first t gradients, exact or noisy. The next iterate depends on the latest
/// sum alone; the rule keeps only w_1, if it was given, and the average.
class Ftrl final : public UpdateRule {
 public:
  /// @throws Error{invalid_argument} lambda or dimension out of range, no domain, start outside K,
  ///         a penalty out of range; Error{wrong_length} start; Error{unsupported} a penalty on a
  ///         domain for which projecting after shrinking does not give the leader.
  explicit Ftrl(const FtrlOptions& options);

  double lambda() const override { return lambda_at(lambda_, doubling_, num_updates()); }
  bool is_finite_for(double largest_entry) const override;

 private:
  void require_finite_step(std::span<const double> prefix_sum) const override;
  void next(std::size_t first, std::span<const double> sums, std::span<double> iterate) override;
  double finish_next(std::span<const double> prefix_sum, std::span<double> iterate,
                     double sum_of_squares) override;
  std::optional<Line> next_line() const override;
  /// Regularisation of the next point.
  double next_lambda() const { return lambda_at(lambda_, doubling_, num_updates() + 1); }

  double lambda_;
  bool doubling_;
  Vector start_;         ///< as given; may be empty
  double start_value_;   ///< start of every coordinate if start_ is empty
  double start_extent_;  ///< largest magnitude of the coordinates of the start
  Penalty penalty_;
  ModelShape shape_;
};

}  // namespace dpftrl
