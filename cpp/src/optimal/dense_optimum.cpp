// SPDX-License-Identifier: Apache-2.0

/// Least error of any queries F (m x n) by dense algebra, for one participation or fixed epochs
/// (k, b), n = k b.
///
/// Idea. Only X = C^T C matters, and a dual point proves how small the error can be: weights u, one
/// per query, and Lambda = M M^T, a positive definite k x k block on the steps s, s + b, ... of
/// every user:
///
///               [x     x    ]
///               [  x     x  ]
///     Lambda =  [    x     x]      n = 6, k = 2, b = 3
///               [x     x    ]
///               [  x     x  ]
///               [    x     x]
///
/// With W = D_u^(1/2) F M = U S V^T and T = sum over s of the largest diagonal entry of Lambda_s,
///
///     lower bound   ||W||_* / sqrt(T sum u),    since ||W||_* <= ||D_u^(1/2) B||_F ||C M||_F
///     encoder       C = S^(1/2) V^T M^-1,       X = M^-T (W^T W)^(1/2) M^-1
///     decoder       B = D_u^(-1/2) U S^(1/2) = F M V S^(-1/2)
///
/// and the error of (C, B) meets the bound if every user's columns are orthogonal and have the same
/// total norm, and (max) rows of B with positive weight have equal norms.
///
/// Recurrence. With M = D_y^(-1/2) L^(1/2), y = diag L / tr L, the optimum is a fixed point: the
/// blocks of (W^T W)^(1/2) are the blocks of L, and diag (W W^T)^(1/2) is u, each up to a factor
/// (its level).
///
///     x = (L^(1/2), u^(1/2)) --decompose--> W^T W = V S^2 V^T --evaluate--> bounds
///       ^                                                                     |
///       +---- admissible <---- Anderson mixing <---- residual: differences of logarithms
///
/// The max objective adds a barrier, because its weights go to 0 (barrier.hpp). Convergence is
/// observed, not proved.
///
/// Proof. Certificates trust neither the iteration nor the eigensolver. Lower: <Q, W> / ||Q||_op
/// for any Q. Upper: with explicit B, C and R = B C - F, F = [B, -R / t] [C; t I] is exact.
///
/// Source: docs/math/optimal.md, section 5. The problem and its dual: Denisov et al., arXiv
/// 2202.08312; Henzinger, Upadhyay, Upadhyay, arXiv 2211.05006.

#include "dpftrl/optimal/dense_optimum.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "math/linear_algebra.hpp"
#include "math/nuclear_norm.hpp"
#include "optimal/anderson.hpp"
#include "optimal/barrier.hpp"
#include "optimal/best_bounds.hpp"
#include "optimal/epochs/dual_blocks.hpp"
#include "optimal/sign_gauge.hpp"

