// SPDX-License-Identifier: Apache-2.0
#include "optimal/family_optimum.hpp"

#include "base/toeplitz_matrix.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "families.hpp"
#include "golden/families_golden.hpp"
#include "optimal/blt/blt_point.hpp"
#include "optimal/blt/blt_search.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::dense_errors;
using testing::error_of;
using testing::exhaustive_sensitivity;
using testing::gradient_error;
using testing::objective_named;
using testing::random_vector;
using testing::relatively_close;

Matrix blt_encoder_of(const std::vector<double>& decays, const std::vector<double>& weights,
                      std::int64_t n) {
  std::vector<double> c(static_cast<std::size_t>(n), 0.0);
  c[0] = 1;
  for (std::size_t i = 0; i < decays.size(); ++i) {
    double power = weights[i];
    for (std::size_t j = 1; j < c.size(); ++j, power *= decays[i]) c[j] += power;
  }
  return lower_triangular_toeplitz(c);
}

TEST(GeometricSums, equal_the_sum_of_their_terms_on_both_sides_of_the_series) {
  for (const std::int64_t count : {1, 2, 3, 7, 1000}) {
    for (const double scaled : {0.0, 1e-12, 1e-3, 0.49, 0.51, 3.0, 900.0}) {
      const double complement = scaled / (static_cast<double>(count) + 900);
      long double plain = 0, weighted = 0, plain_slope = 0, weighted_slope = 0;
      const long double q = 1 - static_cast<long double>(complement);
      long double power = 1, before = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        const long double ahead = static_cast<long double>(count - k);
        plain += power;
        weighted += ahead * power;
        plain_slope -= static_cast<long double>(k) * before;
        weighted_slope -= ahead * static_cast<long double>(k) * before;
        before = power;
        power *= q;
      }
      const detail::Jet sum = detail::geometric_sum(complement, count);
      const detail::Jet twice = detail::weighted_geometric_sum(complement, count);
      const auto close = [&](double actual, long double expected, double tolerance) {
        EXPECT_TRUE(relatively_close(actual, static_cast<double>(expected), tolerance))
            << count << " " << complement << ": " << actual;
      };
      close(sum.value, plain, 1e-14);
      close(twice.value, weighted, 4e-15 * 10);
      close(sum.derivative, plain_slope, 1e-13);
      close(twice.derivative, weighted_slope, 1e-12);
    }
  }
}

TEST(BltClosedForms, equal_values_with_twenty_digits) {
  for (const auto& golden : golden::families::blt_closed_form) {
    const double theta[] = {golden.theta_0, golden.theta_1, golden.theta_2, golden.theta_3,
                            golden.theta_4};
    const double inverse[] = {golden.theta_hat_0, golden.theta_hat_1, golden.theta_hat_2,
                              golden.theta_hat_3, golden.theta_hat_4};
    const Eigen::Index d = static_cast<Eigen::Index>(golden.num_buffers);
    Vector decays(d), inverses(d);
    for (Eigen::Index i = 0; i < d; ++i) {
      decays(i) = 1 - theta[i];
      inverses(i) = 1 - inverse[i];
    }
    const Vector point = detail::BltPoint::log_gaps_of(decays, inverses);
    const FamilyErrors errors = detail::BltObjective({.steps = golden.num_steps}).errors(point);
    // The gaps of nearly equal roots come from a subtraction of logarithms.
    const double tolerance = 1e-12;
    EXPECT_TRUE(relatively_close(errors.sensitivity, double(golden.sensitivity), tolerance));
    EXPECT_TRUE(relatively_close(errors.max_error, double(golden.max_error), tolerance));
    EXPECT_TRUE(relatively_close(errors.mean_error, double(golden.mean_error), tolerance))
        << golden.num_steps << " " << golden.num_buffers;
    EXPECT_NEAR(detail::BltPoint(point).weight(0), double(golden.omega_0), 1e-11);
  }
}

