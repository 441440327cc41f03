// SPDX-License-Identifier: Apache-2.0
// Every privacy number is a bound on the safe side of the true value, to the last bit.
// tests/reference/safe_side_oracle.py proves the doubles that results are compared with, by
// interval arithmetic: the true value lies between them and the next double on the unsafe side.
#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <limits>

#include "dpftrl/problem/privacy.hpp"
#include "golden/safe_side_golden.hpp"
#include "special_values.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;

namespace known = golden::safe_side;

/// True if an upper bound is safe and exceeds the least safe double by at most the fraction
/// `slack`.
bool is_tight_above(double value, double safe, double slack) {
  return value >= safe && value - safe <= slack * safe;
}
bool is_tight_below(double value, double safe, double slack) {
  return value <= safe && safe - value <= slack * safe;
}

TEST(SafeSide, the_checks_reject_the_next_double) {
  for (const double safe : {0.1, 1.0, 3e-200, 0x1p-3}) {
    EXPECT_TRUE(is_tight_above(safe, safe, 0));
    EXPECT_FALSE(is_tight_above(std::nextafter(safe, 0), safe, 1));
    EXPECT_FALSE(is_tight_above(safe * (1 + 1e-12), safe, 1e-13));
    EXPECT_TRUE(is_tight_below(safe, safe, 0));
    EXPECT_FALSE(is_tight_below(std::nextafter(safe, kInfinity), safe, 1));
    EXPECT_FALSE(is_tight_below(safe * (1 - 1e-12), safe, 1e-13));
    EXPECT_FALSE(is_tight_above(std::nan(""), safe, 1) || is_tight_below(std::nan(""), safe, 1));
  }
}

TEST(SafeSide, delta_of_mu) {
  for (const auto& row : known::delta_of_mu)
    EXPECT_TRUE(is_tight_above(delta_from_mu({.mu = row.mu, .epsilon = row.eps}), row.safe, 3e-14))
        << row.mu << " " << row.eps;
}

TEST(SafeSide, mu_and_noise_multiplier_of_a_target) {
  for (const auto& row : known::calibration) {
    const ApproximateDp target{.epsilon = row.eps, .delta = row.delta};
    const double mu = mu_from_approximate_dp(target);
    EXPECT_TRUE(is_tight_below(mu, row.mu, 1e-12)) << row.eps << " " << row.delta;
    const double multiplier = noise_multiplier(target);
    EXPECT_TRUE(is_tight_above(multiplier, row.multiplier, 1e-12)) << row.eps << " " << row.delta;
    // Certificates contain both, so the multiplier must match mu exactly.
    EXPECT_GE(std::fma(multiplier, mu, -1.0), 0) << row.eps << " " << row.delta;
    EXPECT_LT(std::fma(std::nextafter(multiplier, 0), mu, -1.0), 0) << row.eps << " " << row.delta;
  }
}

TEST(SafeSide, epsilon_of_mu) {
  for (const auto& row : known::epsilon_of_mu)
    EXPECT_TRUE(
        is_tight_above(epsilon_from_mu({.mu = row.mu, .delta = row.delta}), row.safe, 1e-11))
        << row.mu << " " << row.delta;
}

TEST(SafeSide, exact_delta_of_the_classical_formula) {
  int num_same = 0;
  for (const auto& row : known::classical) {
    const ClassicalGaussian found = classical_gaussian({.epsilon = row.eps, .delta = row.delta});
    // Logarithms differ between platforms; the delta is exact only for this multiplier.
    if (found.noise_multiplier != row.multiplier) continue;
    ++num_same;
    EXPECT_TRUE(is_tight_above(found.actual_delta, row.safe, 1e-12)) << row.eps << " " << row.delta;
  }
  EXPECT_GE(num_same, 5);
}

TEST(SafeSide, mu_of_pure_dp) {
  for (const auto& row : known::pure)
    EXPECT_TRUE(is_tight_above(mu_from_pure_dp(row.eps), row.safe, 1e-12)) << row.eps;
  // For larger epsilon, mu is sqrt(8 epsilon), rounded up.
  for (double epsilon = 701; epsilon < 1e6; epsilon *= 1.37) {
    const double mu = mu_from_pure_dp(epsilon);
    EXPECT_GE(std::fma(mu, mu, -8 * epsilon), 0) << epsilon;
    EXPECT_LE(mu, std::sqrt(8 * epsilon) * (1 + 1e-14));
  }
}

TEST(SafeSide, concentrated_dp) {
  for (const auto& row : known::delta_of_rho)
    EXPECT_TRUE(
        is_tight_above(delta_from_rho({.rho = row.rho, .epsilon = row.eps}), row.safe, 1e-12))
        << row.rho << " " << row.eps;
  for (const auto& row : known::epsilon_of_rho)
    EXPECT_TRUE(
        is_tight_above(epsilon_from_rho({.rho = row.rho, .delta = row.delta}), row.safe, 1e-11))
        << row.rho << " " << row.delta;
  for (const auto& row : known::rho)
    EXPECT_TRUE(is_tight_below(rho_from_approximate_dp({.epsilon = row.eps, .delta = row.delta}),
                               row.safe, 1e-11))
        << row.eps << " " << row.delta;
}

TEST(SafeSide, rho_of_mu_and_mu_of_rho) {
  for (const auto& row : known::algebraic) {
    EXPECT_EQ(rho_from_mu(row.value), row.rho_of_mu) << row.value;
    EXPECT_TRUE(is_tight_below(mu_from_rho(row.value), row.mu_of_rho, 2 * DBL_EPSILON))
        << row.value;
  }
}

TEST(SafeSide, compositions) {
  for (const auto& row : known::composition) {
    const std::array parts = {row.a, row.b, row.c};
    EXPECT_TRUE(is_tight_above(compose_mu(parts), row.mu, 2 * DBL_EPSILON)) << row.a;
    EXPECT_TRUE(is_tight_above(compose_rho(parts), row.rho, 2 * DBL_EPSILON)) << row.a;
  }
  // Remainders that add up to slightly more than one unit.
  EXPECT_EQ(compose_rho(std::array{1.0, 0x1p-53, 0x1p-53, 0x1p-200}), 1 + 0x1p-51);
  // sqrt(2) times the smallest double.
  EXPECT_EQ(compose_mu(std::array{5e-324, 5e-324}), 1e-323);
}

}  // namespace
}  // namespace dpftrl
