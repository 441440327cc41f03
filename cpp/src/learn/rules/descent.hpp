// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Gradient descent on the differences of prefix sums.

#include <cstdint>
#include <memory>
#include <span>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "learn/rules/update_rule.hpp"

namespace dpftrl {

struct DescentOptions {
  std::int64_t dimension = 1;            ///< 1 .. kMaxModelDimension
  double lambda = 0;                     ///< > 0
  std::shared_ptr<const Domain> domain;  ///< K, with the Euclidean regulariser
  DescentSchedule schedule = {};
  Vector start = {};  ///< w_1, a point of K; empty: the domain's start
};

/// Plays w_1, w_2, ... with
///
///     m_t = beta m_{t-1} + (s_t - s_{t-1}),      w_{t+1} = Pi_K(w_t - (chi_t / lambda) m_t).
///
/// On releases this is post-processing for any rates and momentum: with independent noise on
/// every record it is DP-SGD. Over the whole space w_{t+1} = w_1 - (A g)_t / lambda for the
/// workload A of these rates and this momentum, and with rates of 1 and no momentum it is `Ftrl`.
///
/// @checked-by descent_test
class Descent final : public UpdateRule {
 public:
  /// @throws Error{invalid_argument} an option out of range, no domain, a domain whose regulariser
  ///         is not Euclidean, start outside K; Error{wrong_length} start.
  explicit Descent(const DescentOptions& options);

  double lambda() const override { return lambda_ / rate(); }
  /// False: steps add up, so no bound on a single sum bounds the iterates.
  bool is_finite_for(double /*largest_entry*/) const override { return false; }

 private:
  /// Rate chi of the next update.
  double rate() const;
  void require_finite_step(std::span<const double> prefix_sum) const override;
  void next(std::size_t first, std::span<const double> sums, std::span<double> iterate) override;
  double finish_next(std::span<const double> prefix_sum, std::span<double> iterate,
                     double sum_of_squares) override;

  double lambda_;
  DescentSchedule schedule_;
  Vector latest_sum_;
  Vector velocity_;
};

}  // namespace dpftrl
