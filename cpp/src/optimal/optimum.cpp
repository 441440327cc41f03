// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/optimal/optimum.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "optimal/anderson.hpp"
#include "optimal/barrier.hpp"
#include "optimal/momentum_resolvent.hpp"
#include "optimal/resolvent.hpp"

namespace dpftrl {
namespace {

using detail::AndersonMixing;
using detail::Barrier;
using detail::InverseRoot;
using detail::MomentumWeights;
using detail::RootDiagonal;
using detail::SpectralInterval;

/// Relative error that more nodes cannot reduce, as nodes and weights are in double precision.
constexpr double kFinestQuadrature = 0x1p-42;

/// Terms in a partial sum; partial sums reduce the rounding error, see summation_error.
constexpr std::size_t kPiece = 1024;

template <class Term>
double sum_of(std::size_t size, Term&& term) {
  double total = 0;
  for (std::size_t first = 0; first < size; first += kPiece) {
    double piece = 0;
    for (std::size_t i = first; i < std::min(size, first + kPiece); ++i) piece += term(i);
    total += piece;
  }
  return total;
}

/// Bound on the relative error of a sum of positive terms.
double summation_error(std::size_t size) {
  return 0x1p-53 * (static_cast<double>(std::min(size, kPiece)) +
                    static_cast<double>(size) / static_cast<double>(kPiece) + 8);
}

double mean_of(const std::vector<double>& values) {
  return sum_of(values.size(), [&](std::size_t i) { return values[i]; }) /
         static_cast<double>(values.size());
}

void require_problem(const OptimumProblem& problem) {
  require_between("find_optimum", "steps", problem.steps, 1, std::int64_t{1} << 24);
  if (!(problem.decay > 0 && problem.decay <= 1))
    fail_argument("find_optimum", "decay", "above 0 and at most 1", to_text(problem.decay));
  if (!(problem.momentum >= 0 && problem.momentum < 1))
    fail_argument("find_optimum", "momentum", "at least 0 and below 1", to_text(problem.momentum));
  if (problem.momentum != 0)
    require_between("find_optimum", "steps", problem.steps, 1, kMaxMomentumSteps);
  const auto require_weights = [&](const char* name, const std::vector<double>& weights) {
    if (weights.empty()) return;
    require_length("find_optimum", name, std::ssize(weights), problem.steps);
    for (const double weight : weights) require_positive("find_optimum", name, weight);
    require_all_finite("find_optimum", name, weights);
    if (problem.objective == Objective::max)
      fail(ErrorCode::unsupported, "find_optimum", name,
           "cannot be given for the max objective, which is solved for Toeplitz workloads");
  };
  require_weights("rates", problem.rates);
  require_weights("query_weights", problem.query_weights);
}

/// ln v of a closed form close to the optimum for prefix sums.
Vector closed_form_point(Objective objective, std::int64_t steps) {
  const double n = static_cast<double>(steps);
  Vector x(static_cast<Eigen::Index>(steps));
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double left = std::log(std::log(static_cast<double>(i) + 2.4));
    const double right = std::log(std::log(n - static_cast<double>(i) + 1.5));
    x(i) = objective == Objective::mean ? 1.4 * right - 0.8 * left : 0.5 * (right - left);
  }
  return x;
}

/// Beyond this many steps, the search for prefix sums begins from the optimum for a sixteenth of
/// the steps.
constexpr std::int64_t kMaxUnstretchedSteps = std::int64_t{1} << 17;
constexpr std::int64_t kStretch = 16;

/// ln v where the search begins: the closed form. For prefix sums over long horizons, the
/// difference between the optimum and the closed form for fewer steps is added, taken at the same
/// relative position in the range of ln (steps until it / steps from it).
Vector starting_point(const OptimumProblem& problem) {
  Vector x = closed_form_point(problem.objective, problem.steps);
  const bool is_prefix = problem.decay == 1 && problem.momentum == 0 && problem.rates.empty() &&
                         problem.query_weights.empty();
  if (!is_prefix || problem.steps <= kMaxUnstretchedSteps) return x;
  const OptimumProblem shorter{.steps = problem.steps / kStretch, .objective = problem.objective};
  const std::vector<double> weights = find_optimum(shorter, {.gap = 1e-4}).column_weights;
  const Vector beyond =
      Eigen::Map<const Vector>(weights.data(), std::ssize(weights)).array().log().matrix() -
      closed_form_point(shorter.objective, shorter.steps);
  const double n = static_cast<double>(problem.steps), m = static_cast<double>(shorter.steps);
  const double share = std::log(m) / std::log(n);
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double until = static_cast<double>(i) + 1, from = n - static_cast<double>(i);
    const double place = std::clamp((m + 1) / (1 + std::pow(from / until, share)) - 1, 0.0, m - 1);
    const Eigen::Index before = std::min(static_cast<Eigen::Index>(place), beyond.size() - 2);
    const double part = place - static_cast<double>(before);
    x(i) += (1 - part) * beyond(before) + part * beyond(before + 1);
  }
  return x;
}

