// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/optimal/optimum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpftrl/error.hpp"
#include "dpftrl/types.hpp"
#include "optimal/anderson.hpp"
#include "optimal/momentum_resolvent.hpp"
#include "optimal/resolvent.hpp"

namespace dpftrl {
namespace {

using detail::AndersonMixing;
using detail::Interval;
using detail::InverseRoot;
using detail::MomentumWeights;
using detail::RootDiagonal;

/// Sums of pieces, so that the rounding error grows like the square root of the length.
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
  require_between("find_optimum", "num_steps", problem.num_steps, 1, std::int64_t{1} << 24);
  if (!(problem.decay > 0 && problem.decay <= 1))
    fail_argument("find_optimum", "decay", "above 0 and at most 1", to_text(problem.decay));
  if (!(problem.momentum >= 0 && problem.momentum < 1))
    fail_argument("find_optimum", "momentum", "at least 0 and below 1", to_text(problem.momentum));
  if (problem.momentum != 0)
    require_between("find_optimum", "num_steps with momentum", problem.num_steps, 1,
                    kMaxMomentumSteps);
  const auto require_weights = [&](const char* name, const std::vector<double>& weights) {
    if (weights.empty()) return;
    require_length("find_optimum", name, std::ssize(weights), problem.num_steps);
    for (const double weight : weights) require_positive("find_optimum", name, weight);
    require_all_finite("find_optimum", name, weights);
    if (problem.objective == Objective::max)
      fail(ErrorCode::unsupported, std::string("find_optimum: ") + name +
                                       " are for the mean objective; the max objective is solved "
                                       "for Toeplitz workloads");
  };
  require_weights("rates", problem.rates);
  require_weights("query_weights", problem.query_weights);
}

/// Close to the optimum for prefix sums.
Vector starting_point(const OptimumProblem& problem) {
  const double n = static_cast<double>(problem.num_steps);
  Vector x(static_cast<Eigen::Index>(problem.num_steps));
  const bool is_mean = problem.objective == Objective::mean;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double left = std::log(std::log(static_cast<double>(i) + 2.4));
    const double right = std::log(std::log(n - static_cast<double>(i) + 1.5));
    x(i) = is_mean ? 1.4 * right - 0.8 * left : 0.5 * (right - left);
  }
  return x;
}

struct Bounds {
  double lower;
  double upper;
};

/// diag (W^T W)^(1/2) and a bound on the relative error of its entries.
struct Evaluation {
  std::vector<double> diagonal;
  double relative_error;
};

/// From one evaluation. With s = sum d: mean, n RMSE^2 in [s^2 / sum v, s max d / v]; max, gamma_2
/// in [s / sum v, max d / v].
Bounds bounds_of(Objective objective, const std::vector<double>& v, const Evaluation& value) {
  const std::vector<double>& d = value.diagonal;
  double largest = 0;
  for (std::size_t j = 0; j < v.size(); ++j) largest = std::max(largest, d[j] / v[j]);
  const double sum = mean_of(d), weights = mean_of(v);
  const double error = value.relative_error + 2 * summation_error(v.size()) + 0x1p-49;
  if (!(error < 1)) return {0, std::numeric_limits<double>::infinity()};
  if (objective == Objective::max) return {sum / weights * (1 - error), largest * (1 + error)};
  return {sum / std::sqrt(weights) * (1 - error), std::sqrt(sum * largest) * (1 + error)};
}

}  // namespace

class OptimumSolver::State {
 public:
  State(OptimumProblem problem, const OptimumOptions& options)
      : problem_(std::move(problem)),
        gap_(require_positive("find_optimum", "gap", options.gap)),
        max_iterations_(
            require_between("find_optimum", "max_iterations", options.max_iterations, 1, 1 << 20)),
        mixing_({.depth = problem_.num_steps > 300000 ? 12 : 8,
                 .mixing = is_slow() ? 1.0 : 2.0,
                 .max_step = 3}),
        x_(starting_point(problem_)),
        v_(static_cast<std::size_t>(problem_.num_steps)),
        problem_weights_{
            .weights = {.rows = problem_.query_weights, .columns = v_, .decay = problem_.decay},
            .momentum = problem_.momentum,
            .rates = problem_.rates} {
    if (problem_.query_weights.empty()) problem_weights_.weights.rows.assign(v_.size(), 1);
  }

