// SPDX-License-Identifier: Apache-2.0
#include "strategy/varying_bands.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "optimal/banded/banded_rows.hpp"
#include "strategy/dense.hpp"
#include "strategy/family_row.hpp"
#include "strategy/toeplitz/banded.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxProductOperations = std::int64_t{1} << 30;

std::int64_t size_of(Eigen::Index size) {
  return size;
}

void require_columns(std::string_view name, std::int64_t steps, const Matrix& columns) {
  require_between(name, "steps", steps, 1, kMaxBandedSteps);
  require_length(name, "columns", columns.rows(), steps);
  require_between(name, "bands", columns.cols(), 1, kMaxBandedEntries / steps);
  for (Eigen::Index j = 0; j < columns.rows(); ++j) {
    const std::string column = "columns[" + to_text(size_of(j)) + "]";
    require_positive(name, column + "[0]", columns(j, 0));
    const Eigen::Index height = std::min(columns.cols(), columns.rows() - j);
    require_all_finite(name, column, {&columns(j, 0), static_cast<std::size_t>(height)});
  }
}

/// Columns of at most n entries, with zeros below the matrix.
Matrix within_matrix(const Matrix& columns) {
  const Eigen::Index n = columns.rows(), bands = std::min(columns.cols(), n);
  Matrix inside = columns.leftCols(bands);
  for (Eigen::Index j = n - bands + 1; j < n; ++j) inside.row(j).tail(bands - (n - j)).setZero();
  return inside;
}

/// The entries row by row.
std::vector<double> entries_of(const Matrix& columns) {
  const Eigen::Index n = columns.rows(), bands = columns.cols();
  std::vector<double> entries;
  entries.reserve(static_cast<std::size_t>(columns.size()));
  for (Eigen::Index t = 0; t < n; ++t)
    for (Eigen::Index m = 0; m < bands; ++m) entries.push_back(m <= t ? columns(t - m, m) : 0);
  return entries;
}

}  // namespace

VaryingBandedStrategy::VaryingBandedStrategy(std::string_view name, std::int64_t steps,
                                             const Matrix& columns)
    : Strategy(Workload::prefix_sums(steps)),
      name_(name),
      max_column_norm_squared_(0),
      is_nonnegative_(true) {
  constexpr double kSlack = 1 + 0x1p-40;  // covers the rounding of the root
  constexpr double kMostDoubt = 1 + 0x1p-10;
  require_columns(name, steps, columns);
  const Matrix inside = within_matrix(columns);
  for (Eigen::Index j = 0; j < inside.rows(); ++j)
    column_norms_squared_.push_back(inside.row(j).squaredNorm());
  max_column_norm_squared_ = std::ranges::max(column_norms_squared_);
  is_nonnegative_ = inside.minCoeff() >= 0;
  row_norms_squared_ = detail::banded_row_norms_squared(inside);
  const std::vector<double> bounds = detail::banded_row_norm_bounds_squared(inside);
  for (std::size_t t = 0; t < bounds.size(); ++t)
    if (!(row_norms_squared_[t] > 0 && bounds[t] <= kMostDoubt * row_norms_squared_[t] &&
          bounds[t] <= 0x1p200))
      fail(ErrorCode::unsupported, name, "encoder",
           "must be far enough from singular for double precision");
  numbers_ = std::make_shared<const VaryingBands>(
      VaryingBands{.bands = inside.cols(),
                   .entries = entries_of(inside),
                   .max_row_stddev = kSlack * std::sqrt(std::ranges::max(bounds))});
}

double VaryingBandedStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return column_norms_squared_[static_cast<std::size_t>(step)];
}

double VaryingBandedStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return row_norms_squared_[static_cast<std::size_t>(step)];
}

std::vector<double> VaryingBandedStrategy::later_products(std::int64_t lag) const {
  const std::int64_t n = steps(), p = bands();
  if (n * p > kMaxProductOperations / p) return {};
  std::call_once(are_products_made_, [this] { largest_products_ = largest_products(); });
  std::vector<double> bounds(static_cast<std::size_t>(n));
  if (lag < p)
    for (std::size_t i = 0; i < bounds.size(); ++i)
      bounds[i] =
          largest_products_[i * static_cast<std::size_t>(p) + static_cast<std::size_t>(lag)];
  return bounds;
}

