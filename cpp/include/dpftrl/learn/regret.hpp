// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The best fixed point in hindsight, with a certificate.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/losses/average_loss.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "dpftrl/math/optimize.hpp"

namespace dpftrl {

enum class ComparatorStatus {
  certified,            ///< gap <= gap_tolerance
  gap_above_tolerance,  ///< work limit reached: the point is feasible, the gap still a bound
};
std::string_view to_string(ComparatorStatus status);

struct [[nodiscard]] Comparator {
  ComparatorStatus status;
  Vector point;              ///< a point of the set
  double value;              ///< average loss at `point`
  double gap;                ///< value - minimum <= gap
  double multiplier;         ///< of the ball's constraint, nu >= 0, estimated; about 0: not binding
  std::int64_t evaluations;  ///< passes over the examples
};

struct ComparatorOptions {
  std::shared_ptr<const VectorLoss> loss;
  std::int64_t dimension = 1;  ///< features of an example
  double radius = 1;           ///< D > 0
  /// Set of the comparators. Nothing, or the whole space: the ball of that radius.
  std::shared_ptr<const Domain> domain = nullptr;
  double gap_tolerance = 1e-6;  ///< > 0, in units of the average loss
};

/// min over w in K of f(w) = (1/t) sum_{s<=t} l(W x_s, y_s), for growing t; w has dimension entries
/// for each score of the loss.
///
/// Losses without kinks over a ball: the minimiser is w_nu = argmin f(w) + (nu/2) ||w||^2 for the
/// nu >= 0 at which ||w_nu|| = D, or for nu = 0 if that one is shorter. w_nu comes from L-BFGS; nu
/// from a safeguarded secant on 1/||w_nu|| - 1/D, which is nearly straight, inside
/// 0 <= nu <= ||grad f(0)|| / D. Everything else: projected Newton steps on the Moreau envelopes of
/// the losses (projected gradients beyond 256 weights or for several scores), whose width shrinks
/// until the gap is met. All start from the answer for the previous t.
///
/// @exactness   certified: value - gap <= minimum <= value. For slopes a_s of the envelopes with
///              mean g = (1/t) sum a_s x_s, Fenchel's duality gives
///              f(w) - min f <= <g, w> + max_{v in K} <-g, v> + mean of l + l*(a_s) - a_s p_s,
///              which without kinks is the Frank-Wolfe gap.
/// @cost        O(t d) a pass, O(t d^2) a Newton step; memory t (d + 1) doubles.
/// @source      More and Sorensen, Computing a trust region step, 1983 (the secant on 1/||w||);
///              Jaggi, Revisiting Frank-Wolfe, ICML 2013 (the gap); Lee, Sun and Saunders, SIAM J.
///              Optim. 24 (2014) (proximal Newton).
/// @checked-by  regret_test, comparator_test
class ComparatorSolver {
 public:
  /// @throws Error{invalid_argument} no loss, or an option out of range.
  explicit ComparatorSolver(const ComparatorOptions& options);

  /// @param label  as VectorLoss::label returns it.
  /// @throws Error{wrong_length, invalid_argument} nothing changes.
  void append(std::span<const double> features, double label) { loss_.append(features, label); }
  std::int64_t num_examples() const { return loss_.num_examples(); }
  std::int64_t dimension() const { return options_.dimension; }
  const VectorLoss& loss() const { return loss_.loss(); }

  /// @throws Error{invalid_argument} no examples yet.
  Comparator solve();

  /// f at any point, and its gradient (a subgradient where it has a kink).
  double average_loss(const Vector& point, Vector& gradient) const {
    return loss_.at(point, gradient);
  }

 private:
  Comparator solve_in_ball();
  Comparator solve_projected();
  OptimizeResult minimize_penalised(double multiplier, double gradient_tolerance,
                                    const Vector& start) const;

  ComparatorOptions options_;
  AverageLoss loss_;
  std::shared_ptr<const Domain> set_;  ///< bounded
  bool in_ball_;                       ///< set_ is a ball and the loss has no kinks
  // Starting point of the next search: the last w_nu or point, nu, d(1/||w_nu||)/d nu, and width.
  Vector warm_point_;
  double warm_multiplier_ = 0;
  double warm_slope_ = 0;
  double warm_width_ = 0;
};

/// max over ||v|| <= radius of <gradient, point - v> = <gradient, point> + radius ||gradient||.
/// For convex f and ||point|| <= radius never below f(point) - min f.
double frank_wolfe_gap(const Vector& point, const Vector& gradient, double radius);

/// Prefix lengths at which to measure regret: `count` of them (all, if num_steps is smaller),
/// strictly increasing, the last one num_steps, cubically spaced so that small ones are resolved.
/// @throws Error{invalid_argument} num_steps < 1 or count outside 0 .. 65536.
std::vector<std::int64_t> regret_prefixes(std::int64_t num_steps, std::int64_t count);

}  // namespace dpftrl
