// SPDX-License-Identifier: Apache-2.0
#include "optimal/family_optimum.hpp"

#include <Eigen/Core>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "optimal/blt/blt_search.hpp"
#include "optimal/blt/normalized_rows.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMostSingleSteps = 4096;
/// Cells between a step and the nearer end: to compare starting points, and for the last part of
/// the search.
constexpr std::int64_t kCoarse = 24;
constexpr std::int64_t kFine = 128;

}  // namespace

double row_scale(std::span<const double> log_row_scales, std::int64_t steps, std::int64_t step) {
  require_length("row_scale", "log_row_scales", std::ssize(log_row_scales), kNumRowScaleKnots);
  require_between("row_scale", "steps", steps, 1, kMaxNumSteps);
  require_between("row_scale", "step", step, 0, steps - 1);
  const detail::KnotPosition at = detail::knot_position(steps, step);
  const std::size_t lower = static_cast<std::size_t>(at.lower);
  return std::exp((1 - at.share_of_upper) * log_row_scales[lower] +
                  at.share_of_upper * log_row_scales[lower + 1]);
}

namespace detail {
namespace {

Eigen::Index num_knots_of(const BltNormalizedProblem& problem) {
  return problem.scale_rows ? static_cast<Eigen::Index>(kNumRowScaleKnots) : 0;
}

Task<DescentResult> descend_normalized(BltNormalizedProblem problem, Vector start, Search& search,
                                       Effort effort) {
  const std::int64_t fine = problem.steps <= kMostSingleSteps ? problem.steps : kFine;
  const NormalizedRowErrors::Options options{
      .steps = problem.steps,
      .buffers = static_cast<std::int64_t>((start.size() - num_knots_of(problem)) / 2),
      .scale_rows = problem.scale_rows,
      .cells_in_distance = effort == Effort::full ? fine : kCoarse};
  NormalizedRowErrors rows(options);
  DescentResult found = co_await descend_rows(rows, problem.objective, start, search, effort);
  co_return found;
}

}  // namespace

Task<BltNormalizedOptimum> search_blt_normalized(BltNormalizedProblem problem,
                                                 const FamilyOptions& options, Pieces* pieces) {
  require_blt_problem("find_blt_normalized_optimum", problem.steps, problem.buffers, options);
  require_between("find_blt_normalized_optimum", "steps", problem.steps, 1, kMaxNormalizedBltSteps);
  Search search(options, pieces);
  const GrowOptions grow{
      .buffers = problem.buffers, .steps = problem.steps, .num_others = num_knots_of(problem)};
  const auto screen = [&](const Vector& start) {
    return descend_normalized(problem, start, search, Effort::screen);
  };
  const auto finish = [&](const DescentResult& leader) {
    return descend_normalized(problem, leader.point, search, Effort::full);
  };
  const DescentResult best = co_await grow_buffers(grow, search, screen, finish);
  const Vector roots = best.point.head(best.point.size() - grow.num_others);
  const Vector knots = best.point.tail(grow.num_others);
  BltNormalizedOptimum result;
  result.log_row_scales.assign(knots.data(), knots.data() + knots.size());
  BltParameters parameters = parameters_of(roots);
  result.search = search.report(best);
  result.decays = std::move(parameters.decays);
  result.weights = std::move(parameters.weights);
  result.inverse_decays = std::move(parameters.inverse_decays);
  result.errors = normalized_errors(BltPoint(roots), result.log_row_scales, problem.steps);
  co_return result;
}

}  // namespace detail

BltNormalizedOptimum find_blt_normalized_optimum(const BltNormalizedProblem& problem,
                                                 const FamilyOptions& options) {
  return detail::run(detail::search_blt_normalized(problem, options, nullptr));
}

}  // namespace dpftrl
