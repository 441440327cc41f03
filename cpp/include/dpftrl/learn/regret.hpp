// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The best fixed point in hindsight, with a certificate.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/learn/loss.hpp"
#include "dpftrl/optimize.hpp"
#include "dpftrl/types.hpp"

namespace dpftrl {

enum class ComparatorStatus {
  certified,            ///< gap <= gap_tolerance
  gap_above_tolerance,  ///< work limit reached: the point is feasible, the gap still a bound
};
std::string_view to_string(ComparatorStatus status);

struct [[nodiscard]] Comparator {
  ComparatorStatus status;
  Vector point;              ///< ||point|| <= radius
  double value;              ///< average loss at `point`
  double gap;                ///< value - minimum <= gap
  double multiplier;         ///< nu >= 0 of the constraint, estimated; about 0: it does not bind
  std::int64_t evaluations;  ///< passes over the examples
};

struct ComparatorOptions {
  std::shared_ptr<const Loss> loss;
  std::int64_t dimension = 1;
  double radius = 1;            ///< D > 0
  double gap_tolerance = 1e-6;  ///< > 0, in units of the average loss
};

/// min over ||w|| <= D of f(w) = (1/t) sum_{s<=t} l(<w, x_s>, y_s), for growing t.
///
/// The minimiser over the ball is w_nu = argmin f(w) + (nu/2) ||w||^2 for the nu >= 0 at which
/// ||w_nu|| = D, or for nu = 0 if that one is shorter. w_nu comes from L-BFGS; nu from a
/// safeguarded secant on 1/||w_nu|| - 1/D, which is nearly straight, inside
/// 0 <= nu <= ||grad f(0)|| / D. Both start from the answer for the previous t.
///
/// @exactness   certified by the Frank-Wolfe gap: value - gap <= minimum <= value.
/// @cost        O(t d) a pass, memory t (d + 1) doubles.
/// @source      More and Sorensen, Computing a trust region step, 1983 (the secant on 1/||w||);
///              Jaggi, Revisiting Frank-Wolfe, ICML 2013 (the gap).
/// @checked-by  learn_regret_test
class ComparatorSolver {
 public:
  /// @throws Error{invalid_argument} no loss, or an option out of range.
  explicit ComparatorSolver(const ComparatorOptions& options);

  /// @param label  as Loss::label returns it.
  /// @throws Error{wrong_length, invalid_argument} nothing changes.
  void append(std::span<const double> features, double label);
  std::int64_t num_examples() const;

  /// @throws Error{invalid_argument} no examples yet.
  Comparator solve();

  /// f at any point, and its gradient.
  double average_loss(const Vector& point, Vector& gradient) const;

 private:
  OptimizeResult minimize_penalised(double multiplier, double gradient_tolerance,
                                    const Vector& start) const;

  ComparatorOptions options_;
  std::vector<double> features_;  ///< row after row
  std::vector<double> labels_;
  // Where the next search starts: the last w_nu, nu, and d(1/||w_nu||)/d nu.
  Vector warm_point_;
  double warm_multiplier_ = 0;
  double warm_slope_ = 0;
};

/// max over ||v|| <= radius of <gradient, point - v> = <gradient, point> + radius ||gradient||.
/// For convex f and ||point|| <= radius never below f(point) - min f.
double frank_wolfe_gap(const Vector& point, const Vector& gradient, double radius);

/// Prefix lengths at which to measure regret: `count` of them (all, if num_steps is smaller),
/// strictly increasing, the last one num_steps, cubically spaced so that small ones are resolved.
/// @throws Error{invalid_argument} num_steps < 1 or count outside 0 .. 65536.
std::vector<std::int64_t> regret_prefixes(std::int64_t num_steps, std::int64_t count);

}  // namespace dpftrl