namespace dpftrl {
namespace {

using detail::AndersonMixing;
using detail::Barrier;
using detail::DualBlock;
using detail::Eigensystem;
using detail::kLeastKept;
using detail::kLeastRoot;
using detail::levelled;
using detail::log_of;
using detail::multiply;
using detail::symmetric_eigen;
using detail::symmetric_eigenvalues;

constexpr const char* kFunction = "find_dense_optimum";
/// The gap that is proved may exceed the requested one by this factor, for rounding.
constexpr double kGapTolerance = 1.1;

/// Rank of F that rounding leaves visible in G = F^T F.
Eigen::Index rank_of(const Matrix& f, const Matrix& gram) {
  const Eigen::Index n = f.cols();
  if (f.rows() == n && f.isLowerTriangular(0) && f.diagonal().cwiseAbs().minCoeff() > 0) return n;
  const Vector squares = symmetric_eigenvalues(gram);
  const double least = squares(n - 1) * static_cast<double>(n) * 0x1p-52;
  return (squares.array() > least).count();
}

/// The columns of phase s are s, s + b, ..., s + (k - 1) b; b = n, k = 1 for one participation.
struct Phases {
  Eigen::Index num_phases;   ///< b
  Eigen::Index num_repeats;  ///< k
  Eigen::Index column(Eigen::Index phase, Eigen::Index repeat) const {
    return phase + repeat * num_phases;
  }
  Eigen::Index block_size() const { return num_repeats * num_repeats; }
};

struct DenseDualPoint {
  Vector row_roots;               ///< square roots of u
  std::vector<DualBlock> blocks;  ///< one per phase
};

/// W^T W = V S^2 V^T.
struct Decomposition {
  Matrix vectors;           ///< V
  Vector values;            ///< S, ascending; 0 outside the rank of F
  Vector inverse_values;    ///< S^-1, or 0
  Eigen::Index num_hidden;  ///< number of smallest values, which rounding hides
};

class Iteration {
 public:
  explicit Iteration(const DenseOptimumProblem& problem)
      : queries_(problem.queries), is_max_(problem.objective == Objective::max) {
    const Eigen::Index n = queries_.cols();
    const auto k = static_cast<Eigen::Index>(problem.participation.times_within(n));
    phases_ = {.num_phases = n / k, .num_repeats = k};
    // A power of two, so that scaling does not round.
    int exponent = 0;
    (void)std::frexp(queries_.cwiseAbs().maxCoeff(), &exponent);
    scale_ = std::ldexp(1.0, exponent);
    queries_ /= scale_;
    gram_ = multiply(queries_.transpose(), queries_);
    rank_ = rank_of(queries_, gram_);
  }

  double scale() const { return scale_; }

  /// L^(1/2), block after block, and for the max objective u^(1/2): the given values, or L = I and
  /// u = 1.
  Vector start(const DenseOptimumStart& given) const {
    Vector x(block_entries() + (is_max_ ? queries_.rows() : 0));
    for (Eigen::Index s = 0; s < phases_.num_phases; ++s) block(x, s).setIdentity();
    x.tail(x.size() - block_entries()).setOnes();
    if (given.column_weights.empty()) return x;
    Eigen::Index i = 0;
    for (const double weight : given.column_weights) x(i++) = std::sqrt(weight);
    if (is_max_)
      for (const double weight : given.row_weights) x(i++) = std::sqrt(weight);
    return admissible(x, x);
  }

  /// `proposed`, with eigenvalues and row roots raised to a small fraction of those of x, so that
  /// all stay positive, and scaled to tr L = n, sum u = m, which changes no bound.
  Vector admissible(const Vector& x, Vector proposed) const {
    for (Eigen::Index s = 0; s < phases_.num_phases; ++s)
      block(proposed, s) = detail::kept_positive(block(x, s), block(proposed, s));
    auto columns = proposed.head(block_entries());
    columns *= std::sqrt(static_cast<double>(queries_.cols())) / columns.norm();
    if (!is_max_) return proposed;
    auto rows = proposed.tail(queries_.rows());
    rows = rows.cwiseMax((kLeastKept * x.tail(queries_.rows())).cwiseMax(kLeastRoot)).eval();
    rows *= std::sqrt(static_cast<double>(queries_.rows())) / rows.norm();
    return proposed;
  }

  /// The dual point of stored duals; bounds hold for any numbers.
  DenseDualPoint point(const DenseDuals& duals) const {
    DenseDualPoint point{.row_roots = Vector::Ones(queries_.rows()), .blocks = {}};
    if (is_max_) point.row_roots = levelled(duals.rows);
    const Vector columns = levelled(duals.columns);
    for (Eigen::Index s = 0; s < phases_.num_phases; ++s)
      point.blocks.emplace_back().root = block(columns, s);
    return point;
  }

  DenseDuals duals_of(const DenseDualPoint& point) const {
    DenseDuals duals;
    for (const DualBlock& part : point.blocks)
      duals.columns.insert(duals.columns.end(), part.root.data(),
                           part.root.data() + part.root.size());
    if (is_max_) duals.rows.assign(point.row_roots.begin(), point.row_roots.end());
    return duals;
  }

