// SPDX-License-Identifier: Apache-2.0
#include "optimal/epochs/epoch_optimum.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "dpftrl/base/error.hpp"
#include "optimal/anderson.hpp"
#include "optimal/barrier.hpp"
#include "optimal/best_bounds.hpp"
#include "optimal/epochs/dual_blocks.hpp"
#include "optimal/epochs/epoch_resolvent.hpp"
#include "optimal/sign_gauge.hpp"

namespace dpftrl {
namespace {

using detail::DualBlock;
using detail::EpochRoot;
using detail::EpochWeights;

constexpr std::string_view kFunction = "find_epoch_optimum";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Margin for what the proof adds to the gap.
constexpr double kGapTolerance = 1.1;
/// Error of the quadrature as a share of the gap, while iterating and in the proof.
constexpr double kIteratedShare = 1e-3, kProvedShare = 0.1;
/// Relative error of the quadrature that gives the Gram matrix.
constexpr double kGramAccuracy = 1e-9;
constexpr double kLeastAccuracy = 1e-12, kFirstAccuracy = 1e-5;
/// Longer epochs start from the solution for a quarter of their steps, but for at least this many.
constexpr std::int64_t kShortEpoch = 32;
constexpr std::int64_t kShortening = 4;
constexpr double kCoarseGap = 1e-3;
constexpr std::int64_t kCoarseIterations = 25;
/// Covers the rounding of sums of dual variables.
constexpr double kSumSlack = 0x1p-36;

void require_problem(std::string_view function, const EpochOptimumProblem& problem) {
  require_between(function, "epochs", problem.epochs, 1, kMaxEpochOptimumEpochs);
  require_between(function, "epoch_length", problem.epoch_length, 1,
                  kMaxEpochOptimumSize / (problem.epochs * problem.epochs * problem.epochs));
  if (!(problem.decay > 0 && problem.decay <= 1))
    fail_argument(function, "decay", "above 0 and at most 1", to_text(problem.decay));
}

/// Position at which a list is interpolated linearly; beyond its ends, its first or last entry
/// applies.
struct Between {
  Eigen::Index before, after;
  double share;  ///< share of `after`

  /// @param position  0 to 1, the middle of piece i of `count` being (i + 1/2) / count.
  Between(double position, Eigen::Index count) {
    const double x = std::clamp(position * static_cast<double>(count) - 0.5, 0.0,
                                static_cast<double>(count - 1));
    before = static_cast<Eigen::Index>(x);
    after = std::min(before + 1, count - 1);
    share = x - static_cast<double>(before);
  }
};

/// Points x are the blocks of L^(1/2), one per phase, and for the max objective u^(1/2).
class Iteration {
 public:
  explicit Iteration(const EpochOptimumProblem& problem)
      : problem_(problem),
        k_(static_cast<Eigen::Index>(problem.epochs)),
        b_(static_cast<Eigen::Index>(problem.epoch_length)) {}

  bool is_max() const { return problem_.objective == Objective::max; }
  Eigen::Index epochs() const { return k_; }
  Eigen::Index steps() const { return k_ * b_; }
  Eigen::Index block_entries() const { return k_ * k_ * b_; }

  Vector uniform_start() const {
    Vector x = Vector::Ones(block_entries() + (is_max() ? steps() : 0));
    for (Eigen::Index s = 0; s < b_; ++s) block(x, s).setIdentity();
    return x;
  }

  /// Stretches a point from fewer steps per epoch.
  Vector stretched(const Vector& coarse, Eigen::Index coarse_length) const {
    const Iteration other({.epochs = problem_.epochs, .epoch_length = coarse_length});
    Vector x = uniform_start();
    for (Eigen::Index s = 0; s < b_; ++s) {
      const Between at(position(s, b_), coarse_length);
      block(x, s) = (1 - at.share) * other.block(coarse, at.before) +
                    at.share * other.block(coarse, at.after);
    }
    if (!is_max()) return scaled(std::move(x));
    const auto rows = coarse.tail(k_ * coarse_length);
    for (Eigen::Index t = 0; t < steps(); ++t) {
      const Between at(position(t, steps()), rows.size());
      x(block_entries() + t) = (1 - at.share) * rows(at.before) + at.share * rows(at.after);
    }
    return scaled(std::move(x));
  }

