// SPDX-License-Identifier: Apache-2.0

/// F = R M with integers M: from a workload of linear queries to the mechanism that answers it.
///
/// Idea. Noise is proportional to the longest column of M, so the best real M is the encoder of the
/// least error, gamma_F or gamma_2, found factor by factor of a product F_1 x F_2 x F_3:
///
///     tried in this order
///     1. replace_one, one factor      dual: weights of PAIRS of values  ReplaceOneSolver
///     2. orthogonal rows or columns   closed form                       known_optimum
///     3. prefixes                     linear time                       prefix_optimum
///     4. anything else                dual: weights of values           DenseOptimumSolver
///           |
///           |  real M, and a proof that no factorization is better
///           v
///     Gaussian: triangular M, same M^T M       Laplace: best of a few M in the l1 norm
///           |
///           v
///     M := round(2^bits M),  R := F M^+;  if F = R M + E is not exact:  [R, E / t] [M; t I] = F
///
/// Products. gamma, proofs, column norms, entries of Gram matrices and row norms of R all multiply:
///
///     gamma(F_1 x F_2) = gamma(F_1) gamma(F_2),
///     (M_1 x M_2)^T (M_1 x M_2) = M_1^T M_1 x M_2^T M_2,
///
/// so ranges and prefixes in two and three dimensions cost what their factors cost. Only the
/// largest distance between two columns (replace_one) looks at all values.
///
/// Values that no query tells apart (equal columns of F) are one value for the search; values that
/// no query asks about (columns of zeros) are not measured.
///
/// Source: docs/math/queries.md, sections 1 to 3; Edmonds, Nikolov, Ullman, arXiv 1911.08339;
/// Henzinger, Upadhyay, Upadhyay, arXiv 2211.05006, Lemmas 1, 45, 48.

#include "dpftrl/queries/query_mechanism.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/gap_progress.hpp"
#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "math/linear_algebra.hpp"
#include "queries/integer_factor.hpp"
#include "queries/kronecker.hpp"
#include "queries/l1_measurements.hpp"
#include "queries/query_proof.hpp"
#include "queries/ranges.hpp"
#include "queries/replace_one_optimum.hpp"

namespace dpftrl {
namespace {

using detail::multiply;
using detail::QueryProof;

constexpr const char* kFactorizationFunction = "query_factorization";
constexpr std::size_t kMaxFactors = 3;
/// Bits by the number of factors: columns of M have a norm of about 2^bits.
constexpr int kBits[kMaxFactors] = {24, 18, 12};
/// Largest magnitude of measurements and of their sums.
constexpr double kMaxMeasurement = 0x1p60;
constexpr double kMaxDistanceCost = 0x1p30;

Matrix to_double(const IntegerMatrix& matrix) {
  return matrix.cast<double>();
}

/// Real M of a factor, before rounding. After a search, M has only the distinct columns.
struct FactorOptimum {
  QueryStrategy measured;
  Matrix encoder;
  QueryProof proof;
};

/// Columns of F that are not 0.
std::vector<Eigen::Index> asked_columns(const Matrix& f) {
  std::vector<Eigen::Index> columns;
  for (Eigen::Index j = 0; j < f.cols(); ++j)
    if (!f.col(j).isZero(0)) columns.push_back(j);
  return columns;
}

/// Distinct columns of F, in the order of their first occurrence.
struct DistinctColumns {
  /// @param with_zeros  also keeps a column of zeros.
  DistinctColumns(const Matrix& f, bool with_zeros) {
    const Matrix columns = f.transpose();
    const auto entries = [&columns](Eigen::Index j) {
      return std::span(columns.data() + j * columns.cols(),
                       static_cast<std::size_t>(columns.cols()));
    };
    std::vector<Eigen::Index> order(static_cast<std::size_t>(f.cols()));
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    std::sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) {
      const auto differ = std::ranges::mismatch(entries(a), entries(b));
      return differ.in1 == entries(a).end() ? a < b : *differ.in1 < *differ.in2;
    });
    // `like`: for every column, the first one equal to it.
    std::vector<Eigen::Index> like(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool is_new = i == 0 || !std::ranges::equal(entries(order[i]), entries(order[i - 1]));
      like[static_cast<std::size_t>(order[i])] =
          is_new ? order[i] : like[static_cast<std::size_t>(order[i - 1])];
    }
    for (std::size_t j = 0; j < like.size(); ++j) {
      const auto column = static_cast<Eigen::Index>(j);
      if (!with_zeros && f.col(column).isZero(0)) {
        place.push_back(-1);
      } else if (like[j] == column) {
        place.push_back(std::ssize(first));
        first.push_back(column);
      } else {
        place.push_back(place[static_cast<std::size_t>(like[j])]);
      }
    }
  }