  DenseDualPoint point(const Vector& x) const {
    DenseDualPoint point{.row_roots = Vector::Ones(queries_.rows()), .blocks = {}};
    if (is_max_) point.row_roots = x.tail(queries_.rows());
    for (Eigen::Index s = 0; s < phases_.num_phases; ++s) point.blocks.emplace_back(block(x, s));
    return point;
  }

  Decomposition decompose(const DenseDualPoint& point) const {
    Decomposition w{.vectors = {}, .values = {}, .inverse_values = {}, .num_hidden = 0};
    const Eigensystem system = symmetric_eigen(weighted_gram(point));
    const Vector& squares = system.values;
    const Eigen::Index n = squares.size();
    const double least = squares(n - 1) * static_cast<double>(n) * 0x1p-52;
    w.vectors = system.vectors;
    w.values = squares.cwiseMax(least).cwiseSqrt();
    w.inverse_values = w.values.cwiseInverse();
    w.values.head(n - rank_).setZero();
    w.inverse_values.head(n - rank_).setZero();
    w.num_hidden = (squares.array() <= least).count();
    return w;
  }

  /// The primal point that belongs to a dual point, and bounds up to rounding.
  struct Evaluation {
    DenseDualPoint dual;
    Decomposition decomposition;
    std::vector<Matrix> roots;  ///< blocks of (W^T W)^(1/2), one per phase
    Vector rows;                ///< ||B_i||^2; only for the max objective
    double nuclear;
    double lower;
    double upper;
    bool is_levelled;  ///< the upper bound is for columns of C scaled to the same norm
  };

  Evaluation evaluate(const Vector& x) const {
    Evaluation result{.dual = point(x),
                      .decomposition = {},
                      .roots = {},
                      .rows = {},
                      .nuclear = 0,
                      .lower = 0,
                      .upper = 0,
                      .is_levelled = false};
    const DenseDualPoint& dual = result.dual;
    result.decomposition = decompose(dual);
    const Decomposition& w = result.decomposition;
    result.nuclear = w.values.sum();
    result.roots = phases_of_root(w);
    const double m = static_cast<double>(queries_.rows());
    const double sensitivity_squared = sensitivity_squared_of(dual, result.roots);
    result.lower = result.nuclear / std::sqrt(m * column_total(dual));
    if (is_max_) {
      const Matrix left = multiply(weighted(dual), w.vectors);
      result.rows = (left.cwiseAbs2() * w.inverse_values).cwiseQuotient(dual.row_roots.cwiseAbs2());
      result.upper = std::sqrt(sensitivity_squared * result.rows.maxCoeff());
    } else {
      result.upper = std::sqrt(sensitivity_squared * result.nuclear / m);
      const double levelled = std::sqrt(levelled_rows_squared(result) / m);
      result.is_levelled = levelled < result.upper;
      if (result.is_levelled) result.upper = levelled;
    }
    return result;
  }

  /// ln (W^T W)^(1/2) - ln L over the phases and ln diag (W W^T)^(1/2) - ln u, minus their levels,
  /// as changes of the roots.
  /// @param barrier  mu; mu times its level is first added to (W^T W)^(1/2) and diag (W W^T)^(1/2).
  Vector residual(const Evaluation& value, double barrier) const {
    Vector residual(block_entries() + value.rows.size());
    write_column_residuals(value, barrier, residual);
    const double level = value.nuclear / static_cast<double>(queries_.rows());
    for (Eigen::Index i = 0; i < value.rows.size(); ++i) {
      const double root = value.dual.row_roots(i);
      const double ratio = (value.rows(i) / level + barrier / (root * root)) / (1 + barrier);
      residual(block_entries() + i) = 0.5 * root * log_of(ratio);
    }
    return residual;
  }