TEST(BltClosedForms, equal_dense_matrices_and_all_patterns) {
  const Participation patterns[] = {Participation::single(),
                                    Participation::min_separation({.times = 3, .apart = 3}),
                                    Participation::min_separation({.times = 9, .apart = 1}),
                                    Participation::fixed_epoch({.epochs = 3, .epoch_length = 3}),
                                    Participation::min_separation({.times = 2, .apart = 7})};
  constexpr std::int64_t n = 9;
  for (const Participation& participation : patterns) {
    for (const Eigen::Index d : {1, 2, 4}) {
      const Vector point = random_vector(2 * d, 0.7, static_cast<std::uint64_t>(d));
      const detail::BltParameters p = detail::parameters_of(point);
      const Matrix encoder = blt_encoder_of(p.decays, p.weights, n);
      const FamilyErrors dense =
          dense_errors(encoder, exhaustive_sensitivity(encoder, participation));
      const FamilyErrors closed =
          detail::BltObjective({.steps = n, .participation = participation}).errors(point);
      EXPECT_TRUE(relatively_close(closed.sensitivity, dense.sensitivity, 1e-12))
          << participation.description() << " " << d;
      EXPECT_TRUE(relatively_close(closed.max_error, dense.max_error, 1e-12));
      EXPECT_TRUE(relatively_close(closed.mean_error, dense.mean_error, 1e-12));
    }
  }
}

TEST(BltGradient, equals_central_differences) {
  for (const std::int64_t n : {std::int64_t{2}, std::int64_t{50}, std::int64_t{1000000000}}) {
    for (const Objective objective : {Objective::max, Objective::mean}) {
      for (const Participation& participation :
           {Participation::single(), Participation::min_separation({.times = 5, .apart = 7})}) {
        const detail::BltObjective error(
            {.steps = n, .objective = objective, .participation = participation});
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
          const Eigen::Index d = static_cast<Eigen::Index>(1 + 2 * (seed % 3));
          const Vector point = detail::spread_roots(d, n) + random_vector(2 * d, 0.3, seed);
          EXPECT_LT(gradient_error(error, point), 1e-6) << n << " " << seed;
        }
      }
    }
  }
}

TEST(BltOptimum, is_never_above_the_known_values) {
  for (const auto& golden : golden::families::blt_optimum) {
    const Objective objective = objective_named(golden.objective);
    const BltOptimum found = find_blt_optimum(
        {.steps = golden.num_steps, .objective = objective, .buffers = golden.num_buffers});
    EXPECT_EQ(found.search.status, SolverStatus::converged);
    const double error = error_of(found.errors, objective);
    EXPECT_LE(error, golden.error * (1 + 1e-9)) << golden.num_steps << " " << golden.num_buffers;
    EXPECT_GE(error, golden.error * (1 - 1e-6)) << "far below a known minimum";
  }
}

TEST(BltOptimum, has_the_published_decays_at_a_hundred_thousand_steps) {
  const BltOptimum found = find_blt_optimum({.steps = 100000, .buffers = 2});
  ASSERT_EQ(found.decays.size(), 2U);
  EXPECT_NEAR(found.decays[0], 0.99995289, 1e-8);
  EXPECT_NEAR(found.decays[1], 0.98570687, 1e-7);
  EXPECT_NEAR(found.errors.max_error, 5.296747146, 1e-8);
}

TEST(BltOptimum, more_buffers_are_never_worse_and_none_beats_the_certified_bound) {
  for (const Objective objective : {Objective::max, Objective::mean}) {
    const Optimum optimum = find_optimum({.steps = 512, .objective = objective}, {});
    double last = std::numeric_limits<double>::infinity();
    for (std::int64_t d = 1; d <= 6; ++d) {
      const BltOptimum found =
          find_blt_optimum({.steps = 512, .objective = objective, .buffers = d});
      const double error = error_of(found.errors, objective);
      EXPECT_LE(error, last);
      EXPECT_GE(error, optimum.lower_bound);
      last = error;
    }
  }
}

