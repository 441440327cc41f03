// SPDX-License-Identifier: Apache-2.0
#include "strategy/dense.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "math/linear_algebra.hpp"
#include "optimal/epochs/epoch_optimum.hpp"

namespace dpftrl {
namespace {

using detail::multiply;

constexpr double kDefaultGap = 1e-4;
constexpr double kLargestMeanGap = 5e-7;
constexpr std::int64_t kDefaultIterations = 60;
constexpr std::int64_t kDefaultEpochIterations = 100;
/// Largest relative amount by which the quadrature may lower the bound of long epochs.
constexpr double kBoundAccuracy = 1e-9;

/// numerator * lower^-1.
Matrix divide(const Matrix& numerator, const Matrix& lower) {
  Matrix quotient = detail::divide_by_lower(numerator, lower);
  quotient.triangularView<Eigen::StrictlyUpper>().setZero();
  return quotient;
}

/// @param condition  ||B|| ||B^-1||.
[[noreturn]] void fail_as_singular(const Matrix& workload, double condition) {
  Eigen::Index least = 0;
  (void)workload.diagonal().cwiseAbs().minCoeff(&least);
  const std::string entry = to_text(std::int64_t{least});
  fail(ErrorCode::unsupported, "dense strategy", "workload",
       "and its encoder must be far enough from singular for double precision (least on the "
       "diagonal of the workload is entry (" +
           entry + ", " + entry + ") = " + to_text(workload(least, least)) + ")",
       "a decoder of condition " + to_text(condition));
}

/// The encoder of the stored B is C' = B^-1 A = C + B^-1 (A - B C), so its columns are longer than
/// the columns of C by at most ||B^-1|| ||(A - B C)_j||. With G near B^-1 and E = I - G B, ||B^-1||
/// <= ||G|| / (1 - ||E||). Norms are Frobenius norms, gamma bounds the rounding of an inner product
/// of n terms, and A has a relative error of 2^-52.
double slack_of(const Matrix& workload, const Matrix& encoder, const Matrix& decoder) {
  const double n = static_cast<double>(encoder.rows());
  const double gamma = (n + 16) * 0x1p-52;
  const double size = decoder.rowwise().norm().norm();
  const Matrix inverse = divide(encoder, workload);
  const double inverse_size = inverse.rowwise().norm().norm();
  Matrix residual = multiply(inverse, decoder);
  residual.diagonal().array() -= 1;
  const double defect = residual.rowwise().norm().norm() + gamma * inverse_size * size;
  if (!(defect <= 0.5)) fail_as_singular(workload, inverse_size * size);
  residual = multiply(decoder, encoder);
  residual -= workload;
  double slack = 0;
  for (Eigen::Index j = 0; j < encoder.cols(); ++j) {
    const double norm = encoder.col(j).norm();
    const double rest = residual.col(j).norm() + gamma * (size * norm + workload.col(j).norm());
    slack = std::max(slack, rest / norm);
  }
  return slack * inverse_size / (1 - defect) * (1 + gamma);
}

void require_encoder(const Workload& workload, std::string_view name, const Matrix& encoder) {
  require_between(name, "steps", workload.steps(), 1, DenseStrategy::kMaxSteps);
  require_length(name, "encoder", encoder.rows(), workload.steps());
  require_length(name, "encoder", encoder.cols(), workload.steps());
  require_all_finite(name, "encoder", detail::span_of(encoder));
  if (!encoder.isLowerTriangular(0))
    fail_argument(name, "encoder", "lower triangular", "an entry above the diagonal");
  for (Eigen::Index j = 0; j < encoder.cols(); ++j)
    require_positive(name,
                     "encoder(" + to_text(std::int64_t{j}) + ", " + to_text(std::int64_t{j}) + ")",
                     encoder(j, j));
}

/// Squared sensitivity of every phase s, s + b, ... of columns, the sum of |C_i . C_j| over the
/// phase.
Vector phase_sums(const Matrix& encoder, Eigen::Index separation) {
  const Eigen::Index n = encoder.cols();
  Vector sums = Vector::Zero(separation);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = i % separation; j < n; j += separation)
      sums(i % separation) += std::abs(encoder.col(i).dot(encoder.col(j)));
  return sums;
}

/// Scales the columns of every phase s, s + b, ... to sensitivity 1.
void normalise_phases(Matrix& encoder, const Participation& participation) {
  const Eigen::Index n = encoder.cols();
  const auto k = static_cast<Eigen::Index>(participation.times_within(n));
  const Vector roots = phase_sums(encoder, n / k).cwiseSqrt();
  for (Eigen::Index i = 0; i < n; ++i) encoder.col(i) /= roots(i % roots.size());
}

EpochOptimumProblem epoch_problem(const Workload& workload, const Participation& participation) {
  return {.epochs = participation.times(),
          .epoch_length = participation.apart(),
          .objective = Objective::mean,
          .decay = workload.decay()};
}

/// Bounds that the dual variables prove.
DenseLowerBounds bounds_of(const Workload& workload, const DenseStrategy::Bound& bound) {
  if (has_long_epochs(workload, bound.objective, bound.participation))
    return epoch_lower_bounds(epoch_problem(workload, bound.participation), bound.duals,
                              kBoundAccuracy);
  return dense_lower_bounds({.queries = workload.matrix(),
                             .objective = bound.objective,
                             .participation = bound.participation},
                            bound.duals);
}

std::shared_ptr<const Strategy> strategy_of(const Workload& workload, Matrix encoder,
                                            DenseStrategy::Bound bound) {
  return std::make_shared<const DenseStrategy>(
      workload, DenseStrategy::Parts{.name = OptimalStrategy::kName,
                                     .encoder = std::move(encoder),
                                     .lower_bound = std::move(bound)});
}

/// Weights from find_optimum if it supports the problem; else empty.
DenseOptimumStart start_of(const Workload& workload, const DenseOptimalOptions& options) {
  const bool has_rates = workload.kind() == Workload::Kind::rates;
  const bool is_solved =
      workload.kind() == Workload::Kind::momentum ||
      (has_rates && options.objective == Objective::mean &&
       std::ranges::all_of(workload.rates(), [](double rate) { return rate > 0; }));
  if (!is_solved) return {};
  Optimum optimum = find_optimum({.steps = workload.steps(),
                                  .objective = options.objective,
                                  .decay = workload.decay(),
                                  .momentum = workload.momentum(),
                                  .rates = workload.rates()},
                                 {.gap = options.gap.value_or(kDefaultGap)});
  return {std::move(optimum.column_weights), std::move(optimum.row_weights)};
}

}  // namespace