  /// The lower bound that a point proves: for every factorization with sensitivity 1,
  /// ||D_u^(1/2) B C M||_* <= ||D_u^(1/2) B||_F ||C M||_F.
  DenseLowerBounds certified_lower_bounds(const DenseDualPoint& dual,
                                          const Decomposition& w) const {
    std::vector<Matrix> absolute = blocks_of(dual, &DualBlock::root);
    for (Matrix& root : absolute) root = root.cwiseAbs().eval();
    Matrix magnitude = times_blocks(queries_.cwiseAbs(), absolute);
    magnitude = (dual.row_roots.asDiagonal() * magnitude).eval();
    const Matrix seen = weighted(dual);
    // The polar factor of W without its hidden values: the smallest visible values still have two
    // correct digits.
    Vector inverse = w.inverse_values;
    inverse.head(w.num_hidden).setZero();
    const Matrix back = multiply(w.vectors * inverse.asDiagonal(), w.vectors.transpose());
    const Matrix q = detail::orthogonalized(multiply(seen, back));
    const double k = static_cast<double>(phases_.num_repeats);
    const double bound = detail::nuclear_norm_bound(
        {.values = seen, .magnitude = magnitude, .relative_error = (k + 8) * 0x1p-52}, q);
    const double num_terms = k + static_cast<double>(queries_.rows() + queries_.cols());
    if (!(bound > 0)) return {.value = 0, .every_dimension = 0};
    const auto bound_for = [&](double total) {
      return scale_ * (bound / std::sqrt(dual.row_roots.squaredNorm() * total) *
                       (1 - (num_terms + 16) * 0x1p-52));
    };
    return {.value = bound_for(column_total(dual)), .every_dimension = bound_for(sign_total(dual))};
  }

  /// The upper bound is the error of F = [B, -R / t] [C; t I], where R = B C - F is the residual of
  /// explicit B and C, bounded including the rounding of its own computation.
  double certified_upper_bound(const Matrix& encoder, const Matrix& decoder) const {
    const double n = static_cast<double>(queries_.cols());
    const double k = static_cast<double>(phases_.num_repeats);
    const double rounding = (n + 16) * 0x1p-52;
    Matrix residual = multiply(decoder, encoder);
    residual -= queries_;
    const Vector rows = decoder.rowwise().norm();
    const Vector residuals =
        residual.rowwise().norm() +
        rounding * (rows * encoder.rowwise().norm().norm() + queries_.rowwise().norm());
    const double squares = encoder.colwise().squaredNorm().maxCoeff();
    const double sensitivity_squared = pattern_sum(encoder) + k * k * rounding * squares;
    const double size = is_max_ ? rows.maxCoeff() : rows.norm();
    const double rest = is_max_ ? residuals.maxCoeff() : residuals.norm();
    // Least product of sens^2 + k t^2 and ||B||^2 + ||R||^2 / t^2. `rest` includes rounding, so it
    // is not 0.
    const double t_squared = rest * std::sqrt(sensitivity_squared / k) / size;
    const double rows_squared = size * size + rest * rest / t_squared;
    const double count = is_max_ ? 1 : static_cast<double>(queries_.rows());
    const double num_terms = n + static_cast<double>(queries_.rows());
    return std::sqrt((sensitivity_squared + k * t_squared) * rows_squared / count) *
           (1 + (num_terms + 16) * 0x1p-52);
  }

  /// C = S^(1/2) V^T M^-1, so that C^T C = M^-T (W^T W)^(1/2) M^-1.
  Matrix encoder(const DenseDualPoint& dual, const Decomposition& w) const {
    const Matrix scaled = w.values.cwiseSqrt().asDiagonal() * w.vectors.transpose();
    return times_blocks(scaled, blocks_of(dual, &DualBlock::inverse_root));
  }

  /// B = F D_norms M V S^(-1/2), the decoder of C D_norms^-1: B C D_norms^-1 = F.
  Matrix decoder(const DenseDualPoint& dual, const Decomposition& w, const Vector& norms) const {
    return multiply(times_blocks(queries_ * norms.asDiagonal(), blocks_of(dual, &DualBlock::root)),
                    w.vectors * w.inverse_values.cwiseSqrt().asDiagonal());
  }