  /// `proposed`, with eigenvalues and row roots raised to a small fraction of those of x, so that
  /// all stay positive, and scaled.
  Vector admissible(const Vector& x, Vector proposed) const {
    for (Eigen::Index s = 0; s < b_; ++s)
      block(proposed, s) = detail::kept_positive(block(x, s), block(proposed, s));
    if (is_max()) {
      const Vector floors = (detail::kLeastKept * x.tail(steps())).cwiseMax(detail::kLeastRoot);
      proposed.tail(steps()) = proposed.tail(steps()).cwiseMax(floors).eval();
    }
    return scaled(std::move(proposed));
  }

  DenseDuals duals_of(const Vector& x) const {
    DenseDuals duals;
    for (Eigen::Index s = 0; s < b_; ++s) {
      const Matrix root = DualBlock(block(x, s)).root;
      duals.columns.insert(duals.columns.end(), root.data(), root.data() + root.size());
    }
    if (is_max()) duals.rows.assign(x.end() - steps(), x.end());
    return duals;
  }

  /// Lambda = M M^T. Weights u of 0 are replaced with tiny ones.
  EpochWeights weights(const DenseDuals& duals) const {
    EpochWeights weights{
        .columns = {}, .inverse_rows = Vector::Ones(steps()), .decay = problem_.decay};
    const Vector columns = Eigen::Map<const Vector>(duals.columns.data(), block_entries());
    for (Eigen::Index s = 0; s < b_; ++s) {
      const Matrix lambda = detail::multiply(block(columns, s), block(columns, s).transpose());
      weights.columns.emplace_back(0.5 * (lambda + lambda.transpose()));
    }
    if (is_max())
      weights.inverse_rows = Eigen::Map<const Vector>(duals.rows.data(), steps())
                                 .cwiseAbs2()
                                 .cwiseMax(0x1p-400)
                                 .cwiseInverse();
    return weights;
  }

  struct Evaluation {
    std::vector<DualBlock> blocks;
    EpochRoot root;
    Vector rows;  ///< ||B_i||^2; only for the max objective
    double lower = 0;
    double upper = kInfinity;
  };

  /// The primal point that belongs to a dual point, and bounds up to rounding.
  std::optional<Evaluation> evaluate(const Vector& x, double accuracy) const {
    const EpochWeights dual = weights(duals_of(x));
    double root_error = 0;
    std::optional<EpochRoot> root = rooted(dual, accuracy, false, root_error);
    if (!root) return std::nullopt;
    Evaluation result{.blocks = {}, .root = std::move(*root), .rows = {}};
    for (Eigen::Index s = 0; s < b_; ++s) result.blocks.emplace_back(block(x, s));
    if (is_max()) result.rows = result.root.rows.cwiseProduct(dual.inverse_rows);
    const double rows = row_total(dual);
    result.lower = result.root.nuclear / std::sqrt(rows * column_total(dual)) / (1 + root_error);
    const double largest = is_max() ? result.rows.maxCoeff() : result.root.nuclear / rows;
    result.upper = std::sqrt(sensitivity_squared(result.root, 0) * largest) * (1 + root_error);
    return result;
  }

  /// f = ln (W^T W)^(1/2) - ln L over the phases and ln diag (W W^T)^(1/2) - ln u, minus their
  /// levels, as changes of the roots.
  Vector residual(const Vector& x, const Evaluation& value, double barrier) const {
    Vector residual(x.size());
    const double level = value.root.nuclear / static_cast<double>(steps());
    for (Eigen::Index s = 0; s < b_; ++s) {
      const auto phase = static_cast<std::size_t>(s);
      const DualBlock& part = value.blocks[phase];
      const Matrix root = part.root.transpose() * value.root.columns[phase] * part.root;
      block(residual, s) = detail::block_residual(part, root, level, barrier);
    }
    for (Eigen::Index i = 0; i < value.rows.size(); ++i) {
      const double own = x(block_entries() + i);
      const double ratio = (value.rows(i) / level + barrier / (own * own)) / (1 + barrier);
      residual(block_entries() + i) = 0.5 * own * detail::log_of(ratio);
    }
    return residual;
  }

