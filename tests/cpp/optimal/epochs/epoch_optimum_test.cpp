// SPDX-License-Identifier: Apache-2.0
// The optimum over fixed epochs without dense matrices, compared with the dense solver.
#include "optimal/epochs/epoch_optimum.hpp"

#include <cmath>
#include <limits>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;
using testing::relatively_close;

Participation epochs_of_batches(std::int64_t k, std::int64_t b) {
  return Participation::fixed_epoch({.epochs = k, .epoch_length = b});
}

Workload workload_of(const EpochOptimumProblem& problem) {
  return Workload::momentum(
      {.steps = problem.epochs * problem.epoch_length, .decay = problem.decay});
}

DenseOptimumProblem dense(const EpochOptimumProblem& problem) {
  return {.queries = workload_of(problem).matrix(),
          .objective = problem.objective,
          .participation = epochs_of_batches(problem.epochs, problem.epoch_length)};
}

TEST(EpochOptimum, bounds_hold_for_the_dense_optimum) {
  testing::Thinned thinned(3);
  for (const double decay : {1.0, 0.9})
    for (const auto& [k, b] : {std::pair{1, 9}, {2, 1}, {2, 6}, {3, 5}, {4, 7}, {12, 1}, {2, 40}})
      for (const Objective objective : {Objective::mean, Objective::max}) {
        if (!thinned.takes_next()) continue;
        SCOPED_TRACE(std::to_string(k) + " epochs of " + std::to_string(b));
        const EpochOptimumProblem problem{
            .epochs = k, .epoch_length = b, .objective = objective, .decay = decay};
        // Solutions with a barrier have gaps of several times its weight.
        const bool is_mean = objective == Objective::mean;
        const double gap = is_mean ? 1e-8 : 1e-3;
        const OptimumOptions options{.gap = is_mean ? gap : 1e-4, .max_iterations = 100};
        const EpochOptimum found = find_epoch_optimum(problem, options);
        const DenseOptimum oracle = find_dense_optimum(dense(problem), options);
        if (is_mean) {
          EXPECT_EQ(found.status, SolverStatus::converged);
        }
        // If all steps belong to one user, row weights tend to 0 and hide the largest error.
        if (is_mean || b > 1) {
          EXPECT_LE(found.upper_bound, found.lower_bound * (1 + 1.1 * gap));
        }
        EXPECT_LE(found.lower_bound, oracle.upper_bound);
        EXPECT_GE(found.upper_bound, oracle.lower_bound);
        EXPECT_LE(found.every_dimension_bound, found.lower_bound);
        // The bound of the same dual variables, by dense matrices.
        const double by_matrices = dense_lower_bounds(dense(problem), found.duals).value;
        EXPECT_TRUE(relatively_close(found.lower_bound, by_matrices, gap));
      }
}

TEST(EpochOptimum, any_duals_give_bounds) {
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const EpochOptimumProblem problem{.epochs = 3, .epoch_length = 5, .objective = objective};
    const EpochOptimum best = find_epoch_optimum(problem, {.gap = 1e-4});
    EXPECT_TRUE(relatively_close(epoch_lower_bounds(problem, best.duals, 1e-7).value,
                                 best.lower_bound, 1e-5));
    for (std::size_t j = 0; j < best.duals.columns.size(); j += 4)
      for (const double factor : {-3.0, 0.0, 0.5, 30.0, 1e200, 1e300}) {
        DenseDuals duals = best.duals;
        duals.columns[j] = (duals.columns[j] == 0 ? 1 : duals.columns[j]) * factor;
        if (!duals.rows.empty()) duals.rows[j % duals.rows.size()] *= factor;
        const double bound = epoch_lower_bounds(problem, duals, 1e-7).value;
        EXPECT_LE(bound, best.upper_bound) << j << " " << factor;
        EXPECT_GE(bound, 0);
      }
    DenseDuals zeros = best.duals;
    for (double& entry : zeros.columns) entry = 0;
    EXPECT_EQ(epoch_lower_bounds(problem, zeros, 1e-7).value, 0);
  }
}

