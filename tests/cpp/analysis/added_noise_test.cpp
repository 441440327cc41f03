// SPDX-License-Identifier: Apache-2.0
// Bounds on noise that does not depend on the data, tested against discrete and continuous
// distributions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "dpftrl/analysis/unit_error.hpp"
#include "golden/added_noise_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr double kEpsilons[] = {0.003, 0.05, 0.3, 1.0, 2.5, 6.0};

/// Delta between an integer distribution and its shift by 1, rounded up.
double delta_of(const std::vector<double>& law, double epsilon) {
  const double factor = std::exp(epsilon);
  double up = 0, down = 0;
  for (std::size_t k = 0; k <= law.size(); ++k) {
    const double here = k < law.size() ? law[k] : 0, before = k > 0 ? law[k - 1] : 0;
    up += std::max(0.0, here - factor * before);
    down += std::max(0.0, before - factor * here);
  }
  return std::max(up, down) * (1 + 1e-12) + 1e-15;
}

double variance_of(const std::vector<double>& law) {
  double mean = 0, square = 0;
  for (std::size_t k = 0; k < law.size(); ++k) mean += law[k] * static_cast<double>(k);
  for (std::size_t k = 0; k < law.size(); ++k)
    square += law[k] * std::pow(static_cast<double>(k) - mean, 2);
  return square;
}

std::vector<double> normalised(std::vector<double> law) {
  double sum = 0;
  for (const double p : law) sum += p;
  for (double& p : law) p /= sum;
  return law;
}

void expect_above(const std::vector<double>& law, const char* what) {
  for (const double epsilon : kEpsilons) {
    const double delta = delta_of(law, epsilon);
    if (delta >= 1) continue;
    EXPECT_GE(variance_of(law) * (1 + 1e-12),
              least_added_variance({.epsilon = epsilon, .delta = delta}))
        << what << " of " << law.size() << ", epsilon " << epsilon << ", delta " << delta;
  }
}

TEST(AddedNoise, no_law_of_integers_that_is_private_has_less_variance) {
  std::mt19937_64 bits(5);
  std::uniform_real_distribution<double> uniform;
  for (const int size : {1, 2, 3, 4, 7, 20, 101, 1000}) {
    const double centre = (size - 1) / 2.0;
    for (const double shift : {0.0, 0.25, 0.5, 0.9})
      for (const double scale : {0.2, 0.7, 2.0, 9.0, 60.0}) {
        std::vector<double> laplace, gaussian, square, random;
        for (int k = 0; k < size; ++k) {
          const double x = (k - centre - shift) / scale;
          laplace.push_back(std::exp(-std::abs(x)));
          gaussian.push_back(std::exp(-x * x / 2));
          square.push_back(1 / (1 + x * x * x * x));
          random.push_back(std::exp(-std::abs(x)) * uniform(bits));
        }
        expect_above(normalised(laplace), "Laplace");
        expect_above(normalised(gaussian), "Gaussian");
        expect_above(normalised(square), "heavy");
        expect_above(normalised(random), "random");
      }
    expect_above(normalised(std::vector<double>(static_cast<std::size_t>(size), 1.0)), "uniform");
  }
}

TEST(AddedNoise, is_that_of_the_best_laws_of_integers) {
  for (const auto& known : golden::added_noise::laws) {
    const double found = least_added_variance({.epsilon = known.epsilon, .delta = known.delta});
    EXPECT_LE(found, known.variance) << known.epsilon << ", " << known.delta;
    EXPECT_GE(found, known.variance * (1 - 1e-3L)) << known.epsilon << ", " << known.delta;
  }
  // Geometric noise is optimal for pure privacy.
  for (const double epsilon : {1e-9, 0.001, 0.05, 1.0, 7.0, 100.0}) {
    const double power = std::exp(-epsilon);
    const double best = 2 * power / std::pow(std::expm1(-epsilon), 2);
    const double found = least_added_variance({.epsilon = epsilon, .delta = 0});
    EXPECT_LE(found, best * (1 + 1e-12)) << epsilon;
    EXPECT_GE(found, best * (1 - 1e-4)) << epsilon;
  }
}

TEST(AddedNoise, laws_of_the_line_have_more_variance) {
  for (const double epsilon : {1e-6, 1e-3, 0.1, 1.0, 4.0, 20.0}) {
    EXPECT_LE(least_added_variance({.epsilon = epsilon, .delta = 0}), 2 / (epsilon * epsilon));
    double last = std::numeric_limits<double>::infinity();
    for (const double delta : {1e-300, 1e-12, 1e-6, 1e-3, 0.05, 0.3, 0.7, 0.999}) {
      const ApproximateDp target{.epsilon = epsilon, .delta = delta};
      const double found = least_added_variance(target);
      EXPECT_LE(found, std::pow(noise_multiplier(target), 2)) << epsilon << ", " << delta;
      // Uniform distribution on an interval of length 1 / delta.
      EXPECT_LE(found, 1 / (12 * delta * delta)) << epsilon << ", " << delta;
      EXPECT_LE(found, last * (1 + 1e-3)) << epsilon << ", " << delta;
      EXPECT_GE(found, 0);
      last = found;
    }
  }
  EXPECT_GT(least_added_variance({.epsilon = 1e-3, .delta = 0.3}), 0);
  EXPECT_EQ(least_added_variance({.epsilon = 1000, .delta = 1e-6}), 0);
  EXPECT_TRUE(std::isfinite(least_added_variance({.epsilon = 1e-300, .delta = 0})));
}

TEST(AddedNoise, bounds_are_those_of_factorizations_times_the_deviation) {
  const AddedNoiseBounds found = added_noise_bounds(64, {.epsilon = 1, .delta = 1e-5});
  const Workload prefix = Workload::prefix_sums(64);
  const auto bound = [&](Objective objective) {
    return certified_lower_bound(prefix, Participation::single(), objective)->value;
  };
  EXPECT_NEAR(std::sqrt(found.variance), 1.356, 0.001);
  EXPECT_NEAR(found.max, std::sqrt(found.variance) * bound(Objective::max), 1e-6);
  EXPECT_NEAR(found.mean, std::sqrt(found.variance) * bound(Objective::mean), 1e-6);
  EXPECT_LE(found.max, std::sqrt(found.variance) * bound(Objective::max));
}

TEST(AddedNoise, bad_input_is_refused_by_name) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()})
    EXPECT_ERROR(least_added_variance({.epsilon = bad, .delta = 0}), "invalid_argument",
                 "epsilon must be positive and finite");
  for (const double bad : {-1e-9, 1.0, nan})
    EXPECT_ERROR(least_added_variance({.epsilon = 1, .delta = bad}), "invalid_argument",
                 "delta must be at least 0 and below 1");
  EXPECT_ERROR(added_noise_bounds(0, {.epsilon = 1, .delta = 0}), "invalid_argument",
               "steps must be");
}

}  // namespace
}  // namespace dpftrl
