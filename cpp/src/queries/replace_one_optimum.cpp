// SPDX-License-Identifier: Apache-2.0
#include "queries/replace_one_optimum.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "math/linear_algebra.hpp"
#include "math/nuclear_norm.hpp"
#include "optimal/anderson.hpp"
#include "optimal/barrier.hpp"
#include "optimal/best_bounds.hpp"
#include "queries/integer_factor.hpp"

namespace dpftrl::detail {
namespace {

/// Square roots of weights, whose mean square is 1, stay above this.
constexpr double kLeastRoot = 3e-7;
/// Mixing steps that leave less than this fraction of a root are rejected, because mixing
/// extrapolates below 0 when few pairs have all the weight.
constexpr double kLeastKept = 0.3;

/// Calls visit(place, i, j) for all pairs j < i.
template <class Visit>
void for_every_pair(Eigen::Index num_columns, Visit&& visit) {
  Eigen::Index place = 0;
  for (Eigen::Index i = 1; i < num_columns; ++i)
    for (Eigen::Index j = 0; j < i; ++j) visit(place++, i, j);
}

/// F minus its last column, divided by a power of two, without zero rows.
Matrix differences(const Matrix& queries, double& scale) {
  const Eigen::Index n = queries.cols() - 1;
  Matrix f = queries.leftCols(n).colwise() - queries.col(n);
  int exponent = 0;
  (void)std::frexp(f.cwiseAbs().maxCoeff(), &exponent);
  scale = std::ldexp(1.0, exponent);
  std::vector<Eigen::Index> rows;
  for (Eigen::Index i = 0; i < f.rows(); ++i)
    if (!f.row(i).isZero(0)) rows.push_back(i);
  f = (f(rows, Eigen::all) / scale).eval();
  return f;
}

struct Point {
  Matrix root;       ///< K, lower triangular; K K^T is L without its last row and column
  Vector row_roots;  ///< square roots of u
};

struct Evaluation {
  Point point;
  Matrix vectors;         ///< V of W = D_u^(1/2) F K = U S V^T
  Vector values;          ///< S, ascending; 0 outside the rank
  Vector inverse_values;  ///< S^-1, or 0
  Vector distances;       ///< squared distances, one per pair
  Vector rows;            ///< ||R_i||^2; max objective only
  double nuclear;
  double lower;
  double upper;
};

}  // namespace

class ReplaceOneSolver::State {
 public:
  State(const Matrix& queries, Objective objective, const OptimumOptions& options)
      : queries_(differences(queries, scale_)),
        num_rows_(static_cast<double>(queries.rows())),
        is_max_(objective == Objective::max),
        gap_(std::max(options.gap, kBarrierGap)),
        max_iterations_(options.max_iterations),
        mixing_({.depth = 8, .mixing = 2, .max_step = 8}),
        barrier_(gap_) {
    const Eigen::Index n = queries_.cols();
    num_pairs_ = n * (n + 1) / 2;
    gram_ = multiply(queries_.transpose(), queries_);
    const Vector squares = symmetric_eigenvalues(gram_);
    rank_ = (squares.array() > squares(n - 1) * static_cast<double>(n) * 0x1p-52).count();
    x_ = Vector::Ones(num_pairs_ + (is_max_ ? queries_.rows() : 0));
    best_ = BestBounds(x_);
  }

  bool advance() {
    if (is_finished()) return false;
    const Evaluation value = evaluate(x_);
    ++num_iterations_;
    best_.raise_lower(value.lower, x_);
    best_.reduce_upper(value.upper, x_);
    if (is_finished()) return false;
    if (barrier_.lower(value.upper / value.lower - 1)) mixing_.restart();
    Vector proposed = x_;
    const Vector change = residual(value);
    mixing_.advance(proposed, change);
    if ((proposed.array() < kLeastKept * x_.array()).any()) {
      mixing_.restart();
      proposed = (x_.array() * (change.array() / x_.array()).exp()).matrix();
    }
    level(proposed.head(num_pairs_));
    if (is_max_) level(proposed.tail(queries_.rows()));
    x_ = std::move(proposed);
    return true;
  }

