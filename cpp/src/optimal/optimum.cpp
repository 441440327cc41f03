// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/optimal/optimum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpftrl/error.hpp"
#include "dpftrl/types.hpp"
#include "optimal/anderson.hpp"
#include "optimal/resolvent.hpp"

namespace dpftrl {
namespace {

using detail::AndersonMixing;
using detail::Bidiagonal;
using detail::InverseRoot;

/// The problem in the form of the iteration: columns scaled by the rates are columns with weights
/// v' = chi^2 v, so that only v' and u appear in W = D_u^(1/2) A D_v'^(1/2).
class Iteration {
 public:
  explicit Iteration(const OptimumProblem& problem)
      : problem_(problem), size_(static_cast<std::size_t>(problem.num_steps)) {}

  struct Value {
    std::vector<double> diagonal;  ///< d = diag (W^T W)^(1/2)
    double relative_error;
  };

  Value evaluate(const Vector& log_weights, double accuracy, bool with_rounding) const {
    const std::vector<double> v = scaled_columns(log_weights);
    const std::vector<double> u = rows(log_weights);
    const Bidiagonal factors = factors_of(u, v);
    const InverseRoot root =
        detail::inverse_root_within(detail::spectrum(factors, trace_of_inverse(u, v)), accuracy);
    const double rounding = with_rounding ? detail::rounding_error_of(root, factors) : 0;
    return {detail::diagonal_of(root, factors), root.relative_error + rounding};
  }

  double rate_squared(std::size_t j) const {
    return problem_.rates.empty() ? 1 : problem_.rates[j] * problem_.rates[j];
  }

  /// u: for the max objective of a Toeplitz workload the reversed v is optimal.
  std::vector<double> rows(const Vector& log_weights) const {
    std::vector<double> u(size_, 1);
    for (std::size_t i = 0; i < size_; ++i) {
      if (problem_.objective == Objective::max)
        u[i] = std::exp(log_weights(index(size_ - 1 - i)));
      else if (!problem_.query_weights.empty())
        u[i] = problem_.query_weights[i];
    }
    return u;
  }

 private:
  static Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

  std::vector<double> scaled_columns(const Vector& log_weights) const {
    std::vector<double> v(size_);
    for (std::size_t j = 0; j < size_; ++j)
      v[j] = rate_squared(j) * std::exp(log_weights(index(j)));
    return v;
  }

  Bidiagonal factors_of(const std::vector<double>& u, const std::vector<double>& v) const {
    Bidiagonal factors{std::vector<double>(size_), std::vector<double>(size_ - 1)};
    const double decay_squared = problem_.decay * problem_.decay;
    for (std::size_t i = 0; i < size_; ++i) factors.diagonal_squared[i] = 1 / (u[i] * v[i]);
    for (std::size_t i = 0; i + 1 < size_; ++i)
      factors.subdiagonal_squared[i] = decay_squared / (u[i] * v[i + 1]);
    return factors;
  }

  /// tr W^T W = sum_i u_i sum_{j <= i} decay^(2(i-j)) v_j.
  double trace_of_inverse(const std::vector<double>& u, const std::vector<double>& v) const {
    double inner = 0, trace = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      inner = problem_.decay * problem_.decay * inner + v[i];
      trace += u[i] * inner;
    }
    return trace;
  }

