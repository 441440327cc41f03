// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "optimal/blt/blt_point.hpp"
#include "optimal/descent_search.hpp"
#include "optimal/family_optimum.hpp"

namespace dpftrl::detail {

/// Participations 0, b, 2b, ... within the horizon.
Repeats repeats_of(const Participation& participation, std::int64_t steps);

/// ln(error) of a BLT as a function of its log gaps, with the exact gradient.
class BltObjective {
 public:
  explicit BltObjective(const BltProblem& problem);
  double operator()(const Vector& log_gaps, Vector& gradient) const;
  FamilyErrors errors(const Vector& log_gaps) const;

 private:
  Repeats repeats_;
  Objective objective_;
};

/// Default starting point of a search.
Vector spread_roots(std::int64_t buffers, std::int64_t steps);
/// Points with one more pair of roots, which are next to each other, and with almost the same
/// error.
std::vector<Vector> with_one_more_buffer(const Vector& log_gaps);

Vector joined(const Vector& first, const Vector& second);

struct BltParameters {
  std::vector<double> decays;
  std::vector<double> weights;
  std::vector<double> inverse_decays;
};
BltParameters parameters_of(const Vector& log_gaps);

void require_blt_problem(const char* function, std::int64_t steps,
                         const std::optional<std::int64_t>& buffers, const FamilyOptions& options);

struct GrowOptions {
  std::optional<std::int64_t> buffers;
  std::int64_t steps;
  Eigen::Index num_others = 0;  ///< parameters after the log gaps, initially 0
};

/// Starting points of the search with `buffers` buffers: a spread one, and, if an optimum with one
/// fewer buffer is known, points derived from it.
inline std::vector<Vector> starts_of(const GrowOptions& options, std::int64_t buffers,
                                     const Vector& last) {
  const Vector others = Vector::Zero(options.num_others);
  std::vector<Vector> starts{joined(spread_roots(buffers, options.steps), others)};
  if (buffers == 1) return starts;
  const Vector roots = last.head(last.size() - options.num_others);
  for (const Vector& start : with_one_more_buffer(roots))
    starts.push_back(joined(start, last.tail(options.num_others)));
  return starts;
}

/// Adds one buffer at a time, each time from the spread point and from the last optimum with one
/// more pair of roots, until there are enough or, if their number is unset, one more gains less
/// than 0.1 %.
///
/// `screen` descends far enough to tell which start is best, and `finish` continues from there;
/// both return tasks.
template <class Screen, class Finish>
Task<DescentResult> grow_buffers(GrowOptions options, Search& search, Screen screen,
                                 Finish finish) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  DescentResult best{SolverStatus::not_converged, starts_of(options, 1, {}).front(), infinity,
                     infinity};
  const std::int64_t most = options.buffers.value_or(kMaxBuffers);
  const double least_gain = options.buffers ? 1e-12 : 1e-3;
  DescentResult last = best;
  for (std::int64_t d = 1; d <= most && !search.stopped(); ++d) {
    const std::vector<Vector> starts = starts_of(options, d, last.point);
    DescentResult leader = last;
    leader.value = infinity;
    for (const Vector& start : starts) {
      DescentResult now = co_await screen(start);
      if (now.value < leader.value) leader = std::move(now);
      if (search.stopped()) break;
    }
    if (!search.stopped()) leader = co_await finish(leader);
    const bool gains = leader.value < best.value - least_gain;
    if (gains) best = leader;
    if (!gains && !options.buffers) break;
    last = std::move(leader);
  }
  co_return best;
}

/// find_blt_optimum in pieces. `options` must outlive it.
Task<BltOptimum> search_blt(BltProblem problem, const FamilyOptions& options, Pieces* pieces);
/// find_blt_normalized_optimum in pieces.
Task<BltNormalizedOptimum> search_blt_normalized(BltNormalizedProblem problem,
                                                 const FamilyOptions& options, Pieces* pieces);

}  // namespace dpftrl::detail
