// SPDX-License-Identifier: Apache-2.0
#include "optimal/family_optimum.hpp"

#include "dpftrl/optimal/optimum.hpp"
#include "families.hpp"
#include "golden/families_golden.hpp"
#include "optimal/blt/blt_search.hpp"
#include "optimal/blt/normalized_rows.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::NormalizedRowErrors;
using testing::dense_errors;
using testing::error_of;
using testing::gradient_error;
using testing::objective_named;
using testing::random_vector;
using testing::relatively_close;

/// Encoder diag(lambda) T D^-1 with unit columns.
Matrix dense_encoder(const std::vector<double>& decays, const std::vector<double>& weights,
                     const std::vector<double>& log_row_scales, std::int64_t n) {
  const Eigen::Index size = testing::index_of(n);
  Matrix encoder = Matrix::Identity(size, size);
  for (std::size_t i = 0; i < decays.size(); ++i)
    for (Eigen::Index row = 0; row < size; ++row)
      for (Eigen::Index column = 0; column < row; ++column)
        encoder(row, column) +=
            weights[i] * std::pow(decays[i], static_cast<double>(row - column - 1));
  if (!log_row_scales.empty())
    for (Eigen::Index row = 0; row < size; ++row)
      encoder.row(row) *= row_scale(log_row_scales, n, row);
  for (Eigen::Index column = 0; column < size; ++column)
    encoder.col(column) /= encoder.col(column).norm();
  return encoder;
}

NormalizedRowErrors normalized_rows_of(std::int64_t n, std::int64_t d, bool scale_rows,
                                       std::int64_t cells) {
  return NormalizedRowErrors(
      {.steps = n, .buffers = d, .scale_rows = scale_rows, .cells_in_distance = cells});
}

Eigen::Index num_parameters(std::int64_t buffers, bool scale_rows) {
  return static_cast<Eigen::Index>(2 * buffers + (scale_rows ? kNumRowScaleKnots : 0));
}

TEST(NormalizedRowErrors, single_steps_equal_dense_matrices) {
  for (const bool scale_rows : {false, true}) {
    for (const std::int64_t n : {1, 2, 3, 40}) {
      for (const std::int64_t d : {1, 3}) {
        const Vector point = random_vector(num_parameters(d, scale_rows), 0.5, 7);
        const detail::BltParameters p = detail::parameters_of(point.head(2 * d));
        const std::vector<double> scales(point.data() + 2 * d, point.data() + point.size());
        const Matrix encoder = dense_encoder(p.decays, p.weights, scales, n);
        const FamilyErrors dense = dense_errors(encoder, 1);
        const FamilyErrors exact =
            detail::normalized_errors(detail::BltPoint(point.head(2 * d)), scales, n);
        EXPECT_TRUE(relatively_close(exact.max_error, dense.max_error, 1e-12)) << n << d;
        EXPECT_TRUE(relatively_close(exact.mean_error, dense.mean_error, 1e-12)) << n << d;
        NormalizedRowErrors rows = normalized_rows_of(n, d, scale_rows, n);
        double total = 0;
        for (const double value : rows.values(point)) total += value;
        EXPECT_TRUE(
            relatively_close(std::sqrt(total / static_cast<double>(n)), dense.mean_error, 1e-12));
      }
    }
  }
}

TEST(NormalizedRowErrors, cells_come_close_and_their_last_row_ends_the_horizon) {
  const std::int64_t n = 20000;
  const Vector point = detail::spread_roots(3, n);
  const FamilyErrors exact = detail::normalized_errors(detail::BltPoint(point), {}, n);
  for (const std::int64_t cells : {24, 128}) {
    NormalizedRowErrors rows = normalized_rows_of(n, 3, false, cells);
    const std::vector<double>& values = rows.values(point);
    const std::vector<double>& lengths = rows.multiplicities();
    double total = 0, steps = 0, largest = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      total += lengths[k] * values[k];
      steps += lengths[k];
      largest = std::max(largest, values[k]);
    }
    EXPECT_EQ(steps, static_cast<double>(n));
    EXPECT_TRUE(relatively_close(std::sqrt(total / steps), exact.mean_error, 0.05 / double(cells)));
    EXPECT_TRUE(relatively_close(std::sqrt(largest), exact.max_error, 0.05 / double(cells)));
    EXPECT_LT(values.size(), 3000U);
  }
}

TEST(NormalizedRowErrors, gradient_equals_central_differences) {
  for (const bool scale_rows : {false, true}) {
    for (const std::int64_t n : {60, 3000}) {
      for (const std::int64_t d : {1, 2, 3}) {
        NormalizedRowErrors rows = normalized_rows_of(n, d, scale_rows, n == 60 ? n : 24);
        const Vector point =
            random_vector(num_parameters(d, scale_rows), 0.3, static_cast<std::uint64_t>(d));
        std::vector<double> weights(rows.multiplicities().size());
        const Vector random = random_vector(static_cast<Eigen::Index>(weights.size()), 1, 3);
        for (std::size_t k = 0; k < weights.size(); ++k)
          weights[k] = std::abs(random(static_cast<Eigen::Index>(k)));
        const SmoothFunction weighted = [&](const Vector& x, Vector& gradient) {
          const std::vector<double>& values = rows.values(x);
          double sum = 0;
          for (std::size_t k = 0; k < weights.size(); ++k) sum += weights[k] * values[k];
          rows.pull_back(weights, gradient);
          return sum;
        };
        EXPECT_LT(gradient_error(weighted, point), 1e-6) << n << " " << d << " " << scale_rows;
      }
    }
  }
}