TEST(EpochOptimum, the_gram_matrix_has_the_error_of_the_upper_bound) {
  for (const Objective objective : {Objective::mean, Objective::max})
    for (const double decay : {1.0, 0.9})
      for (const auto& [k, b] : {std::pair{2, 6}, {3, 5}, {4, 7}, {5, 2}}) {
        SCOPED_TRACE(std::to_string(k) + " epochs of " + std::to_string(b));
        const EpochOptimumProblem problem{
            .epochs = k, .epoch_length = b, .objective = objective, .decay = decay};
        const EpochOptimum found = find_epoch_optimum(problem, {.gap = 1e-5});
        const Matrix gram = epoch_optimum_gram(problem, found.primal_duals);
        const Matrix root = testing::upper_cholesky(gram);
        double sensitivity_squared = 0;
        for (Eigen::Index s = 0; s < b; ++s) {
          double sum = 0;
          for (Eigen::Index i = s; i < k * b; i += b)
            for (Eigen::Index j = s; j < k * b; j += b) sum += std::abs(gram(i, j));
          sensitivity_squared = std::max(sensitivity_squared, sum);
        }
        const Vector rows =
            (workload_of(problem).matrix() * testing::inverse(root)).rowwise().squaredNorm();
        const double squared = objective == Objective::mean ? rows.mean() : rows.maxCoeff();
        const double error = std::sqrt(sensitivity_squared * squared);
        EXPECT_GE(error, found.lower_bound);
        EXPECT_LE(error, found.upper_bound);
      }
}

TEST(EpochOptimum, a_gram_matrix_takes_duals_of_its_problem) {
  const EpochOptimumProblem problem{.epochs = 3, .epoch_length = 2};
  const DenseDuals duals = find_epoch_optimum(problem, {.gap = 1e-2}).duals;
  const auto refused = [&](DenseDuals wrong, const char* code, const char* part) {
    EXPECT_ERROR((void)epoch_optimum_gram(problem, wrong), code, part);
  };
  DenseDuals wrong = duals;
  wrong.columns[4] = std::numeric_limits<double>::quiet_NaN();
  refused(wrong, "invalid_argument", "duals.columns");
  wrong.columns[4] = std::numeric_limits<double>::infinity();
  refused(wrong, "invalid_argument", "duals.columns");
  wrong.columns.pop_back();
  refused(wrong, "wrong_length", "duals.columns");
  refused({.columns = duals.columns, .rows = {1}}, "wrong_length", "duals.rows");
  refused({.columns = std::vector<double>(18, 0.0)}, "unsupported", "duals");
}

TEST(EpochOptimum, bounds_beyond_dense_matrices_are_near_the_optimum) {
  // For 160 steps, certified_lower_bound does not call the dense solver.
  const EpochOptimumProblem problem{.epochs = 4, .epoch_length = 40, .decay = 0.99};
  const EpochOptimum best = find_epoch_optimum(problem, {.gap = 1e-6});
  const LowerBound bound =
      *certified_lower_bound(workload_of(problem), epochs_of_batches(4, 40), Objective::mean);
  EXPECT_LE(bound.value, best.upper_bound);
  EXPECT_GT(bound.value, best.lower_bound * (1 - 1e-3));
  EXPECT_EQ(bound.min_dimension, 2);
  EXPECT_GT(bound.every_dimension, 0.99 * bound.value);
}

TEST(EpochOptimum, the_least_error_over_epochs_is_that_of_dense_matrices) {
  const Workload workload = Workload::momentum({.steps = 24, .decay = 0.95});
  const DenseOptimum oracle = find_dense_optimum({.queries = workload.matrix(),
                                                  .objective = Objective::mean,
                                                  .participation = epochs_of_batches(4, 6)},
                                                 {.gap = 1e-8});
  const LeastError least = least_error(workload, epochs_of_batches(4, 6), 1e-6);
  EXPECT_LE(least.lower, oracle.upper_bound);
  EXPECT_GE(least.upper, oracle.lower_bound);
  EXPECT_LE(least.upper, least.lower * (1 + 1.1e-6));
  EXPECT_EQ(least.min_dimension, 2);
}

