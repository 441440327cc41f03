// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The best fixed point in hindsight, with a certificate; and theorems on the regret against it,
/// with explicit constants.
///
/// ```cpp
/// dpftrl::ComparatorSolver solver({.loss = dpftrl::make_loss("squared")});
/// solver.append(std::array{1.0}, /*label=*/0.25);
/// solver.append(std::array{1.0}, 0.75);
/// const dpftrl::Comparator best = solver.solve();
/// assert(best.status == dpftrl::ComparatorStatus::certified);
/// assert(std::abs(best.point[0] - 0.5) < 0.01);
///
/// const dpftrl::RegretSetting setting{.steps = 1000};
/// const double lambda = dpftrl::theorem_lambda(setting);
/// assert(dpftrl::regret_bound(setting, lambda).total() < 0.04);
/// ```

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

class AverageLoss;
struct OptimizeResult;

enum class ComparatorStatus {
  certified,            ///< gap <= gap_tolerance
  gap_above_tolerance,  ///< work limit reached; the point is feasible, and the gap is still a bound
};
std::string_view to_string(ComparatorStatus status);

struct [[nodiscard]] Comparator {
  ComparatorStatus status;
  Vector point;  ///< a point of the set
  double value;  ///< average loss at `point`
  double gap;    ///< value - minimum <= gap
  /// Estimate of the multiplier nu >= 0 of the ball's constraint, about 0 if that is not binding; 0
  /// for other sets and for losses with kinks.
  double multiplier;
  std::int64_t evaluations;  ///< passes over the examples
};

struct ComparatorOptions {
  std::shared_ptr<const VectorLoss> loss;
  std::int64_t dimension = 1;  ///< features of an example
  double radius = 1;           ///< D > 0
  /// Set of the comparators. If null or the whole space, the ball of radius `radius`.
  std::shared_ptr<const Domain> domain = nullptr;
  double gap_tolerance = 1e-6;  ///< > 0, in units of the average loss
};

/// min over w in K of f(w) = (1/t) sum_{s<=t} l(W x_s, y_s), for growing t; w has dimension entries
/// for each score of the loss.
///
/// For losses without kinks over a ball, the minimiser is w_nu = argmin f(w) + (nu/2) ||w||^2 for
/// the nu >= 0 at which ||w_nu|| = D, or for nu = 0 if w_0 is shorter. w_nu is found by L-BFGS, and
/// nu by a safeguarded secant method on 1/||w_nu|| - 1/D, which is nearly linear in nu, inside 0 <=
/// nu <= ||grad f(0)|| / D. All other problems are solved by projected Newton steps on the Moreau
/// envelopes of the losses (projected gradients beyond 256 weights or for several scores), whose
/// width shrinks until the gap is met. Each solve starts from the solution for the previous t.
///
/// @exactness   certified: value - gap <= minimum <= value. For slopes a_s of the envelopes with
///              mean g = (1/t) sum a_s x_s, Fenchel duality gives
///              f(w) - min f <= <g, w> + max_{v in K} <-g, v> + mean of l + l*(a_s) - a_s p_s,
///              which without kinks is the Frank-Wolfe gap.
/// @cost        O(t d) per pass, O(t d^2) per Newton step; memory t (d + 1) doubles.
/// @source      More and Sorensen, Computing a trust region step, 1983 (the secant on 1/||w||);
///              Jaggi, Revisiting Frank-Wolfe, ICML 2013 (the gap); Lee, Sun and Saunders, SIAM J.
///              Optim. 24 (2014) (proximal Newton).
/// @checked-by  regret_test, comparator_test
class ComparatorSolver {
 public:
  /// @throws Error{invalid_argument} no loss, or an option out of range.
  explicit ComparatorSolver(const ComparatorOptions& options);
  ~ComparatorSolver();
  ComparatorSolver(ComparatorSolver&&) noexcept;
  ComparatorSolver& operator=(ComparatorSolver&&) noexcept;

  /// @param label  as VectorLoss::label returns it.
  /// @throws Error{wrong_length, invalid_argument} nothing changes.
  void append(std::span<const double> features, double label);
  std::int64_t num_examples() const;
  std::int64_t dimension() const { return options_.dimension; }
  const VectorLoss& loss() const { return *options_.loss; }

  /// @throws Error{invalid_argument} no examples yet.
  Comparator solve();

  /// f at any point, and its gradient (a subgradient at a kink).
  double average_loss(const Vector& point, Vector& gradient) const;

 private:
  Comparator solve_in_ball();
  Comparator solve_projected();
  OptimizeResult minimize_penalised(double multiplier, double gradient_tolerance,
                                    const Vector& start) const;