  /// Expands the encoder of the distinct columns to all columns.
  IntegerMatrix expanded(const IntegerMatrix& encoder) const {
    IntegerMatrix all = IntegerMatrix::Zero(encoder.rows(), std::ssize(place));
    for (std::size_t j = 0; j < place.size(); ++j)
      if (place[j] >= 0) all.col(static_cast<Eigen::Index>(j)) = encoder.col(place[j]);
    return all;
  }

  std::vector<Eigen::Index> first;  ///< the first of each set of equal columns
  std::vector<Eigen::Index> place;  ///< for every column its index in `first`, or -1
};

FactorOptimum optimum_of(const Matrix& f, const DistinctColumns& columns,
                         const DenseOptimum& optimum) {
  Matrix encoder = optimum.encoder;
  Vector v = Vector::Zero(f.cols());
  for (std::size_t j = 0; j < columns.first.size(); ++j) {
    const auto place = static_cast<Eigen::Index>(j);
    v(columns.first[j]) = optimum.column_weights(place, place);
  }
  Eigen::Index rank = 0;
  for (Eigen::Index i = 0; i < encoder.rows(); ++i)
    if (!encoder.row(i).isZero(0)) encoder.row(rank++) = encoder.row(i).eval();
  encoder.conservativeResize(rank, Eigen::NoChange);
  const Vector u = Eigen::Map<const Vector>(optimum.row_weights.data(), f.rows());
  return {QueryStrategy::optimal, std::move(encoder),
          detail::query_proof(f, optimum.lower_bound, u, v)};
}

bool is_prefix(const Matrix& f) {
  if (f.rows() != f.cols() || !f.isLowerTriangular(0)) return false;
  for (Eigen::Index i = 0; i < f.rows(); ++i)
    if ((f.row(i).head(i + 1).array() != 1).any()) return false;
  return true;
}

/// Relative error of the quadrature of a bound.
constexpr double kBoundAccuracy = 1e-10;

/// Prefix sums: M is the encoder of the optimal strategy, found in linear time.
FactorOptimum prefix_optimum(const Matrix& f, const QueryFactorizationOptions& options) {
  const auto n = static_cast<std::int64_t>(f.cols());
  const OptimumProblem problem{.steps = n, .objective = options.objective};
  const Optimum optimum = find_optimum(problem, options.solver);
  const OptimalStrategy strategy(Workload::prefix_sums(n), plan_for_weights(problem, 0, &optimum));
  const Vector u = Eigen::Map<const Vector>(optimum.row_weights.data(), f.rows());
  const Vector v = Eigen::Map<const Vector>(optimum.column_weights.data(), f.cols());
  // The solver's best bound may belong to weights other than these.
  const double bound = optimum_bounds(problem, optimum.column_weights, kBoundAccuracy).lower;
  return {QueryStrategy::optimal, strategy.encoder(), detail::query_proof(f, bound, u, v)};
}

/// ||M||_1->2, not rounded to the safe side.
double largest_column(const QueryFactorization::Factor& factor) {
  return to_double(factor.encoder).colwise().norm().maxCoeff();
}

/// Largest squared distance between two columns a, b of M_1 x M_2 x ...: ||a||^2 + ||b||^2 - 2
/// <a, b>, where each term is a product over the factors.
double replace_one_squared(const std::vector<Matrix>& grams, double rounding) {
  Matrix gram = Matrix::Ones(1, 1);
  for (const Matrix& next : grams) gram = detail::kronecker_product(gram, next);
  const Vector squares = gram.diagonal();
  double largest = 0;
  for (Eigen::Index i = 0; i < gram.rows(); ++i)
    for (Eigen::Index j = 0; j < i; ++j) {
      const double sum = squares(i) + squares(j);
      largest = std::max(largest, sum - 2 * gram(i, j) + rounding * sum);
    }
  return largest;
}