TEST(EpochOptimum, the_least_error_names_what_it_does_not_have) {
  const auto refused = [](const Workload& workload, const Participation& participation,
                          const char* code, const char* part) {
    EXPECT_ERROR((void)least_error(workload, participation, 1e-3), code, part);
  };
  const Workload prefix = Workload::prefix_sums(12);
  refused(prefix, Participation::single(), "unsupported", "must be in fixed epochs");
  refused(prefix, epochs_of_batches(5, 2), "invalid_argument", "steps");
  refused(Workload::momentum({.steps = 12, .momentum = 0.5}), epochs_of_batches(3, 4),
          "unsupported", "must be prefix sums");
  refused(Workload::prefix_sums(65), epochs_of_batches(65, 1), "invalid_argument",
          "epochs must be between");
  refused(Workload::prefix_sums(16 * 2049), epochs_of_batches(16, 2049), "unsupported",
          "steps must be at most 32768 for 16 epochs");
  EXPECT_ERROR((void)least_error(prefix, epochs_of_batches(3, 4), 0), "invalid_argument", "gap");
}

TEST(EpochOptimum, an_early_end_has_bounds_too) {
  const EpochOptimumProblem problem{.epochs = 3, .epoch_length = 7};
  const EpochOptimum early = find_epoch_optimum(problem, {.max_iterations = 2});
  const EpochOptimum best = find_epoch_optimum(problem, {.gap = 1e-9});
  EXPECT_EQ(early.status, SolverStatus::not_converged);
  EXPECT_EQ(early.iterations, 2);
  EXPECT_LE(early.lower_bound, best.upper_bound);
  EXPECT_GE(early.upper_bound, best.lower_bound);
  const EpochOptimum stopped =
      find_epoch_optimum(problem, {.progress = [](const OptimumProgress&) { return false; }});
  EXPECT_EQ(stopped.status, SolverStatus::stopped);
  EXPECT_EQ(stopped.iterations, 1);
}

TEST(EpochOptimum, refuses_what_it_cannot_take) {
  const auto refused = [](const EpochOptimumProblem& problem, const char* part) {
    EXPECT_ERROR((void)find_epoch_optimum(problem), "invalid_argument", part);
  };
  refused({.epochs = 0, .epoch_length = 4}, "epochs");
  refused({.epochs = kMaxEpochOptimumEpochs + 1, .epoch_length = 1}, "epochs");
  refused({.epochs = 2, .epoch_length = 0}, "epoch_length");
  refused({.epochs = 16, .epoch_length = 2049}, "epoch_length");
  for (const double decay : {kNan, 0.0, -1.0, 1.5, std::numeric_limits<double>::infinity()})
    refused({.epochs = 2, .epoch_length = 2, .decay = decay}, "decay");
  const EpochOptimumProblem problem{.epochs = 2, .epoch_length = 2};
  for (const double gap : {0.0, -1.0, kNan, std::numeric_limits<double>::infinity()})
    EXPECT_ERROR((void)find_epoch_optimum(problem, {.gap = gap}), "invalid_argument", "gap");
  EXPECT_ERROR((void)find_epoch_optimum(problem, {.max_iterations = 0}), "invalid_argument",
               "max_iterations");
  const auto bound = [&](const DenseDuals& duals, double accuracy) {
    return epoch_lower_bounds(problem, duals, accuracy).value;
  };
  DenseDuals duals{.columns = std::vector<double>(8, 1), .rows = {}};
  EXPECT_ERROR((void)bound(duals, 0), "invalid_argument", "accuracy");
  EXPECT_ERROR((void)bound({.columns = {1, 2}}, 1e-6), "wrong_length", "duals.columns");
  EXPECT_ERROR((void)bound({.columns = duals.columns, .rows = {1, 1, 1, 1}}, 1e-6), "wrong_length",
               "duals.rows");
  duals.columns[3] = kNan;
  EXPECT_ERROR((void)bound(duals, 1e-6), "invalid_argument", "duals.columns");
}

}  // namespace
}  // namespace dpftrl