  struct Proved {
    DenseLowerBounds lower = {.value = 0, .every_dimension = 0};
    double upper = kInfinity;
  };

  /// The bounds that dual variables prove. The root is within a relative `root_error` of the
  /// approximation, in the order of positive semi-definite matrices, and the approximation is
  /// within its rounding bound of the computed numbers.
  Proved proved(const EpochWeights& dual, double accuracy) const {
    Proved bounds;
    double root_error = 0;
    const std::optional<EpochRoot> root = rooted(dual, accuracy, true, root_error);
    if (!root || !(root->nuclear_error < root->nuclear / 2)) return bounds;
    const double rows = row_total(dual);
    const double nuclear =
        (root->nuclear - root->nuclear_error) / (1 + root_error) * (1 - kSumSlack);
    const auto lower_for = [&](double columns) { return nuclear / std::sqrt(rows * columns); };
    bounds.lower = {.value = lower_for(column_total(dual)),
                    .every_dimension = lower_for(sign_total(dual))};
    const double largest = is_max() ? (root->rows.cwiseProduct(dual.inverse_rows).maxCoeff() +
                                       root->rows_error * dual.inverse_rows.maxCoeff())
                                    : (root->nuclear + root->nuclear_error) / rows;
    const double block_error = root->columns_error + 1.01 * root_error / (1 - root_error);
    bounds.upper = std::sqrt(sensitivity_squared(*root, block_error) * largest / (1 - root_error)) *
                   (1 + kSumSlack);
    return bounds;
  }

 private:
  static double position(Eigen::Index i, Eigen::Index count) {
    return (static_cast<double>(i) + 0.5) / static_cast<double>(count);
  }

  Eigen::Map<Matrix> block(Vector& x, Eigen::Index s) const {
    return {x.data() + s * k_ * k_, k_, k_};
  }
  Eigen::Map<const Matrix> block(const Vector& x, Eigen::Index s) const {
    return {x.data() + s * k_ * k_, k_, k_};
  }

  /// Scales to tr L = n, sum u = n, which changes no bound.
  Vector scaled(Vector x) const {
    const double size = std::sqrt(static_cast<double>(steps()));
    x.head(block_entries()) *= size / x.head(block_entries()).norm();
    if (is_max()) x.tail(steps()) *= size / x.tail(steps()).norm();
    return x;
  }

  /// @param error  set to the error of the quadrature.
  std::optional<EpochRoot> rooted(const EpochWeights& dual, double accuracy, bool is_proved,
                                  double& error) const {
    const detail::EpochSpectrum spectrum = detail::epoch_spectrum(dual);
    if (!(spectrum.interval.low > 0)) return std::nullopt;
    const detail::InverseRoot nodes = detail::inverse_root_within(spectrum.interval, accuracy);
    error = nodes.relative_error;
    return detail::epoch_root(nodes, spectrum, dual,
                              {.has_rows = is_max(), .is_proved = is_proved});
  }

  static double row_total(const EpochWeights& dual) {
    return dual.inverse_rows.cwiseInverse().sum();
  }

  static double column_total(const EpochWeights& dual) {
    double total = 0;
    for (const Matrix& lambda : dual.columns) total += lambda.diagonal().maxCoeff();
    return total;
  }

  /// `column_total` for records of one number each.
  double sign_total(const EpochWeights& dual) const {
    const double total = column_total(dual);
    if (k_ <= 2) return total;
    double of_signs = 0;
    for (const Matrix& lambda : dual.columns) {
      of_signs += detail::sign_gauge(lambda);
      if (std::isinf(of_signs)) break;
    }
    return std::max(total, of_signs);
  }

  /// Upper bound on the largest sum of |X_ij| over a phase, if entries are off by at most error
  /// (X_ii X_jj)^(1/2).
  double sensitivity_squared(const EpochRoot& root, double error) const {
    double largest = 0;
    for (const Matrix& x : root.columns)
      largest = std::max(largest, x.cwiseAbs().sum() + error * static_cast<double>(k_) * x.trace());
    return largest;
  }