/// Whether a row of M has the same number for every value.
bool is_level(const IntegerMatrix& encoder, Eigen::Index row) {
  return (encoder.row(row).array() == encoder(row, 0)).all();
}

/// Squared norms of the rows of R over the measurements marked 1 in `chosen`.
Vector squared_norms(const QueryFactorization::Factor& factor, const Vector& chosen) {
  if (factor.is_ranges) return detail::range_norms_squared(factor.decoder * chosen.asDiagonal());
  return factor.decoder.cwiseAbs2() * chosen;
}

/// M without level rows, for differences of columns.
Matrix unlevel_rows(const IntegerMatrix& encoder) {
  std::vector<Eigen::Index> rows;
  for (Eigen::Index i = 0; i < encoder.rows(); ++i)
    if (!is_level(encoder, i)) rows.push_back(i);
  return to_double(encoder(rows, Eigen::all));
}

void require_entries(std::int64_t size) {
  if (size > kMaxQueryEntries)
    fail(ErrorCode::resource_exhausted, "query_factorization", "workload",
         "must have at most " + to_text(kMaxQueryEntries) + " entries as a matrix", to_text(size));
}

/// Largest l1 distance between two columns of M.
double replace_one_l1(const IntegerMatrix& encoder) {
  const IntegerMatrix columns = encoder.transpose();
  std::int64_t largest = 0;
  for (Eigen::Index i = 0; i < columns.rows(); ++i)
    for (Eigen::Index j = 0; j < i; ++j)
      largest = std::max(largest, (columns.row(i) - columns.row(j)).cwiseAbs().sum());
  return static_cast<double>(largest) * (1 + 0x1p-50);
}

}  // namespace

void QueryFactorization::require_sound() const {
  constexpr std::int64_t kMaxEntry = std::int64_t{1} << 30;
  if (factors.empty() || factors.size() > kMaxFactors)
    fail_argument(kFactorizationFunction, "factors", "1 to 3", std::to_string(factors.size()));
  double columns = 1;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const IntegerMatrix& encoder = factors[i].encoder;
    const Matrix& decoder = factors[i].decoder;
    const std::string name = "factors[" + std::to_string(i) + "]";
    require_count(kFactorizationFunction, name + ".encoder", "rows", encoder.rows(), 1,
                  kMaxQueryRows);
    require_count(kFactorizationFunction, name + ".encoder", "columns", encoder.cols(), 1,
                  kMaxQueryEntries);
    require_count(kFactorizationFunction, name + ".decoder", "rows", decoder.rows(), 1,
                  kMaxQueryRows);
    require_length(kFactorizationFunction, name + ".decoder", decoder.cols(), encoder.rows());
    require_all_finite(kFactorizationFunction, name + ".decoder", detail::span_of(decoder));
    for (const std::int64_t entry : encoder.reshaped())
      require_between(kFactorizationFunction, name + ".encoder", entry, -kMaxEntry, kMaxEntry);
    columns *= static_cast<double>(encoder.cwiseAbs().colwise().sum().maxCoeff());
  }
  if (!(columns <= kMaxMeasurement))
    fail_argument(kFactorizationFunction, "factors",
                  "such that the largest column of M has an l1 norm of at most 2^60",
                  to_text(columns));
}

std::int64_t QueryFactorization::num_measurements() const {
  std::int64_t product = 1;
  for (const Factor& factor : factors) product *= factor.encoder.rows();
  return product;
}

std::int64_t QueryFactorization::num_values() const {
  std::int64_t product = 1;
  for (const Factor& factor : factors) product *= factor.encoder.cols();
  return product;
}

IntegerMatrix QueryFactorization::encoder() const {
  require_entries(num_measurements() * num_values());
  IntegerMatrix m = IntegerMatrix::Ones(1, 1);
  for (const Factor& factor : factors) m = detail::kronecker_product(m, factor.encoder);
  return m;
}

