// SPDX-License-Identifier: Apache-2.0
// The search for a plan, piece by piece, and the properties it reports.
#include "dpftrl/analysis/planner.hpp"

#include <limits>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

PlannerOptions planner_options(const std::string& name, std::int64_t steps,
                               StrategyParameters parameters = {}) {
  return {.strategy = {.name = name, .steps = steps, .parameters = std::move(parameters)}};
}

TEST(Planner, says_how_far_from_the_best_it_is) {
  // The optima are known answers: max 2.746433332077, mean 2.739384656092 at 512 steps.
  for (const Objective objective : {Objective::max, Objective::mean}) {
    const double best = objective == Objective::max ? 2.746433332077 : 2.739384656092;
    const PlannerResult found =
        find_plan(planner_options("optimal", 512, {.objective = objective}));
    EXPECT_EQ(found.status, SolverStatus::converged);
    EXPECT_GT(found.iterations, 3);
    ASSERT_TRUE(found.lower_bound.has_value());
    EXPECT_EQ(found.lower_bound->method, LowerBoundMethod::dual);
    EXPECT_LE(found.lower_bound->value, best);
    EXPECT_GE(found.lower_bound->value, best * (1 - 2e-7));
    EXPECT_GE(found.objective_error, best * (1 - 1e-12));
    EXPECT_LE(found.objective_error, best * (1 + 1e-4)) << "8 buffers";
    const PlannerResult exact =
        find_plan(planner_options("optimal", 512, {.buffers = 0, .objective = objective}));
    EXPECT_GE(exact.objective_error, best * (1 - 1e-12));
    EXPECT_LE(exact.objective_error, best * (1 + 1e-6)) << "full accuracy";
  }
}

TEST(Planner, weights_in_closed_form_take_no_iteration_and_lose_little) {
  struct Case {
    Objective objective;
    double best, loss;
  };
  for (const auto& [objective, best, loss] : {Case{Objective::max, 2.746433332077, 2.5e-2},
                                              Case{Objective::mean, 2.739384656092, 2e-4}}) {
    PlannerOptions options = planner_options("optimal", 512, {.objective = objective});
    options.use_solver = false;
    Planner planner(options);
    EXPECT_FALSE(planner.advance());
    const PlannerResult found = planner.result();
    EXPECT_EQ(found.iterations, 0);
    EXPECT_EQ(found.status, SolverStatus::stopped) << "nothing has converged";
    EXPECT_LE(found.objective_error, best * (1 + loss));
    ASSERT_TRUE(found.lower_bound.has_value());
    EXPECT_LE(found.lower_bound->value, best);
    EXPECT_GE(found.lower_bound->value, best * (1 - 1e-5));
  }
}