  EpochOptimumProblem problem_;
  Eigen::Index k_, b_;
};

}  // namespace

class EpochOptimumSolver::State {
 public:
  State(const EpochOptimumProblem& problem, const OptimumOptions& options)
      : gap_(require_positive(kFunction, "gap", options.gap)),
        max_iterations_(
            require_between(kFunction, "max_iterations", options.max_iterations, 1, 1 << 20)),
        iteration_(problem),
        x_(start(problem)),
        best_(x_) {
    if (iteration_.is_max() && problem.epoch_length > kShortEpoch) barrier_ = coarse_barrier();
  }

  bool advance() {
    if (is_finished()) return false;
    const double accuracy = std::clamp(kIteratedShare * gap(), kLeastAccuracy, kFirstAccuracy);
    const std::optional<Iteration::Evaluation> value = iteration_.evaluate(x_, accuracy);
    ++num_iterations_;
    has_failed_ = !value;
    if (has_failed_) return false;
    best_.raise_lower(value->lower, x_);
    best_.reduce_upper(value->upper, x_);
    is_converged_ = gap() <= gap_;
    if (is_finished()) return false;
    Vector residual = next_residual(*value);
    Vector proposed = x_;
    mixing_.advance(proposed, std::move(residual));
    x_ = iteration_.admissible(x_, std::move(proposed));
    return true;
  }

  double gap() const { return best_.gap(); }
  std::int64_t num_iterations() const { return num_iterations_; }

  EpochOptimum result() const {
    const DenseDuals duals = iteration_.duals_of(best_.lower_point());
    // In the upper bound, this error counts once per epoch.
    const double accuracy =
        kProvedShare * std::clamp(gap(), gap_, 0.1) / static_cast<double>(iteration_.epochs() + 3);
    Iteration::Proved proved = iteration_.proved(iteration_.weights(duals), accuracy);
    DenseDuals primal = duals;
    if (best_.upper_point() != best_.lower_point()) {
      primal = iteration_.duals_of(best_.upper_point());
      const double other = iteration_.proved(iteration_.weights(primal), accuracy).upper;
      if (other > proved.upper) primal = duals;
      proved.upper = std::min(proved.upper, other);
    }
    EpochOptimum result{.status = SolverStatus::stopped,
                        .iterations = num_iterations_,
                        .lower_bound = proved.lower.value,
                        .every_dimension_bound = proved.lower.every_dimension,
                        .upper_bound = proved.upper,
                        .duals = duals,
                        .primal_duals = std::move(primal)};
    const bool is_proved = result.upper_bound <= result.lower_bound * (1 + kGapTolerance * gap_);
    if (is_converged_)
      result.status = is_proved ? SolverStatus::converged : SolverStatus::infeasible;
    else if (is_finished())
      result.status = has_failed_ ? SolverStatus::infeasible : SolverStatus::not_converged;
    return result;
  }

 private:
  Vector start(const EpochOptimumProblem& problem) const {
    if (problem.epoch_length <= kShortEpoch) return iteration_.uniform_start();
    EpochOptimumProblem shorter = problem;
    shorter.epoch_length = std::max(kShortEpoch, problem.epoch_length / kShortening);
    State coarse(shorter, {.gap = std::max(gap_, kCoarseGap), .max_iterations = kCoarseIterations});
    while (coarse.advance()) continue;
    return iteration_.stretched(coarse.x_, static_cast<Eigen::Index>(shorter.epoch_length));
  }

  detail::Barrier coarse_barrier() const {
    return detail::Barrier(gap_, std::max(gap_, kCoarseGap));
  }

  Vector next_residual(const Iteration::Evaluation& value) {
    if (!iteration_.is_max()) return iteration_.residual(x_, value, 0);
    Vector residual = iteration_.residual(x_, value, barrier_.weight());
    const double gap = value.upper / value.lower - 1;
    if (!barrier_.lower(detail::distance_with_repeats(gap, residual))) return residual;
    mixing_.restart();
    return iteration_.residual(x_, value, barrier_.weight());
  }

