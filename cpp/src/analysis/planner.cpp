// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/analysis/planner.hpp"

#include <algorithm>
#include <cmath>

#include "base/gap_progress.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "optimal/banded/banded_search.hpp"
#include "optimal/blt/blt_search.hpp"
#include "optimal/epochs/epoch_optimum.hpp"
#include "optimal/family_optimum.hpp"
#include "strategy/dense.hpp"
#include "strategy/toeplitz/banded.hpp"
#include "strategy/toeplitz/blt.hpp"
#include "strategy/toeplitz/blt_scaled.hpp"
#include "strategy/varying_bands.hpp"

namespace dpftrl {
namespace {

/// The gap may exceed the requested one by this factor, for the rounding of errors and bounds.
constexpr double kGapTolerance = 1.1;

Objective objective_of(const PlannerOptions& options) {
  return objective_of(options.strategy.parameters);
}

Workload workload_of(const PlannerOptions& options) {
  return options.strategy.workload.value_or(Workload::prefix_sums(options.strategy.steps));
}

void require_searchable(const PlannerOptions& options) {
  const std::string& name = options.strategy.name;
  const StrategyParameters& given = options.strategy.parameters;
  require_strategy_options(options.strategy);
  if (!has_plans(name))
    fail_argument("planner", "strategy", "one that a search finds: " + names_with_plans(),
                  "\"" + name + "\"");
  const std::string_view stray = given.plan                ? "plan"
                                 : !given.decays.empty()   ? "decays"
                                 : !given.weights.empty()  ? "weights"
                                 : given.epoch_length      ? "epoch_length"
                                 : given.normalize_columns ? "normalize_columns"
                                                           : "";
  if (!stray.empty())
    fail(ErrorCode::invalid_argument, "planner", stray, "cannot be given for a search");
  if (!options.use_solver && name != OptimalStrategy::kName)
    fail(ErrorCode::invalid_argument, "planner", "use_solver",
         "must be used for " + name + ", which has no closed form");
  if (!options.use_solver && (options.max_iterations || options.gap))
    fail(ErrorCode::invalid_argument, "planner", options.gap ? "gap" : "max_iterations",
         "cannot be given without a solver: the weights in closed form take no search");
  if (!options.use_solver && !workload_of(options).is_prefix())
    fail(ErrorCode::invalid_argument, "planner", "workload", "must be prefix sums without a solver",
         workload_of(options).name());
  if (options.gap && name != OptimalStrategy::kName)
    fail(ErrorCode::invalid_argument, "planner", "gap",
         "cannot be given for " + name + ": only that of optimal is proved");
  if (options.gap && !(*options.gap > 0 && *options.gap < 1))
    fail_argument("planner", "gap", "above 0 and below 1", to_text(*options.gap));
}

void require_query_weights(const PlannerOptions& options) {
  const std::vector<double>& weights = options.query_weights;
  if (weights.empty()) return;
  const StrategyOptions& wanted = options.strategy;
  require_length("planner", "query_weights", std::ssize(weights), wanted.steps);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] >= 0x1p-40 && weights[i] <= 0x1p40))
      fail_argument("planner", "query_weights[" + std::to_string(i) + "]", "between 2^-40 and 2^40",
                    to_text(weights[i]));
  const bool is_single = wanted.participation.times_within(wanted.steps) == 1;
  const auto refuse = [](const std::string& wanted_for, std::string_view got) {
    fail(ErrorCode::invalid_argument, "planner", "query_weights",
         "can be given only for " + wanted_for, got);
  };
  if (wanted.name != OptimalStrategy::kName) refuse("{strategy} optimal", wanted.name);
  if (!options.use_solver) refuse("a search", "none");
  if (objective_of(options) != Objective::mean) refuse("{objective} mean", "max");
  if (!is_single) refuse("one participation", "more");
  const Workload workload = workload_of(options);
  if (!has_optimum(workload, Objective::mean))
    refuse("sums with decay or positive rates (their square roots may scale the rows of a matrix)",
           workload.name());
}