TEST(Planner, weighted_queries_reach_the_dense_optimum_of_scaled_rows) {
  for (const std::int64_t n : {1, 2, 5, 16})
    for (const bool has_rates : {false, true}) {
      std::vector<double> weights, rates;
      for (std::int64_t t = 0; t < n; ++t) {
        weights.push_back(0.25 + static_cast<double>((7 * t) % 5));
        rates.push_back(1 / (1.0 + static_cast<double>(t)));
      }
      const Workload workload =
          has_rates ? Workload::learning_rates({.rates = rates}) : Workload::prefix_sums(n);
      PlannerOptions options =
          planner_options("optimal", n, {.buffers = 0, .objective = Objective::mean});
      options.strategy.workload = workload;
      const PlannerResult plain = find_plan(options);
      options.query_weights = weights;
      options.gap = 1e-9;
      Planner planner(options);
      EXPECT_TRUE(planner.advance() || n <= 2);
      const double early = planner.result().lower_bound->value;
      while (planner.advance()) {
      }
      const PlannerResult found = planner.result();
      EXPECT_EQ(found.status, SolverStatus::converged) << n;

      Matrix scaled = workload.matrix();
      for (std::int64_t t = 0; t < n; ++t)
        scaled.row(testing::index_of(t)) *= std::sqrt(weights[static_cast<std::size_t>(t)]);
      const DenseOptimum dense =
          find_dense_optimum({.queries = scaled, .objective = Objective::mean}, {.gap = 1e-9});
      EXPECT_LE(early, dense.upper_bound);
      EXPECT_LE(found.lower_bound->value, dense.upper_bound);
      EXPECT_GE(found.lower_bound->value, dense.lower_bound * (1 - 3e-9));
      EXPECT_GE(found.objective_error, found.lower_bound->value);
      EXPECT_LE(found.objective_error, found.lower_bound->value * (1 + 1e-8)) << n;

      // Recomputes the error from the dense matrices of the result, and checks that the plan
      // without weights is not better.
      const auto weighted = [&](const StrategyPlan& plan) {
        const auto strategy = planned_strategy("optimal", plan, workload);
        const Matrix encoder = strategy->encoder();
        const Matrix decoder = scaled * testing::inverse(encoder);
        return encoder.colwise().norm().maxCoeff() * decoder.norm() /
               std::sqrt(static_cast<double>(n));
      };
      EXPECT_NEAR(weighted(found.plan), found.objective_error, 1e-12 * found.objective_error);
      EXPECT_GE(weighted(plain.plan), found.objective_error * (n > 2 ? 1 + 1e-3 : 1 - 1e-9)) << n;
      // Its dual variables remain feasible without weights.
      const auto bound = certified_lower_bound(*planned_strategy("optimal", found.plan, workload),
                                               Participation::single(), Objective::mean);
      EXPECT_LE(bound->value, plain.objective_error);
    }
}

TEST(Planner, query_weights_that_no_search_is_for_are_refused) {
  const auto refused = [](PlannerOptions options, std::vector<double> weights) {
    options.query_weights = std::move(weights);
    (void)Planner(options);
  };
  const PlannerOptions mean = planner_options("optimal", 3, {.objective = Objective::mean});
  EXPECT_ERROR(refused(mean, {1, 2}), "wrong_length", "query_weights must have 3 entries, got 2");
  EXPECT_ERROR(refused(mean, {1, 0, 1}), "invalid_argument",
               "query_weights[1] must be between 2^-40 and 2^40, got 0");
  EXPECT_ERROR(refused(mean, {1, 1, std::numeric_limits<double>::quiet_NaN()}), "invalid_argument",
               "query_weights[2] must");
  EXPECT_ERROR(refused(planner_options("optimal", 3), {1, 2, 3}), "invalid_argument",
               "query_weights can be given only for objective mean, got max");
  EXPECT_ERROR(refused(planner_options("blt", 3), {1, 2, 3}), "invalid_argument",
               "only for strategy optimal, got blt");
  PlannerOptions closed = mean;
  closed.use_solver = false;
  EXPECT_ERROR(refused(closed, {1, 2, 3}), "invalid_argument", "only for a search, got none");
  PlannerOptions repeated = mean;
  repeated.strategy.participation = Participation::min_separation({.times = 2, .apart = 1});
  EXPECT_ERROR(refused(repeated, {1, 2, 3}), "invalid_argument", "one participation, got more");
  PlannerOptions window = mean;
  window.strategy.workload = Workload::sliding_window({.steps = 3, .window = 2});
  EXPECT_ERROR(refused(window, {1, 2, 3}), "invalid_argument", "got window=2");
}

TEST(Planner, what_has_no_errors_is_refused_before_the_search) {
  const std::int64_t n = 4096;
  PlannerOptions options = planner_options("optimal", n);
  options.strategy.workload = Workload::momentum({.steps = n, .momentum = 0.9});
  EXPECT_ERROR((void)Planner(options), "unsupported",
               "steps must be at most 2048 for the max objective and momentum=0.9,decay=1");
  EXPECT_ERROR((void)Mechanism::make({.strategy = "optimal",
                                      .steps = n,
                                      .target = {.epsilon = 1, .delta = 1e-6},
                                      .workload = options.strategy.workload}),
               "unsupported",
               "steps must be at most 2048 for the max objective and momentum=0.9,decay=1");
}

