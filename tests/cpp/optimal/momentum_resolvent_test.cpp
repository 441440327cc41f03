// SPDX-License-Identifier: Apache-2.0
// The certified optimum with momentum: banded resolvents, known optima, and solver status.
#include <algorithm>
#include <cmath>

#include "dense_algebra.hpp"
#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/problem/workload.hpp"
#include "golden/momentum_golden.hpp"
#include "optimal/momentum_resolvent.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::InverseRoot;
using detail::MomentumWeights;
using detail::RootDiagonal;
using detail::SpectralInterval;

MomentumWeights uneven_weights(std::int64_t n, double decay, double momentum) {
  MomentumWeights problem{.weights = {.rows = {}, .columns = {}, .decay = decay},
                          .momentum = momentum};
  for (std::int64_t i = 0; i < n; ++i) {
    problem.weights.rows.push_back(1 + static_cast<double>((5 * i) % 7));
    problem.weights.columns.push_back(std::exp(static_cast<double>((3 * i) % 11) / 2));
  }
  return problem;
}

/// W^T W as a dense matrix.
Matrix dense_gram(const MomentumWeights& problem) {
  const std::int64_t n = std::ssize(problem.weights.rows);
  const Matrix a =
      Workload::momentum({.steps = n, .momentum = problem.momentum, .decay = problem.weights.decay})
          .matrix();
  const Eigen::Map<const Vector> u(problem.weights.rows.data(), a.rows()),
      v(problem.weights.columns.data(), a.rows());
  const Matrix w = u.cwiseSqrt().asDiagonal() * a * v.cwiseSqrt().asDiagonal();
  return w.transpose() * w;
}

TEST(MomentumResolvent, diagonals_are_those_of_the_dense_matrix) {
  // 9 nodes do not fill the second group of 8.
  for (const std::int64_t n : {1, 2, 3, 4, 30})
    for (const double momentum : {0.3, 0.9})
      for (const double decay : {1.0, 0.9}) {
        const MomentumWeights problem = uneven_weights(n, decay, momentum);
        const auto [inverses, vectors] = testing::symmetric_eigen(dense_gram(problem));
        const SpectralInterval interval = detail::momentum_spectrum(problem);
        EXPECT_LE(interval.low, 1 / inverses(inverses.size() - 1));
        EXPECT_GE(interval.high, 1 / inverses(0));
        InverseRoot root{.shifts = {}, .weights = {}, .direct = 0.5};
        Vector values = Vector::Constant(inverses.size(), root.direct);
        for (int k = 0; k < 9; ++k) {
          root.shifts.push_back(1e-4 * std::pow(5.0, k));
          root.weights.push_back(1 + k);
          values.array() +=
              root.weights.back() * inverses.array() / (1 + root.shifts.back() * inverses.array());
        }
        const Vector dense = vectors.cwiseAbs2() * values;
        const RootDiagonal diagonal = detail::momentum_root_diagonal(root, interval, problem);
        for (Eigen::Index i = 0; i < dense.size(); ++i)
          EXPECT_NEAR(diagonal.values[static_cast<std::size_t>(i)], dense(i),
                      1e-10 * dense(i) + 1e-13 * dense.maxCoeff())
              << n << " " << momentum << " " << decay << " " << i;
        EXPECT_LE(diagonal.rounding_error, 1e-14);
      }
}

TEST(MomentumResolvent, without_momentum_it_agrees_with_the_other_sweeps) {
  const MomentumWeights problem = uneven_weights(500, 1, 0);
  const SpectralInterval interval = detail::spectrum(problem.weights);
  const InverseRoot root = detail::inverse_root_within(interval, 1e-12);
  const RootDiagonal one = detail::root_diagonal(root, problem.weights);
  const RootDiagonal two = detail::momentum_root_diagonal(root, interval, problem);
  for (std::size_t i = 0; i < 500; ++i)
    EXPECT_TRUE(testing::relatively_close(one.values[i], two.values[i],
                                          one.rounding_error + two.rounding_error));
}

TEST(MomentumOptimum, known_answers_lie_between_the_bounds) {
  for (const auto& golden : golden::momentum::optimum) {
    const OptimumProblem problem{.steps = golden.num_steps,
                                 .objective = Objective::mean,
                                 .decay = golden.decay,
                                 .momentum = golden.momentum};
    const Optimum optimum = find_optimum(problem, {});
    EXPECT_EQ(optimum.status, SolverStatus::converged);
    EXPECT_LE(optimum.upper_bound / optimum.lower_bound, 1 + 1.0001e-10);
    EXPECT_LE(optimum.lower_bound, golden.mean * (1 + 2e-12));
    EXPECT_GE(optimum.upper_bound, golden.mean * (1 - 2e-12));
  }
}