  ComparatorOptions options_;
  std::unique_ptr<AverageLoss> average_;
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

/// `count` prefix lengths at which to measure regret (all, if `steps` is smaller). They are
/// strictly increasing, end at `steps`, and are cubically spaced so that small ones are resolved.
/// @throws Error{invalid_argument} steps < 1 or count outside 0 .. 65536.
std::vector<std::int64_t> regret_prefixes(std::int64_t steps, std::int64_t count);

// The regret theorem of follow-the-regularised-leader on noisy sums, with explicit constants.

/// Inputs of the regret theorem.
struct RegretSetting {
  std::int64_t steps = 0;     ///< n >= 1
  double gradient_bound = 1;  ///< L > 0: every gradient has norm at most L (the clip norm)
  double radius = 1;  ///< D > 0: comparators have R(w*) <= D^2 / 2, so they are within D of w_1
  std::int64_t dimension = 1;  ///< d
  /// RMS over the steps of the std of one coordinate of the release, in units of L: neighbour
  /// distance * noise multiplier * mean_error / batch size. 0 for exact sums.
  double release_noise = 0;
  /// >= 0: the largest such std over the steps, in the same units, for `max_error_regret_bound`.
  double largest_noise = 0;
  Regulariser regulariser = Regulariser::euclidean;
  /// > 0: at least ||B||_op / ||B||_F, where B is the decoder of the releases. See
  /// deviation_share().
  double deviation_share = 1;
  /// >= 0: `penalty_slope` of the learner's penalty psi. The regret is then that of the composite
  /// losses l_t + psi. 0 for descent and the entropic regulariser.
  double penalty_slope = 0;
};

/// The setting of a learner that reads the releases of a mechanism; L is its clip norm.
RegretSetting regret_setting(const Certificate& certificate, std::int64_t dimension, double radius);

/// regret_setting for a domain: D is its diameter if it has one, else `radius`.
/// @param dimension  of the model.
RegretSetting regret_setting(const Certificate& certificate, std::int64_t dimension,
                             const Domain& domain, double radius);

/// The setting with a penalty.
/// @throws Error{invalid_argument} the penalty is invalid for this shape; Error{unsupported} the
///         domain does not support it.
RegretSetting with_penalty(RegretSetting setting, const Penalty& penalty, const ModelShape& shape,
                           const Domain& domain);

/// The share of release_noise by which all releases can move together: an upper bound on the
/// largest singular value of B over its Frobenius norm; 1 if no better bound is known.
/// @exactness   upper bound. For a ToeplitzDecoder, the sum of the |coefficients|, which bounds the
///              row and column sums of |B|, over ||B||_F, plus 2^-20 for their rounding.
/// @source      Schur's test.
/// @checked-by  regret_bound_test "deviation share is at least that of the dense decoder"
double deviation_share(const Strategy& strategy);

/// sqrt(d), or sqrt(2 ln(2 d)) for the entropic regulariser: an upper bound on E ||Z||_* for
/// standard normals Z, in the dual of the norm in which R is strongly convex.
double noise_growth(const RegretSetting& setting);

/// Terms of a bound on the AVERAGE regret.
struct RegretBound {
  double regularisation;  ///< lambda D^2 / (2 n)
  double stability;       ///< L^2 / (2 lambda)
  double noise;           ///< (L (L + G) / lambda) noise_growth release_noise, G the penalty_slope
  double total() const { return regularisation + stability + noise; }
};

/// Expected regret of FTRL on noisy sums, for convex losses whose gradients are never clipped:
///
///     E (1/n) sum_t [l_t(w_t) - l_t(w*)]  <=  lambda D^2/(2n) + L^2/(2 lambda) + noise term
///
/// for every w* with R(w*) <= D^2 / 2. Proof idea: the iterate w'_t of the same algorithm on exact
/// sums of the same gradients has regret at most the first two terms, and since the leader is
/// 1/lambda-Lipschitz in the sum, ||w_t - w'_t|| <= ||Z_{t-1}||_* / lambda, where Z is the noise of
/// the release. With a penalty, the same holds for l_t + psi, where the noise term has a factor
/// L + G instead of L.
///
/// @exactness   upper bound.
/// @source      McMahan, A survey of algorithms and analysis for adaptive online learning, JMLR
///              2017; Kairouz et al., arXiv 2103.00039. Constants derived in docs/math/learning.md.
/// @checked-by  regret_bound_test, adversary_test, penalty_test, simulation_test "mean regret stays
///              below the expected bound"
RegretBound regret_bound(const RegretSetting& setting, double lambda);

/// regret_bound for lambda_t = lambda_at(first_lambda, true, step). The terms are lambda_n D^2 / (2
/// n), the mean of L^2 / (2 lambda_t), and L (L + G) noise_growth release_noise times the root mean
/// square of the 1 / lambda_t.
/// @cost  O(log n).
RegretBound doubling_regret_bound(const RegretSetting& setting, double first_lambda);

struct HighProbabilityOptions {
  double lambda = 1;                  ///< > 0
  double failure_probability = 0.05;  ///< beta, between 0 and 1
  bool doubling = false;              ///< `lambda` is the first one, as in `doubling_regret_bound`
};

/// Bound that the average regret exceeds with probability at most beta over the noise, for all
/// losses, including those chosen in response to the iterates. Only the noise term differs from
/// `regret_bound` or `doubling_regret_bound`: noise_growth becomes noise_growth + deviation_share
/// sqrt(2 ln(1 / beta)), because the mean of ||Z_t|| / lambda_t is a Lipschitz function of the
/// normals, with constant at most deviation_share release_noise times the root mean square of the
/// 1 / lambda_t.
///
/// @exactness   upper bound.
/// @source      Gaussian concentration: Boucheron, Lugosi and Massart, theorem 5.6.
/// @checked-by  adversary_test, regret_bound_test "noise exceeds its quantile no more
///              often than stated"
RegretBound high_probability_regret_bound(const RegretSetting& setting,
                                          const HighProbabilityOptions& options);

struct MaxErrorRegretOptions {
  double lambda = 1;  ///< > 0
  /// beta, between 0 and 1: the bound then holds with probability 1 - beta, else in expectation.
  std::optional<double> failure_probability = {};
  bool doubling = false;  ///< `lambda` is the first one, as in `doubling_regret_bound`
};

/// The regret theorem with the largest error over the steps: the mean of ||Z_t|| is at most the
/// largest of n, so noise_growth release_noise becomes
///
///     (noise_growth + sqrt(2 ln n)) largest_noise             in expectation,
///     (noise_growth + sqrt(2 ln(n / beta))) largest_noise     with probability 1 - beta.
///
/// Never below `regret_bound` and the other bounds that use the RMS error.
///
/// @exactness   upper bound.
/// @source      a union bound over the steps, each by Gaussian concentration:
///              docs/math/learning.md.
/// @checked-by  regret_bound_test "the largest noise exceeds its bounds no more often than stated"
RegretBound max_error_regret_bound(const RegretSetting& setting,
                                   const MaxErrorRegretOptions& options);

/// The bound in the form of Henzinger, Upadhyay and Upadhyay (arXiv 2211.05006, theorem 6), which
/// follows Hazan's lecture notes: 2 L^2 / lambda instead of L^2 / (2 lambda). It is stated here for
/// the noise of any mechanism. Never below `regret_bound`.
RegretBound hazan_regret_bound(const RegretSetting& setting, double lambda);

/// The lambda that minimises `regret_bound`:
///     (L / D) sqrt(n (1 + 2 noise_growth release_noise (1 + G / L))),
/// with which the bound is (L D / sqrt(n)) times the same root without n.
/// @checked-by  regret_bound_test "theorem_lambda minimises the bound"
double theorem_lambda(const RegretSetting& setting);

/// The lambda that minimises `hazan_regret_bound`.
double hazan_lambda(const RegretSetting& setting);

/// Expected regret of projected gradient descent with rate 1 / lambda and no momentum, on gradients
/// with independent noise, for a Euclidean regulariser:
///
///     lambda D^2 / (2 n)  +  L^2 / (2 lambda)  +  d nu^2 / (2 lambda),
///
/// where nu is the std of the noise of one coordinate of a gradient. The noise contributes only its
/// second moment, because it is independent of the iterate at which the gradient is taken.
///
/// @param strategy  `independent`, whose encoder is C = I.
/// @return      empty for other strategies, whose noise is not independent of the iterates.
/// @exactness   upper bound.
/// @source      Zinkevich, ICML 2003; docs/math/learning.md.
/// @checked-by  descent_test
std::optional<RegretBound> descent_regret_bound(const RegretSetting& setting,
                                                const Strategy& strategy, double lambda);

/// The lambda that minimises `descent_regret_bound`, (1 / D) sqrt(n (L^2 + d nu^2)); where that is
/// empty, `theorem_lambda`.
double descent_lambda(const RegretSetting& setting, const Strategy& strategy);

}  // namespace dpftrl