  /// Lambda as an n x n matrix.
  Matrix column_weights(const DenseDualPoint& dual) const {
    const Matrix roots = times_blocks(Matrix::Identity(queries_.cols(), queries_.cols()),
                                      blocks_of(dual, &DualBlock::root));
    return multiply(roots, roots.transpose());
  }

  /// Squared sensitivity: the largest sum of the entries of |C^T C| over a phase.
  double pattern_sum(const Matrix& encoder) const {
    double largest = 0;
    for (Eigen::Index s = 0; s < phases_.num_phases; ++s) {
      double sum = 0;
      for (Eigen::Index i = 0; i < phases_.num_repeats; ++i)
        for (Eigen::Index j = 0; j < phases_.num_repeats; ++j)
          sum += std::abs(encoder.col(phases_.column(s, i)).dot(encoder.col(phases_.column(s, j))));
      largest = std::max(largest, sum);
    }
    return largest;
  }

  Eigen::Index block_entries() const { return phases_.num_phases * phases_.block_size(); }
  bool has_repeats() const { return phases_.num_repeats > 1; }

 private:
  Eigen::Map<Matrix> block(Vector& x, Eigen::Index phase) const {
    return {x.data() + phase * phases_.block_size(), phases_.num_repeats, phases_.num_repeats};
  }
  Eigen::Map<const Matrix> block(const Vector& x, Eigen::Index phase) const {
    return {x.data() + phase * phases_.block_size(), phases_.num_repeats, phases_.num_repeats};
  }

  /// W = D_u^(1/2) F M.
  Matrix weighted(const DenseDualPoint& point) const {
    return point.row_roots.asDiagonal() *
           times_blocks(queries_, blocks_of(point, &DualBlock::root));
  }

  /// W^T W; with u = 1 from F^T F, however many rows F has.
  Matrix weighted_gram(const DenseDualPoint& point) const {
    if (is_max_) {
      const Matrix w = weighted(point);
      return multiply(w.transpose(), w);
    }
    const std::vector<Matrix> roots = blocks_of(point, &DualBlock::root);
    const Matrix half = times_blocks(gram_, roots).transpose();
    return times_blocks(half, roots);
  }

  /// ||B||_F^2 if the columns of C are first scaled to norm 1. It exceeds the optimum by the square
  /// of the distance from the optimal point, the error without scaling by the distance itself.
  /// Infinite for repeated participation, and if C lacks rank, because scaling then moves its row
  /// space away from the row space of F.
  double levelled_rows_squared(const Evaluation& value) const {
    const Decomposition& w = value.decomposition;
    if (phases_.num_repeats > 1 || rank_ < queries_.cols() || w.num_hidden > 0)
      return std::numeric_limits<double>::infinity();
    Vector roots(queries_.cols());
    for (Eigen::Index j = 0; j < roots.size(); ++j)
      roots(j) = std::sqrt(value.roots[static_cast<std::size_t>(j)](0, 0));
    const Matrix inverse =
        multiply(w.vectors * w.inverse_values.asDiagonal(), w.vectors.transpose());
    return roots.dot(gram_.cwiseProduct(inverse) * roots);
  }

  static std::vector<Matrix> blocks_of(const DenseDualPoint& point, Matrix DualBlock::* part) {
    std::vector<Matrix> blocks;
    for (const DualBlock& block : point.blocks) blocks.push_back(block.*part);
    return blocks;
  }

  /// T: tr Lambda X <= T sens^2, since every PSD K with diagonal at most 1 is the Gram matrix of
  /// contributions that one user can make.
  static double column_total(const DenseDualPoint& dual) {
    double total = 0;
    for (const DualBlock& block : dual.blocks)
      total += block.root.rowwise().squaredNorm().maxCoeff();
    return total;
  }

  /// T for records of one number, whose contributions are signs. With up to two steps per user,
  /// signs attain the maximum over all K.
  double sign_total(const DenseDualPoint& dual) const {
    if (phases_.num_repeats <= 2) return column_total(dual);
    double total = 0;
    for (const DualBlock& block : dual.blocks)
      total += detail::sign_gauge(multiply(block.root, block.root.transpose()));
    return std::max(total, column_total(dual));
  }

