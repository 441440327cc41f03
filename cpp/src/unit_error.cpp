// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/unit_error.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "dpftrl/bounds.hpp"
#include "dpftrl/error.hpp"
#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/sensitivity.hpp"
#include "dpftrl/strategy/dense.hpp"
#include "dpftrl/strategy/optimal.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxSolvedSteps = std::int64_t{1} << 18;
/// Beyond so many steps three evaluations have to do: what they prove is 10^-5 below the optimum.
constexpr std::int64_t kMaxWellSolvedSteps = std::int64_t{1} << 14;
constexpr std::int64_t kMaxMomentumSolvedSteps = 256;
constexpr std::int64_t kMaxDenselySolvedSteps = 128;
/// The bound is below the optimum by about the square of this.
constexpr double kGap = 1e-3;

/// Of prefix sums and the like, or (mean) with momentum, whatever the participation; 0: none.
double solved_lower_bound(const Workload& workload, Objective objective) {
  const std::int64_t n = workload.num_steps();
  if (has_optimum(workload, objective)) {
    if (n > kMaxSolvedSteps) return 0;
    return find_optimum(optimum_problem(workload, objective),
                        {.gap = kGap, .max_iterations = n <= kMaxWellSolvedSteps ? 60 : 3})
        .lower_bound;
  }
  const bool has_momentum = workload.momentum() != 0 &&
                            std::ranges::all_of(workload.rates(), [](double x) { return x > 0; });
  if (!has_momentum || objective == Objective::max || n > kMaxMomentumSolvedSteps) return 0;
  return find_optimum({.num_steps = n,
                       .objective = Objective::mean,
                       .decay = workload.decay(),
                       .momentum = workload.momentum(),
                       .rates = workload.rates()},
                      {.gap = kGap, .max_iterations = 5})
      .lower_bound;
}

/// Fixed epochs that are allowed over all steps or, if the largest error is meant, over the first
/// ones; single if there are none.
struct Epochs {
  Participation participation = Participation::single();
  std::int64_t num_steps;
};

Epochs epochs_within(std::int64_t num_steps, const Participation& participation,
                     Objective objective) {
  const std::int64_t b = participation.separation();
  const std::int64_t k = std::min(participation.max_participations(), num_steps / b);
  const bool has_epochs = k > 1 && (objective == Objective::max || k * b == num_steps);
  if (!has_epochs) return {.num_steps = num_steps};
  return {Participation::fixed_epoch({.num_epochs = k, .epoch_length = b}), k * b};
}

/// Among the patterns of a least separation: those of as many participations as far apart as the
/// horizon lets them be. Their bound can be the better one.
Participation spread(std::int64_t num_steps, const Participation& participation) {
  const std::int64_t k = participation.max_participations();
  if (participation.kind() != Participation::Kind::min_separation ||
      num_steps / k <= participation.separation())
    return participation;
  return Participation::min_separation({.max_participations = k, .min_separation = num_steps / k});
}

/// By dense matrices, for fixed epochs or where the former has nothing; 0: too long.
double densely_solved_lower_bound(const Workload& workload, const Epochs& epochs,
                                  Objective objective) {
  if (epochs.num_steps > kMaxDenselySolvedSteps) return 0;
  const bool is_single = epochs.participation == Participation::single();
  if (is_single && has_optimum(workload, objective)) return 0;
  return find_dense_optimum({.queries = workload.leading(epochs.num_steps).matrix(),
                             .objective = objective,
                             .participation = epochs.participation},
                            {.gap = kGap, .max_iterations = 20})
      .lower_bound;
}

/// Of the largest error over the first steps, which is no larger than that over all of them.
double leading_lower_bound(const Workload& workload) {
  const std::int64_t n = std::min(workload.num_steps(), kMaxDenselySolvedSteps);
  return error_lower_bound(workload.leading(n), Participation::single()).value_or(0);
}

std::optional<LowerBound> best_of(std::initializer_list<LowerBound> bounds) {
  const LowerBound best = std::ranges::max(bounds, {}, &LowerBound::value);
  return best.value > 0 ? std::optional(best) : std::nullopt;
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

std::string_view to_string(LowerBoundMethod method) {
  if (method == LowerBoundMethod::dual) return "dual";
  return method == LowerBoundMethod::dense_dual ? "dense dual" : "schatten";
}

std::optional<LowerBound> certified_lower_bound(const Workload& workload,
                                                const Participation& participation,
                                                Objective objective) {
  const Epochs epochs = epochs_within(workload.num_steps(), participation, objective);
  double dense = densely_solved_lower_bound(workload, epochs, objective);
  const Participation wide = spread(workload.num_steps(), participation);
  if (wide != participation) {
    const Epochs far = epochs_within(workload.num_steps(), wide, objective);
    dense = std::max(dense, densely_solved_lower_bound(workload, far, objective));
  }
  // Epochs of the first steps may prove less than one participation in all of them.
  const bool is_settled = dense > 0 && epochs.participation == Participation::single();
  double solved = is_settled ? 0 : solved_lower_bound(workload, objective);
  if (!is_settled && solved == 0 && objective == Objective::max)
    solved = solved_lower_bound(workload, Objective::mean);
  double schatten = std::max(error_lower_bound(workload, participation).value_or(0),
                             error_lower_bound(workload, wide).value_or(0));
  if (schatten == 0 && objective == Objective::max) schatten = leading_lower_bound(workload);
  return best_of({{dense, LowerBoundMethod::dense_dual},
                  {solved, LowerBoundMethod::dual},
                  {schatten, LowerBoundMethod::schatten}});
}

std::optional<LowerBound> certified_lower_bound(const Strategy& strategy,
                                                const Participation& participation,
                                                Objective objective) {
  const double own = strategy.certified_lower_bound(objective, participation);
  const bool is_dense = dynamic_cast<const DenseStrategy*>(&strategy) != nullptr;
  const auto other = [&] {
    return certified_lower_bound(strategy.workload(), participation, objective);
  };
  if (own == 0) return other();
  const LowerBound bound{own, is_dense ? LowerBoundMethod::dense_dual : LowerBoundMethod::dual};
  // What is known of one participation says little about more; and dual variables need not be good
  // ones, which long horizons are trusted to have.
  const std::int64_t n = strategy.num_steps();
  const bool is_repeated = participation.max_participations_within(n) > 1;
  if (!is_repeated && (is_dense || n > kMaxWellSolvedSteps)) return bound;
  return best_of({bound, other().value_or(bound)});
}

}  // namespace dpftrl