TEST(BltOptimum, parameters_have_the_errors_that_are_stated) {
  const Participation participation = Participation::min_separation({.times = 3, .apart = 4});
  for (const Objective objective : {Objective::max, Objective::mean}) {
    const BltOptimum found = find_blt_optimum(
        {.steps = 12, .objective = objective, .participation = participation, .buffers = 2});
    const Matrix encoder = blt_encoder_of(found.decays, found.weights, 12);
    const FamilyErrors dense =
        dense_errors(encoder, exhaustive_sensitivity(encoder, participation));
    EXPECT_TRUE(relatively_close(found.errors.sensitivity, dense.sensitivity, 1e-11));
    EXPECT_TRUE(relatively_close(found.errors.max_error, dense.max_error, 1e-11));
    EXPECT_TRUE(relatively_close(found.errors.mean_error, dense.mean_error, 1e-11));
    // The optimum for one participation is not the optimum for three.
    const BltOptimum single = find_blt_optimum({.steps = 12, .objective = objective, .buffers = 2});
    const Matrix other = blt_encoder_of(single.decays, single.weights, 12);
    const double stale =
        error_of(dense_errors(other, exhaustive_sensitivity(other, participation)), objective);
    EXPECT_LT(error_of(found.errors, objective), stale * (1 - 1e-3));
  }
}

TEST(BltOptimum, chooses_buffers_that_gain_a_thousandth_each) {
  const BltOptimum automatic = find_blt_optimum({.steps = 10000});
  const std::int64_t d = std::ssize(automatic.decays);
  const auto with = [](std::int64_t buffers) {
    return find_blt_optimum({.steps = 10000, .buffers = buffers}).errors.max_error;
  };
  EXPECT_LT(with(d), with(d - 1) * (1 - 0.9e-3));
  EXPECT_GT(with(d + 1), with(d) * (1 - 1.1e-3));
}

TEST(BltOptimum, giving_up_does_not_look_like_convergence) {
  const BltProblem problem{.steps = 1000, .buffers = 3};
  EXPECT_EQ(find_blt_optimum(problem, {.max_iterations = 1, .tolerance = 1e-12}).search.status,
            SolverStatus::not_converged);
  std::int64_t calls = 0;
  double last = std::numeric_limits<double>::infinity();
  const BltOptimum stopped =
      find_blt_optimum(problem, {.progress = [&](const FamilyProgress& progress) {
                         EXPECT_LE(progress.error, last);
                         last = progress.error;
                         return ++calls < 5;
                       }});
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(stopped.search.status, SolverStatus::stopped);
  EXPECT_TRUE(relatively_close(stopped.errors.max_error, last, 1e-12));
}

TEST(BltOptimum, one_step_needs_no_noise_structure) {
  const BltOptimum found = find_blt_optimum({.steps = 1});
  EXPECT_EQ(found.errors.max_error, 1);
  EXPECT_EQ(found.errors.sensitivity, 1);
}

TEST(BltOptimum, rejects_bad_input) {
  EXPECT_ERROR((void)find_blt_optimum({.steps = 0}), "invalid_argument", "find_blt_optimum: steps");
  EXPECT_ERROR((void)find_blt_optimum({.steps = 9, .buffers = 9}), "invalid_argument", "buffers");
  EXPECT_ERROR((void)find_blt_optimum({.steps = 9, .buffers = 0}), "invalid_argument", "buffers");
  EXPECT_ERROR((void)find_blt_optimum(
                   {.steps = 9,
                    .participation = Participation::fixed_epoch({.epochs = 2, .epoch_length = 4})}),
               "invalid_argument", "");
  EXPECT_ERROR((void)find_blt_optimum({.steps = 9}, {.max_iterations = 0}), "invalid_argument",
               "max_iterations");
  EXPECT_ERROR(
      (void)find_blt_optimum({.steps = 9}, {.tolerance = std::numeric_limits<double>::quiet_NaN()}),
      "invalid_argument", "tolerance must be between");
}

}  // namespace
}  // namespace dpftrl