DenseStrategy::DenseStrategy(Workload workload, Parts parts)
    : Strategy(std::move(workload)), parts_(std::move(parts)) {
  require_encoder(this->workload(), name(), parts_.encoder);
  const Matrix matrix = this->workload().matrix();
  Matrix decoder = divide(matrix, parts_.encoder);
  column_norms_squared_ = parts_.encoder.colwise().squaredNorm();
  row_norms_squared_ = decoder.rowwise().squaredNorm();
  encoder_slack_ = slack_of(matrix, parts_.encoder, decoder);
  is_nonnegative_ = parts_.encoder.minCoeff() >= 0;
  decoder_ = Workload::lower_triangular(std::move(decoder));
}

double DenseStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return column_norms_squared_(static_cast<Eigen::Index>(step));
}

double DenseStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return row_norms_squared_(static_cast<Eigen::Index>(step));
}

RowNorms DenseStrategy::row_norms() const {
  return {row_norms_squared_.minCoeff(), row_norms_squared_.maxCoeff(), row_norms_squared_.mean()};
}

std::vector<PlanNumbers> DenseStrategy::parameters() const {
  if (parts_.bands == 0) return {};
  return {{"bands", {static_cast<double>(parts_.bands)}}};
}

DecoderForm DenseStrategy::decoder_form() const {
  return FilteredDecoder{.base = std::make_shared<const DecoderForm>(RunningSumDecoder{}),
                         .column_scales = {},
                         .workload = *decoder_};
}

std::vector<double> DenseStrategy::epoch_norms_squared(std::int64_t separation) const {
  if (!parts_.lower_bound) return {};
  const auto& [objective, participation, value, duals] = *parts_.lower_bound;
  if (participation.apart() != separation || !has_long_epochs(workload(), objective, participation))
    return {};
  const Vector sums = phase_sums(parts_.encoder, static_cast<Eigen::Index>(separation));
  // An inner product of n terms is off by at most n 2^-53 times the product of the norms, and the
  // square of a sum of k norms is at most k times the sum of their squares.
  const double n = static_cast<double>(steps());
  const double k = n / static_cast<double>(separation);
  std::vector<double> bounds;
  for (const double sum : sums) bounds.push_back(sum * (1 + (n + k) * (k + 1) * 0x1p-52));
  return bounds;
}

Strategy::OwnBound DenseStrategy::certified_lower_bound(Objective objective,
                                                        const Participation& participation) const {
  if (!parts_.lower_bound) return {};
  const Bound& bound = *parts_.lower_bound;
  // The largest error is at least the mean error, and every schema includes single participation.
  const bool is_for_it = bound.objective == objective || bound.objective == Objective::mean;
  const bool is_weaker =
      bound.participation == participation || bound.participation.times_within(steps()) == 1;
  if (!is_for_it || !is_weaker) return {};
  const DenseLowerBounds proved =
      bound.value.value > 0 ? bound.value : bounds_of(workload(), bound);
  return {.value = proved.value,
          .min_dimension = least_dimension_of_duals(bound.participation.times_within(steps())),
          .every_dimension = proved.every_dimension,
          .is_of_dense_search = !has_long_epochs(workload(), bound.objective, bound.participation)};
}

Matrix lower_triangular_encoder(const Matrix& encoder) {
  const std::optional<Matrix> triangular = detail::triangular_of_equal_gram(encoder);
  if (!triangular)
    fail(ErrorCode::unsupported, "lower_triangular_encoder", "encoder",
         "must have a positive definite Gram matrix");
  return *triangular;
}

