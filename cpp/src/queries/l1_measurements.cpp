// SPDX-License-Identifier: Apache-2.0
#include "queries/l1_measurements.hpp"

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <utility>

#include "dpftrl/queries/query_workload.hpp"
#include "math/linear_algebra.hpp"

namespace dpftrl::detail {
namespace {

/// Eigenvalues of Gram matrices below this, relative to the largest, are rounding errors of zeros.
constexpr double kLeastEigenvalue = 0x1p-44;
/// Largest arity of trees; the best trees for 64 to 256 values have arity 8 or 16.
constexpr Eigen::Index kMaxArity = 32;

/// ||R|| for the objective, from R or from any matrix whose rows have the same norms.
double size_of(const Matrix& rows, Objective objective) {
  if (objective == Objective::max) return rows.rowwise().norm().maxCoeff();
  return rows.norm() / std::sqrt(static_cast<double>(rows.rows()));
}

double largest_column(const Matrix& m) {
  return m.cwiseAbs().colwise().sum().maxCoeff();
}

/// Largest l1 distance between two columns.
double largest_distance(const Matrix& m) {
  const Matrix columns = m.transpose();
  double largest = 0;
  for (Eigen::Index i = 0; i < columns.rows(); ++i)
    for (Eigen::Index j = 0; j < i; ++j)
      largest = std::max(largest, (columns.row(i) - columns.row(j)).cwiseAbs().sum());
  return largest;
}

/// Subtracts the mean column from every column.
Matrix centred(const Matrix& m) {
  return m.colwise() - m.rowwise().mean();
}

/// Sums of 1, b, b^2, ... neighbouring values, and of all values on request.
Matrix tree(Eigen::Index num_values, Eigen::Index arity, bool with_total) {
  Matrix m(0, num_values);
  for (Eigen::Index width = 1; width < num_values || (with_total && m.rows() == 0);
       width *= arity) {
    const Eigen::Index first = m.rows();
    const Eigen::Index num_nodes = (num_values + width - 1) / width;
    m.conservativeResize(first + num_nodes, Eigen::NoChange);
    m.bottomRows(num_nodes).setZero();
    for (Eigen::Index v = 0; v < num_values; ++v) m(first + v / width, v) = 1;
  }
  if (!with_total) return m;
  m.conservativeResize(m.rows() + 1, Eigen::NoChange);
  m.bottomRows(1).setOnes();
  return m;
}

class Choice {
 public:
  Choice(const Matrix& f, const L1Options& options)
      : is_centred_(options.neighbours == Neighbours::replace_one),
        f_(is_centred_ ? centred(f) : f),
        objective_(options.objective) {
    consider(Matrix::Identity(f.cols(), f.cols()), false);
  }

  void take(Matrix m, double size) {
    const double error = size * (is_centred_ ? largest_distance(m) : largest_column(m));
    if (!(error < error_)) return;
    error_ = error;
    best_ = std::move(m);
  }

  /// The rows of F M^+ are as long as the rows of F V S^-1, where M^T M = V S^2 V^T. The symmetric
  /// root is V S V^T.
  void consider(const Matrix& m, bool with_root) {
    const Matrix seen = is_centred_ ? centred(m) : m;
    const auto [squares, v] = symmetric_eigen(multiply(seen.transpose(), seen));
    const double least = squares(squares.size() - 1) * kLeastEigenvalue;
    const Vector root =
        squares.unaryExpr([least](double e) { return e > least ? std::sqrt(e) : 0; });
    const Vector inverse = root.unaryExpr([](double e) { return e > 0 ? 1 / e : 0; });
    const double size = size_of(multiply(f_, v * inverse.asDiagonal()), objective_);
    take(m, size);
    if (with_root) take(multiply(v * root.asDiagonal(), v.transpose()), size);
  }

  Matrix best() && { return std::move(best_); }

 private:
  bool is_centred_;
  Matrix f_;
  Objective objective_;
  Matrix best_;
  double error_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Matrix best_l1_measurements(const Matrix& f, const Matrix& optimum, const L1Options& options) {
  const bool is_counted = options.neighbours == Neighbours::replace_one;
  Choice choice(f, options);
  for (Eigen::Index arity = 2; arity <= kMaxArity && arity < f.cols(); arity *= 2)
    for (const bool with_total : {false, true})
      if (!with_total || !is_counted) choice.consider(tree(f.cols(), arity, with_total), false);
  if (f.rows() <= kMaxQueryValues) choice.consider(f, false);
  choice.consider(optimum, true);
  return std::move(choice).best();
}

}  // namespace dpftrl::detail