  /// Blocks of (W^T W)^(1/2).
  std::vector<Matrix> phases_of_root(const Decomposition& w) const {
    const Eigen::Index k = phases_.num_repeats;
    const Matrix scaled = w.vectors * w.values.asDiagonal();
    std::vector<Matrix> blocks(static_cast<std::size_t>(phases_.num_phases), Matrix(k, k));
    for (Eigen::Index s = 0; s < phases_.num_phases; ++s)
      for (Eigen::Index i = 0; i < k; ++i)
        for (Eigen::Index j = 0; j < k; ++j)
          blocks[static_cast<std::size_t>(s)](i, j) =
              scaled.row(phases_.column(s, i)).dot(w.vectors.row(phases_.column(s, j)));
    return blocks;
  }

  /// Squared sensitivity of X, whose blocks are M^-T (W^T W)^(1/2) M^-1.
  static double sensitivity_squared_of(const DenseDualPoint& dual,
                                       const std::vector<Matrix>& roots) {
    double largest = 0;
    for (std::size_t s = 0; s < roots.size(); ++s) {
      const Matrix& inverse = dual.blocks[s].inverse_root;
      const Matrix gram = inverse.transpose() * roots[s] * inverse;
      largest = std::max(largest, gram.cwiseAbs().sum());
    }
    return largest;
  }

  void write_column_residuals(const Evaluation& value, double barrier, Vector& residual) const {
    const double level = value.nuclear / static_cast<double>(queries_.cols());
    for (Eigen::Index s = 0; s < phases_.num_phases; ++s) {
      const auto phase = static_cast<std::size_t>(s);
      block(residual, s) =
          detail::block_residual(value.dual.blocks[phase], value.roots[phase], level, barrier);
    }
  }

  /// matrix * M, M with one block per phase.
  Matrix times_blocks(const Matrix& matrix, const std::vector<Matrix>& blocks) const {
    Matrix product = Matrix::Zero(matrix.rows(), matrix.cols());
    for (Eigen::Index t = 0; t < matrix.rows(); ++t)
      for (Eigen::Index i = 0; i < phases_.num_repeats; ++i)
        for (Eigen::Index j = 0; j < phases_.num_repeats; ++j)
          for (Eigen::Index s = 0; s < phases_.num_phases; ++s)
            product(t, phases_.column(s, j)) +=
                matrix(t, phases_.column(s, i)) * blocks[static_cast<std::size_t>(s)](i, j);
    return product;
  }