/// RMS error over the steps, with squared errors weighted by `query_weights`.
double weighted_error(const Strategy& strategy, double sensitivity,
                      const std::vector<double>& query_weights) {
  double sum = 0;
  for (std::size_t i = 0; i < query_weights.size(); ++i)
    sum += query_weights[i] * strategy.row_norm_squared(static_cast<std::int64_t>(i));
  return sensitivity * std::sqrt(sum / static_cast<double>(query_weights.size()));
}

/// True if the search minimises the requested error. Some searches assume plain sums or one
/// participation instead.
bool is_searched_for(const PlannerOptions& options) {
  const StrategyOptions& wanted = options.strategy;
  const Workload workload = workload_of(options);
  const bool is_repeated = wanted.participation.times_within(wanted.steps) > 1;
  if (wanted.name == OptimalStrategy::kName) {
    const bool is_dense =
        options.use_solver && is_densely_optimal(workload, wanted.parameters.buffers,
                                                 objective_of(options), wanted.participation);
    if (!is_dense) return !is_repeated && has_optimum(workload, objective_of(options));
    return !is_repeated || densely_optimised_for(workload, objective_of(options),
                                                 wanted.participation) == wanted.participation;
  }
  const bool has_repeats =
      wanted.name == kBlt || wanted.name == kBandedToeplitz || wanted.name == kBanded;
  return workload.is_prefix() && (!is_repeated || has_repeats);
}

FamilyOptions family_options(const PlannerOptions& options) {
  FamilyOptions family;
  if (options.max_iterations)
    family.max_total_iterations =
        require_between("planner", "max_iterations", *options.max_iterations, 1, 1 << 20);
  return family;
}

}  // namespace

class Planner::Search {
 public:
  virtual ~Search() = default;
  virtual bool advance() = 0;
  virtual PlannerProgress progress() const = 0;
  virtual StrategyPlan plan() const = 0;
  virtual SolverStatus status() const = 0;
  /// Lower bound on the error of every factorization, for the requested workload, participation and
  /// objective.
  virtual std::optional<LowerBound> lower_bound() const { return std::nullopt; }
  /// Largest relative distance from the lower bound if the mechanism is the optimum; empty if it is
  /// only near the optimum.
  virtual std::optional<double> gap() const { return std::nullopt; }
  /// Relative gap between the bounds on the least error; 0 if there is no lower bound.
  virtual double proved_gap() const { return 0; }
};

class Planner::OptimumSearch final : public Search {
 public:
  explicit OptimumSearch(const PlannerOptions& options)
      : gap_(options.gap.value_or(kPlanGap)),
        is_for_workload_(has_optimum(workload_of(options), objective_of(options))),
        problem_(optimum_problem(
            is_for_workload_ ? workload_of(options) : Workload::prefix_sums(options.strategy.steps),
            objective_of(options))),
        buffers_(require_between(OptimalStrategy::kName, "buffers",
                                 options.strategy.parameters.buffers.value_or(kDefaultPlanBuffers),
                                 0, OptimalStrategy::kMaxBuffers)) {
    require_between(OptimalStrategy::kName, "steps", problem_.steps, 1, OptimalStrategy::kMaxSteps);
    problem_.query_weights = options.query_weights;
    if (!options.use_solver) return;
    OptimumOptions solver{.gap = gap_};
    if (options.max_iterations) solver.max_iterations = *options.max_iterations;
    solver_.emplace(problem_, solver);
  }

  bool advance() override {
    if (!solver_) return false;
    const bool goes_on = solver_->advance();
    way_.reached(solver_->progress().gap);
    if (goes_on) return true;
    // Frees the memory of the search before the strategy is made.
    optimum_ = solver_->result();
    solver_.reset();
    return false;
  }

  PlannerProgress progress() const override {
    const std::int64_t iterations = optimum_  ? optimum_->iterations
                                    : solver_ ? solver_->progress().iteration
                                              : 0;
    return {iterations, solver_ ? way_.fraction() : 1};
  }

