// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/planner.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/bounds.hpp"
#include "dpftrl/error.hpp"
#include "dpftrl/optimal/banded_optimum.hpp"
#include "dpftrl/optimal/blt_normalized_optimum.hpp"
#include "dpftrl/optimal/blt_optimum.hpp"
#include "dpftrl/strategy/banded.hpp"
#include "dpftrl/strategy/blt.hpp"
#include "dpftrl/strategy/dense.hpp"
#include "dpftrl/strategy/optimal.hpp"

namespace dpftrl {
namespace {

Objective objective_of(const PlannerOptions& options) {
  return options.strategy.parameters.objective.value_or(Objective::max);
}

Workload workload_of(const PlannerOptions& options) {
  return options.strategy.workload.value_or(Workload::prefix_sums(options.strategy.num_steps));
}

void require_searchable(const PlannerOptions& options) {
  const std::string& name = options.strategy.name;
  const StrategyParameters& given = options.strategy.parameters;
  require_strategy_options(options.strategy);
  if (!has_plans(name))
    fail(ErrorCode::invalid_argument, "planner: " + name + " is not found by a search");
  const std::string_view stray = given.plan                ? "plan"
                                 : !given.decays.empty()   ? "decays"
                                 : !given.weights.empty()  ? "weights"
                                 : given.epoch_length      ? "epoch_length"
                                 : given.normalize_columns ? "normalize_columns"
                                                           : "";
  if (!stray.empty())
    fail(ErrorCode::invalid_argument,
         "planner: " + std::string(stray) + " cannot be given for a search");
  if (!options.use_solver && name != OptimalStrategy::kName)
    fail(ErrorCode::invalid_argument, "planner: " + name + " has no closed form without a solver");
}

FamilyOptions family_options(const PlannerOptions& options) {
  FamilyOptions family;
  if (options.max_iterations) family.max_iterations = *options.max_iterations;
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
  /// On the error of every factorization, for the workload and objective that were asked for.
  virtual std::optional<double> lower_bound() const { return std::nullopt; }
};

class Planner::OptimumSearch final : public Search {
 public:
  explicit OptimumSearch(const PlannerOptions& options)
      : is_for_workload_(has_optimum(workload_of(options), objective_of(options))),
        problem_(optimum_problem(is_for_workload_
                                     ? workload_of(options)
                                     : Workload::prefix_sums(options.strategy.num_steps),
                                 objective_of(options))),
        num_buffers_(
            require_between(OptimalStrategy::kName, "num_buffers",
                            options.strategy.parameters.num_buffers.value_or(kDefaultPlanBuffers),
                            0, OptimalStrategy::kMaxBuffers)) {
    require_between(OptimalStrategy::kName, "num_steps", problem_.num_steps, 1,
                    OptimalStrategy::kMaxSteps);
    if (!options.use_solver) return;
    OptimumOptions solver{.gap = kPlanGap};
    if (options.max_iterations) solver.max_iterations = *options.max_iterations;
    solver_.emplace(problem_, solver);
  }

  bool advance() override {
    if (!solver_) return false;
    const bool goes_on = solver_->advance();
    if (first_gap_ == 0) first_gap_ = solver_->progress().gap;
    if (!goes_on) optimum_ = solver_->result();
    return goes_on;
  }

  PlannerProgress progress() const override {
    if (!solver_ || optimum_) return {iterations(), 1};
    if (first_gap_ == 0) return {0, 0};
    const double way = std::log(first_gap_ / kPlanGap),
                 done = std::log(first_gap_ / solver_->progress().gap);
    return {iterations(), way > 0 ? std::clamp(done / way, 0.0, 1.0) : 1};
  }

  StrategyPlan plan() const override {
    std::optional<Optimum> early;
    if (solver_ && !optimum_) early = solver_->result();
    const Optimum* optimum = !solver_ ? nullptr : optimum_ ? &*optimum_ : &*early;
    OptimalPlan plan = plan_for_weights(problem_, num_buffers_, optimum);
    return {.objective = problem_.objective,
            .numbers = {{"column_weights", std::move(plan.column_weights)},
                        {"row_weights", std::move(plan.row_weights)},
                        {"shifts", std::move(plan.shifts)},
                        {"weights", std::move(plan.weights)},
                        {"direct", {plan.direct}},
                        {"decay", {plan.decay}}}};
  }