/// diag (W^T W)^(1/2) and a bound on the relative error of its entries.
struct Evaluation {
  std::vector<double> diagonal;
  double rounding_error;
  double relative_error;  ///< rounding_error plus the error of the quadrature
};

/// Relative amount by which bounds are widened on each side.
double error_of(std::size_t size, double evaluation_error) {
  return evaluation_error + 2 * summation_error(size) + 0x1p-49;
}

/// Bounds from one evaluation. With s = sum d: mean, n RMSE^2 in [s^2 / sum v, s max d / v]; max,
/// gamma_2 in [s / sum v, max d / v].
OptimumBounds bounds_of(Objective objective, const std::vector<double>& v,
                        const Evaluation& value) {
  const std::vector<double>& d = value.diagonal;
  double largest = 0;
  for (std::size_t j = 0; j < v.size(); ++j) largest = std::max(largest, d[j] / v[j]);
  const double sum = mean_of(d), weights = mean_of(v);
  const double error = error_of(v.size(), value.relative_error);
  if (!(error < 1)) return {0, std::numeric_limits<double>::infinity()};
  if (objective == Objective::max) return {sum / weights * (1 - error), largest * (1 + error)};
  return {sum / std::sqrt(weights) * (1 - error), std::sqrt(sum * largest) * (1 + error)};
}

/// The problem at a point v of the dual.
class DualPoint {
 public:
  explicit DualPoint(const OptimumProblem& problem)
      : problem_(problem),
        weights_{.weights = {.rows = problem.query_weights, .columns = {}, .decay = problem.decay},
                 .momentum = problem.momentum,
                 .rates = problem.rates} {
    if (problem.query_weights.empty())
      weights_.weights.rows.assign(static_cast<std::size_t>(problem.steps), 1);
  }

  /// Sets v and everything computed from it. Without momentum, columns scaled by the rates are
  /// columns with weights chi^2 v. For the max objective of a Toeplitz workload, the reversed v is
  /// optimal for u.
  void set(std::vector<double> v) {
    if (problem_.objective == Objective::max) weights_.weights.rows.assign(v.rbegin(), v.rend());
    std::vector<double>& columns = weights_.weights.columns;
    columns = std::move(v);
    if (!has_scaled_columns()) return;
    unscaled_ = columns;
    for (std::size_t j = 0; j < columns.size(); ++j)
      columns[j] *= problem_.rates[j] * problem_.rates[j];
  }

  /// The v that was last set.
  const std::vector<double>& column_weights() const {
    return has_scaled_columns() ? unscaled_ : weights_.weights.columns;
  }

  const std::vector<double>& row_weights() const { return weights_.weights.rows; }

  SpectralInterval spectrum() const {
    return has_momentum() ? detail::momentum_spectrum(weights_)
                          : detail::spectrum(weights_.weights);
  }

  Evaluation evaluate(double accuracy) const {
    const SpectralInterval interval = spectrum();
    const InverseRoot root =
        detail::inverse_root_within(interval, accuracy, has_momentum() ? 1 : detail::kNodesAtOnce);
    RootDiagonal diagonal = has_momentum()
                                ? detail::momentum_root_diagonal(root, interval, weights_)
                                : detail::root_diagonal(root, weights_.weights);
    return {std::move(diagonal.values), diagonal.rounding_error,
            root.relative_error + diagonal.rounding_error};
  }