TEST(Planner, pieces_are_iterations_and_progress_goes_from_nothing_to_all) {
  Planner planner(planner_options("optimal", 200));
  EXPECT_EQ(planner.progress().fraction, 0);
  double last = 0;
  std::int64_t pieces = 0;
  while (planner.advance()) {
    const PlannerProgress now = planner.progress();
    EXPECT_EQ(now.iterations, ++pieces);
    EXPECT_GE(now.fraction, last);
    EXPECT_LE(now.fraction, 1);
    last = now.fraction;
  }
  EXPECT_EQ(planner.progress().fraction, 1);
  const PlannerResult found = planner.result(), whole = find_plan(planner_options("optimal", 200));
  EXPECT_EQ(found.iterations, whole.iterations);
  EXPECT_EQ(found.plan.list("column_weights"), whole.plan.list("column_weights"));
  EXPECT_FALSE(planner.advance()) << "nothing is left";
}

TEST(Planner, searches_of_families_come_in_pieces_and_end_where_they_would_at_once) {
  for (const std::string name :
       {"blt", "blt-normalized", "blt-scaled", "banded-toeplitz", "banded"}) {
    const bool has_bands = name.starts_with("banded");
    PlannerOptions options = planner_options(
        name, 64, has_bands ? StrategyParameters{.bands = 5} : StrategyParameters{.buffers = 2});
    Planner planner(options);
    EXPECT_EQ(planner.progress().fraction, 0);
    EXPECT_ERROR((void)planner.result(), "unsupported", "must end before it has a result");
    PlannerProgress last{0, 0};
    std::int64_t pieces = 0;
    while (planner.advance()) {
      const PlannerProgress now = planner.progress();
      EXPECT_GE(now.iterations, last.iterations) << name;
      EXPECT_GE(now.fraction, last.fraction) << name;
      EXPECT_LT(now.fraction, 1) << name;
      last = now;
      ++pieces;
    }
    EXPECT_GE(pieces, 1) << name;
    EXPECT_EQ(planner.progress().fraction, 1);
    EXPECT_FALSE(planner.advance());
    const PlannerResult found = planner.result(), whole = find_plan(options);
    EXPECT_EQ(found.iterations, whole.iterations) << name;
    EXPECT_EQ(found.plan.numbers[0].values, whole.plan.numbers[0].values) << name;
    Planner given_up(options);
    EXPECT_TRUE(given_up.advance()) << "and is left there";
  }
  PlannerOptions bad = planner_options("blt", 64, {.buffers = 99});
  Planner planner(bad);
  EXPECT_ERROR((void)planner.advance(), "invalid_argument", "buffers");
}

TEST(Planner, giving_up_does_not_look_like_convergence) {
  PlannerOptions options = planner_options("optimal", 256);
  options.max_iterations = 3;
  const PlannerResult used_up = find_plan(options);
  EXPECT_EQ(used_up.status, SolverStatus::not_converged);
  EXPECT_EQ(used_up.iterations, 3);
  Planner planner(planner_options("optimal", 256));
  EXPECT_TRUE(planner.advance());
  EXPECT_TRUE(planner.advance());
  const PlannerResult stopped = planner.result();
  EXPECT_EQ(stopped.status, SolverStatus::stopped);
  const PlannerResult found = find_plan(planner_options("optimal", 256));
  EXPECT_LE(found.objective_error, stopped.objective_error);
  EXPECT_LE(stopped.lower_bound->value, found.lower_bound->value);
  options = planner_options("blt", 256);
  options.max_iterations = 1;
  EXPECT_EQ(find_plan(options).status, SolverStatus::not_converged);
}