  const OptimumProblem& problem_;
  std::size_t size_;
};

void require_problem(const OptimumProblem& problem) {
  require_between("find_optimum", "num_steps", problem.num_steps, 1, std::int64_t{1} << 24);
  if (!(problem.decay > 0 && problem.decay <= 1))
    fail_argument("find_optimum", "decay", "above 0 and at most 1", to_text(problem.decay));
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

/// From one evaluation. With s = sum d: mean, n RMSE^2 in [s^2 / sum v, s max d / v]; max, gamma_2
/// in [s / sum v, max d / v].
Bounds bounds_of(Objective objective, const Vector& x, const Iteration::Value& value) {
  double sum = 0, weights = 0, largest = 0;
  for (std::size_t j = 0; j < value.diagonal.size(); ++j) {
    const double v = std::exp(x(static_cast<Eigen::Index>(j)));
    sum += value.diagonal[j];
    weights += v;
    largest = std::max(largest, value.diagonal[j] / v);
  }
  const double n = static_cast<double>(value.diagonal.size());
  const double error = value.relative_error + 0x1p-53 * (4 * n + 16);
  if (objective == Objective::max) return {sum / weights * (1 - error), largest * (1 + error)};
  return {sum / std::sqrt(weights * n) * (1 - error), std::sqrt(sum * largest / n) * (1 + error)};
}

}  // namespace

class OptimumSolver::State {
 public:
  State(OptimumProblem problem, const OptimumOptions& options)
      : problem_(std::move(problem)),
        gap_(require_positive("find_optimum", "gap", options.gap)),
        max_iterations_(
            require_between("find_optimum", "max_iterations", options.max_iterations, 1, 1 << 20)),
        iteration_(problem_),
        mixing_({.depth = problem_.num_steps > 300000 ? 12 : 8, .mixing = 2, .max_step = 3}),
        x_(starting_point(problem_)) {}

  bool advance() {
    if (is_finished()) return false;
    x_.array() -= std::log(x_.array().exp().mean());
    Iteration::Value value = iteration_.evaluate(x_, accuracy(), false);
    ++num_iterations_;
    keep(bounds_of(problem_.objective, x_, value));
    is_converged_ = gap() <= gap_;
    if (is_finished()) return false;
    Vector residual(x_.size());
    double sum = 0;
    for (const double d : value.diagonal) sum += d;
    const double level = std::log(sum / static_cast<double>(problem_.num_steps));
    for (Eigen::Index j = 0; j < x_.size(); ++j)
      residual(j) = std::log(value.diagonal[static_cast<std::size_t>(j)]) - x_(j) - level;
    mixing_.advance(x_, residual);
    return true;
  }

  double gap() const { return upper_bound_ / lower_bound_ - 1; }
  std::int64_t num_iterations() const { return num_iterations_; }

  Optimum result() const {
    Optimum result{.status = is_converged_   ? SolverStatus::converged
                             : is_finished() ? SolverStatus::not_converged
                                             : SolverStatus::stopped,
                   .iterations = num_iterations_,
                   .lower_bound = 0,
                   .upper_bound = upper_bound_,
                   .column_weights = {},
                   .row_weights = {}};
    if (best_x_.size() == 0) return result;
    // Once more, with the rounding error looked at.
    const Iteration::Value value = iteration_.evaluate(best_x_, accuracy(), true);
    result.lower_bound = bounds_of(problem_.objective, best_x_, value).lower;
    result.upper_bound *= 1 + 2 * value.relative_error;
    result.row_weights = iteration_.rows(best_x_);
    result.column_weights.assign(best_x_.data(), best_x_.data() + best_x_.size());
    for (double& v : result.column_weights) v = std::exp(v);
    return result;
  }

 private:
  bool is_finished() const { return is_converged_ || num_iterations_ >= max_iterations_; }
  /// Of the quadrature: a hundredth of the gap, as far as double precision goes.
  double accuracy() const { return std::max(1e-13, gap_ / 100); }

  void keep(const Bounds& bounds) {
    if (bounds.lower > lower_bound_) {
      lower_bound_ = bounds.lower;
      best_x_ = x_;
    }
    upper_bound_ = std::min(upper_bound_, bounds.upper);
  }

  OptimumProblem problem_;
  double gap_;
  std::int64_t max_iterations_;
  Iteration iteration_;
  AndersonMixing mixing_;
  Vector x_, best_x_;
  double lower_bound_ = 0;
  double upper_bound_ = std::numeric_limits<double>::infinity();
  std::int64_t num_iterations_ = 0;
  bool is_converged_ = false;
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