TEST(MomentumOptimum, certificates_hold_for_the_dense_matrix_with_rates) {
  std::vector<double> rates;
  for (int t = 0; t < 40; ++t) rates.push_back(0.55 + 0.45 * std::cos(0.07 * t));
  const OptimumProblem problem{
      .steps = 40, .objective = Objective::mean, .momentum = 0.8, .rates = rates};
  const Optimum optimum = find_optimum(problem, {});
  Matrix w = Workload::learning_rates({.rates = rates, .momentum = 0.8}).matrix();
  const auto lower_bound = [&](const Vector& v) {
    return testing::singular_values(w * v.cwiseSqrt().asDiagonal()).sum() / std::sqrt(v.sum() * 40);
  };
  Vector v = Eigen::Map<const Vector>(optimum.column_weights.data(), 40);
  EXPECT_EQ(optimum.status, SolverStatus::converged);
  EXPECT_TRUE(testing::relatively_close(optimum.lower_bound, lower_bound(v), 1e-11));
  // A slightly perturbed dual solution is worse.
  v(20) *= 1.01;
  EXPECT_LT(lower_bound(v), optimum.lower_bound * (1 - 1e-9));
}

TEST(MomentumOptimum, the_max_objective_stops_where_it_says) {
  const OptimumProblem problem{.steps = 64, .objective = Objective::max, .momentum = 0.5};
  EXPECT_EQ(find_optimum(problem, {}).status, SolverStatus::stopped);
  EXPECT_EQ(find_optimum(problem, {.gap = 1e-3}).status, SolverStatus::converged);
  EXPECT_EQ(find_optimum(problem, {.max_iterations = 5}).status, SolverStatus::not_converged);
}

TEST(MomentumOptimum, the_max_objective_reaches_its_gap) {
  const auto reach = [](std::int64_t n, double momentum, double decay) {
    const Optimum optimum = find_optimum(
        {.steps = n, .objective = Objective::max, .decay = decay, .momentum = momentum},
        {.max_iterations = 250});
    EXPECT_EQ(optimum.status, SolverStatus::stopped) << n << " " << momentum << " " << decay;
    EXPECT_LE(optimum.upper_bound / optimum.lower_bound, 1 + kBarrierGap);
    EXPECT_GE(optimum.upper_bound, optimum.lower_bound);
    return optimum;
  };
  for (const std::int64_t n : {8, 64, 256})
    for (const double momentum : {0.5, 0.9, 0.99})
      for (const double decay : {1.0, 0.99}) reach(n, momentum, decay);
  reach(1024, 0.9, 1);
  // An independent dense computation gives 12.290222 to 12.290414.
  const Optimum optimum = reach(64, 0.9, 1);
  EXPECT_LE(optimum.lower_bound, 12.290414);
  EXPECT_GE(optimum.upper_bound, 12.290222);
}

TEST(MomentumOptimum, max_certificates_hold_for_the_dense_optimum) {
  for (const double momentum : {0.5, 0.9, 0.99})
    for (const double decay : {1.0, 0.95}) {
      const Matrix a =
          Workload::momentum({.steps = 64, .momentum = momentum, .decay = decay}).matrix();
      const DenseOptimum dense = find_dense_optimum({a}, {.gap = 3e-5, .max_iterations = 200});
      const Optimum fast = find_optimum(
          {.steps = 64, .objective = Objective::max, .decay = decay, .momentum = momentum}, {});
      EXPECT_LE(fast.lower_bound, dense.upper_bound);
      EXPECT_GE(fast.upper_bound, dense.lower_bound);
      // Both are close to the optimum, and the dense solver accepts the dual solution of the other.
      EXPECT_LE(dense.upper_bound / dense.lower_bound, 1 + 5e-5);
      const DenseOptimum again = find_dense_optimum(
          {.queries = a, .start = {fast.column_weights, fast.row_weights}}, {.gap = 2e-4});
      EXPECT_EQ(again.iterations, 1);
      EXPECT_EQ(again.status, SolverStatus::converged);
    }
}

TEST(MomentumOptimum, bad_problems_are_refused_by_name) {
  EXPECT_ERROR((void)find_optimum({.steps = 4, .momentum = 1}, {}), "invalid_argument",
               "momentum must be at least 0 and below 1, got 1");
  EXPECT_ERROR((void)find_optimum({.steps = 4, .momentum = NAN}, {}), "invalid_argument",
               "momentum must be at least 0 and below 1, got NaN");
  EXPECT_ERROR((void)find_optimum({.steps = kMaxMomentumSteps + 1, .momentum = 0.5}, {}),
               "invalid_argument", "steps must be between 1 and 65536");
}

}  // namespace
}  // namespace dpftrl