DenseSearch dense_search(const Workload& workload, const DenseOptimalOptions& options) {
  require_between(OptimalStrategy::kName, "steps", workload.steps(), 1, DenseStrategy::kMaxSteps);
  const bool has_epochs = options.participation.kind() == Participation::Kind::fixed_epoch;
  DenseSearch search{
      .problem = {.queries = workload.matrix(),
                  .objective = options.objective,
                  .participation = has_epochs ? options.participation : Participation::single()},
      .solver = {.gap = options.gap.value_or(kDefaultGap),
                 .max_iterations = options.max_iterations.value_or(kDefaultIterations)}};
  const bool is_repeated = search.problem.participation.times_within(workload.steps()) > 1;
  if (!is_repeated) search.problem.start = start_of(workload, options);
  if (is_repeated && !options.max_iterations)
    search.solver.max_iterations = kDefaultEpochIterations;
  if (options.objective == Objective::mean)
    search.solver.gap = std::min(search.solver.gap, kLargestMeanGap);
  return search;
}

Matrix optimal_encoder(const DenseOptimumProblem& problem, const DenseOptimum& optimum) {
  Matrix encoder = optimum.encoder;
  // Mean objective: every user attains sensitivity 1. Max objective: some do not.
  if (problem.objective == Objective::mean) normalise_phases(encoder, problem.participation);
  return lower_triangular_encoder(encoder);
}

bool has_long_epochs(const Workload& workload, Objective objective,
                     const Participation& participation) {
  const std::int64_t n = workload.steps();
  return objective == Objective::mean && participation.kind() == Participation::Kind::fixed_epoch &&
         participation.times() > 1 && n > kMaxFixedEpochOptimumSteps && n <= kMaxEpochSteps &&
         has_epoch_optimum(workload, participation.times(), participation.apart());
}

EpochSearch epoch_search(const Workload& workload, const DenseOptimalOptions& options) {
  return {.problem = epoch_problem(workload, options.participation),
          .solver = {.gap = std::min(options.gap.value_or(kDefaultGap), kLargestMeanGap),
                     .max_iterations = options.max_iterations.value_or(kDefaultEpochIterations)}};
}

Matrix optimal_encoder(const EpochOptimumProblem& problem, const EpochOptimum& optimum) {
  std::optional<Matrix> encoder =
      detail::triangular_of_gram(epoch_optimum_gram(problem, optimum.primal_duals));
  if (!encoder)
    fail(ErrorCode::unsupported, OptimalStrategy::kName, "steps",
         "must be fewer for a Gram matrix that is positive definite to rounding",
         to_text(problem.epochs * problem.epoch_length));
  normalise_phases(*encoder, Participation::fixed_epoch(
                                 {.epochs = problem.epochs, .epoch_length = problem.epoch_length}));
  return *std::move(encoder);
}

std::shared_ptr<const Strategy> dense_optimal_strategy(const Workload& workload,
                                                       const DenseOptimalOptions& options) {
  const auto bound = [&](const Participation& participation, const auto& optimum) {
    return DenseStrategy::Bound{.objective = options.objective,
                                .participation = participation,
                                .value = {optimum.lower_bound, optimum.every_dimension_bound}};
  };
  if (has_long_epochs(workload, options.objective, options.participation)) {
    const EpochSearch search = epoch_search(workload, options);
    const EpochOptimum optimum = find_epoch_optimum(search.problem, search.solver);
    return strategy_of(workload, optimal_encoder(search.problem, optimum),
                       bound(options.participation, optimum));
  }
  const DenseSearch search = dense_search(workload, options);
  const DenseOptimum optimum = find_dense_optimum(search.problem, search.solver);
  return strategy_of(workload, optimal_encoder(search.problem, optimum),
                     bound(search.problem.participation, optimum));
}

std::shared_ptr<const Strategy> strategy_of_columns(
    std::string_view name, const Workload& workload, const Matrix& columns,
    std::optional<DenseStrategy::Bound> lower_bound) {
  const std::int64_t n =
      require_between(name, "steps", workload.steps(), 1, DenseStrategy::kMaxSteps);
  require_length(name, "columns", columns.rows(), n);
  const auto size = static_cast<Eigen::Index>(n);
  const Eigen::Index bands = std::min(columns.cols(), size);
  Matrix encoder = Matrix::Zero(size, size);
  for (Eigen::Index j = 0; j < size; ++j) {
    const Eigen::Index height = std::min(bands, size - j);
    encoder.col(j).segment(j, height) = columns.row(j).head(height).transpose();
  }
  return std::make_shared<const DenseStrategy>(
      workload, DenseStrategy::Parts{.name = name,
                                     .encoder = std::move(encoder),
                                     .bands = bands,
                                     .lower_bound = std::move(lower_bound)});
}

Matrix columns_of(const Matrix& encoder) {
  Matrix columns = Matrix::Zero(encoder.cols(), encoder.cols());
  for (Eigen::Index j = 0; j < encoder.cols(); ++j) {
    const Eigen::Index height = encoder.cols() - j;
    columns.row(j).head(height) = encoder.col(j).tail(height).transpose();
  }
  return columns;
}

}  // namespace dpftrl
