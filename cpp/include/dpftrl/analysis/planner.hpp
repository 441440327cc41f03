// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Search for the plan of a numerically optimised mechanism, its errors and bounds.
///
/// ```cpp
/// const dpftrl::PlannerResult found = dpftrl::find_plan(
///     {.strategy = {.name = "blt", .num_steps = 64, .parameters = {.num_buffers = 2}}});
/// const auto strategy =
///     dpftrl::planned_strategy("blt", found.plan, dpftrl::Workload::prefix_sums(64));
/// assert(found.plan.list("decays").size() == 2);
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/catalogue.hpp"

namespace dpftrl {

struct PlannerOptions {
  /// One of the mechanisms that have plans, and its parameters num_buffers, num_bands, objective.
  /// The error reported is that under its participation.
  StrategyOptions strategy;
  /// `optimal`: false takes weights in closed form, 10^-5 to 2 * 10^-4 above the least mean error,
  /// about 2 * 10^-2 above the least maximum.
  bool use_solver = true;
  /// Total number of iterations of the solvers of `optimal`, or of line searches of the others,
  /// over all their starts and rounds. Unset: as many as the optimiser's own options say.
  std::optional<std::int64_t> max_iterations = {};
  /// `optimal`: stop when the bounds on the optimum are this close, relative, above 0 and below 1.
  /// The loss from using few buffers comes on top. Unset: 1e-7, dense matrices 1e-4.
  std::optional<double> gap = {};
  /// `optimal`, mean objective, one participation, workloads of has_optimum: rho_i, 2^-40 .. 2^40,
  /// one a step. The search minimises sqrt(sum_i rho_i e_i^2 / num_steps), e_i the error of step i;
  /// the objective error and the lower bound refer to that. Empty: all 1.
  std::vector<double> query_weights = {};
};

struct PlannerProgress {
  std::int64_t iterations;
  /// 0 .. 1, never less than before: for `optimal` the part done of the way to the requested gap,
  /// on a logarithmic scale; for the others, which do not know how far they have to go, a guess
  /// from the iterations.
  double fraction;
};

/// A plan with its errors and bounds.
struct PlannerResult {
  StrategyPlan plan;
  UnitError error;
  double objective_error;  ///< the one of the two errors that was minimised, or the weighted one
  /// Certified lower bound on that error for every factorization, if one is known: from the solver,
  /// or certified_lower_bound. It states for which dimensions of records it holds.
  std::optional<LowerBound> lower_bound;
  /// Status of the search. not_converged: it used up its iterations. infeasible: it converged for
  /// prefix sums or for one participation instead, because this workload and participation have no
  /// search; or the result is not proved to be as close as requested. stopped: ended early, or
  /// weights in closed form, without a search.
  SolverStatus status;
  std::int64_t iterations;
};

/// Searches for a plan in pieces, so that the caller can do something else in between: one
/// iteration of the solvers of `optimal`, or a few line searches of the others, at a time. To give
/// up, stop calling `advance`.
class Planner {
 public:
  /// @throws Error{invalid_argument} a mechanism without plans, a parameter it does not take or
  ///         that is out of range, use_solver = false or a gap of another mechanism than
  ///         `optimal`, a gap or max_iterations without a solver, query weights out of
  ///         range or not for this search; Error{wrong_length} query weights; Error{unsupported}
  ///         `optimal` for a workload of so many steps that its errors are not known.
  explicit Planner(const PlannerOptions& options);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// False when there is nothing left to do.
  bool advance();
  PlannerProgress progress() const;
  /// Before the end, `optimal` gives the best so far, with status `stopped`.
  /// @throws Error{unsupported} the search of another mechanism has not ended; or a workload too
  ///         close to singular, whose least error the message states.
  /// @cost  O(num_steps * num_buffers) for the recursion and its errors.
  PlannerResult result() const;

 private:
  class Search;
  class OptimumSearch;
  template <class Given, class Solver>
  class MatrixSearch;
  class FamilySearches;
  struct Made {
    StrategyPlan plan;
    std::shared_ptr<const Strategy> strategy;
  };
  static std::unique_ptr<Search> matrix_search(const PlannerOptions& options);
  Made make_planned(const Workload& workload) const;

  PlannerOptions options_;
  std::unique_ptr<Search> search_;
};

/// Runs the whole search at once.
PlannerResult find_plan(const PlannerOptions& options);

}  // namespace dpftrl