  bool is_finished() const {
    return is_converged_ || has_failed_ || num_iterations_ >= max_iterations_;
  }

  double gap_;
  std::int64_t max_iterations_;
  Iteration iteration_;
  detail::AndersonMixing mixing_{{.depth = 8, .mixing = 2, .max_step = 1.5}};
  detail::Barrier barrier_{gap_};
  Vector x_;
  detail::BestBounds best_;
  std::int64_t num_iterations_ = 0;
  bool is_converged_ = false;
  bool has_failed_ = false;  ///< weights too far apart for double precision
};

EpochOptimumSolver::EpochOptimumSolver(const EpochOptimumProblem& problem,
                                       const OptimumOptions& options) {
  require_problem(kFunction, problem);
  state_ = std::make_unique<State>(problem, options);
}

EpochOptimumSolver::~EpochOptimumSolver() = default;
EpochOptimumSolver::EpochOptimumSolver(EpochOptimumSolver&&) noexcept = default;
EpochOptimumSolver& EpochOptimumSolver::operator=(EpochOptimumSolver&&) noexcept = default;

bool EpochOptimumSolver::advance() {
  return state_->advance();
}

OptimumProgress EpochOptimumSolver::progress() const {
  return {state_->num_iterations(), state_->gap()};
}

EpochOptimum EpochOptimumSolver::result() const {
  return state_->result();
}

bool has_epoch_optimum(const Workload& workload, std::int64_t epochs, std::int64_t epoch_length) {
  const bool has_sums = workload.is_prefix() ||
                        (workload.kind() == Workload::Kind::momentum && workload.momentum() == 0);
  return has_sums && epochs <= kMaxEpochOptimumEpochs &&
         epoch_length <= kMaxEpochOptimumSize / (epochs * epochs * epochs);
}

EpochOptimum find_epoch_optimum(const EpochOptimumProblem& problem, const OptimumOptions& options) {
  EpochOptimumSolver solver(problem, options);
  while (solver.advance())
    if (options.progress && !options.progress(solver.progress())) break;
  return solver.result();
}

namespace {

/// Checks dual variables from a caller and returns their weights.
EpochWeights checked_weights(std::string_view function, const EpochOptimumProblem& problem,
                             const DenseDuals& duals) {
  require_problem(function, problem);
  const Iteration iteration(problem);
  require_length(function, "duals.columns", std::ssize(duals.columns), iteration.block_entries());
  require_length(function, "duals.rows", std::ssize(duals.rows),
                 iteration.is_max() ? iteration.steps() : 0);
  require_all_finite(function, "duals.columns", duals.columns);
  require_all_finite(function, "duals.rows", duals.rows);
  const Vector columns = detail::levelled(duals.columns), rows = detail::levelled(duals.rows);
  return iteration.weights(
      {.columns = {columns.begin(), columns.end()}, .rows = {rows.begin(), rows.end()}});
}

}  // namespace

DenseLowerBounds epoch_lower_bounds(const EpochOptimumProblem& problem, const DenseDuals& duals,
                                    double accuracy) {
  constexpr std::string_view kName = "epoch_lower_bounds";
  const EpochWeights weights = checked_weights(kName, problem, duals);
  require_inside(kName, "accuracy", accuracy, 0, 1);
  return Iteration(problem).proved(weights, accuracy).lower;
}

Matrix epoch_optimum_gram(const EpochOptimumProblem& problem, const DenseDuals& duals) {
  constexpr std::string_view kName = "epoch_optimum_gram";
  const EpochWeights weights = checked_weights(kName, problem, duals);
  const detail::EpochSpectrum spectrum = detail::epoch_spectrum(weights);
  std::optional<Matrix> gram;
  if (spectrum.interval.low > 0)
    gram = detail::epoch_matrix(detail::inverse_root_within(spectrum.interval, kGramAccuracy),
                                weights);
  if (!gram)
    fail(ErrorCode::unsupported, kName, "duals",
         "must not differ by more than doubles can resolve");
  return *std::move(gram);
}

}  // namespace dpftrl