Matrix QueryFactorization::decoder() const {
  std::int64_t num_queries = 1;
  for (const Factor& factor : factors)
    num_queries *=
        factor.is_ranges ? detail::num_ranges(factor.decoder.rows()) : factor.decoder.rows();
  require_entries(num_queries * num_measurements());
  Matrix r = Matrix::Ones(1, 1);
  for (const Factor& factor : factors)
    r = detail::kronecker_product(
        r, factor.is_ranges ? detail::ranges_of(factor.decoder) : factor.decoder);
  return r;
}

Vector QueryFactorization::row_norms(Neighbours neighbours) const {
  // A product of measurements is free of noise if all its factors are.
  Matrix noisy = Matrix::Zero(1, 1), rest = Matrix::Ones(1, 1);
  for (const Factor& factor : factors) {
    Vector is_free = Vector::Zero(factor.encoder.rows());
    for (Eigen::Index i = 0; i < is_free.size(); ++i)
      if (neighbours == Neighbours::replace_one && is_level(factor.encoder, i)) is_free(i) = 1;
    const Matrix free = squared_norms(factor, is_free);
    const Matrix own = squared_norms(factor, Vector::Ones(is_free.size()) - is_free);
    noisy = (detail::kronecker_product<Matrix>(noisy, own + free) +
             detail::kronecker_product<Matrix>(rest, own))
                .eval();
    rest = detail::kronecker_product<Matrix>(rest, free);
  }
  return noisy.col(0).cwiseSqrt();
}

std::vector<bool> QueryFactorization::public_measurements() const {
  std::vector<bool> all = {true};
  for (const Factor& factor : factors) {
    std::vector<bool> longer;
    for (const bool so_far : all)
      for (Eigen::Index i = 0; i < factor.encoder.rows(); ++i)
        longer.push_back(so_far && is_level(factor.encoder, i));
    all = std::move(longer);
  }
  return all;
}

QuerySensitivity QueryFactorization::l2_sensitivity() const {
  double column_squared = 1, rounding = 0;
  std::vector<Matrix> grams;
  for (const Factor& factor : factors) {
    const Matrix encoder = to_double(factor.encoder);
    grams.push_back(multiply(encoder.transpose(), encoder));
    column_squared *= grams.back().diagonal().maxCoeff();
    rounding += (static_cast<double>(encoder.rows()) + 8) * 0x1p-52;
  }
  QuerySensitivity result{};
  result.add_remove = std::sqrt(column_squared) * (1 + rounding);
  result.textbook = 2 * result.add_remove;
  if (factors.size() == 1)
    result.textbook =
        2 * unlevel_rows(factors[0].encoder).colwise().norm().maxCoeff() * (1 + rounding);
  result.replace_one = result.textbook;
  if (num_values() <= kMaxQueryValues)
    result.replace_one = std::sqrt(replace_one_squared(grams, 2 * rounding)) * (1 + 0x1p-50);
  return result;
}

QuerySensitivity QueryFactorization::l1_sensitivity() const {
  QuerySensitivity result{.add_remove = 1 + 0x1p-50, .replace_one = 0, .textbook = 0};
  for (const Factor& factor : factors)
    result.add_remove *= static_cast<double>(factor.encoder.cwiseAbs().colwise().sum().maxCoeff());
  result.textbook = 2 * result.add_remove;
  if (factors.size() == 1)
    result.textbook =
        2 * unlevel_rows(factors[0].encoder).cwiseAbs().colwise().sum().maxCoeff() * (1 + 0x1p-50);
  const auto m = static_cast<double>(num_values());
  const bool is_quick = m * m * static_cast<double>(num_measurements()) <= kMaxDistanceCost;
  result.replace_one = is_quick ? replace_one_l1(encoder()) : result.textbook;
  return result;
}

std::vector<std::int64_t> QueryFactorization::measure(
    std::span<const std::int64_t> histogram) const {
  require_length(kFactorizationFunction, "histogram", std::ssize(histogram), num_values());
  double total = 0;
  for (std::size_t v = 0; v < histogram.size(); ++v)
    total += static_cast<double>(require_between(kFactorizationFunction,
                                                 "histogram[" + std::to_string(v) + "]",
                                                 histogram[v], 0, std::int64_t{1} << 53));
  double largest = 1;
  std::vector<const IntegerMatrix*> encoders;
  for (const Factor& factor : factors) {
    encoders.push_back(&factor.encoder);
    largest *= static_cast<double>(factor.encoder.cwiseAbs().maxCoeff());
  }
  if (!(total * largest <= kMaxMeasurement))
    fail(ErrorCode::unsupported, "query_factorization", "histogram",
         "must have at most " + to_text(std::floor(kMaxMeasurement / largest)) + " records",
         to_text(total));
  return detail::apply_kronecker<IntegerMatrix>(encoders, {histogram.begin(), histogram.end()});
}