TEST(Planner, iterations_are_limited_over_all_rounds_and_starts) {
  for (const char* name : {"blt", "blt-normalized", "blt-scaled", "banded", "banded-toeplitz"})
    for (const Objective objective : {Objective::max, Objective::mean}) {
      StrategyParameters parameters{.objective = objective};
      if (std::string(name).starts_with("banded")) parameters.bands = 6;
      PlannerOptions options = planner_options(name, 40, parameters);
      double last = std::numeric_limits<double>::infinity();
      for (const std::int64_t most : {1, 3, 9, 30}) {
        options.max_iterations = most;
        const PlannerResult found = find_plan(options);
        EXPECT_LE(found.iterations, most) << name;
        const bool is_used_up =
            found.status == SolverStatus::not_converged && found.iterations == most;
        EXPECT_TRUE(is_used_up || (most > 3 && found.status == SolverStatus::converged))
            << name << " " << most << " " << found.iterations;
        EXPECT_LE(found.objective_error, last * (1 + 1e-12)) << "more never makes it worse";
        last = found.objective_error;
      }
    }
}

TEST(Planner, status_is_that_of_the_mechanism_at_full_accuracy) {
  for (const std::int64_t n : {30, 74})
    for (const Objective objective : {Objective::max, Objective::mean}) {
      PlannerOptions options =
          planner_options("optimal", n, {.buffers = 0, .objective = objective});
      options.gap = 1e-10;
      const PlannerResult found = find_plan(options);
      EXPECT_EQ(found.status, SolverStatus::converged);
      EXPECT_LE(found.objective_error / found.lower_bound->value - 1, 1e-10) << n;
    }
}

TEST(Planner, more_bands_than_the_separation_are_infeasible_and_say_so) {
  PlannerOptions options = planner_options("banded", 24, {.bands = 6});
  options.strategy.participation = Participation::min_separation({.times = 3, .apart = 5});
  const PlannerResult found = find_plan(options);
  EXPECT_EQ(found.status, SolverStatus::infeasible);
  EXPECT_TRUE(std::isfinite(found.objective_error)) << "there is a mechanism all the same";
  options.strategy.parameters.bands = 5;
  EXPECT_EQ(find_plan(options).status, SolverStatus::converged);
  options.strategy.parameters.bands = 6;
  options.strategy.participation = Participation::single();
  EXPECT_EQ(find_plan(options).status, SolverStatus::converged);
}

TEST(Planner, what_is_made_for_another_problem_does_not_look_like_convergence) {
  const Participation apart = Participation::min_separation({.times = 3, .apart = 4});
  const Participation epochs = Participation::fixed_epoch({.epochs = 2, .epoch_length = 8});
  const Workload window = Workload::sliding_window({.steps = 16, .window = 3});
  const auto status = [](const std::string& name, const Workload& workload,
                         const Participation& participation, StrategyParameters parameters = {}) {
    return find_plan({.strategy = {.name = name,
                                   .steps = 16,
                                   .workload = workload,
                                   .parameters = std::move(parameters),
                                   .participation = participation}})
        .status;
  };
  const Workload prefix = Workload::prefix_sums(16);
  const Participation once = Participation::single();
  EXPECT_EQ(status("optimal", prefix, apart), SolverStatus::infeasible);
  EXPECT_EQ(status("optimal", window, apart), SolverStatus::infeasible);
  EXPECT_EQ(status("optimal", prefix, epochs, {.buffers = 4}), SolverStatus::infeasible);
  EXPECT_EQ(status("optimal", window, once, {.buffers = 4}), SolverStatus::infeasible);
  EXPECT_EQ(status("blt", window, once, {.buffers = 1}), SolverStatus::infeasible);
  EXPECT_EQ(status("blt-normalized", prefix, apart, {.buffers = 1}), SolverStatus::infeasible);
  EXPECT_EQ(status("optimal", window, once), SolverStatus::converged);
  EXPECT_EQ(status("optimal", prefix, epochs), SolverStatus::converged);
  EXPECT_EQ(status("optimal", window, epochs), SolverStatus::converged);
  EXPECT_EQ(status("blt", prefix, apart, {.buffers = 1}), SolverStatus::converged);
  EXPECT_EQ(status("blt-normalized", prefix, once, {.buffers = 1}), SolverStatus::converged);
}

