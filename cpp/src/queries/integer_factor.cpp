// SPDX-License-Identifier: Apache-2.0
#include "queries/integer_factor.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "math/linear_algebra.hpp"

namespace dpftrl::detail {
namespace {

/// |R M - F| below this, relative to the largest entry of F, is rounding in the decoder.
constexpr double kExact = 0x1p-36;
/// Above this, also relative to the largest entry of F, the decoder is refined.
constexpr double kFine = 0x1p-43;
/// Largest entry of a rounded M; below the limit of require_sound.
constexpr double kMaxMadeEntry = 0x1p26;

/// Power of two that scales the largest column norm of m into (2^(bits - 1), 2^bits].
double power_for(const Matrix& m, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(m.colwise().norm().maxCoeff(), &exponent);
  return std::ldexp(1.0, bits - exponent + (mantissa == 0.5 ? 1 : 0));
}

/// Rounds the entries to integers.
/// @throws Error{unsupported} an entry too large, or not a number.
IntegerMatrix to_integers(const Matrix& matrix) {
  const double largest = matrix.size() == 0 ? 0 : matrix.cwiseAbs().maxCoeff();
  if (!(largest <= kMaxMadeEntry) || !matrix.allFinite())
    fail(ErrorCode::unsupported, "factorize_queries", "workload",
         "must be such that entries of the measurements are at most 2^26", to_text(largest));
  return matrix.array().round().cast<std::int64_t>();
}

/// M^+, from the smaller of its two Gram matrices.
Matrix pseudo_inverse(const Matrix& m) {
  const bool is_tall = m.rows() > m.cols();
  const auto [squares, v] =
      symmetric_eigen(is_tall ? multiply(m.transpose(), m) : multiply(m, m.transpose()));
  const double least = squares(squares.size() - 1) * 0x1p-44;
  const Vector inverse = squares.unaryExpr([least](double e) { return e > least ? 1 / e : 0; });
  const Matrix gram = multiply(v * inverse.asDiagonal(), v.transpose());
  return is_tall ? multiply(gram, m.transpose()) : multiply(m.transpose(), gram);
}

bool is_triangular(const Matrix& m) {
  return m.rows() == m.cols() && m.isLowerTriangular(0) && m.diagonal().cwiseAbs().minCoeff() > 0;
}

/// Least-squares R = F M^+, and F - R M, which is 0 on the row space of M. Refined, because a Gram
/// matrix has the square of M's condition number.
std::pair<Matrix, Matrix> decoder_and_rest(const Matrix& f, const Matrix& m) {
  const bool is_divided = is_triangular(m);
  const Matrix back = is_divided ? Matrix() : pseudo_inverse(m);
  const auto decode = [&](const Matrix& g) {
    return is_divided ? divide_by_lower(g, m) : multiply(g, back);
  };
  const double least = kFine * f.cwiseAbs().maxCoeff();
  Matrix decoder = decode(f);
  Matrix rest = f - multiply(decoder, m);
  for (int turn = 0; turn < 2 && !(rest.cwiseAbs().maxCoeff() <= least); ++turn) {
    decoder += decode(rest);
    rest = f - multiply(decoder, m);
  }
  return {std::move(decoder), std::move(rest)};
}

/// Extends a factor to [M; t I] and [R, rest / t] with rest = F - R M, so that the part of F
/// outside the row space of M is measured coarsely, with the t of least error
/// (docs/math/queries.md).
void complete(const Matrix& f, const Matrix& rest, QueryFactorization::Factor& factor) {
  if (rest.cwiseAbs().maxCoeff() <= kExact * f.cwiseAbs().maxCoeff()) return;
  const Eigen::Index r = factor.encoder.rows(), m = factor.encoder.cols();
  const double column = factor.encoder.cast<double>().colwise().norm().maxCoeff();
  const double size = column / factor.decoder.norm();
  const Matrix coarse = Matrix::Constant(1, 1, std::max(1.0, std::sqrt(rest.norm() * size)));
  const std::int64_t t = to_integers(coarse)(0, 0);
  factor.encoder.conservativeResize(r + m, m);
  factor.encoder.bottomRows(m).setZero();
  factor.encoder.bottomRows(m).diagonal().setConstant(t);
  factor.decoder.conservativeResize(Eigen::NoChange, r + m);
  factor.decoder.rightCols(m) = rest / static_cast<double>(t);
}

/// Factor whose M is `scaled`, a matrix of integers, without its zero rows.
QueryFactorization::Factor whole_factor(const Matrix& f, const Matrix& scaled) {
  std::vector<Eigen::Index> rows;
  for (Eigen::Index i = 0; i < scaled.rows(); ++i)
    if (!scaled.row(i).isZero(0)) rows.push_back(i);
  const Matrix kept = scaled(rows, Eigen::all);
  auto [decoder, rest] = decoder_and_rest(f, kept);
  QueryFactorization::Factor factor{.encoder = to_integers(kept), .decoder = std::move(decoder)};
  complete(f, rest, factor);
  return factor;
}

/// |R M - F| of given matrices up to this, relative to the largest entry of F, counts as their
/// rounding, which `complete` makes up for.
constexpr double kGiven = 1e-6;
constexpr const char* kOwnFunction = "factorize_queries";

void require_own(const Matrix& f, const OwnMeasurements& own) {
  const Matrix& m = own.measure;
  require_count(kOwnFunction, "measure", "rows", m.rows(), 1, kMaxQueryRows);
  require_length(kOwnFunction, "measure", m.cols(), f.cols());
  require_all_finite(kOwnFunction, "measure", span_of(m));
  if (m.isZero(0)) fail_argument(kOwnFunction, "measure", "other than all zeros", "0");
  if (!own.reconstruct) return;
  const Matrix& r = *own.reconstruct;
  require_length(kOwnFunction, "reconstruct", r.rows(), f.rows());
  require_length(kOwnFunction, "reconstruct[0]", r.cols(), m.rows());
  require_all_finite(kOwnFunction, "reconstruct", span_of(r));
}

/// Refuses measurements that miss `rest` of F, and names its largest entry.
void require_decoded(const Matrix& f, const Matrix& rest, std::string_view parameter,
                     std::string_view constraint) {
  Eigen::Index query = 0, value = 0;
  const double largest = rest.cwiseAbs().maxCoeff(&query, &value);
  if (largest <= kGiven * f.cwiseAbs().maxCoeff()) return;
  fail_argument(kOwnFunction, parameter, constraint,
                to_text(f(query, value) - rest(query, value)) + " for " + to_text(f(query, value)) +
                    " in row " + std::to_string(query + 1) + ", column " +
                    std::to_string(value + 1));
}

bool is_level(const Matrix& f, Eigen::Index row) {
  return (f.row(row).array() == f(row, 0)).all();
}

}  // namespace

QueryFactorization::Factor rounded_factor(const Matrix& f, const Matrix& m, int bits) {
  return whole_factor(f, (power_for(m, bits) * m).array().round().matrix());
}

QueryFactorization::Factor counted_total_factor(const Matrix& f, const Matrix& m, int bits) {
  const double unit = std::ldexp(1.0, bits);
  Matrix scaled(m.rows() + 1, m.cols());
  scaled.topRows(m.rows()) = (power_for(m, bits) * m).array().round().matrix();
  scaled.bottomRows(1).setConstant(unit);
  QueryFactorization::Factor factor = whole_factor(f, scaled);
  // Finds the row of the total: zero rows above it may have been removed, and `complete` may have
  // added rows below it.
  Eigen::Index total = 0;
  while ((factor.encoder.row(total).array() != static_cast<std::int64_t>(unit)).any()) ++total;
  for (Eigen::Index i = 0; i < f.rows(); ++i) {
    if (!is_level(f, i)) continue;
    factor.decoder.row(i).setZero();
    factor.decoder(i, total) = f(i, 0) / unit;
  }
  return factor;
}

QueryFactorization::Factor counted_factor(const Matrix& f, const std::vector<Eigen::Index>& columns,
                                          int bits) {
  const double unit = std::ldexp(1.0, bits);
  QueryFactorization::Factor factor{
      .encoder = IntegerMatrix::Zero(static_cast<Eigen::Index>(columns.size()), f.cols()),
      .decoder = f(Eigen::all, columns) / unit};
  for (std::size_t i = 0; i < columns.size(); ++i)
    factor.encoder(static_cast<Eigen::Index>(i), columns[i]) = static_cast<std::int64_t>(unit);
  return factor;
}

void require_few_queries(std::int64_t num_queries) {
  if (num_queries > kMaxQueryValues)
    fail(ErrorCode::unsupported, "factorize_queries", "workload",
         "must have at most " + to_text(kMaxQueryValues) +
             " queries a factor, if they are measured by themselves",
         to_text(num_queries));
}

QueryFactorization::Factor queried_factor(const Matrix& f, int bits) {
  require_few_queries(f.rows());
  const double power = power_for(f, bits);
  QueryFactorization::Factor factor{.encoder = to_integers(power * f),
                                    .decoder = Matrix::Identity(f.rows(), f.rows()) / power};
  complete(f, f - factor.encoder.cast<double>() / power, factor);
  return factor;
}

QueryFactorization::Factor own_factor(const Matrix& f, const OwnMeasurements& own, int bits) {
  require_own(f, own);
  const double power = power_for(own.measure, bits);
  const Matrix scaled = (power * own.measure).array().round().matrix();
  if (!own.reconstruct) {
    const Matrix rest = decoder_and_rest(f, own.measure).second;
    require_decoded(f, rest, "measure", "such that some R has R M = F");
    return whole_factor(f, scaled);
  }
  require_decoded(f, f - multiply(*own.reconstruct, own.measure), "reconstruct",
                  "such that R M is F");
  QueryFactorization::Factor factor{.encoder = to_integers(scaled),
                                    .decoder = *own.reconstruct / power};
  complete(f, f - multiply(factor.decoder, scaled), factor);
  return factor;
}

Matrix triangular_measurements(Matrix m) {
  if (m.rows() != m.cols()) return m;
  return triangular_of_equal_gram(m).value_or(m);
}

Matrix triangular_differences(const Matrix& m) {
  Matrix result = Matrix::Zero(m.rows(), m.cols());
  result.leftCols(m.cols() - 1) = triangular_measurements(m.leftCols(m.cols() - 1));
  return result;
}

}  // namespace dpftrl::detail
