// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "analysis/diagonal_blocks.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/optimal/dense_optimum.hpp"
#include "optimal/epochs/epoch_optimum.hpp"

namespace dpftrl {
namespace {

/// Covers the rounding of the sums of squares over blocks.
constexpr double kLeastErrorRoundDown = 1 - 0x1p-30;
/// Relative gap of the dual; the bound is below the optimum by about its square.
constexpr double kGap = 1e-3;
constexpr std::int64_t kMaxSolvedSteps = std::int64_t{1} << 18;
/// Beyond this many steps, only three evaluations are made; the bound they prove is 10^-5 below the
/// optimum.
constexpr std::int64_t kMaxWellSolvedSteps = std::int64_t{1} << 14;
/// Largest ratio of rates to each other or to 1 that double precision can handle.
constexpr double kMaxRateRatio = 1e12;
/// With momentum, limit on steps times iterations; at least three iterations are made.
constexpr std::int64_t kMomentumStepsInAll = 40960;
constexpr std::int64_t kMaxMomentumIterations = 40;
constexpr std::int64_t kMaxDenselySolvedSteps = 128;
constexpr std::int64_t kMaxDenseIterations = 20;
/// Beyond kMaxDenselySolvedSteps steps in all, three evaluations, started from the duals of fewer
/// steps, prove a bound 10^-4 below the optimum; the proof takes as long as the search.
constexpr std::int64_t kEpochIterations = 3;
constexpr double kEpochGap = 1e-2;
/// Largest n k^2 for n steps in k epochs, which takes a few seconds.
constexpr std::int64_t kMaxEpochSize = std::int64_t{1} << 22;
/// Limit on the iterations for each block if there are many blocks.
constexpr std::int64_t kFewDenseIterations = 5;
/// Longest horizon of workloads whose blocks differ from each other.
constexpr std::int64_t kMaxDenseBlocksSteps = 4096;
constexpr std::int64_t kMaxMomentumBlocksSteps = std::int64_t{1} << 17;

/// Solver that finds the dual for one participation.
enum class Solver { linear, momentum, dense };

Solver solver_for(const Workload& workload) {
  const bool has_sums =
      workload.kind() != Workload::Kind::window && workload.kind() != Workload::Kind::matrix;
  if (!has_sums) return Solver::dense;
  if (workload.momentum() == 0) return Solver::linear;
  const bool is_positive = std::ranges::all_of(workload.rates(), [](double x) { return x > 0; });
  return is_positive ? Solver::momentum : Solver::dense;
}

std::int64_t longest_block(Solver solver) {
  if (solver == Solver::linear) return kMaxSolvedSteps;
  return solver == Solver::momentum ? kMaxMomentumSteps : kMaxDenselySolvedSteps;
}

/// True if bounds of blocks are affordable; distinct blocks take too long beyond these limits.
bool has_blocks(Solver solver, const Workload& workload) {
  if (workload.is_toeplitz() || solver == Solver::linear) return true;
  return workload.steps() <=
         (solver == Solver::momentum ? kMaxMomentumBlocksSteps : kMaxDenseBlocksSteps);
}

double densely_solved_lower_bound(const Workload& workload, Objective objective,
                                  std::int64_t max_iterations) {
  return find_dense_optimum({.queries = workload.matrix(), .objective = objective},
                            {.gap = kGap, .max_iterations = max_iterations})
      .lower_bound;
}

/// Bound by find_optimum, for at most as many steps as the solver supports. For rates,
/// it solves only for the mean error.
double solved_lower_bound(const Workload& workload, Objective objective, bool has_momentum) {
  const std::int64_t n = workload.steps();
  OptimumProblem problem{.steps = n,
                         .objective = workload.is_toeplitz() ? objective : Objective::mean,
                         .decay = workload.decay(),
                         .momentum = workload.momentum(),
                         .rates = workload.rates()};
  // Without momentum, a negative rate only flips the sign of a column, which changes no norm.
  double least = 1, largest = 1;
  for (double& rate : problem.rates) {
    rate = std::abs(rate);
    least = std::min(least, rate);
    largest = std::max(largest, rate);
  }
  if (!(largest <= kMaxRateRatio * least)) return 0;
  OptimumOptions options{.gap = kGap, .max_iterations = n <= kMaxWellSolvedSteps ? 60 : 3};
  if (has_momentum)
    options.max_iterations =
        std::clamp<std::int64_t>(kMomentumStepsInAll / n, 3, kMaxMomentumIterations);
  const double bound = find_optimum(problem, options).lower_bound;
  if (problem.objective == objective || n == 1) return bound;
  // The largest error is at least the mean error over the first half of the steps, which can give a
  // better bound.
  return std::max(bound, solved_lower_bound(workload.leading(n / 2), objective, has_momentum));
}

/// Bound from the diagonal entries, that is, from blocks of one step.
double diagonal_lower_bound(const std::vector<double>& diagonal, Objective objective) {
  double largest = 0, sum = 0;
  for (const double entry : diagonal) {
    largest = std::max(largest, std::abs(entry));
    sum += entry * entry / static_cast<double>(diagonal.size());
  }
  return objective == Objective::max ? largest : std::sqrt(sum) * kLeastErrorRoundDown;
}

/// Bound for one participation and any workload. The rows of B and the columns of C of a diagonal
/// block of A factorize that block, so their error is at least the block's least error.
LowerBound block_lower_bound(const Workload& workload, Objective objective) {
  const std::int64_t n = workload.steps();
  const Solver solver = solver_for(workload);
  const auto method =
      solver == Solver::dense ? LowerBoundMethod::dense_dual : LowerBoundMethod::dual;
  const std::int64_t size = std::min(n, longest_block(solver));
  // The closed-form bound is better.
  if (workload.is_prefix() && n > size) return {0, method};
  if (!has_blocks(solver, workload))
    return {diagonal_lower_bound(workload.rates(), objective), LowerBoundMethod::schatten};
  const bool has_many = !workload.is_toeplitz() && n > 4 * size;
  double largest = 0, sum = 0;
  detail::visit_diagonal_blocks(workload, size, [&](const Workload& block, std::int64_t times) {
    const double bound =
        solver == Solver::dense
            ? densely_solved_lower_bound(block, objective,
                                         has_many ? kFewDenseIterations : kMaxDenseIterations)
            : solved_lower_bound(block, objective, solver == Solver::momentum);
    const std::int64_t steps = times * block.steps();
    largest = std::max(largest, bound);
    sum += bound * bound * (static_cast<double>(steps) / static_cast<double>(n));
  });
  if (objective == Objective::mean) return {std::sqrt(sum) * kLeastErrorRoundDown, method};
  // Bound on the largest error itself, over as many leading steps as possible.
  const bool has_other = !workload.is_toeplitz() && solver != Solver::dense;
  const double dense =
      has_other ? densely_solved_lower_bound(workload.leading(std::min(n, kMaxDenselySolvedSteps)),
                                             objective, kMaxDenseIterations)
                : 0;
  if (dense > largest) return {dense, LowerBoundMethod::dense_dual};
  return {largest, method};
}

/// Fixed epochs within the participation, over all steps or, for the largest error, over the
/// leading steps; single participation if no epochs fit.
struct Epochs {
  Participation participation = Participation::single();
  std::int64_t steps;
};

Epochs epochs_within(std::int64_t steps, const Participation& participation, Objective objective) {
  const std::int64_t b = participation.apart();
  const std::int64_t k = std::min(participation.times(), steps / b);
  const bool has_epochs = k > 1 && (objective == Objective::max || k * b == steps);
  if (!has_epochs) return {.steps = steps};
  return {Participation::fixed_epoch({.epochs = k, .epoch_length = b}), k * b};
}

/// For a minimum separation: as many participations, as far apart as the horizon allows, which can
/// give a better bound.
Participation spread(std::int64_t steps, const Participation& participation) {
  const std::int64_t k = participation.times();
  if (participation.kind() != Participation::Kind::min_separation ||
      steps / k <= participation.apart())
    return participation;
  return Participation::min_separation({.times = k, .apart = steps / k});
}

/// Bound for fixed epochs of prefix sums and weight decay; else 0.
LowerBound long_epochs_lower_bound(const Workload& workload, const Epochs& epochs,
                                   Objective objective) {
  const std::int64_t k = epochs.participation.times();
  const std::int64_t b = epochs.participation.apart();
  if (!has_epoch_optimum(workload, k, b) || epochs.steps > kMaxEpochSize / (k * k))
    return {0, LowerBoundMethod::dual};
  const EpochOptimum optimum = find_epoch_optimum(
      {.epochs = k, .epoch_length = b, .objective = objective, .decay = workload.decay()},
      {.gap = kEpochGap, .max_iterations = kEpochIterations});
  return {.value = optimum.lower_bound,
          .method = LowerBoundMethod::dual,
          .min_dimension = least_dimension_of_duals(k),
          .every_dimension = optimum.every_dimension_bound};
}

/// Bound for fixed epochs, by dense matrices if the horizon is short; else 0.
LowerBound epochs_lower_bound(const Workload& workload, const Epochs& epochs, Objective objective) {
  if (epochs.participation == Participation::single()) return {0, LowerBoundMethod::dense_dual};
  if (epochs.steps > kMaxDenselySolvedSteps)
    return long_epochs_lower_bound(workload, epochs, objective);
  const DenseOptimum optimum =
      find_dense_optimum({.queries = workload.leading(epochs.steps).matrix(),
                          .objective = objective,
                          .participation = epochs.participation},
                         {.gap = kGap, .max_iterations = kMaxDenseIterations});
  return {.value = optimum.lower_bound,
          .method = LowerBoundMethod::dense_dual,
          .min_dimension = least_dimension_of_duals(epochs.participation.times()),
          .every_dimension = optimum.every_dimension_bound};
}

std::optional<LowerBound> best_of(std::initializer_list<LowerBound> bounds) {
  std::optional<LowerBound> best;
  for (const LowerBound& bound : bounds)
    if (bound.value > 0) best = better_bound(best, bound);
  return best;
}

}  // namespace

std::string_view to_string(LowerBoundMethod method) {
  if (method == LowerBoundMethod::dual) return "dual";
  return method == LowerBoundMethod::dense_dual ? "dense dual" : "schatten";
}

std::optional<LowerBound> better_bound(const std::optional<LowerBound>& a,
                                       const std::optional<LowerBound>& b) {
  if (!a || !b) return a ? a : b;
  // If two values are equal, the bound that holds for more records is better.
  const bool is_second =
      b->value > a->value || (b->value == a->value && b->min_dimension < a->min_dimension);
  LowerBound better = is_second ? *b : *a;
  better.every_dimension = std::max(a->every_dimension, b->every_dimension);
  return better;
}

std::optional<LowerBound> certified_lower_bound(const Workload& workload,
                                                const Participation& participation,
                                                Objective objective) {
  const Epochs epochs = epochs_within(workload.steps(), participation, objective);
  const LowerBound near = epochs_lower_bound(workload, epochs, objective);
  LowerBound spread_out = near;
  const Participation wide = spread(workload.steps(), participation);
  if (wide != participation) {
    const Epochs far = epochs_within(workload.steps(), wide, objective);
    spread_out = epochs_lower_bound(workload, far, objective);
  }
  const double schatten =
      std::max(error_lower_bound(workload, participation), error_lower_bound(workload, wide));
  // Epochs over the first steps may prove less than one participation over all steps.
  return best_of({near,
                  spread_out,
                  block_lower_bound(workload, objective),
                  {schatten, LowerBoundMethod::schatten}});
}

LeastError least_error(const Workload& workload, const Participation& participation, double gap) {
  constexpr const char* kFunction = "least_error";
  constexpr std::int64_t kMaxIterations = 200;
  if (participation.kind() != Participation::Kind::fixed_epoch)
    fail(ErrorCode::unsupported, kFunction, "participation", "must be in fixed epochs",
         participation.name());
  participation.require_horizon(workload.steps());
  const std::int64_t k = participation.times(), b = participation.apart();
  require_between(kFunction, "epochs", k, 1, kMaxEpochOptimumEpochs);
  const std::int64_t limit = kMaxEpochOptimumSize / (k * k);
  if (workload.steps() > limit)
    fail(ErrorCode::unsupported, kFunction, "steps",
         "must be at most " + to_text(limit) + " for " + to_text(k) +
             " epochs; error and compare have lower bounds there",
         to_text(workload.steps()));
  if (!has_epoch_optimum(workload, k, b))
    fail(ErrorCode::unsupported, kFunction, "workload",
         "must be prefix sums, with or without weight decay", workload.name());
  const EpochOptimum optimum =
      find_epoch_optimum({.epochs = k, .epoch_length = b, .decay = workload.decay()},
                         {.gap = gap, .max_iterations = kMaxIterations});
  return {optimum.lower_bound, optimum.upper_bound, least_dimension_of_duals(k)};
}

std::optional<LowerBound> certified_lower_bound(const Strategy& strategy,
                                                const Participation& participation,
                                                Objective objective) {
  // A run that lasts to the end is a single contribution, so removing a person can move the
  // measurements at least as far as one contribution does.
  if (const auto& pattern = participation.pattern())
    return pattern->neighbours == Neighbours::zero_out
               ? certified_lower_bound(strategy, Participation::single(), objective)
               : std::nullopt;
  const Strategy::OwnBound own = strategy.certified_lower_bound(objective, participation);
  const auto other = [&] {
    return certified_lower_bound(strategy.workload(), participation, objective);
  };
  if (own.value == 0) return other();
  const LowerBound bound{
      .value = own.value,
      .method = own.is_of_dense_search ? LowerBoundMethod::dense_dual : LowerBoundMethod::dual,
      .min_dimension = own.min_dimension,
      .every_dimension = own.every_dimension};
  // A bound for one participation says little about several. Dual variables need not be close to
  // optimal; for long horizons they are assumed to be.
  const std::int64_t n = strategy.steps();
  const bool is_repeated = participation.times_within(n) > 1;
  if (!is_repeated && (own.is_of_dense_search || n > kMaxWellSolvedSteps)) return bound;
  return best_of({bound, other().value_or(bound)});
}

}  // namespace dpftrl
