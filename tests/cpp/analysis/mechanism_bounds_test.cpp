// SPDX-License-Identifier: Apache-2.0
// Bounds on mechanisms that need not be factorizations, compared with exact nuclear norms, with
// mechanisms, and with each other.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "golden/optima_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

MechanismBounds concentrated_bounds(std::int64_t steps, double rho) {
  return mechanism_bounds(
      {.steps = steps, .notion = PrivacyNotion::concentrated, .parameter = rho});
}

MechanismBounds pure(std::int64_t steps, double epsilon) {
  return mechanism_bounds({.steps = steps, .notion = PrivacyNotion::pure, .parameter = epsilon});
}

TEST(MechanismBounds, of_unbiased_mechanisms_are_those_of_factorizations_over_the_root_of_chi) {
  const auto bound = [](Objective objective) {
    return certified_lower_bound(Workload::prefix_sums(64), Participation::single(), objective)
        ->value;
  };
  for (const double rho : {1e-4, 0.1, 2.0}) {
    const MechanismBounds found = concentrated_bounds(64, rho);
    const double chi = std::sqrt(std::exp(2 * rho) - 1);
    EXPECT_LE(found.unbiased_max, bound(Objective::max) / chi);
    EXPECT_NEAR(found.unbiased_max * chi / bound(Objective::max), 1, 1e-10);
    EXPECT_NEAR(found.unbiased_mean * chi / bound(Objective::mean), 1, 1e-10);
  }
  for (const double epsilon : {1e-3, 1.0, 5.0}) {
    const double chi = std::exp(epsilon) + std::exp(-epsilon) - 2;
    const MechanismBounds found = pure(64, epsilon);
    EXPECT_NEAR(found.unbiased_max * std::sqrt(chi) / bound(Objective::max), 1, 1e-9);
    EXPECT_NEAR(found.unbiased_mean * std::sqrt(chi) / bound(Objective::mean), 1, 1e-9);
  }
}

TEST(MechanismBounds, no_gaussian_or_laplace_mechanism_is_below_them) {
  for (const std::int64_t steps : {1, 2, 7, 64, 1000}) {
    const auto strategy = testing::make_known("square-root", steps);
    const UnitError unit = unit_error(*strategy, Participation::single());
    for (const double rho : {1e-6, 0.01, 0.1, 0.5, 3.0}) {
      const MechanismBounds found = concentrated_bounds(steps, rho);
      const double sigma = 1 / std::sqrt(2 * rho);
      EXPECT_LE(found.unbiased_max, unit.max_error * sigma);
      EXPECT_LE(found.unbiased_mean, unit.mean_error * sigma);
      EXPECT_LE(found.every, unit.mean_error * sigma);
      // Releasing 0 always has at most the error of the stream of ones.
      const double n = static_cast<double>(steps);
      EXPECT_LE(found.every, std::sqrt((n + 1) * (2 * n + 1) / 6));
      // The mechanism's releases shrunk towards 0, by the best factor for records of size 1.
      const double signal = (n + 1) * (2 * n + 1) / 6;
      const double noise = unit.mean_error * unit.mean_error * sigma * sigma;
      EXPECT_LE(found.every, std::sqrt(signal * noise / (signal + noise)));
    }
    // Laplace noise of scale 1 / epsilon on each record has variance 2 (t + 1) / epsilon^2.
    for (const double epsilon : {0.01, 1.0, 4.0}) {
      const double n = static_cast<double>(steps);
      const MechanismBounds found = pure(steps, epsilon);
      EXPECT_LE(found.unbiased_mean, std::sqrt(n + 1) / epsilon);
      EXPECT_LE(found.unbiased_max, std::sqrt(2 * n) / epsilon);
      EXPECT_LE(found.every, std::sqrt(n + 1) / epsilon);
    }
  }
}