  SolverStatus status() const override {
    if (!solver_) return SolverStatus::converged;
    return optimum_ ? optimum_->status : SolverStatus::stopped;
  }

  std::optional<double> lower_bound() const override {
    if (!optimum_ || !is_for_workload_) return std::nullopt;
    return optimum_->lower_bound;
  }

 private:
  std::int64_t iterations() const { return solver_ ? solver_->progress().iteration : 0; }

  bool is_for_workload_;
  OptimumProblem problem_;
  std::int64_t num_buffers_;
  std::optional<OptimumSolver> solver_;
  std::optional<Optimum> optimum_;
  double first_gap_ = 0;
};

/// The searches that cannot be interrupted.
class Planner::FamilySearches final : public Search {
 public:
  explicit FamilySearches(const PlannerOptions& options) : options_(options) {}

  bool advance() override {
    if (is_done_) return false;
    const StrategyParameters& given = options_.strategy.parameters;
    const std::int64_t n = options_.strategy.num_steps;
    const FamilyOptions family = family_options(options_);
    plan_.objective = objective_of(options_);
    if (options_.strategy.name == kBlt) {
      BltOptimum best = find_blt_optimum({.num_steps = n,
                                          .objective = plan_.objective,
                                          .participation = options_.strategy.participation,
                                          .num_buffers = given.num_buffers},
                                         family);
      keep(best.search, {{"decays", std::move(best.decays)}, {"weights", std::move(best.weights)}});
    } else if (options_.strategy.name == kBltNormalized) {
      BltNormalizedOptimum best = find_blt_normalized_optimum(
          {.num_steps = n, .objective = plan_.objective, .num_buffers = given.num_buffers}, family);
      keep(best.search, {{"decays", std::move(best.decays)}, {"weights", std::move(best.weights)}});
    } else if (options_.strategy.name == kBanded) {
      const BandedOptimum best = find_banded_optimum(
          banded_problem(n, given.num_bands, plan_.objective, options_.strategy.participation),
          family);
      const double* const first = best.columns.data();
      keep(best.search, {{"columns", {first, first + best.columns.size()}}});
    } else {
      const std::int64_t bands =
          require_between(kBandedToeplitz, "num_bands", given.num_bands.value_or(kDefaultNumBands),
                          1, kMaxNumBands);
      BandedToeplitzOptimum best =
          find_banded_toeplitz_optimum({.num_steps = n,
                                        .num_bands = std::min(bands, n),
                                        .objective = plan_.objective,
                                        .participation = options_.strategy.participation},
                                       family);
      keep(best.search, {{"coefficients", std::move(best.coefficients)}});
    }
    return false;
  }

  PlannerProgress progress() const override { return {search_.iterations, is_done_ ? 1.0 : 0.0}; }
  StrategyPlan plan() const override { return plan_; }
  SolverStatus status() const override { return search_.status; }

 private:
  void keep(const FamilySearch& search, std::vector<PlanNumbers> numbers) {
    search_ = search;
    plan_.numbers = std::move(numbers);
    is_done_ = true;
  }

  PlannerOptions options_;
  StrategyPlan plan_;
  FamilySearch search_;
  bool is_done_ = false;
};

Planner::Planner(const PlannerOptions& options) : options_(options) {
  require_searchable(options);
  if (options.strategy.name == OptimalStrategy::kName)
    search_ = std::make_unique<OptimumSearch>(options);
  else
    search_ = std::make_unique<FamilySearches>(options);
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

PlannerResult Planner::result() const {
  const Workload workload = workload_of(options_);
  StrategyPlan plan = search_->plan();
  const UnitError error = unit_error(*planned_strategy(options_.strategy.name, plan, workload),
                                     options_.strategy.participation);
  const std::optional<double> general = error_lower_bound(workload), own = search_->lower_bound();
  return {.plan = std::move(plan),
          .error = error,
          .objective_error =
              objective_of(options_) == Objective::max ? error.max_error : error.mean_error,
          .lower_bound = general && own ? std::max(*general, *own)
                         : own          ? own
                                        : general,
          .status = search_->status(),
          .iterations = search_->progress().iterations};
}

PlannerResult find_plan(const PlannerOptions& options) {
  Planner planner(options);
  while (planner.advance()) {
  }
  return planner.result();
}

}  // namespace dpftrl
