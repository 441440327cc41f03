// SPDX-License-Identifier: Apache-2.0
// Bounds on mechanisms for queries that need not be factorizations, compared with factorizations,
// with other mechanisms, and with each other.
#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/queries/query_mechanism.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

std::vector<QueryWorkload> bounded_query_workloads() {
  return {
      QueryWorkload::identity(1),
      QueryWorkload::identity(5),
      QueryWorkload::prefix(16),
      QueryWorkload::all_ranges(6),
      QueryWorkload::parities({.num_bits = 4, .order = 2}),
      QueryWorkload::marginals({.attribute_sizes = {2, 3}, .order = 1}),
      QueryWorkload::matrix(Matrix{{1, 0, -2}, {0.5, 1, 1}}),
      QueryWorkload::kronecker(std::vector{QueryWorkload::prefix(4), QueryWorkload::identity(3)})};
}

double query_error(const QueryMechanism& mechanism, Objective objective) {
  const Vector errors = mechanism.standard_errors();
  return objective == Objective::max
             ? errors.maxCoeff()
             : errors.norm() / std::sqrt(static_cast<double>(errors.size()));
}

TEST(QueryBounds, no_factorization_is_below_them) {
  for (const QueryWorkload& workload : bounded_query_workloads())
    for (const Objective objective : {Objective::mean, Objective::max})
      for (const double epsilon : {0.01, 1.0, 5.0})
        for (const double delta : {0.0, 1e-6})
          for (const std::int64_t persons : {1, 3}) {
            const QueryMechanism mechanism(
                factorize_queries(workload,
                                  {.noise = delta == 0 ? QueryNoise::laplace : QueryNoise::gaussian,
                                   .objective = objective}),
                {.epsilon = epsilon, .delta = delta, .max_contributions = persons});
            const QueryBounds found = any_mechanism_bounds(workload, mechanism);
            const double error = query_error(mechanism, objective);
            EXPECT_LE(found.added_noise, error);
            EXPECT_GT(found.added_noise, 0);
            ASSERT_EQ(found.unbiased.has_value(), delta == 0);
            ASSERT_EQ(found.every.has_value(), delta == 0);
            if (delta > 0) continue;
            EXPECT_LE(*found.unbiased, found.added_noise * (1 + 1e-6));
            EXPECT_LE(*found.every, error);
            EXPECT_LT(*found.every, *found.unbiased);
          }
}

TEST(QueryBounds, of_one_count_are_those_of_geometric_noise) {
  const QueryWorkload workload = QueryWorkload::identity(1);
  for (const double epsilon : {0.1, 1.0, 3.0}) {
    const QueryMechanism mechanism(factorize_queries(workload, {.noise = QueryNoise::laplace}),
                                   {.epsilon = epsilon, .delta = 0, .max_contributions = 1});
    const QueryBounds found = any_mechanism_bounds(workload, mechanism);
    const double power = std::exp(-epsilon);
    EXPECT_NEAR(found.added_noise / (std::sqrt(2 * power) / (1 - power)), 1, 1e-5);
    EXPECT_NEAR(*found.unbiased / (std::sqrt(power) / (1 - power)), 1, 1e-5);
  }
}

TEST(QueryBounds, no_filtered_release_of_random_counts_is_below_that_of_every_mechanism) {
  // For counts 0 or 2 L with Laplace noise of variance 2 / epsilon^2, the best linear estimate of F
  // h has no smaller error than the bound proved with L.
  for (const QueryWorkload& workload : bounded_query_workloads())
    for (const double epsilon : {0.05, 0.5, 2.0, 6.0}) {
      const QueryMechanism mechanism(factorize_queries(workload, {.noise = QueryNoise::laplace}),
                                     {.epsilon = epsilon, .delta = 0});
      const double every = any_mechanism_bounds(workload, mechanism).every.value();
      const Matrix queries = workload.to_matrix();
      const double norm = queries.norm() / std::sqrt(static_cast<double>(queries.rows()));
      double best = 0;
      for (double records = 1; records < 1000; ++records) {
        const double proved =
            records * schatten_query_bound(workload) / (1 + 2 * std::sinh(records * epsilon / 2));
        best = std::max(best, proved);
        const double signal = records * records, noise = 2 / (epsilon * epsilon);
        EXPECT_LE(proved, std::sqrt(signal * noise / (signal + noise)) * norm) << epsilon;
      }
      EXPECT_LE(every, best);
      EXPECT_GE(every, 0.98 * best);
    }
}

TEST(QueryBounds, of_replace_one_know_differences_only) {
  const QueryWorkload workload = QueryWorkload::prefix(8);
  for (const double delta : {0.0, 1e-6}) {
    const QueryPrivacy privacy{.epsilon = 1, .delta = delta, .neighbours = Neighbours::replace_one};
    const QueryMechanism mechanism(
        factorize_queries(workload, {.noise = privacy.noise(), .neighbours = privacy.neighbours}),
        privacy);
    const QueryBounds found = any_mechanism_bounds(workload, mechanism);
    EXPECT_LE(found.added_noise, query_error(mechanism, Objective::mean));
    EXPECT_NEAR(found.added_noise / mechanism.lower_bound(),
                std::sqrt(least_added_variance({.epsilon = 1, .delta = delta})), 1e-9);
    EXPECT_FALSE(found.every);
  }
}

}  // namespace
}  // namespace dpftrl