TEST(MechanismBounds, no_filtered_gaussian_mechanism_is_below_them_on_streams_of_plus_and_minus_1) {
  // The best linear estimate from C x + sigma z, averaged over streams of blocks of 1 or -1.
  double least_ratio = std::numeric_limits<double>::infinity();
  for (const std::int64_t steps : {1, 3, 16, 64})
    for (const char* name : {"square-root", "independent", "output", "tree", "optimal"}) {
      const auto strategy = testing::make_known(name, steps);
      const Matrix encoder = strategy->encoder();
      const double distance = unit_error(*strategy, Participation::single()).sensitivity.value;
      const Eigen::Index n = testing::index_of(steps);
      const Matrix total = Matrix(Matrix::Ones(n, n).triangularView<Eigen::Lower>());
      for (double rho = 1e-5; rho < 20; rho *= 3) {
        const MechanismBounds found = concentrated_bounds(steps, rho);
        const Eigen::Index length = testing::index_of(found.block_length);
        const Eigen::Index num_blocks = (n - length / 2) / length;
        Matrix blocks = Matrix::Zero(n, num_blocks);
        for (Eigen::Index t = 0; t < num_blocks * length; ++t) blocks(t, t / length) = 1;
        const Matrix seen = encoder * blocks * (std::sqrt(2 * rho) / distance);
        const Matrix asked = total * blocks;
        const Matrix precision = Matrix::Identity(num_blocks, num_blocks) + seen.transpose() * seen;
        const double error =
            std::sqrt((asked * testing::inverse(precision) * asked.transpose()).trace() /
                      static_cast<double>(steps));
        EXPECT_LE(found.every, error) << name << " " << steps << " rho " << rho;
        least_ratio = std::min(least_ratio, error / found.every);
      }
    }
  EXPECT_LE(least_ratio, 1.3) << "a bound three times as large would pass unseen";
}

/// ||A D||_*, where D has the indicators of the blocks, from the eigenvalues of its Gram matrix.
double exact_norm(std::int64_t steps, std::int64_t num_blocks, std::int64_t length) {
  Matrix total(testing::index_of(steps), testing::index_of(num_blocks));
  for (Eigen::Index t = 0; t < total.rows(); ++t)
    for (Eigen::Index block = 0; block < total.cols(); ++block)
      total(t, block) =
          static_cast<double>(std::clamp<std::int64_t>(t + 1 - block * length, 0, length));
  const Vector values = testing::symmetric_eigen(total.transpose() * total).values;
  return values.cwiseMax(0).cwiseSqrt().sum();
}

TEST(MechanismBounds, of_every_mechanism_are_below_the_exact_norm_and_close) {
  for (const std::int64_t steps : {1, 2, 5, 48, 200})
    for (double rho = 1e-6; rho < 10; rho *= 2) {
      const MechanismBounds found = concentrated_bounds(steps, rho);
      const std::int64_t length = found.block_length;
      const std::int64_t num_blocks = (steps - length / 2) / length;
      const double size = static_cast<double>(length);
      const double exact = exact_norm(steps, num_blocks, length) /
                           (std::sqrt(static_cast<double>(steps * num_blocks)) *
                            (1 + std::sqrt(std::expm1(2 * size * size * rho))));
      EXPECT_LE(found.every, exact * (1 + 1e-12)) << steps << " steps, rho " << rho;
      if (length * 12 > steps) continue;  // for a few long blocks the bound is not tight
      EXPECT_GT(found.every, 0.88 * exact) << steps << " steps, rho " << rho;
    }
}

TEST(MechanismBounds, at_1024_steps_are_below_those_of_an_independent_computation_and_close) {
  for (const auto& known : golden::optima::totals) {
    const MechanismBounds found = concentrated_bounds(known.num_steps, known.rho);
    EXPECT_LE(found.every, known.every * (1 + 1e-8)) << known.rho;
    EXPECT_GT(found.every, 0.9 * known.every) << known.rho;
    if (known.block_length > 1) continue;
    // With blocks of single steps, the norm has a closed form.
    EXPECT_EQ(found.block_length, 1);
    EXPECT_GT(found.every, known.every * (1 - 1e-8));
  }
}

TEST(MechanismBounds, fall_with_the_budget_and_hold_at_every_horizon) {
  for (const std::int64_t steps :
       {std::int64_t{1}, std::int64_t{3}, std::int64_t{500}, std::int64_t{1} << 40}) {
    double last = std::numeric_limits<double>::infinity();
    for (const double rho : {1e-300, 1e-3, 0.1, 1.0, 1000.0}) {
      if (steps > 1000 && rho != 0.1) continue;  // takes seconds
      const MechanismBounds found = concentrated_bounds(steps, rho);
      EXPECT_LE(found.every, last) << steps << " steps, rho " << rho;
      EXPECT_GE(found.every, 0);
      EXPECT_GE(found.unbiased_max, found.unbiased_mean * (1 - 1e-9));
      last = found.every;
    }
  }
}

TEST(MechanismBounds, bad_input_is_refused_by_name) {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_ERROR(concentrated_bounds(8, bad), "invalid_argument",
                 "rho must be positive and finite");
    EXPECT_ERROR(pure(8, bad), "invalid_argument", "epsilon must be positive and finite");
  }
  EXPECT_ERROR(concentrated_bounds(0, 1), "invalid_argument", "steps must be");
}

}  // namespace
}  // namespace dpftrl