  Matrix queries_;  ///< F / scale
  Matrix gram_;     ///< F^T F / scale^2
  Phases phases_;
  Eigen::Index rank_;
  double scale_ = 1;
  bool is_max_;
};

void require_start(const DenseOptimumProblem& problem, bool is_repeated) {
  const DenseOptimumStart& start = problem.start;
  const auto require_weights = [&](const char* name, const std::vector<double>& weights,
                                   std::int64_t size) {
    require_length(kFunction, name, std::ssize(weights), size);
    require_all_finite(kFunction, name, weights);
    for (const double weight : weights) require_positive(kFunction, name, weight);
  };
  if (start.column_weights.empty() && start.row_weights.empty()) return;
  if (is_repeated)
    fail(ErrorCode::unsupported, "find_dense_optimum", "start",
         "cannot be given for more than one participation");
  require_weights("column_weights", start.column_weights, problem.queries.cols());
  if (problem.objective == Objective::max || !start.row_weights.empty())
    require_weights("row_weights", start.row_weights, problem.queries.rows());
}

void require_problem(const DenseOptimumProblem& problem) {
  const Matrix& f = problem.queries;
  require_count(kFunction, "queries", "rows", f.rows(), 1, kMaxDenseOptimumRows);
  require_count(kFunction, "queries", "columns", f.cols(), 1, kMaxDenseOptimumColumns);
  require_all_finite(kFunction, "queries", detail::span_of(f));
  for (Eigen::Index i = 0; i < f.rows(); ++i)
    if (f.row(i).isZero(0))
      fail_argument(kFunction, "queries[" + to_text(std::int64_t{i}) + "]",
                    "a row that is not all 0", "zeros");
  for (Eigen::Index j = 0; j < f.cols(); ++j)
    if (f.col(j).isZero(0))
      fail_argument(kFunction, "queries", "such that no column is all 0",
                    "zeros in column " + to_text(std::int64_t{j}));
  const std::int64_t n = f.cols();
  problem.participation.require_horizon(n);
  const bool is_repeated = problem.participation.times_within(n) > 1;
  require_start(problem, is_repeated);
  if (!is_repeated) return;
  if (problem.participation.kind() != Participation::Kind::fixed_epoch)
    fail(ErrorCode::unsupported, "find_dense_optimum", "participation",
         "must be single or in fixed epochs", "min-separation");
  if (n > kMaxFixedEpochOptimumSteps)
    fail(ErrorCode::unsupported, "find_dense_optimum", "steps",
         "must be at most " + to_text(kMaxFixedEpochOptimumSteps) + " with fixed epochs",
         to_text(n));
}

}  // namespace

class DenseOptimumSolver::State {
 public:
  State(const DenseOptimumProblem& problem, const OptimumOptions& options)
      : gap_(require_positive(kFunction, "gap", options.gap)),
        max_iterations_(
            require_between(kFunction, "max_iterations", options.max_iterations, 1, 1 << 20)),
        iteration_(problem),
        mixing_({.depth = 8, .mixing = 2, .max_step = 1.5}),
        is_max_(problem.objective == Objective::max),
        barrier_(gap_, problem.start.column_weights.empty() ? Barrier::kFirst : gap_),
        x_(iteration_.start(problem.start)),
        best_(x_) {}

  bool advance() {
    if (is_finished()) return false;
    last_ = iteration_.evaluate(x_);
    last_x_ = x_;
    const Iteration::Evaluation& value = last_;
    ++num_iterations_;
    best_.raise_lower(value.lower, x_);
    if (best_.reduce_upper(value.upper, x_)) is_levelled_ = value.is_levelled;
    is_converged_ = gap() <= gap_;
    if (is_finished()) return false;
    Vector residual = iteration_.residual(value, is_max_ ? barrier_.weight() : 0);
    if (is_max_ && barrier_.lower(distance(value, residual))) {
      mixing_.restart();
      residual = iteration_.residual(value, barrier_.weight());
    }
    Vector proposed = x_;
    mixing_.advance(proposed, residual);
    x_ = iteration_.admissible(x_, std::move(proposed));
    return true;
  }

  double gap() const { return best_.gap(); }
  std::int64_t num_iterations() const { return num_iterations_; }

  DenseOptimum result() const {
    DenseOptimum result{.status = is_converged_   ? SolverStatus::converged
                                  : is_finished() ? SolverStatus::not_converged
                                                  : SolverStatus::stopped,
                        .iterations = num_iterations_,
                        .lower_bound = 0,
                        .every_dimension_bound = 0,
                        .upper_bound = 0,
                        .encoder = {},
                        .column_weights = {},
                        .row_weights = {},
                        .duals = {}};
    DenseDualPoint dual = iteration_.point(best_.lower_point());
    Decomposition w = decomposition(best_.lower_point(), dual);
    const DenseLowerBounds bounds = iteration_.certified_lower_bounds(dual, w);
    result.lower_bound = bounds.value;
    result.every_dimension_bound = bounds.every_dimension;
    result.column_weights = iteration_.column_weights(dual);
    result.duals = iteration_.duals_of(dual);
    for (const double root : dual.row_roots) result.row_weights.push_back(root * root);
    if (best_.upper_point() != best_.lower_point()) {
      dual = iteration_.point(best_.upper_point());
      w = decomposition(best_.upper_point(), dual);
    }
    result.encoder = iteration_.encoder(dual, w);
    Vector norms = Vector::Ones(result.encoder.cols());
    if (is_levelled_) norms = result.encoder.colwise().norm();
    result.encoder = (result.encoder * norms.cwiseInverse().asDiagonal()).eval();
    result.upper_bound =
        iteration_.scale() *
        iteration_.certified_upper_bound(result.encoder, iteration_.decoder(dual, w, norms));
    result.encoder /= std::sqrt(iteration_.pattern_sum(result.encoder));
    const bool is_proved = result.upper_bound <= result.lower_bound * (1 + kGapTolerance * gap_);
    if (is_converged_ && !is_proved) result.status = SolverStatus::infeasible;
    return result;
  }

