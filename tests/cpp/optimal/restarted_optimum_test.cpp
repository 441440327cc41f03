// SPDX-License-Identifier: Apache-2.0
// The optimisers reach the same error from every start: restarted at their result and at two points
// around it, they end within the gap they prove or their tolerance.
#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/problem/workload.hpp"
#include "families.hpp"
#include "optimal/banded/banded_rows.hpp"
#include "optimal/banded/banded_toeplitz.hpp"
#include "optimal/blt/blt_search.hpp"
#include "optimal/blt/normalized_rows.hpp"
#include "optimal/family_optimum.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::DescentResult;
using detail::Search;
using testing::error_of;
using testing::random_vector;
using testing::relatively_close;

constexpr Objective kObjectives[] = {Objective::max, Objective::mean};

/// Log gaps of roots, computed from the stored theta and theta^.
Vector log_gaps_of(const std::vector<double>& decays, const std::vector<double>& inverse_decays) {
  const auto size = static_cast<Eigen::Index>(decays.size());
  const Vector ones = Vector::Ones(size);
  return detail::BltPoint::log_gaps_of(
      ones - Eigen::Map<const Vector>(decays.data(), size),
      ones - Eigen::Map<const Vector>(inverse_decays.data(), size));
}

/// Expects `descend` to end at ln(error) when started at `result` and at two points around it.
template <class Descend>
void expect_same_end(const Vector& result, double spread, double error, double tolerance,
                     const Descend& descend) {
  EXPECT_TRUE(relatively_close(std::exp(descend(result).value), error, tolerance));
  for (const std::uint64_t seed : {1U, 2U}) {
    const Vector start = result + random_vector(result.size(), spread, seed);
    const DescentResult end = descend(start);
    EXPECT_EQ(end.status, SolverStatus::converged);
    EXPECT_TRUE(relatively_close(std::exp(end.value), error, tolerance)) << std::exp(end.value);
  }
}

TEST(Restart, buffers_end_where_they_ended) {
  for (const Objective objective : kObjectives) {
    const BltProblem problem{.steps = 1000, .objective = objective, .buffers = 2};
    const BltOptimum found = find_blt_optimum(problem);
    const detail::BltObjective objective_of_gaps(problem);
    const SmoothFunction log_error = [&](const Vector& x, Vector& gradient) {
      return objective_of_gaps(x, gradient);
    };
    expect_same_end(log_gaps_of(found.decays, found.inverse_decays), 0.3,
                    error_of(found.errors, objective), 1e-9, [&](const Vector& start) {
                      const FamilyOptions options;
                      Search search(options);
                      return detail::run(search.descend(log_error, start));
                    });
  }
}

TEST(Restart, buffers_with_unit_columns_end_where_they_ended) {
  for (const Objective objective : kObjectives) {
    const BltNormalizedOptimum found =
        find_blt_normalized_optimum({.steps = 100, .objective = objective, .buffers = 1});
    detail::NormalizedRowErrors rows(
        {.steps = 100, .buffers = 1, .scale_rows = false, .cells_in_distance = 100});
    expect_same_end(log_gaps_of(found.decays, found.inverse_decays), 0.3,
                    error_of(found.errors, objective), 1e-5, [&](const Vector& start) {
                      const FamilyOptions options;
                      Search search(options);
                      return detail::run(descend_rows(rows, objective, start, search));
                    });
  }
}

TEST(Restart, toeplitz_bands_end_where_they_ended) {
  for (const Objective objective : kObjectives) {
    const BandedProblem problem{.steps = 100, .bands = 6, .objective = objective};
    const BandedToeplitzOptimum found = find_banded_toeplitz_optimum(problem);
    detail::BandedToeplitzError error(problem);
    Vector by_coefficient(6);
    // c_0 = 1, the others are free.
    const SmoothFunction log_error = [&](const Vector& x, Vector& gradient) {
      std::vector<double> coefficients = {1};
      coefficients.insert(coefficients.end(), x.data(), x.data() + x.size());
      const double value = error(coefficients, by_coefficient);
      gradient = by_coefficient.tail(5);
      return value;
    };
    const Vector result = Eigen::Map<const Vector>(found.coefficients.data() + 1, 5);
    expect_same_end(result, 0.05, error_of(found.errors, objective), 1e-9,
                    [&](const Vector& start) {
                      const FamilyOptions options;
                      Search search(options);
                      return detail::run(search.descend(log_error, start));
                    });
  }
}

TEST(Restart, bands_with_unit_columns_end_where_they_ended) {
  for (const Objective objective : kObjectives) {
    const BandedProblem problem{.steps = 24, .bands = 4, .objective = objective};
    const BandedOptimum found = find_banded_optimum(problem);
    const std::vector<double> coefficients = find_banded_toeplitz_optimum(problem).coefficients;
    detail::BandedRowErrors rows(24, 4);
    const auto descend = [&](const Vector& start) {
      const FamilyOptions options;
      Search search(options);
      return detail::run(descend_rows(rows, objective, start, search));
    };
    const DescentResult first = descend(rows.parameters_of(coefficients));
    EXPECT_LT((rows.columns_at(first.point) - found.columns).cwiseAbs().maxCoeff(), 0.05);
    expect_same_end(first.point, 0.1, error_of(found.errors, objective), 1e-5, descend);
  }
}

TEST(Restart, the_optimum_ends_at_the_same_bounds) {
  constexpr double kGap = 1e-8;
  for (const Objective objective : kObjectives) {
    const OptimumProblem problem{.steps = 40, .objective = objective};
    const Optimum found = find_optimum(problem, {.gap = kGap});
    const OptimumBounds again = optimum_bounds(problem, found.column_weights, kGap / 100);
    EXPECT_GE(again.lower, found.lower_bound * (1 - kGap));
    EXPECT_LE(again.lower, found.upper_bound);
    for (const std::uint64_t seed : {1U, 2U}) {
      // The dense solver takes a starting point: the result, with every weight multiplied by a
      // random factor.
      const auto disturbed = [&](std::vector<double> weights, std::uint64_t offset) {
        const Vector factors =
            random_vector(static_cast<Eigen::Index>(weights.size()), 0.5, seed + offset);
        for (std::size_t i = 0; i < weights.size(); ++i)
          weights[i] *= std::exp(factors(static_cast<Eigen::Index>(i)));
        return weights;
      };
      const DenseOptimum end = find_dense_optimum(
          {.queries = Workload::prefix_sums(40).matrix(),
           .objective = objective,
           .start = {disturbed(found.column_weights, 0), disturbed(found.row_weights, 9)}},
          {.gap = kGap});
      EXPECT_EQ(end.status, SolverStatus::converged);
      EXPECT_LE(end.lower_bound, found.upper_bound);
      EXPECT_GE(end.upper_bound, found.lower_bound);
      EXPECT_LE(end.upper_bound, found.lower_bound * (1 + 3 * kGap));
      EXPECT_GE(end.lower_bound, found.upper_bound * (1 - 3 * kGap));
    }
  }
}

}  // namespace
}  // namespace dpftrl