TEST(Planner, stops_at_the_gap_that_is_asked_for) {
  const double best = 2.111366654849;  // max, 64 steps
  PlannerOptions options = planner_options("optimal", 64, {.buffers = 0});
  options.gap = 1e-2;
  const PlannerResult coarse = find_plan(options);
  options.gap = 1e-10;
  const PlannerResult fine = find_plan(options);
  EXPECT_LT(coarse.iterations, fine.iterations);
  EXPECT_EQ(fine.status, SolverStatus::converged);
  EXPECT_GE(fine.lower_bound->value, best * (1 - 1e-9));
  EXPECT_GE(coarse.lower_bound->value, best * (1 - 1e-2));
  options = planner_options("optimal", 32, {.objective = Objective::mean});
  options.strategy.workload = Workload::sliding_window({.steps = 32, .window = 4});
  options.gap = 1e-9;
  EXPECT_LE(find_plan(options).objective_error, find_plan(options).lower_bound->value * (1 + 1e-8));
}

TEST(Planner, families_are_optimised_for_the_participation) {
  const Participation often = Participation::min_separation({.times = 4, .apart = 8});
  for (const std::string name : {"blt", "banded-toeplitz"}) {
    PlannerOptions options = planner_options(name, 64);
    const StrategyPlan once = find_plan(options).plan;
    options.strategy.participation = often;
    const PlannerResult found = find_plan(options);
    const auto of_once = planned_strategy(name, once, Workload::prefix_sums(64));
    EXPECT_LT(found.objective_error, unit_error(*of_once, often).max_error * (1 - 1e-3)) << name;
  }
}

TEST(Planner, what_cannot_be_searched_for_is_refused) {
  const auto refuses = [](const PlannerOptions& options, const char* message) {
    EXPECT_ERROR(Planner{options}, "invalid_argument", message);
  };
  refuses(planner_options("tree", 8), "planner: strategy must be one that a search finds");
  refuses(planner_options("oak", 8), "strategy must be one of");
  refuses(planner_options("blt", 8, {.decays = {0.5}, .weights = {0.1}}),
          "planner: decays cannot be given for a search");
  refuses(planner_options("blt", 8, {.normalize_columns = true}),
          "normalize_columns cannot be given");
  refuses(planner_options("blt", 8, {.epoch_length = 4}), "epoch_length cannot be given");
  refuses(planner_options("optimal", 8, {.bands = 4}), "bands is not a parameter of optimal");
  refuses(planner_options("optimal", 8, {.buffers = 65}), "buffers must be between 0 and 64");
  refuses(planner_options("optimal", 0), "steps");
  PlannerOptions options = planner_options("blt", 8);
  options.use_solver = false;
  refuses(options, "use_solver must be used for blt");
  options = planner_options("optimal", 8);
  options.max_iterations = 0;
  refuses(options, "max_iterations");
  options.use_solver = false;
  options.max_iterations = 3;
  refuses(options, "max_iterations cannot be given without a solver");
  options.max_iterations = {};
  options.gap = 1e-3;
  refuses(options, "gap cannot be given without a solver");
  options.gap = {};
  options.strategy.workload = Workload::learning_rates({.rates = {1, 1, 1, 1, 1, 1, 1, 2}});
  refuses(options, "workload must be prefix sums without a solver, got rates");
  options.strategy.workload = {};
  options.use_solver = true;
  for (const double gap : {0.0, -1e-3, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    options.gap = gap;
    refuses(options, "gap must be above 0 and below 1");
  }
  options = planner_options("blt", 8);
  options.gap = 1e-3;
  refuses(options, "gap cannot be given for blt");
  options = planner_options("optimal", 8);
  options.strategy.participation = Participation::fixed_epoch({.epochs = 2, .epoch_length = 3});
  refuses(options, "");
}

}  // namespace
}  // namespace dpftrl
