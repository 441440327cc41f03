// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Search for the plan of a numerically optimised mechanism, with its errors and bounds.
///
/// ```cpp
/// const dpftrl::PlannerResult found = dpftrl::find_plan(
///     {.strategy = {.name = "blt", .steps = 64, .parameters = {.buffers = 2}}});
/// const auto strategy =
///     dpftrl::planned_strategy("blt", found.plan, dpftrl::Workload::prefix_sums(64));
/// assert(found.plan.list("decays").size() == 2);
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/catalogue.hpp"

namespace dpftrl {

struct PlannerOptions {
  /// A mechanism that has plans, and its parameters buffers, bands, objective. The error is
  /// reported for its participation.
  StrategyOptions strategy;
  /// False uses weights in closed form, whose mean error is a relative 10^-5 to 2 * 10^-4 above the
  /// least, and whose max error is about 2 * 10^-2 above it. Only for `optimal` and prefix sums.
  bool use_solver = true;
  /// Limit on the total number of solver iterations (`optimal`) or line searches (others), over all
  /// starts and rounds. Default: the optimiser's own.
  std::optional<std::int64_t> max_iterations = {};
  /// `optimal` only: relative gap between the bounds on the optimum at which to stop, above 0 and
  /// below 1. The loss from using few buffers is not included. Default: 1e-7; for dense matrices
  /// 1e-4 with the max objective and 5e-7, which is also the most, with the mean objective.
  std::optional<double> gap = {};
  /// `optimal` only, with the mean objective, one participation and a workload of has_optimum:
  /// weights rho_i of the steps, 2^-40 .. 2^40. The search then minimises sqrt(sum_i rho_i
  /// e_i^2 / steps), e_i the error of step i; the objective error and the lower bound refer to
  /// that. Empty: all 1.
  std::vector<double> query_weights = {};
};

struct PlannerProgress {
  std::int64_t iterations;
  /// 0 .. 1, never decreasing. For `optimal`, the progress to the requested gap on a logarithmic
  /// scale; for other mechanisms, whose remaining work is unknown, an estimate from the iterations.
  double fraction;
};

/// A plan with its errors and bounds.
struct PlannerResult {
  StrategyPlan plan;
  UnitError error;
  double objective_error;  ///< max, mean or weighted error, whichever was minimised
  /// Certified lower bound on that error for every factorization, if known: from the solver, or
  /// certified_lower_bound. It states the dimensions of records for which it holds.
  std::optional<LowerBound> lower_bound;
  /// Status of the search. not_converged: it used up its iterations. infeasible: it converged for
  /// prefix sums or for one participation instead, because there is no search for this workload and
  /// participation; or the result is not proved to be as close as requested. stopped: ended early,
  /// or weights in closed form, without a search.
  SolverStatus status;
  std::int64_t iterations;
};

/// Searches for a plan incrementally, so that the caller can do other work in between. Each call of
/// `advance` does one solver iteration for `optimal`, or a few line searches for other mechanisms.
/// To cancel, stop calling `advance`.
class Planner {
 public:
  /// @throws Error{invalid_argument} a mechanism without plans, a parameter that it does not accept
  ///         or that is out of range, use_solver = false or a gap for a mechanism other than
  ///         `optimal`, use_solver = false for a workload other than prefix sums, a gap or
  ///         max_iterations without a solver, query weights out of range or for a search that has
  ///         none; Error{wrong_length} not one query weight per step; Error{unsupported} `optimal`
  ///         for a workload with more steps than its errors are known for.
  explicit Planner(const PlannerOptions& options);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// Advances the search. Returns false when it has ended.
  bool advance();
  PlannerProgress progress() const;
  /// The plan that was found. Before the end, `optimal` gives the best one so far, with status
  /// `stopped`.
  /// @throws Error{unsupported} the search of another mechanism has not ended; or a workload too
  ///         close to singular, with a lower bound on its error in the message.
  /// @cost  O(steps * buffers) for the recursion of `optimal` and its errors.
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
