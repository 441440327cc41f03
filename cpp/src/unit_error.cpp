// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/unit_error.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/bounds.hpp"
#include "dpftrl/error.hpp"
#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/sensitivity.hpp"
#include "dpftrl/strategy/optimal.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxSolvedSteps = std::int64_t{1} << 17;
constexpr std::int64_t kMaxDenselySolvedSteps = 128;
/// The bound is below the optimum by about the square of this.
const OptimumOptions kSolver = {.gap = 1e-3, .max_iterations = 60};

/// By a solver, for one participation or fixed epochs; 0: too long for one.
double solved_lower_bound(const Workload& workload, const Participation& participation,
                          Objective objective) {
  const std::int64_t n = workload.num_steps();
  const bool has_epochs = participation.kind() == Participation::Kind::fixed_epoch;
  const bool is_tridiagonal = has_optimum(workload, objective);
  if (n <= kMaxDenselySolvedSteps && (has_epochs || !is_tridiagonal))
    return find_dense_optimum(
               {.queries = workload.matrix(),
                .objective = objective,
                .participation = has_epochs ? participation : Participation::single()},
               kSolver)
        .lower_bound;
  if (is_tridiagonal && n <= kMaxSolvedSteps)
    return find_optimum(optimum_problem(workload, objective), kSolver).lower_bound;
  return 0;
}

}  // namespace

UnitError unit_error(const Strategy& strategy, const Participation& participation) {
  const Sensitivity distance = sensitivity(strategy, participation);
  const RowNorms rows = strategy.row_norms();
  return {distance, distance.value * std::sqrt(rows.max_squared),
          distance.value * std::sqrt(rows.mean_squared)};
}

std::vector<double> unit_error_per_step(const Strategy& strategy,
                                        const Participation& participation) {
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 26;
  if (strategy.num_steps() > kMaxSteps)
    fail(ErrorCode::unsupported, "unit_error_per_step: num_steps must be at most " +
                                     to_text(kMaxSteps) + ", got " + to_text(strategy.num_steps()));
  const double distance = sensitivity(strategy, participation).value;
  std::vector<double> errors(static_cast<std::size_t>(strategy.num_steps()));
  for (std::size_t t = 0; t < errors.size(); ++t)
    errors[t] = distance * std::sqrt(strategy.row_norm_squared(static_cast<std::int64_t>(t)));
  return errors;
}

std::optional<double> certified_lower_bound(const Strategy& strategy,
                                            const Participation& participation,
                                            Objective objective) {
  const Workload& workload = strategy.workload();
  double bound = strategy.certified_lower_bound(objective, participation);
  if (bound == 0) bound = solved_lower_bound(workload, participation, objective);
  if (bound == 0 && objective == Objective::max)
    bound = solved_lower_bound(workload, participation, Objective::mean);
  bound = std::max(bound, error_lower_bound(workload).value_or(0));
  return bound > 0 ? std::optional(bound) : std::nullopt;
}

}  // namespace dpftrl