 private:
  bool has_momentum() const { return problem_.momentum != 0; }
  bool has_scaled_columns() const { return !has_momentum() && !problem_.rates.empty(); }

  const OptimumProblem& problem_;
  MomentumWeights weights_;
  std::vector<double> unscaled_;  ///< v, if the columns have other weights
};

}  // namespace

class OptimumSolver::State {
 public:
  State(OptimumProblem problem, const OptimumOptions& options)
      : problem_(std::move(problem)),
        gap_(require_positive("find_optimum", "gap", options.gap)),
        max_iterations_(
            require_between("find_optimum", "max_iterations", options.max_iterations, 1, 1 << 20)),
        mixing_({.depth = problem_.steps > 300000 ? 12 : 8,
                 .mixing = has_barrier() ? 3.0 : 2.0,
                 .max_step = 3}),
        barrier_(last_gap()),
        x_(starting_point(problem_)),
        dual_(problem_) {}

  bool advance() {
    if (is_finished()) return false;
    set_weights();
    const Evaluation value = dual_.evaluate(accuracy());
    ++num_iterations_;
    const OptimumBounds bounds = bounds_of(problem_.objective, dual_.column_weights(), value);
    keep(bounds);
    set_least_gap(value);
    if (is_finished()) {
      mixing_.restart();
      return false;
    }
    if (has_barrier()) {
      if (barrier_.lower(bounds.upper / bounds.lower - 1)) mixing_.restart();
      advance_roots(residual_of(value.diagonal, barrier_.weight()));
    } else {
      mixing_.advance(x_, residual_of(value.diagonal, 0));
    }
    return true;
  }

  double gap() const { return upper_bound_ / lower_bound_ - 1; }
  std::int64_t num_iterations() const { return num_iterations_; }

  Optimum result() const {
    Optimum result{.status = gap() <= gap_                        ? SolverStatus::converged
                             : gap() <= least_gap_                ? SolverStatus::infeasible
                             : num_iterations_ >= max_iterations_ ? SolverStatus::not_converged
                                                                  : SolverStatus::stopped,
                   .iterations = num_iterations_,
                   .lower_bound = lower_bound_,
                   .upper_bound = upper_bound_,
                   .column_weights = best_v_,
                   .row_weights = {}};
    if (best_v_.empty()) return result;
    result.row_weights = dual_.row_weights();
    if (problem_.objective == Objective::max)
      result.row_weights.assign(best_v_.rbegin(), best_v_.rend());
    return result;
  }

 private:
  bool is_finished() const {
    return gap() <= std::max(last_gap(), least_gap_) || num_iterations_ >= max_iterations_;
  }

  /// Both bounds are at least `finest` away from the value at every point. If the requested gap is
  /// below or hardly above twice that, the search ends once these margins dominate the gap.
  void set_least_gap(const Evaluation& value) {
    const double finest = error_of(value.diagonal.size(), value.rounding_error + kFinestQuadrature);
    const bool is_within_reach = problem_.momentum != 0 || 2.25 * finest < last_gap();
    least_gap_ = is_within_reach ? 0 : 3 * finest;
  }

  double last_gap() const { return has_barrier() ? std::max(gap_, kBarrierGap) : gap_; }

  /// True if some weights of the optimum are 0 or nearly 0.
  bool has_barrier() const {
    constexpr double kForgetfulSteps = 64;
    const double memories = static_cast<double>(problem_.steps) * (1 - problem_.decay);
    return problem_.objective == Objective::max &&
           (problem_.momentum != 0 || memories > kForgetfulSteps);
  }

  /// ln of (d + mu mean d) / ((1 + mu) v mean d), mu the weight of the barrier.
  Vector residual_of(const std::vector<double>& diagonal, double mu) const {
    const Eigen::Map<const Vector> d(diagonal.data(), x_.size());
    const Eigen::Map<const Vector> v(dual_.column_weights().data(), x_.size());
    const double mean = mean_of(diagonal);
    return ((d.array() + mu * mean) / v.array()).log() - std::log(mean * (1 + mu));
  }