Vector QueryFactorization::decode(std::span<const double> measurements) const {
  require_length(kFactorizationFunction, "measurements", std::ssize(measurements),
                 num_measurements());
  std::vector<const Matrix*> decoders;
  std::vector<bool> are_ranges;
  for (const Factor& factor : factors) {
    decoders.push_back(&factor.decoder);
    are_ranges.push_back(factor.is_ranges);
  }
  const std::vector<double> product = detail::apply_kronecker<Matrix>(
      decoders, {measurements.begin(), measurements.end()}, are_ranges);
  return Eigen::Map<const Vector>(product.data(), static_cast<Eigen::Index>(product.size()));
}

/// Joins the factors of a product into one: always if the caller brings the measurements; for
/// replace_one, whose optimum is that of the whole product, unless the product is too large.
QueryWorkload joined(const QueryWorkload& workload, const QueryFactorizationOptions& options) {
  const bool is_small = workload.num_values() <= detail::kMaxPairedColumns &&
                        workload.num_queries() * workload.num_values() <= kMaxQueryEntries / 4;
  if (options.own && workload.factors().size() > 1)
    return QueryWorkload::matrix(workload.to_matrix());
  const bool is_own =
      options.neighbours == Neighbours::replace_one && options.strategy == QueryStrategy::optimal;
  if (workload.factors().size() == 1 || !is_own || !is_small ||
      workload.num_queries() > kMaxQueryRows)
    return workload;
  return QueryWorkload::matrix(workload.to_matrix());
}

/// The matrix whose optimum is sought: the queries or, for the RMS error of ranges, the triangular
/// matrix of `range_root`.
Matrix searched_queries(const QueryWorkload::Factor& factor,
                        const QueryFactorizationOptions& options) {
  if (!factor.is_ranges) return factor.queries;
  const bool needs_rows =
      options.strategy == QueryStrategy::optimal && options.objective == Objective::max;
  if (!needs_rows) return detail::range_root(factor.queries.cols());
  if (factor.num_queries() > kMaxQueryRows)
    fail(ErrorCode::unsupported, "factorize_queries", "workload",
         "must have at most 361 values for the max objective of all ranges",
         to_text(std::int64_t{factor.queries.cols()}));
  return factor.matrix();
}

/// A bound for `searched` may exceed the bound for the queries by this.
double rounding_of(const QueryWorkload::Factor& factor, const Matrix& searched) {
  const bool is_root = factor.is_ranges && searched.rows() == factor.queries.rows();
  return is_root ? detail::range_root_rounding(searched) : 0;
}

/// Factorises one factor after the other.
class QueryFactorizer::State {
 public:
  State(QueryWorkload workload, const QueryFactorizationOptions& options)
      : workload_(std::move(workload)),
        factored_(joined(workload_, options)),
        options_(options),
        way_(options.solver.gap) {
    const std::size_t num_factors = factored_.factors().size();
    if (num_factors > kMaxFactors)
      fail(ErrorCode::unsupported, "factorize_queries", "workload", "must have at most 3 factors",
           std::to_string(num_factors));
    bits_ = kBits[num_factors - 1];
    result_.objective = options.objective;
  }

  bool advance() {
    if (is_done()) return false;
    if (options_.own) {
      begin_search();
      end_factor(detail::schatten_proof(queries()),
                 detail::own_factor(factor().matrix(), *options_.own, bits_));
    } else if (options_.strategy != QueryStrategy::optimal) {
      begin_search();
      end_factor(detail::schatten_proof(queries()), plainly_measured());
    } else if (!solver_ && !paired_) {
      begin_search();
      begin_factor();
    } else if (!is_solved_) {
      const bool goes_on = paired_ ? paired_->advance() : solver_->advance();
      const OptimumProgress reached = search_progress();
      way_.reached(reached.gap);
      const auto& told = options_.solver.progress;
      is_solved_ = !goes_on || (told && !told(reached));
    } else if (paired_) {
      end_paired(paired_->result());
    } else {
      const DistinctColumns columns(queries(), false);
      const FactorOptimum optimum = optimum_of(queries(), columns, solver_->result());
      solver_.reset();
      is_solved_ = false;
      end_factor(optimum.proof, rounded(optimum));
    }
    return !is_done();
  }