  StrategyPlan plan() const override {
    std::optional<Optimum> early;
    if (solver_) early = solver_->result();
    const Optimum* optimum = optimum_ ? &*optimum_ : early ? &*early : nullptr;
    OptimalPlan plan = plan_for_weights(problem_, buffers_, optimum);
    return {.objective = problem_.objective,
            .numbers = {{"column_weights", std::move(plan.column_weights)},
                        {"row_weights", std::move(plan.row_weights)},
                        {"shifts", std::move(plan.shifts)},
                        {"weights", std::move(plan.weights)},
                        {"direct", {plan.direct}},
                        {"decay", {plan.decay}}}};
  }

  SolverStatus status() const override {
    return optimum_ ? optimum_->status : SolverStatus::stopped;
  }

  std::optional<LowerBound> lower_bound() const override {
    if (!is_for_workload_ || !is_searched()) return std::nullopt;
    if (optimum_) return LowerBound{optimum_->lower_bound, LowerBoundMethod::dual};
    // Only the search bounds a weighted error.
    if (problem_.query_weights.empty()) return std::nullopt;
    return LowerBound{solver_->result().lower_bound, LowerBoundMethod::dual};
  }

  double proved_gap() const override {
    return optimum_ ? optimum_->upper_bound / optimum_->lower_bound - 1 : 0;
  }

  std::optional<double> gap() const override {
    return is_searched() && buffers_ == 0 ? std::optional(gap_) : std::nullopt;
  }

 private:
  bool is_searched() const { return solver_ || optimum_; }

  double gap_;
  bool is_for_workload_;
  OptimumProblem problem_;
  std::int64_t buffers_;
  std::optional<OptimumSolver> solver_;  ///< empty when it is done or not used
  std::optional<Optimum> optimum_;
  detail::GapProgress way_{gap_};
};

/// Search for an optimum that is a dense matrix.
template <class Given, class Solver>
class Planner::MatrixSearch final : public Search {
 public:
  /// @param num_participations  participations of a user for which the error is minimised.
  MatrixSearch(Given search, LowerBoundMethod method, std::int64_t num_participations)
      : search_(std::move(search)),
        method_(method),
        min_dimension_(least_dimension_of_duals(num_participations)),
        solver_(search_.problem, search_.solver),
        way_(search_.solver.gap) {}

  bool advance() override {
    if (optimum_) return false;
    const bool goes_on = solver_.advance();
    way_.reached(solver_.progress().gap);
    if (!goes_on) optimum_ = solver_.result();
    return goes_on;
  }

  PlannerProgress progress() const override {
    return {solver_.progress().iteration, optimum_ ? 1 : way_.fraction()};
  }

  StrategyPlan plan() const override {
    const Optimum& optimum = optimum_ ? *optimum_ : solver_.result();
    const Matrix columns = columns_of(optimal_encoder(search_.problem, optimum));
    const double* const first = columns.data();
    StrategyPlan plan{.objective = search_.problem.objective,
                      .numbers = {{"columns", {first, first + columns.size()}},
                                  {"column_duals", optimum.duals.columns}}};
    if (plan.objective == Objective::max) plan.numbers.push_back({"row_duals", optimum.duals.rows});
    return plan;
  }

  SolverStatus status() const override {
    return optimum_ ? optimum_->status : SolverStatus::stopped;
  }

  std::optional<LowerBound> lower_bound() const override {
    const Optimum& optimum = optimum_ ? *optimum_ : solver_.result();
    return LowerBound{.value = optimum.lower_bound,
                      .method = method_,
                      .min_dimension = min_dimension_,
                      .every_dimension = optimum.every_dimension_bound};
  }

  std::optional<double> gap() const override { return search_.solver.gap; }

  double proved_gap() const override {
    const Optimum& optimum = optimum_ ? *optimum_ : solver_.result();
    return optimum.upper_bound / optimum.lower_bound - 1;
  }

 private:
  using Optimum = decltype(std::declval<const Solver&>().result());

  Given search_;
  LowerBoundMethod method_;
  std::int64_t min_dimension_;
  Solver solver_;
  detail::GapProgress way_;
  std::optional<Optimum> optimum_;
};