std::vector<double> VaryingBandedStrategy::largest_products() const {
  const std::int64_t n = steps(), p = bands();
  const auto entry = [&](std::int64_t row, std::int64_t column) {
    return numbers_->entries[static_cast<std::size_t>(row * p + row - column)];
  };
  const double rounding = static_cast<double>(p + 8) * 0x1p-52;
  std::vector<double> largest(static_cast<std::size_t>(n * p));
  for (std::int64_t i = 0; i < n; ++i) {
    double so_far = 0;
    for (std::int64_t j = std::min(n, i + p) - 1; j >= i; --j) {
      double product = 0, magnitude = 0;
      for (std::int64_t row = j; row < std::min(n, i + p); ++row) {
        const double term = entry(row, i) * entry(row, j);
        product += term;
        magnitude += std::abs(term);
      }
      so_far = std::max(so_far, std::abs(product) + rounding * magnitude);
      largest[static_cast<std::size_t>(i * p + j - i)] = so_far;
    }
  }
  return largest;
}

RowNorms VaryingBandedStrategy::row_norms() const {
  const auto [low, high] = std::ranges::minmax(row_norms_squared_);
  double total = 0;
  for (const double square : row_norms_squared_) total += square;
  return {low, high, total / static_cast<double>(steps())};
}

Matrix VaryingBandedStrategy::encoder() const {
  const Eigen::Index n = dense_size(), p = static_cast<Eigen::Index>(bands());
  const Eigen::Map<const Matrix> rows(numbers_->entries.data(), n, p);
  Matrix encoder = Matrix::Zero(n, n);
  for (Eigen::Index t = 0; t < n; ++t)
    for (Eigen::Index m = 0; m < std::min(p, t + 1); ++m) encoder(t, t - m) = rows(t, m);
  return encoder;
}

Matrix VaryingBandedStrategy::decoder() const {
  const Matrix transposed_workload = workload().matrix().transpose();
  return encoder()
      .triangularView<Eigen::Lower>()
      .transpose()
      .solve(transposed_workload)
      .transpose();
}

DecoderForm VaryingBandedStrategy::decoder_form() const {
  return VaryingBandedDecoder{numbers_};
}

BandedProblem banded_problem(std::int64_t steps, std::optional<std::int64_t> bands,
                             Objective objective, const Participation& participation) {
  require_between(kBanded, "steps", steps, 1, kMaxBandedSteps);
  const bool is_repeated = participation.times_within(steps) > 1;
  const std::int64_t most = is_repeated ? participation.apart() : steps;
  const std::int64_t diagonals = require_between(
      kBanded, "bands", bands.value_or(std::min(kDefaultBands, most)), 1, kMaxBands);
  return {.steps = steps,
          .bands = std::min(diagonals, steps),
          .objective = objective,
          .participation = diagonals <= most ? participation : Participation::single()};
}

std::shared_ptr<const Strategy> banded_strategy(const Workload& workload, const Matrix& columns) {
  if (!workload.is_prefix()) return strategy_of_columns(kBanded, workload, columns);
  return std::make_shared<const VaryingBandedStrategy>(kBanded, workload.steps(), columns);
}

FamilyRow banded_family() {
  return {.info = {.name = kBanded,
                   .summary = "C of few bands with columns of norm 1, optimised",
                   .step_cost = "O(bands)",
                   .memory_cost = "bands vectors",
                   .parameters = "bands, objective",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = kMaxBandedSteps,
                   .is_causal = true},
          .makes = Makes::any,
          .make =
              [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
                const BandedProblem problem =
                    banded_problem(request.workload.steps(), parameters.bands,
                                   objective_of(parameters), request.participation);
                return banded_strategy(request.workload, find_banded_optimum(problem).columns);
              },
          .plan_lists = {"columns"},
          .from_plan =
              [](const StrategyPlan& plan, const Workload& workload) {
                return banded_strategy(workload, plan.columns(workload.steps(), kMaxBands));
              }};
}

StrategyParameters encoder_parameters(const Matrix& encoder) {
  constexpr const char* kFunction = "encoder_parameters";
  const Eigen::Index n = encoder.rows();
  require_count(kFunction, "encoder", "rows", n, 1, kMaxBands);
  require_length(kFunction, "encoder[0]", encoder.cols(), n);
  PlanNumbers columns{.name = "columns", .values = {}};
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < n; ++i) {
      const double entry = encoder(i, j);
      const std::string name = "encoder[" + to_text(size_of(i)) + "][" + to_text(size_of(j)) + "]";
      require_finite(kFunction, name, entry);
      if (i < j && entry != 0)
        fail_argument(kFunction, name, "0, as it is above the diagonal", to_text(entry));
      if (i == j) require_positive(kFunction, name, entry);
      if (i >= j) columns.values.push_back(entry);
    }
    columns.values.resize(static_cast<std::size_t>((j + 1) * n), 0.0);
  }
  return {.plan = std::make_shared<StrategyPlan>(StrategyPlan{.numbers = {std::move(columns)}})};
}

}  // namespace dpftrl