  QueryFactorizerProgress progress() const {
    const bool is_searching = solver_ || paired_;
    const double part = is_searching ? way_.fraction() : 0;
    const auto done = static_cast<double>(result_.factors.size());
    return {is_searching ? search_progress().iteration : 0,
            (done + part) / static_cast<double>(factored_.factors().size())};
  }

  const QueryWorkload& workload() const { return workload_; }

  QueryFactorization result() {
    while (advance()) {
    }
    QueryFactorization result = result_;
    if (paired_bound_)
      result.replace_one_lower_bound = *paired_bound_;
    else if (concentration_ < 1)
      result.replace_one_lower_bound = std::max(0.0, result.lower_bound - mean_) *
                                       std::sqrt(2 / (1 - concentration_)) * (1 - 0x1p-36);
    const Vector rows = result.row_norms();
    result.unit_error *= options_.objective == Objective::max
                             ? rows.maxCoeff()
                             : rows.norm() / std::sqrt(static_cast<double>(rows.size()));
    return result;
  }

 private:
  bool is_done() const { return result_.factors.size() == factored_.factors().size(); }
  const QueryWorkload::Factor& factor() const {
    return factored_.factors()[result_.factors.size()];
  }
  const Matrix& queries() const { return searched_; }
  void begin_search() { searched_ = searched_queries(factor(), options_); }
  OptimumProgress search_progress() const {
    return paired_ ? paired_->progress() : solver_->progress();
  }

  void begin_factor() {
    if (options_.neighbours == Neighbours::replace_one && factored_.factors().size() == 1)
      begin_paired();
    if (!paired_) begin_alone();
  }

  /// Begins the search over pairs of values, if there are few enough.
  void begin_paired() {
    const DistinctColumns columns(queries(), true);
    if (columns.first.size() < 2 || std::ssize(columns.first) > detail::kMaxPairedColumns) return;
    way_ = detail::GapProgress(std::max(options_.solver.gap, kBarrierGap));
    paired_.emplace(queries()(Eigen::all, columns.first), options_.objective, options_.solver);
  }

  void begin_alone() {
    if (const auto known = detail::known_optimum(queries(), options_.objective)) {
      end_factor(known->proof, rounded({known->measured, queries(), known->proof}));
    } else if (is_prefix(queries())) {
      const FactorOptimum optimum = prefix_optimum(queries(), options_);
      end_factor(optimum.proof, rounded(optimum));
    } else {
      begin_solver();
    }
  }

  void begin_solver() {
    way_ = detail::GapProgress(options_.solver.gap);
    const DistinctColumns columns(queries(), false);
    solver_.emplace(DenseOptimumProblem{.queries = queries()(Eigen::all, columns.first),
                                        .objective = options_.objective},
                    options_.solver);
  }

  QueryFactorization::Factor plainly_measured() const {
    const Matrix& f = factor().queries;
    if (options_.strategy == QueryStrategy::queries) {
      detail::require_few_queries(factor().num_queries());
      return detail::queried_factor(factor().matrix(), bits_);
    }
    std::vector<Eigen::Index> all(static_cast<std::size_t>(f.cols()));
    std::iota(all.begin(), all.end(), Eigen::Index{0});
    return detail::counted_factor(f, all, bits_);
  }