namespace {

using detail::Pieces;
using detail::Task;

/// Result of a family's search.
struct Found {
  FamilySearch search;
  std::vector<PlanNumbers> numbers;
};

Task<Found> search_family(const PlannerOptions& options, const FamilyOptions& family,
                          Pieces* pieces) {
  const StrategyOptions& wanted = options.strategy;
  const std::optional<std::int64_t> buffers = wanted.parameters.buffers;
  const std::optional<std::int64_t> bands = wanted.parameters.bands;
  const std::int64_t n = wanted.steps;
  const Objective objective = objective_of(options);
  Found found;
  if (wanted.name == kBlt) {
    const BltProblem problem{.steps = n,
                             .objective = objective,
                             .participation = wanted.participation,
                             .buffers = buffers};
    BltOptimum best = co_await detail::search_blt(problem, family, pieces);
    found.search = best.search;
    found.numbers.push_back({"decays", std::move(best.decays)});
    found.numbers.push_back({"weights", std::move(best.weights)});
  } else if (wanted.name == kBltNormalized) {
    const BltNormalizedProblem problem{.steps = n, .objective = objective, .buffers = buffers};
    BltNormalizedOptimum best = co_await detail::search_blt_normalized(problem, family, pieces);
    found.search = best.search;
    found.numbers.push_back({"decays", std::move(best.decays)});
    found.numbers.push_back({"weights", std::move(best.weights)});
  } else if (wanted.name == kBltScaled) {
    const BltNormalizedProblem problem = scaled_problem(n, buffers, objective);
    const BltNormalizedOptimum best =
        co_await detail::search_blt_normalized(problem, family, pieces);
    ScaledBuffers numbers = scaled_buffers(best, n);
    found.search = best.search;
    found.numbers.push_back({"decays", std::move(numbers.buffers.decays)});
    found.numbers.push_back({"weights", std::move(numbers.buffers.weights)});
    found.numbers.push_back({"row_scales", std::move(numbers.row_scales)});
  } else if (wanted.name == kBanded) {
    const BandedProblem problem = banded_problem(n, bands, objective, wanted.participation);
    const BandedOptimum best = co_await detail::search_banded(problem, family, pieces);
    found.search = best.search;
    const bool is_lesser = !(problem.participation == wanted.participation);
    if (is_lesser) found.search.status = SolverStatus::infeasible;
    const double* const first = best.columns.data();
    found.numbers.push_back({"columns", {first, first + best.columns.size()}});
  } else {
    const std::int64_t diagonals =
        require_between(kBandedToeplitz, "bands", bands.value_or(kDefaultBands), 1, kMaxBands);
    const BandedProblem problem{.steps = n,
                                .bands = std::min(diagonals, n),
                                .objective = objective,
                                .participation = wanted.participation};
    BandedToeplitzOptimum best = co_await detail::search_banded_toeplitz(problem, family, pieces);
    found.search = best.search;
    found.numbers.push_back({"coefficients", std::move(best.coefficients)});
  }
  co_return found;
}

}  // namespace

/// Searches of families, advanced in pieces of at most 100 line searches.
class Planner::FamilySearches final : public Search {
 public:
  explicit FamilySearches(const PlannerOptions& options)
      : options_(options),
        family_(family_options(options)),
        task_(search_family(options_, family_, &pieces_)) {
    pieces_.begin(task_.handle());
  }

  bool advance() override {
    if (found_) return false;
    if (!task_.is_done()) pieces_.resume();
    if (task_.is_done()) found_ = task_.result();
    return !found_;
  }

  PlannerProgress progress() const override {
    if (found_) return {found_->search.iterations, 1};
    const double done = static_cast<double>(pieces_.iterations());
    return {pieces_.iterations(), done / (done + kTypicalIterations)};
  }

  StrategyPlan plan() const override {
    if (!found_)
      fail(ErrorCode::unsupported, "planner", "",
           "the search for " + options_.strategy.name + " must end before it has a result");
    return {.objective = objective_of(options_), .numbers = found_->numbers};
  }
  SolverStatus status() const override { return found_->search.status; }

 private:
  static constexpr double kTypicalIterations = 200;