 private:
  /// How far an iterate is from the optimum, for the barrier.
  double distance(const Iteration::Evaluation& value, const Vector& residual) const {
    const double gap = value.upper / value.lower - 1;
    return iteration_.has_repeats() ? detail::distance_with_repeats(gap, residual) : gap;
  }

  /// Reuses the last decomposition if it was made at x.
  Decomposition decomposition(const Vector& x, const DenseDualPoint& dual) const {
    return x == last_x_ ? last_.decomposition : iteration_.decompose(dual);
  }

  bool is_finished() const { return is_converged_ || num_iterations_ >= max_iterations_; }

  double gap_;
  std::int64_t max_iterations_;
  Iteration iteration_;
  AndersonMixing mixing_;
  bool is_max_;
  Barrier barrier_;
  Iteration::Evaluation last_ = {};
  Vector x_, last_x_;
  detail::BestBounds best_;
  std::int64_t num_iterations_ = 0;
  bool is_converged_ = false;
  bool is_levelled_ = false;  ///< the best upper bound is for columns scaled to the same norm
};

DenseOptimumSolver::DenseOptimumSolver(const DenseOptimumProblem& problem,
                                       const OptimumOptions& options) {
  require_problem(problem);
  state_ = std::make_unique<State>(problem, options);
}

DenseOptimumSolver::~DenseOptimumSolver() = default;
DenseOptimumSolver::DenseOptimumSolver(DenseOptimumSolver&&) noexcept = default;
DenseOptimumSolver& DenseOptimumSolver::operator=(DenseOptimumSolver&&) noexcept = default;

bool DenseOptimumSolver::advance() {
  return state_->advance();
}

OptimumProgress DenseOptimumSolver::progress() const {
  return {state_->num_iterations(), state_->gap()};
}

DenseOptimum DenseOptimumSolver::result() const {
  return state_->result();
}

DenseOptimum find_dense_optimum(const DenseOptimumProblem& problem, const OptimumOptions& options) {
  DenseOptimumSolver solver(problem, options);
  while (solver.advance())
    if (options.progress && !options.progress(solver.progress())) break;
  return solver.result();
}

std::int64_t least_dimension_of_duals(std::int64_t num_participations) {
  std::int64_t dimension = 1;
  while ((dimension + 1) * (dimension + 2) / 2 <= num_participations) ++dimension;
  return dimension;
}

DenseLowerBounds dense_lower_bounds(const DenseOptimumProblem& problem, const DenseDuals& duals) {
  require_problem({.queries = problem.queries,
                   .objective = problem.objective,
                   .participation = problem.participation});
  const bool is_max = problem.objective == Objective::max;
  const Iteration iteration(problem);
  require_length("dense_lower_bounds", "duals.columns", std::ssize(duals.columns),
                 iteration.block_entries());
  require_length("dense_lower_bounds", "duals.rows", std::ssize(duals.rows),
                 is_max ? problem.queries.rows() : 0);
  require_all_finite("dense_lower_bounds", "duals.columns", duals.columns);
  require_all_finite("dense_lower_bounds", "duals.rows", duals.rows);
  const DenseDualPoint dual = iteration.point(duals);
  return iteration.certified_lower_bounds(dual, iteration.decompose(dual));
}

}  // namespace dpftrl
