// SPDX-License-Identifier: Apache-2.0
#include "optimal/family_optimum.hpp"

#include <Eigen/Core>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "optimal/blt/blt_point.hpp"
#include "optimal/blt/blt_search.hpp"
#include "optimal/descent_search.hpp"

namespace dpftrl {
namespace detail {

Repeats repeats_of(const Participation& participation, std::int64_t steps) {
  return {.steps = steps,
          .num_participations = participation.times_within(steps),
          .separation = participation.apart()};
}

BltObjective::BltObjective(const BltProblem& problem)
    : repeats_(repeats_of(problem.participation, problem.steps)), objective_(problem.objective) {}

double BltObjective::operator()(const Vector& log_gaps, Vector& gradient) const {
  const BltPoint point(log_gaps);
  if (!point.is_finite) return std::numeric_limits<double>::infinity();
  const auto rows =
      objective_ == Objective::max ? detail::largest_row_squared : detail::mean_row_squared;
  BltSlopes slopes(point.buffers);
  const double sensitivity = sensitivity_squared(point, repeats_, nullptr, 0);
  const double row = rows(point, repeats_.steps, nullptr, 0);
  (void)sensitivity_squared(point, repeats_, &slopes, 1 / (2 * sensitivity));
  (void)rows(point, repeats_.steps, &slopes, 1 / (2 * row));
  pull_back(point, slopes, gradient);
  return (std::log(sensitivity) + std::log(row)) / 2;
}

FamilyErrors BltObjective::errors(const Vector& log_gaps) const {
  const BltPoint point(log_gaps);
  const double sensitivity = std::sqrt(sensitivity_squared(point, repeats_, nullptr, 0));
  const std::int64_t n = repeats_.steps;
  return {.sensitivity = sensitivity,
          .max_error = sensitivity * std::sqrt(largest_row_squared(point, n, nullptr, 0)),
          .mean_error = sensitivity * std::sqrt(mean_row_squared(point, n, nullptr, 0))};
}

Vector spread_roots(std::int64_t buffers, std::int64_t steps) {
  // Spaces heights -ln(1 - root) evenly between 0 and ln n + 1; at height ln n a decay lasts for
  // the horizon.
  const double top = std::log(static_cast<double>(steps)) + 1;
  const Eigen::Index size = static_cast<Eigen::Index>(2 * buffers);
  return Vector::Constant(size, std::log(top / static_cast<double>(size + 1)));
}

std::vector<Vector> with_one_more_buffer(const Vector& log_gaps) {
  // A pair of nearly equal roots changes almost nothing; such a pair is placed in the middle of
  // each gap between pairs in turn, and above all of them.
  std::vector<Vector> starts;
  for (Eigen::Index at = 0; at <= log_gaps.size(); at += 2) {
    const bool on_top = at == log_gaps.size();
    const double gap = on_top ? 1 : std::exp(log_gaps(at));
    Vector start(log_gaps.size() + 2);
    start.head(at) = log_gaps.head(at);
    start(at) = std::log(gap / 2);
    start(at + 1) = std::log(gap / 16);
    if (!on_top) {
      start(at + 2) = std::log(gap * 7 / 16);
      start.tail(log_gaps.size() - at - 1) = log_gaps.tail(log_gaps.size() - at - 1);
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

Vector joined(const Vector& first, const Vector& second) {
  Vector result(first.size() + second.size());
  result << first, second;
  return result;
}

BltParameters parameters_of(const Vector& log_gaps) {
  const BltPoint point(log_gaps);
  BltParameters result;
  for (Eigen::Index i = 0; i < point.buffers; ++i) {
    result.decays.push_back(1 - point.decay(i));
    result.weights.push_back(point.weight(i));
    result.inverse_decays.push_back(1 - point.inverse(i));
  }
  return result;
}

void require_blt_problem(const char* function, std::int64_t steps,
                         const std::optional<std::int64_t>& buffers, const FamilyOptions& options) {
  require_between(function, "steps", steps, 1, kMaxNumSteps);
  if (buffers) require_between(function, "buffers", *buffers, 1, kMaxBuffers);
  require_family_options(function, options);
}

namespace {

Task<DescentResult> as_it_is(DescentResult leader) {
  co_return leader;
}

}  // namespace

Task<BltOptimum> search_blt(BltProblem problem, const FamilyOptions& options, Pieces* pieces) {
  require_blt_problem("find_blt_optimum", problem.steps, problem.buffers, options);
  problem.participation.require_horizon(problem.steps);
  const BltObjective objective(problem);
  Search search(options, pieces);
  const SmoothFunction log_error = [&](const Vector& point, Vector& gradient) {
    return objective(point, gradient);
  };
  const GrowOptions grow{.buffers = problem.buffers, .steps = problem.steps};
  const auto screen = [&](const Vector& start) { return search.descend(log_error, start); };
  const DescentResult best = co_await grow_buffers(grow, search, screen, as_it_is);
  BltParameters parameters = parameters_of(best.point);
  BltOptimum result{.search = search.report(best),
                    .decays = std::move(parameters.decays),
                    .weights = std::move(parameters.weights),
                    .inverse_decays = std::move(parameters.inverse_decays),
                    .errors = objective.errors(best.point)};
  co_return result;
}

}  // namespace detail

BltOptimum find_blt_optimum(const BltProblem& problem, const FamilyOptions& options) {
  return detail::run(detail::search_blt(problem, options, nullptr));
}

}  // namespace dpftrl