  OptimumProgress progress() const { return {num_iterations_, best_.gap()}; }

  ReplaceOneOptimum result() const {
    const Evaluation best = evaluate(best_.upper_point());
    const Eigen::Index n = queries_.cols();
    Matrix encoder = Matrix::Zero(rank_, n + 1);
    encoder.leftCols(n) = half_encoder(best).bottomRows(rank_);
    encoder /= std::sqrt(best.distances.maxCoeff());
    return {.lower_bound = scale_ * certified_lower_bound(evaluate(best_.lower_point())),
            .encoder = encoder};
  }

 private:
  static void level(Eigen::Ref<Vector> roots) {
    roots = roots.cwiseMax(kLeastRoot).eval();
    roots *= std::sqrt(static_cast<double>(roots.size())) / roots.norm();
  }

  bool is_finished() const { return best_.gap() <= gap_ || num_iterations_ >= max_iterations_; }

  Point point(const Vector& x) const {
    const Eigen::Index n = queries_.cols();
    Matrix laplacian = Matrix::Zero(n + 1, n + 1);
    for_every_pair(n + 1, [&](Eigen::Index place, Eigen::Index i, Eigen::Index j) {
      const double weight = x(place) * x(place);
      laplacian(i, j) = laplacian(j, i) = -weight;
      laplacian(i, i) += weight;
      laplacian(j, j) += weight;
    });
    const Matrix rest = laplacian.topLeftCorner(n, n);
    Point point{.root = cholesky(rest), .row_roots = {}};
    point.row_roots = Vector::Ones(queries_.rows());
    if (is_max_) point.row_roots = x.tail(queries_.rows());
    return point;
  }

  Matrix weighted(const Point& point) const {
    return point.row_roots.asDiagonal() * multiply(queries_, point.root);
  }

  /// S^(1/2) V^T K^-1: M without its last column, which is 0.
  static Matrix half_encoder(const Evaluation& value) {
    return divide_by_lower(value.values.cwiseSqrt().asDiagonal() * value.vectors.transpose(),
                           value.point.root);
  }

  Evaluation evaluate(const Vector& x) const {
    Evaluation result{.point = point(x),
                      .vectors = {},
                      .values = {},
                      .inverse_values = {},
                      .distances = Vector(num_pairs_),
                      .rows = {},
                      .nuclear = 0,
                      .lower = 0,
                      .upper = 0};
    const Eigen::Index n = queries_.cols();
    const Matrix& root = result.point.root;
    const Matrix w = is_max_ ? weighted(result.point) : Matrix();
    const Eigensystem system = symmetric_eigen(
        is_max_ ? multiply(w.transpose(), w) : multiply(root.transpose(), multiply(gram_, root)));
    const Vector& squares = system.values;
    const double least = squares(n - 1) * static_cast<double>(n) * 0x1p-52;
    result.vectors = system.vectors;
    result.values = squares.cwiseMax(least).cwiseSqrt();
    result.inverse_values = result.values.cwiseInverse();
    result.values.head(n - rank_).setZero();
    result.inverse_values.head(n - rank_).setZero();
    result.nuclear = result.values.sum();
    const Matrix encoder = half_encoder(result);
    Matrix gram = Matrix::Zero(n + 1, n + 1);
    gram.topLeftCorner(n, n) = multiply(encoder.transpose(), encoder);
    for_every_pair(n + 1, [&](Eigen::Index place, Eigen::Index i, Eigen::Index j) {
      result.distances(place) = std::max(0.0, gram(i, i) + gram(j, j) - 2 * gram(i, j));
    });
    double rows_squared = result.nuclear / num_rows_;
    if (is_max_) {
      const Vector inverse_u = result.point.row_roots.cwiseAbs2().cwiseInverse();
      result.rows =
          (multiply(w, result.vectors).cwiseAbs2() * result.inverse_values).cwiseProduct(inverse_u);
      rows_squared = result.rows.maxCoeff();
    }
    result.lower =
        result.nuclear / std::sqrt(row_total(result.point) * x.head(num_pairs_).squaredNorm());
    result.upper = std::sqrt(result.distances.maxCoeff() * rows_squared);
    return result;
  }

