// SPDX-License-Identifier: Apache-2.0
#include "queries/query_proof.hpp"

#include <Eigen/Core>
#include <cmath>

#include "math/linear_algebra.hpp"
#include "math/nuclear_norm.hpp"

namespace dpftrl::detail {
namespace {

/// Largest rounding loss with which a proof still shows that nothing is better.
constexpr double kTight = 0x1p-29;
/// Cosines below this count as 0 with rounding errors.
constexpr double kRightAngle = 0x1p-40;

/// True if the longest column is orthogonal to all others, as it is if all columns are orthogonal.
bool may_be_orthogonal(const Matrix& f, const Vector& norms) {
  Eigen::Index longest = 0;
  norms.maxCoeff(&longest);
  Vector products = f.transpose() * f.col(longest);
  products(longest) = 0;
  return (products.cwiseAbs().array() <= kRightAngle * norms(longest) * norms.array()).all();
}

Matrix scaled_to_one(const Matrix& f, const Vector& norms) {
  return f * norms.unaryExpr([](double norm) { return norm > 0 ? 1 / norm : 0; }).asDiagonal();
}

/// Lower bound on ||W||_*, for a W whose entries have a relative error of at most 2^-50, from a
/// guess Q of its polar factor.
double nuclear_norm(const Matrix& w, const Matrix& q) {
  const Matrix magnitude = w.cwiseAbs();
  return nuclear_norm_bound({.values = w, .magnitude = magnitude, .relative_error = 0x1p-50}, q);
}

/// ||F||_*, rounded down, if the columns are orthogonal; else a negative number.
double sum_of_columns(const Matrix& f) {
  const Vector norms = f.colwise().norm();
  if (!may_be_orthogonal(f, norms)) return -1;
  const double bound = nuclear_norm(f, scaled_to_one(f, norms));
  return bound >= norms.sum() * (1 - kTight) ? bound : -1;
}

double schatten_norm(const Matrix& f) {
  const double by_columns = sum_of_columns(f);
  if (by_columns > 0) return by_columns;
  const double by_rows = sum_of_columns(f.transpose());
  if (by_rows > 0) return by_rows;
  // Polar factor of F, from the eigenvectors of F^T F; any matrix gives a valid bound.
  const auto [squares, v] = symmetric_eigen(multiply(f.transpose(), f));
  const double least = squares(squares.size() - 1) * 0x1p-40;
  const Vector inverse =
      squares.unaryExpr([least](double e) { return e > least ? 1 / std::sqrt(e) : 0; });
  const Matrix back = multiply(v * inverse.asDiagonal(), v.transpose());
  return nuclear_norm(f, orthogonalized(multiply(f, back)));
}

Vector all_alike(Eigen::Index size) {
  return Vector::Ones(size);
}

/// Proof for weights u = 1 and v, given a bound `nuclear` on ||F D_v^(1/2)||_*.
QueryProof proof_for_columns(const Matrix& f, double nuclear, const Vector& v) {
  const double rounding = (static_cast<double>(v.size()) + 16) * 0x1p-52;
  const double bound =
      nuclear / std::sqrt(static_cast<double>(f.rows()) * v.sum()) * (1 - rounding);
  return query_proof(f, bound, all_alike(f.rows()), v);
}

}  // namespace

QueryProof query_proof(const Matrix& f, double lower_bound, const Vector& u, const Vector& v) {
  const Vector roots = (u / u.sum()).cwiseSqrt(), weights = v / v.sum();
  return {.lower_bound = lower_bound,
          .mean = roots.cwiseProduct(f * weights).norm(),
          .concentration = weights.squaredNorm()};
}

QueryProof schatten_proof(const Matrix& f) {
  return proof_for_columns(f, schatten_norm(f), all_alike(f.cols()));
}

std::optional<KnownOptimum> known_optimum(const Matrix& f, Objective objective) {
  const Vector columns = f.colwise().norm(), rows = f.rowwise().norm();
  if (may_be_orthogonal(f, columns)) {
    const Vector v = columns.cwiseAbs2();
    const Matrix weighted = f * v.cwiseSqrt().asDiagonal();
    const QueryProof proof =
        proof_for_columns(f, nuclear_norm(weighted, scaled_to_one(f, columns)), v);
    const double error = objective == Objective::max
                             ? rows.maxCoeff()
                             : f.norm() / std::sqrt(static_cast<double>(f.rows()));
    if (proof.lower_bound >= error * (1 - kTight))
      return KnownOptimum{.measured = QueryStrategy::identity, .proof = proof};
  }
  const bool is_level = columns.minCoeff() >= columns.maxCoeff() * (1 - kTight) &&
                        rows.minCoeff() >= rows.maxCoeff() * (1 - kTight);
  if (!is_level || f.rows() > kMaxQueryValues) return std::nullopt;
  const QueryProof proof = proof_for_columns(f, sum_of_columns(f.transpose()), all_alike(f.cols()));
  if (!(proof.lower_bound >= columns.maxCoeff() * (1 - kTight))) return std::nullopt;
  return KnownOptimum{.measured = QueryStrategy::queries, .proof = proof};
}

}  // namespace dpftrl::detail