  /// Anderson step in v^(1/2), where small weights matter little; at the fixed point no weight is
  /// below mu / (1 + mu).
  void advance_roots(const Vector& residual) {
    const Vector before = (x_.array() / 2).exp();
    Vector root = before;
    mixing_.advance(root, before.cwiseProduct(residual) / 2);
    const double least = std::sqrt(barrier_.weight() / 2);
    x_ = 2 * root.cwiseMax(before / 5).cwiseMax(least).array().log();
  }

  /// Accuracy of the quadrature: with a barrier 1 / 100 of its weight, else far below the current
  /// gap, down to 1 / 100 of the requested gap.
  double accuracy() const {
    if (has_barrier()) return barrier_.weight() / 100;
    return std::max({kFinestQuadrature, last_gap() / 100, std::min(1e-3, gap() / 1000)});
  }

  /// v = exp(x) with mean 1.
  void set_weights() {
    std::vector<double> weights(static_cast<std::size_t>(x_.size()));
    Eigen::Map<Vector> v(weights.data(), x_.size());
    v = x_.array().exp();
    const double level = mean_of(weights);
    v /= level;
    x_.array() -= std::log(level);
    dual_.set(std::move(weights));
  }

  /// The mean error is stationary in v at its optimum but the max error is not, so with the max
  /// objective the best v is the one with the least upper bound.
  void keep(const OptimumBounds& bounds) {
    const bool is_max = problem_.objective == Objective::max;
    if (is_max ? bounds.upper < upper_bound_ : bounds.lower > lower_bound_)
      best_v_ = dual_.column_weights();
    lower_bound_ = std::max(lower_bound_, bounds.lower);
    upper_bound_ = std::min(upper_bound_, bounds.upper);
  }

  OptimumProblem problem_;
  double gap_;
  std::int64_t max_iterations_;
  AndersonMixing mixing_;
  Barrier barrier_;
  Vector x_;  ///< ln v
  std::vector<double> best_v_;
  DualPoint dual_;
  double lower_bound_ = 0;
  double upper_bound_ = std::numeric_limits<double>::infinity();
  std::int64_t num_iterations_ = 0;
  double least_gap_ = 0;  ///< least gap that can be proved, if a smaller one is requested
};

OptimumSolver::OptimumSolver(OptimumProblem problem, const OptimumOptions& options) {
  require_problem(problem);
  state_ = std::make_unique<State>(std::move(problem), options);
}

OptimumSolver::~OptimumSolver() = default;
OptimumSolver::OptimumSolver(OptimumSolver&&) noexcept = default;
OptimumSolver& OptimumSolver::operator=(OptimumSolver&&) noexcept = default;

bool OptimumSolver::advance() {
  return state_->advance();
}

OptimumProgress OptimumSolver::progress() const {
  return {state_->num_iterations(), state_->gap()};
}

Optimum OptimumSolver::result() const {
  return state_->result();
}

Optimum find_optimum(const OptimumProblem& problem, const OptimumOptions& options) {
  OptimumSolver solver(problem, options);
  while (solver.advance())
    if (options.progress && !options.progress(solver.progress())) break;
  return solver.result();
}

OptimumBounds optimum_bounds(const OptimumProblem& problem, std::span<const double> column_weights,
                             double accuracy) {
  require_problem(problem);
  require_length("optimum_bounds", "column_weights", std::ssize(column_weights), problem.steps);
  for (const double weight : column_weights)
    require_positive("optimum_bounds", "column_weights", weight);
  std::vector<double> v(column_weights.begin(), column_weights.end());
  const double level = mean_of(v);
  for (double& weight : v) weight /= level;
  const OptimumBounds none{0, std::numeric_limits<double>::infinity()};
  DualPoint dual(problem);
  dual.set(std::move(v));
  // Beyond this ratio, double precision proves nothing.
  const SpectralInterval interval = dual.spectrum();
  if (!(interval.low > 0 && interval.high <= 1e16 * interval.low)) return none;
  const OptimumBounds bounds =
      bounds_of(problem.objective, dual.column_weights(), dual.evaluate(accuracy));
  return bounds.lower <= bounds.upper ? bounds : none;
}

}  // namespace dpftrl
