// SPDX-License-Identifier: Apache-2.0
#include "optimal/family_optimum.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>

#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"
#include "optimal/banded/banded_rows.hpp"
#include "optimal/banded/banded_search.hpp"
#include "optimal/banded/banded_toeplitz.hpp"
#include "optimal/blt/blt_search.hpp"
#include "optimal/descent_search.hpp"

namespace dpftrl {
namespace {

/// Least tolerance if the objective contains smoothed absolute values of inner products, which
/// nearly have kinks.
constexpr double kSignedTolerance = 1e-5;

void require_banded_problem(const char* function, const BandedProblem& problem,
                            std::int64_t max_steps, const FamilyOptions& options) {
  require_between(function, "steps", problem.steps, 1, max_steps);
  require_between(function, "bands", problem.bands, 1, problem.steps);
  problem.participation.require_horizon(problem.steps);
  detail::require_family_options(function, options);
}

/// True if the columns that one user can touch have no common row.
bool has_orthogonal_columns(const BandedProblem& problem) {
  return problem.participation.times_within(problem.steps) == 1 ||
         problem.participation.apart() >= problem.bands;
}

/// Converts parameters to coefficients. Free parameters are c_1, c_2, ... with c_0 = 1; otherwise
/// they are the logarithms of c_j - c_{j+1}, with 0 after the last coefficient, which makes c
/// positive and non-increasing.
std::vector<double> coefficients_of(const Vector& point, bool is_free) {
  std::vector<double> c(point.data(), point.data() + point.size());
  if (is_free) {
    c.insert(c.begin(), 1.0);
    return c;
  }
  double sum = 0;
  for (std::size_t j = c.size(); j-- > 0;) c[j] = sum += std::exp(c[j]);
  return c;
}

void pull_back_coefficients(const Vector& point, const Vector& by_coefficient, bool is_free,
                            Vector& gradient) {
  if (is_free) {
    gradient = by_coefficient.tail(by_coefficient.size() - 1);
    return;
  }
  double sum = 0;
  for (Eigen::Index j = 0; j < point.size(); ++j) {
    sum += by_coefficient(j);
    gradient(j) = std::exp(point(j)) * sum;
  }
}

/// Starts at the square root; free coefficients begin small where columns of one user would
/// overlap.
Vector starting_point(const BandedProblem& problem, bool is_free) {
  const std::int64_t bands = problem.bands;
  std::vector<double> f = square_root_coefficients(bands + 1);
  if (is_free && detail::has_signed_overlaps(problem))
    for (std::int64_t j = problem.participation.apart(); j < bands; ++j)
      f[static_cast<std::size_t>(j)] *= 1e-3;
  const Eigen::Index p = static_cast<Eigen::Index>(bands);
  Vector point(is_free ? p - 1 : p);
  for (Eigen::Index j = 0; j < point.size(); ++j) {
    const std::size_t k = static_cast<std::size_t>(j);
    point(j) = is_free ? f[k + 1] : std::log(f[k] - f[k + 1]);
  }
  return point;
}

/// Wraps `progress` for one of two consecutive searches, whose errors are for one participation.
std::function<bool(const FamilyProgress&)> continued(
    const std::function<bool(const FamilyProgress&)>& progress, std::int64_t evaluations_before,
    double sensitivity) {
  if (!progress) return {};
  return [&progress, evaluations_before, sensitivity](const FamilyProgress& now) {
    return progress({evaluations_before + now.evaluation, sensitivity * now.error});
  };
}

}  // namespace

namespace detail {

Task<BandedToeplitzOptimum> search_banded_toeplitz(BandedProblem problem,
                                                   const FamilyOptions& options, Pieces* pieces) {
  require_banded_problem("find_banded_toeplitz_optimum", problem, kMaxBandedToeplitzSteps, options);
  const bool is_free = has_orthogonal_columns(problem) || has_signed_overlaps(problem);
  BandedToeplitzError error(problem);
  BandedToeplitzOptimum result;
  result.coefficients = {1.0};
  if (problem.bands == 1) {
    result.search.status = SolverStatus::converged;
    result.errors = error.errors(result.coefficients);
    co_return result;
  }
  FamilyOptions used = options;
  if (has_signed_overlaps(problem)) used.tolerance = std::max(used.tolerance, kSignedTolerance);
  Search search(used, pieces);
  Vector by_coefficient(static_cast<Eigen::Index>(problem.bands));
  const SmoothFunction log_error = [&](const Vector& point, Vector& gradient) {
    const double value = error(coefficients_of(point, is_free), by_coefficient);
    pull_back_coefficients(point, by_coefficient, is_free, gradient);
    return value;
  };
  const Vector start = starting_point(problem, is_free);
  const DescentResult best = co_await search.descend(log_error, start);
  result.search = search.report(best);
  result.coefficients = coefficients_of(best.point, is_free);
  const double first = result.coefficients[0];
  for (double& c : result.coefficients) c /= first;
  result.errors = error.errors(result.coefficients);
  co_return result;
}

Task<BandedOptimum> search_banded(BandedProblem problem, const FamilyOptions& options,
                                  Pieces* pieces) {
  require_banded_problem("find_banded_optimum", problem, kMaxBandedSteps, options);
  if (problem.steps * problem.bands > kMaxBandedEntries)
    fail_argument("find_banded_optimum", "bands", "at most 2^24 / {steps}", to_text(problem.bands));
  if (!has_orthogonal_columns(problem))
    fail(ErrorCode::unsupported, "find_banded_optimum", "participation",
         "must have a separation of at least {bands} = " + to_text(problem.bands),
         to_text(problem.participation.apart()));

  // The search starts at the best Toeplitz coefficients, with columns scaled to norm 1.
  BandedProblem toeplitz = problem;
  toeplitz.participation = Participation::single();
  const double sensitivity =
      std::sqrt(static_cast<double>(problem.participation.times_within(problem.steps)));
  FamilyOptions coarse = options;
  coarse.tolerance = std::max(options.tolerance, 1e-3);
  coarse.progress = continued(options.progress, 0, sensitivity);
  const BandedToeplitzOptimum start = co_await search_banded_toeplitz(toeplitz, coarse, pieces);

  FamilyOptions rest = options;
  rest.max_total_iterations -= start.search.iterations;
  rest.progress = continued(options.progress, start.search.evaluations, sensitivity);
  Search search(rest, pieces);
  BandedRowErrors rows(problem.steps, problem.bands);
  const Vector from = rows.parameters_of(start.coefficients);
  DescentResult best{SolverStatus::converged, from, 0, 0};
  if (start.search.status == SolverStatus::stopped)
    best.status = SolverStatus::stopped;
  else if (from.size() > 0)
    best = co_await descend_rows(rows, problem.objective, from, search);

  const std::vector<double>& values = rows.values(best.point);
  double total = 0;
  for (const double value : values) total += value;
  const double largest = *std::max_element(values.begin(), values.end());
  const FamilyErrors errors{
      .sensitivity = sensitivity,
      .max_error = sensitivity * std::sqrt(largest),
      .mean_error = sensitivity * std::sqrt(total / static_cast<double>(problem.steps))};
  BandedOptimum result{
      .search = search.report(best), .columns = rows.columns_at(best.point), .errors = errors};
  result.search.iterations += start.search.iterations;
  result.search.evaluations += start.search.evaluations;
  co_return result;
}

}  // namespace detail

BandedToeplitzOptimum find_banded_toeplitz_optimum(const BandedProblem& problem,
                                                   const FamilyOptions& options) {
  return detail::run(detail::search_banded_toeplitz(problem, options, nullptr));
}

BandedOptimum find_banded_optimum(const BandedProblem& problem, const FamilyOptions& options) {
  return detail::run(detail::search_banded(problem, options, nullptr));
}

}  // namespace dpftrl