TEST(BltNormalizedOptimum, is_never_above_the_known_values) {
  for (const auto& golden : golden::families::normalized_optimum) {
    if (!testing::is_full_size() && golden.num_steps > 100) continue;
    const Objective objective = objective_named(golden.objective);
    const BltNormalizedOptimum found = find_blt_normalized_optimum(
        {.steps = golden.num_steps, .objective = objective, .buffers = golden.num_buffers});
    EXPECT_EQ(found.search.status, SolverStatus::converged) << golden.num_steps;
    const double tolerance = objective == Objective::mean ? 1e-9 : 1e-6;
    EXPECT_LE(error_of(found.errors, objective), golden.error * (1 + tolerance))
        << golden.num_steps << " " << golden.objective << " " << golden.num_buffers;
    const Matrix encoder = dense_encoder(found.decays, found.weights, {}, golden.num_steps);
    EXPECT_TRUE(relatively_close(error_of(dense_errors(encoder, 1), objective),
                                 error_of(found.errors, objective), 1e-10));
  }
}

TEST(BltNormalizedOptimum, rows_that_are_scaled_come_within_a_percent_of_the_certified_optimum) {
  const std::int64_t n = testing::is_full_size() ? 1024 : 96;
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const bool is_mean = objective == Objective::mean;
    const auto find = [&](bool scale_rows) {
      return find_blt_normalized_optimum(
          {.steps = n, .objective = objective, .buffers = 3, .scale_rows = scale_rows});
    };
    const BltNormalizedOptimum plain = find(false), scaled = find(true);
    if (n == 1024) {
      EXPECT_LE(error_of(plain.errors, objective), is_mean ? 2.9923 : 3.0790);
      EXPECT_LE(error_of(scaled.errors, objective), is_mean ? 2.9596 : 2.9791);
    }
    EXPECT_EQ(scaled.search.status, SolverStatus::converged);
    const Optimum optimum = find_optimum({.steps = n, .objective = objective}, {});
    EXPECT_GE(error_of(scaled.errors, objective), optimum.lower_bound);
    EXPECT_GE(error_of(plain.errors, objective), optimum.lower_bound);
    EXPECT_LE(error_of(scaled.errors, objective), 1.01 * optimum.lower_bound);
    const Matrix encoder = dense_encoder(scaled.decays, scaled.weights, scaled.log_row_scales, n);
    EXPECT_TRUE(relatively_close(error_of(dense_errors(encoder, 1), objective),
                                 error_of(scaled.errors, objective), 1e-10));
  }
}

TEST(BltNormalizedOptimum, more_buffers_are_never_worse) {
  double last = std::numeric_limits<double>::infinity();
  for (std::int64_t d = 1; d <= 4; ++d) {
    const BltNormalizedOptimum found =
        find_blt_normalized_optimum({.steps = 300, .objective = Objective::mean, .buffers = d});
    EXPECT_LE(found.errors.mean_error, last);
    last = found.errors.mean_error;
  }
}

TEST(BltNormalizedOptimum, long_horizons_beat_the_plain_form) {
  constexpr std::int64_t n = 65536;
  const BltNormalizedOptimum found =
      find_blt_normalized_optimum({.steps = n, .objective = Objective::mean, .buffers = 3});
  const BltOptimum plain =
      find_blt_optimum({.steps = n, .objective = Objective::mean, .buffers = 3});
  EXPECT_LT(found.errors.mean_error, plain.errors.mean_error);
  EXPECT_EQ(found.search.status, SolverStatus::converged);
}

TEST(BltNormalizedOptimum, giving_up_does_not_look_like_convergence) {
  const BltNormalizedProblem problem{.steps = 200, .buffers = 2};
  EXPECT_EQ(
      find_blt_normalized_optimum(problem, {.max_iterations = 1, .tolerance = 1e-12}).search.status,
      SolverStatus::not_converged);
  const auto never = [](const FamilyProgress&) { return false; };
  const BltNormalizedOptimum stopped = find_blt_normalized_optimum(problem, {.progress = never});
  EXPECT_EQ(stopped.search.status, SolverStatus::stopped);
  EXPECT_EQ(stopped.search.evaluations, 1);
  EXPECT_GT(stopped.errors.max_error, 1);
}

TEST(BltNormalizedOptimum, rejects_bad_input) {
  EXPECT_ERROR((void)find_blt_normalized_optimum({.steps = 0}), "invalid_argument", "steps");
  EXPECT_ERROR((void)find_blt_normalized_optimum({.steps = kMaxNormalizedBltSteps + 1}),
               "invalid_argument", "steps");
  EXPECT_ERROR((void)find_blt_normalized_optimum({.steps = 5, .buffers = 0}), "invalid_argument",
               "buffers");
  EXPECT_ERROR((void)row_scale(std::vector<double>(3), 5, 0), "wrong_length", "log_row_scales");
  EXPECT_ERROR((void)row_scale(std::vector<double>(9), 5, 5), "invalid_argument", "step");
}

}  // namespace
}  // namespace dpftrl