  QueryFactorization::Factor rounded(const FactorOptimum& optimum) const {
    const Matrix& f = factor().queries;
    const bool is_gaussian = options_.noise == QueryNoise::gaussian;
    if (optimum.measured == QueryStrategy::identity)
      return detail::counted_factor(f, asked_columns(f), bits_);
    // These queries are orthogonal, hence not ranges.
    if (is_gaussian && optimum.measured == QueryStrategy::queries)
      return detail::queried_factor(f, bits_);
    const DistinctColumns columns(queries(), false);
    const Matrix searched = queries()(Eigen::all, columns.first);
    // Closed forms have all columns, searches only the distinct columns.
    const bool is_of_all = optimum.encoder.cols() == f.cols();
    const Matrix encoder =
        is_of_all ? Matrix(optimum.encoder(Eigen::all, columns.first)) : optimum.encoder;
    const Matrix m = is_gaussian ? detail::triangular_measurements(encoder)
                                 : detail::best_l1_measurements(searched, encoder,
                                                                {.objective = options_.objective});
    QueryFactorization::Factor found =
        detail::rounded_factor(f(Eigen::all, columns.first), m, bits_);
    found.encoder = columns.expanded(found.encoder);
    return found;
  }

  void end_paired(const detail::ReplaceOneOptimum& optimum) {
    const DistinctColumns columns(queries(), true);
    const Matrix f = queries()(Eigen::all, columns.first);
    const Matrix decoded = factor().queries(Eigen::all, columns.first);
    const Matrix m = options_.noise == QueryNoise::gaussian
                         ? detail::triangular_differences(optimum.encoder)
                         : detail::best_l1_measurements(f, optimum.encoder,
                                                        {.objective = options_.objective,
                                                         .neighbours = options_.neighbours});
    QueryFactorization::Factor found = detail::counted_total_factor(decoded, m, bits_);
    found.encoder = columns.expanded(found.encoder);
    paired_bound_ = optimum.lower_bound - rounding_of(factor(), queries());
    paired_.reset();
    is_solved_ = false;
    // F has all columns of f, so the bound for f holds for F.
    end_factor(detail::schatten_proof(f), std::move(found));
  }

  void end_factor(const QueryProof& proof, QueryFactorization::Factor found) {
    found.is_ranges = factor().is_ranges && found.decoder.rows() == factor().queries.rows();
    result_.lower_bound *= std::max(0.0, proof.lower_bound - rounding_of(factor(), queries()));
    mean_ *= proof.mean;
    concentration_ *= proof.concentration;
    result_.unit_error *= largest_column(found);
    result_.factors.push_back(std::move(found));
  }

  QueryWorkload workload_;
  QueryWorkload factored_;  ///< `workload_`, its factors perhaps joined
  Matrix searched_;         ///< `searched_queries` of the current factor
  QueryFactorizationOptions options_;
  detail::GapProgress way_;
  int bits_ = 0;
  std::optional<DenseOptimumSolver> solver_;  ///< solver of the current factor
  std::optional<detail::ReplaceOneSolver> paired_;
  std::optional<double> paired_bound_;
  bool is_solved_ = false;
  /// `unit_error` does not yet include the rows of R.
  QueryFactorization result_{.factors = {},
                             .lower_bound = 1 - 0x1p-50,
                             .replace_one_lower_bound = 0,
                             .unit_error = 1,
                             .objective = Objective::mean};
  double mean_ = 1, concentration_ = 1;
};

QueryFactorizer::QueryFactorizer(QueryWorkload workload, const QueryFactorizationOptions& options)
    : state_(std::make_unique<State>(std::move(workload), options)) {}
QueryFactorizer::~QueryFactorizer() = default;
QueryFactorizer::QueryFactorizer(QueryFactorizer&&) noexcept = default;
QueryFactorizer& QueryFactorizer::operator=(QueryFactorizer&&) noexcept = default;

bool QueryFactorizer::advance() {
  return state_->advance();
}

QueryFactorizerProgress QueryFactorizer::progress() const {
  return state_->progress();
}

const QueryWorkload& QueryFactorizer::workload() const {
  return state_->workload();
}

QueryFactorization QueryFactorizer::result() {
  return state_->result();
}

QueryFactorization factorize_queries(const QueryWorkload& workload,
                                     const QueryFactorizationOptions& options) {
  return QueryFactorizer(workload, options).result();
}

double schatten_query_bound(const QueryWorkload& workload) {
  double bound = 1 - 0x1p-50;
  for (const QueryWorkload::Factor& factor : workload.factors()) {
    const Matrix searched = searched_queries(factor, {});
    bound *= detail::schatten_proof(searched).lower_bound - rounding_of(factor, searched);
  }
  return bound;
}

}  // namespace dpftrl