  PlannerOptions options_;
  FamilyOptions family_;
  Pieces pieces_;
  Task<Found> task_;
  std::optional<Found> found_;
};

std::unique_ptr<Planner::Search> Planner::matrix_search(const PlannerOptions& options) {
  const Workload workload = workload_of(options);
  const Objective objective = objective_of(options);
  const DenseOptimalOptions wanted{
      .objective = objective,
      .participation = densely_optimised_for(workload, objective, options.strategy.participation),
      .gap = options.gap,
      .max_iterations = options.max_iterations};
  const std::int64_t k = wanted.participation.times_within(workload.steps());
  if (has_long_epochs(workload, objective, wanted.participation))
    return std::make_unique<MatrixSearch<EpochSearch, EpochOptimumSolver>>(
        epoch_search(workload, wanted), LowerBoundMethod::dual, k);
  return std::make_unique<MatrixSearch<DenseSearch, DenseOptimumSolver>>(
      dense_search(workload, wanted), LowerBoundMethod::dense_dual, k);
}

Planner::Planner(const PlannerOptions& options) : options_(options) {
  require_searchable(options);
  require_query_weights(options);
  require_known_errors(options.strategy);
  const StrategyOptions& wanted = options.strategy;
  if (wanted.name != OptimalStrategy::kName)
    search_ = std::make_unique<FamilySearches>(options);
  else if (options.use_solver && is_densely_optimal(workload_of(options), wanted.parameters.buffers,
                                                    objective_of(options), wanted.participation))
    search_ = matrix_search(options);
  else
    search_ = std::make_unique<OptimumSearch>(options);
}

Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

bool Planner::advance() {
  return search_->advance();
}

PlannerProgress Planner::progress() const {
  return search_->progress();
}

namespace {

std::string dimensions_text(const LowerBound& bound) {
  if (bound.min_dimension == 1) return "";
  return " for records of at least " + to_text(bound.min_dimension) + " numbers";
}

}  // namespace

Planner::Made Planner::make_planned(const Workload& workload) const {
  try {
    StrategyPlan plan = search_->plan();
    auto strategy = planned_strategy(options_.strategy.name, plan, workload);
    return {std::move(plan), std::move(strategy)};
  } catch (const Error& error) {
    // The bound is known even if the strategy cannot be built; report it.
    const std::optional<LowerBound> bound = search_->lower_bound();
    if (error.code() != ErrorCode::unsupported || !bound) throw;
    fail(error.code(), error.function(), error.parameter(),
         error.constraint() + " (the least error of any factorization is at least " +
             to_text(bound->value) + dimensions_text(*bound) + ", and there are some within " +
             to_text(search_->proved_gap()) + " of that, relative)",
         error.value());
  }
}

PlannerResult Planner::result() const {
  const Workload workload = workload_of(options_);
  const Participation& participation = options_.strategy.participation;
  auto [plan, strategy] = make_planned(workload);
  const UnitError error = unit_error(*strategy, participation);
  const Objective objective = objective_of(options_);
  std::optional<LowerBound> bound = search_->lower_bound();
  if (!bound || participation.times_within(workload.steps()) > 1) {
    const auto other = certified_lower_bound(*strategy, participation, objective);
    bound = better_bound(bound, other);
  }
  const double objective_error =
      !options_.query_weights.empty()
          ? weighted_error(*strategy, error.sensitivity.value, options_.query_weights)
      : objective == Objective::max ? error.max_error
                                    : error.mean_error;
  SolverStatus status = search_->status();
  const std::optional<double> gap = search_->gap();
  const bool is_close =
      !gap || (bound && objective_error <= bound->value * (1 + *gap * kGapTolerance));
  if (status == SolverStatus::converged && !(is_searched_for(options_) && is_close))
    status = SolverStatus::infeasible;
  return {.plan = std::move(plan),
          .error = error,
          .objective_error = objective_error,
          .lower_bound = bound,
          .status = status,
          .iterations = search_->progress().iterations};
}

PlannerResult find_plan(const PlannerOptions& options) {
  Planner planner(options);
  while (planner.advance()) {
  }
  return planner.result();
}

}  // namespace dpftrl