  /// Sum of u; for the mean objective, zero rows count as well.
  double row_total(const Point& point) const {
    return is_max_ ? point.row_roots.squaredNorm() : num_rows_;
  }

  /// Logarithms of the ratios of wanted to current weights, as changes of the roots.
  Vector residual(const Evaluation& value) const {
    Vector residual(x_.size());
    const double barrier = barrier_.weight();
    const auto write = [&](Eigen::Index first, const Vector& squares) {
      const double level = value.nuclear / static_cast<double>(squares.size());
      for (Eigen::Index i = 0; i < squares.size(); ++i) {
        const double root = x_(first + i), weight = root * root;
        const double wanted = (weight * squares(i) / level + barrier) / (1 + barrier);
        residual(first + i) = 0.5 * root * std::log(wanted / weight);
      }
    };
    write(0, value.distances);
    if (is_max_) write(num_pairs_, value.rows);
    return residual;
  }

  /// Upper bound on the sum of the positive weights w_ij in K K^T = L, for any K: negative weights
  /// make tr L M^T M smaller still.
  static double pair_total(const Matrix& root) {
    const double n = static_cast<double>(root.rows());
    const Matrix laplacian = multiply(root, root.transpose());
    const Matrix magnitude = root.cwiseAbs();
    const Matrix error = (n + 8) * 0x1p-52 * multiply(magnitude, magnitude.transpose());
    double total = 0;
    for (Eigen::Index i = 0; i < root.rows(); ++i) {
      // The rest of the diagonal is the weight of the pair with the last column.
      total += std::max(
          0.0, laplacian.row(i).sum() +
                   2 * (error.row(i).sum() + n * 0x1p-52 * laplacian.row(i).cwiseAbs().sum()));
      for (Eigen::Index j = 0; j < i; ++j)
        total += std::max(0.0, -laplacian(i, j) + 2 * error(i, j));
    }
    return total * (1 + n * n * 0x1p-52);
  }

  double certified_lower_bound(const Evaluation& value) const {
    const Point& point = value.point;
    const double n = static_cast<double>(queries_.cols());
    const Matrix seen = weighted(point);
    const Matrix size = queries_.cwiseAbs(), root_size = point.root.cwiseAbs();
    const Matrix magnitude = point.row_roots.asDiagonal() * multiply(size, root_size);
    const Matrix back =
        multiply(value.vectors * value.inverse_values.asDiagonal(), value.vectors.transpose());
    const Matrix q = orthogonalized(multiply(seen, back));
    const double nuclear = nuclear_norm_bound(
        {.values = seen, .magnitude = magnitude, .relative_error = (n + 12) * 0x1p-52}, q);
    const double rounding = (static_cast<double>(queries_.rows()) + 16) * 0x1p-52;
    return nuclear / std::sqrt(row_total(point) * pair_total(point.root)) * (1 - rounding);
  }

  double scale_ = 1;
  Matrix queries_;  ///< F minus its last column, divided by scale_
  Matrix gram_;
  double num_rows_;  ///< number of rows of F
  bool is_max_;
  double gap_;
  std::int64_t max_iterations_;
  AndersonMixing mixing_;
  Barrier barrier_;
  Eigen::Index num_pairs_ = 0;
  Eigen::Index rank_ = 0;
  Vector x_;
  BestBounds best_{Vector()};
  std::int64_t num_iterations_ = 0;
};

ReplaceOneSolver::ReplaceOneSolver(const Matrix& queries, Objective objective,
                                   const OptimumOptions& options)
    : state_(std::make_unique<State>(queries, objective, options)) {}
ReplaceOneSolver::~ReplaceOneSolver() = default;
ReplaceOneSolver::ReplaceOneSolver(ReplaceOneSolver&&) noexcept = default;
ReplaceOneSolver& ReplaceOneSolver::operator=(ReplaceOneSolver&&) noexcept = default;

bool ReplaceOneSolver::advance() {
  return state_->advance();
}

OptimumProgress ReplaceOneSolver::progress() const {
  return state_->progress();
}

ReplaceOneOptimum ReplaceOneSolver::result() const {
  return state_->result();
}

}  // namespace dpftrl::detail