  bool advance() {
    if (is_finished()) return false;
    set_weights();
    const Evaluation value = evaluate();
    ++num_iterations_;
    keep(bounds_of(problem_.objective, v_, value));
    if (is_finished()) return false;
    const Eigen::Map<const Vector> d(value.diagonal.data(), x_.size()), v(v_.data(), x_.size());
    const double level = std::log(mean_of(value.diagonal));
    const Vector residual = (d.array() / v.array()).log() - level;
    if (is_slow())
      advance_roots(residual);
    else
      mixing_.advance(x_, residual);
    return true;
  }

  double gap() const { return upper_bound_ / lower_bound_ - 1; }
  std::int64_t num_iterations() const { return num_iterations_; }

  Optimum result() const {
    Optimum result{.status = gap() <= gap_                        ? SolverStatus::converged
                             : num_iterations_ >= max_iterations_ ? SolverStatus::not_converged
                                                                  : SolverStatus::stopped,
                   .iterations = num_iterations_,
                   .lower_bound = lower_bound_,
                   .upper_bound = upper_bound_,
                   .column_weights = best_v_,
                   .row_weights = {}};
    if (best_v_.empty()) return result;
    result.row_weights = problem_weights_.weights.rows;
    if (problem_.objective == Objective::max)
      result.row_weights.assign(best_v_.rbegin(), best_v_.rend());
    return result;
  }

 private:
  bool is_finished() const { return gap() <= last_gap() || num_iterations_ >= max_iterations_; }

  double last_gap() const { return is_slow() ? std::max(gap_, kMomentumMaxGap) : gap_; }

  /// Some weights tend to 0 then.
  bool is_slow() const { return problem_.momentum != 0 && problem_.objective == Objective::max; }

  /// Anderson's step in v^(1/2), where weights that vanish do not count.
  void advance_roots(const Vector& residual) {
    const Vector before = (x_.array() / 2).exp();
    Vector root = before;
    mixing_.advance(root, before.cwiseProduct(residual) / 2);
    x_ = 2 * root.cwiseMax(before / 5).cwiseMax(1e-6).array().log();
  }

  /// Of the quadrature: far below the gap so far, down to a hundredth of the one that is asked for.
  double accuracy() const {
    return std::max({1e-13, last_gap() / 100, std::min(1e-3, gap() / 1000)});
  }

  /// v = exp(x) with mean 1, and what follows from it. Without momentum columns scaled by the rates
  /// are columns with weights chi^2 v. For the max objective of a Toeplitz workload the reversed v
  /// is optimal for u.
  void set_weights() {
    Eigen::Map<Vector> v(v_.data(), x_.size());
    v = x_.array().exp();
    const double level = mean_of(v_);
    v /= level;
    x_.array() -= std::log(level);
    std::vector<double>& columns = problem_weights_.weights.columns;
    columns = v_;
    if (problem_.momentum == 0)
      for (std::size_t j = 0; j < problem_.rates.size(); ++j)
        columns[j] *= problem_.rates[j] * problem_.rates[j];
    if (problem_.objective == Objective::max)
      problem_weights_.weights.rows.assign(v_.rbegin(), v_.rend());
  }

  Evaluation evaluate() const {
    const bool has_momentum = problem_.momentum != 0;
    const Interval spectrum = has_momentum ? detail::momentum_spectrum(problem_weights_)
                                           : detail::spectrum(problem_weights_.weights);
    const InverseRoot root =
        detail::inverse_root_within(spectrum, accuracy(), has_momentum ? 1 : detail::kNodesAtOnce);
    RootDiagonal diagonal = has_momentum
                                ? detail::momentum_root_diagonal(root, spectrum, problem_weights_)
                                : detail::root_diagonal(root, problem_weights_.weights);
    return {std::move(diagonal.values), root.relative_error + diagonal.rounding_error};
  }

  void keep(const Bounds& bounds) {
    if (bounds.lower > lower_bound_) {
      lower_bound_ = bounds.lower;
      best_v_ = v_;
    }
    upper_bound_ = std::min(upper_bound_, bounds.upper);
  }

  OptimumProblem problem_;
  double gap_;
  std::int64_t max_iterations_;
  AndersonMixing mixing_;
  Vector x_;  ///< ln v
  std::vector<double> v_, best_v_;
  MomentumWeights problem_weights_;
  double lower_bound_ = 0;
  double upper_bound_ = std::numeric_limits<double>::infinity();
  std::int64_t num_iterations_ = 0;
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

}  // namespace dpftrl
