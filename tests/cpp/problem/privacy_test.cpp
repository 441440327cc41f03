// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/problem/privacy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "golden/privacy_golden.hpp"
#include "golden/privacy_oracle_golden.hpp"
#include "special_values.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::normal_cdf;

using LongReal = long double;

// ---- Checks that decide pass or fail; each is itself tested below ("the check rejects ...").

/// Error relative to the true value.
LongReal error_relative_to(LongReal value, LongReal truth) {
  // Not std::abs: Debian 13's Clang 19 crashes on it for WebAssembly's 128-bit long double.
  const LongReal error = value - truth;
  return (error < 0 ? -error : error) / (truth < 0 ? -truth : truth);
}

bool close(double value, LongReal truth, double tolerance) {
  return error_relative_to(value, truth) <= tolerance;
}

/// True if value >= truth and exceeds it by at most the fraction `slack`, or by two units where
/// doubles are coarser than that (subnormal values).
bool at_least(double value, LongReal truth, double slack) {
  const LongReal excess = static_cast<LongReal>(value) - truth;
  return excess >= 0 && (excess <= slack * truth || excess <= 1e-323L);
}

bool at_most(double value, LongReal truth, double slack) {
  const LongReal shortfall = truth - static_cast<LongReal>(value);
  return shortfall >= 0 && (shortfall <= slack * truth || shortfall <= 1e-323L);
}

/// Version of at_least for probabilities near 1, for which only the complement keeps its digits.
bool at_least_probability(double value, LongReal truth, LongReal complement, double slack) {
  if (truth < 0.5L) return at_least(value, truth, slack);
  const LongReal gap = complement - (1 - static_cast<LongReal>(value));
  return gap >= 0 && gap <= slack * complement + 0x1p-53L;
}

using Calibration = double (*)(const ApproximateDp&);

/// Number of golden targets that `multiplier` meets to within 1e-9.
int golden_matches(Calibration multiplier) {
  int matches = 0;
  for (const auto& row : golden::privacy::analytic)
    matches += close(multiplier({.epsilon = row.eps, .delta = row.delta}), row.sigma, 1e-9);
  return matches;
}

/// Number of 30-digit targets that `multiplier` meets from the safe side, to within `slack`.
int safe_matches(Calibration multiplier, double slack) {
  int matches = 0;
  for (const auto& row : golden::privacy_oracle::calibration) {
    if (row.multiplier > 1e307L) continue;
    matches +=
        at_least(multiplier({.epsilon = row.eps, .delta = row.delta}), row.multiplier, slack);
  }
  return matches;
}

constexpr int kGoldenTargets = static_cast<int>(std::size(golden::privacy::analytic));
constexpr int kOracleTargets = static_cast<int>(std::size(golden::privacy_oracle::calibration));

/// Bisects for the multiplier under a given formula for delta(mu, epsilon).
template <class Delta>
double solve(const ApproximateDp& target, const Delta& delta) {
  double low = 1e-3;
  double high = 1e6;
  for (int step = 0; step < 200; ++step) {
    const double middle = std::sqrt(low * high);
    (delta(1 / middle, target.epsilon) > target.delta ? low : high) = middle;
  }
  return high;
}

std::string message_of_refusal(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + "|" + error.what();
  }
  return "no error";
}

std::string invalid(const std::string& message) {
  return "invalid_argument|" + message;
}

// ---- Known values

TEST(Privacy, analytic_calibration_matches_every_golden_entry) {
  for (const auto& row : golden::privacy::analytic) {
    SCOPED_TRACE(::testing::Message() << "epsilon " << row.eps << " delta " << row.delta);
    const ApproximateDp target{.epsilon = row.eps, .delta = row.delta};
    EXPECT_TRUE(close(noise_multiplier(target), row.sigma, 1e-9));
    EXPECT_TRUE(close(mu_from_approximate_dp(target), row.mu, 1e-9));
    const double wide = static_cast<double>(1 / row.sigma_huu_C);
    EXPECT_TRUE(close(delta_from_mu({.mu = wide, .epsilon = row.eps}), row.delta_of_huu, 1e-9));
    EXPECT_EQ(delta_from_mu({.mu = wide, .epsilon = row.eps}) <= row.delta,
              row.delta_of_huu <= row.delta);
  }
  EXPECT_EQ(golden_matches(noise_multiplier), kGoldenTargets);
}

TEST(Privacy, classical_formula_matches_every_golden_entry) {
  for (const auto& row : golden::privacy::analytic) {
    SCOPED_TRACE(::testing::Message() << "epsilon " << row.eps << " delta " << row.delta);
    const ClassicalGaussian classical =
        classical_gaussian({.epsilon = row.eps, .delta = row.delta});
    EXPECT_TRUE(close(classical.noise_multiplier, row.sigma_classical, 1e-14));
    EXPECT_TRUE(close(classical.actual_delta, row.delta_of_classical, 1e-9));
    EXPECT_EQ(classical.sound, row.classical_valid);
    EXPECT_EQ(classical.theorem_applies, row.eps < 1);
  }
}

TEST(Privacy, concentrated_calibration_matches_every_golden_entry_and_beats_bun_steinke) {
  for (const auto& row : golden::privacy::analytic) {
    SCOPED_TRACE(::testing::Message() << "epsilon " << row.eps << " delta " << row.delta);
    const double rho = rho_from_approximate_dp({.epsilon = row.eps, .delta = row.delta});
    EXPECT_TRUE(close(rho, row.rho_tight, 1e-9));
    EXPECT_TRUE(close(1 / mu_from_rho(rho), row.sigma_zcdp, 1e-9));
    EXPECT_GT(rho, row.rho_bun_steinke);
    EXPECT_LT(1 / mu_from_rho(rho), row.sigma_bun_steinke);
  }
}

TEST(Privacy, epsilon_matches_every_golden_entry) {
  for (const auto& row : golden::privacy::gdp_eps) {
    SCOPED_TRACE(::testing::Message() << "mu " << row.mu << " delta " << row.delta);
    EXPECT_TRUE(close(rho_from_mu(row.mu), row.rho, 1e-15));
    EXPECT_TRUE(
        close(epsilon_from_mu({.mu = row.mu, .delta = row.delta}), row.eps_exact_gaussian, 1e-9));
    const double epsilon =
        epsilon_from_rho({.rho = static_cast<double>(row.rho), .delta = row.delta});
    EXPECT_TRUE(close(epsilon, row.eps_zcdp_tight, 1e-9));
    EXPECT_LT(epsilon, row.eps_zcdp_bun_steinke);
  }
}

TEST(Privacy, concentrated_delta_matches_every_golden_entry) {
  for (const auto& row : golden::privacy::zcdp) {
    SCOPED_TRACE(::testing::Message() << "mu " << row.mu << " epsilon " << row.eps);
    EXPECT_TRUE(close(delta_from_mu({.mu = row.mu, .epsilon = row.eps}), row.delta_exact, 1e-9));
    const double rho = rho_from_mu(row.mu);
    const double delta = delta_from_rho({.rho = rho, .epsilon = row.eps});
    EXPECT_TRUE(close(delta, row.delta_zcdp, 1e-9));
    // Formula of the header, at the golden minimiser.
    const LongReal alpha = row.alpha_opt;
    const LongReal factor =
        std::exp((alpha - 1) * (alpha * LongReal{rho} - LongReal{row.eps})) / (alpha - 1);
    EXPECT_TRUE(close(delta, factor * std::pow(1 - 1 / alpha, alpha), 1e-9));
  }
}

TEST(Privacy,
     discrete_gaussian_is_covered_by_the_concentrated_bound_but_not_by_the_continuous_one) {
  bool continuous_fails = false;
  for (const auto& row : golden::privacy::discrete_gaussian) {
    SCOPED_TRACE(::testing::Message() << "sigma^2 " << row.sigma2 << " epsilon " << row.eps);
    const double mu = static_cast<double>(row.Delta) / std::sqrt(row.sigma2);
    const double continuous = delta_from_mu({.mu = mu, .epsilon = row.eps});
    EXPECT_TRUE(close(continuous, row.delta_continuous, 1e-9));
    EXPECT_TRUE(close(rho_from_mu(mu), row.rho, 1e-9));
    EXPECT_GT(delta_from_rho({.rho = rho_from_mu(mu), .epsilon = row.eps}), row.delta_exact);
    continuous_fails = continuous_fails || continuous < row.delta_exact;
  }
  EXPECT_TRUE(continuous_fails);
}

TEST(Privacy, closed_forms_at_special_arguments) {
  // epsilon = 0: total variation 2 Phi(mu / 2) - 1.
  EXPECT_TRUE(close(delta_from_mu({.mu = 2, .epsilon = 0}), 0.682689492137085897170465L, 1e-13));
  // epsilon = mu^2 / 2, so that a = 0: 1/2 - e^epsilon Phi(-mu); mu = 1: e^(1/2) Phi(-1).
  EXPECT_TRUE(close(delta_from_mu({.mu = 1, .epsilon = 0.5}), 0.238421708134876628318230L, 1e-13));
  EXPECT_NEAR(noise_multiplier({.epsilon = 1, .delta = 1e-6}), 4.224679, 5e-7);
}

// ---- Against 30 digits, from the safe side

TEST(Privacy, noise_multiplier_is_at_least_the_thirty_digit_value_and_within_1e12_of_it) {
  for (const auto& row : golden::privacy_oracle::calibration) {
    if (row.multiplier > 1e307L) continue;
    const double multiplier = noise_multiplier({.epsilon = row.eps, .delta = row.delta});
    EXPECT_TRUE(at_least(multiplier, row.multiplier, 1e-12))
        << "epsilon " << row.eps << " delta " << row.delta << " excess "
        << static_cast<double>(multiplier / row.multiplier - 1);
  }
}

TEST(Privacy, mu_is_at_most_the_thirty_digit_value_and_within_1e12_of_it) {
  for (const auto& row : golden::privacy_oracle::calibration) {
    const ApproximateDp target{.epsilon = row.eps, .delta = row.delta};
    const double mu = mu_from_approximate_dp(target);
    EXPECT_TRUE(at_most(mu, row.mu, 1e-12)) << "epsilon " << row.eps << " delta " << row.delta;
    EXPECT_LE(delta_from_mu({.mu = mu, .epsilon = row.eps}), row.delta);
  }
}

TEST(Privacy, delta_is_at_least_the_thirty_digit_value_and_within_3e14_of_it) {
  for (const auto& row : golden::privacy_oracle::profile) {
    const double delta = delta_from_mu({.mu = row.mu, .epsilon = row.eps});
    EXPECT_TRUE(at_least_probability(delta, row.delta, row.complement, 3e-14))
        << "mu " << row.mu << " epsilon " << row.eps << " excess "
        << static_cast<double>(delta / row.delta - 1);
  }
}

TEST(Privacy, epsilon_of_mu_is_at_least_the_thirty_digit_value_and_within_1e12_of_it) {
  for (const auto& row : golden::privacy_oracle::epsilon) {
    const double epsilon = epsilon_from_mu({.mu = row.mu, .delta = row.delta});
    EXPECT_TRUE(at_least(epsilon, row.eps, 1e-12))
        << "mu " << row.mu << " delta " << row.delta << " excess "
        << static_cast<double>(epsilon / row.eps - 1);
  }
}

TEST(Privacy, concentrated_delta_is_at_least_the_thirty_digit_infimum_and_close_above_it) {
  for (const auto& row : golden::privacy_oracle::zcdp_delta) {
    const double delta = delta_from_rho({.rho = row.rho, .epsilon = row.eps});
    const LongReal truth = row.delta;
    EXPECT_TRUE(at_least_probability(delta, truth, 1 - truth, 3e-12))
        << "rho " << row.rho << " epsilon " << row.eps << " excess "
        << static_cast<double>(delta / truth - 1);
  }
}

TEST(Privacy, concentrated_epsilon_is_at_least_the_thirty_digit_value_and_within_1e12_of_it) {
  for (const auto& row : golden::privacy_oracle::zcdp_epsilon)
    EXPECT_TRUE(at_least(epsilon_from_rho({.rho = row.rho, .delta = row.delta}), row.eps, 1e-12))
        << "rho " << row.rho << " delta " << row.delta;
}

TEST(Privacy, concentrated_rho_is_at_most_the_thirty_digit_value_and_within_2e12_of_it) {
  for (const auto& row : golden::privacy_oracle::zcdp_rho)
    EXPECT_TRUE(
        at_most(rho_from_approximate_dp({.epsilon = row.eps, .delta = row.delta}), row.rho, 2e-12))
        << "epsilon " << row.eps << " delta " << row.delta;
}

// ---- Falsify: the checks above reject what they must

double swapped_sign(const ApproximateDp& target) {
  return solve(target, [](double mu, double epsilon) {
    return normal_cdf(-epsilon / mu - mu / 2) -
           std::exp(epsilon) * normal_cdf(-epsilon / mu - mu * 1.5);
  });
}

double half_noise(const ApproximateDp& target) {
  return noise_multiplier(target) / 2;
}
double double_noise(const ApproximateDp& target) {
  return noise_multiplier(target) * 2;
}
double variance(const ApproximateDp& target) {
  return noise_multiplier(target) * noise_multiplier(target);
}
double one_tail(const ApproximateDp& target) {
  return solve(target,
               [](double mu, double epsilon) { return normal_cdf(-epsilon / mu + mu / 2); });
}
double textbook(const ApproximateDp& target) {
  return classical_gaussian(target).noise_multiplier;
}
double concentrated_epsilon(const ApproximateDp& target) {
  return 1 / mu_from_rho(rho_from_approximate_dp(target));
}

TEST(Privacy, the_golden_check_rejects_wrong_formulas) {
  for (const Calibration wrong :
       {swapped_sign, half_noise, double_noise, variance, one_tail, textbook, concentrated_epsilon})
    EXPECT_EQ(golden_matches(wrong), 0);
}

double cancelling(const ApproximateDp& target) {
  return solve(target, [](double mu, double epsilon) {
    return normal_cdf(-epsilon / mu + mu / 2) -
           std::exp(epsilon) * normal_cdf(-epsilon / mu - mu / 2);
  });
}
double one_part_in_1e12_short(const ApproximateDp& target) {
  return noise_multiplier(target) * (1 - 1e-12);
}
double one_part_in_1e12_more(const ApproximateDp& target) {
  return noise_multiplier(target) * (1 + 1e-12);
}

TEST(Privacy, the_safe_side_check_rejects_the_direct_formula_and_errors_of_1e12) {
  EXPECT_GT(golden_matches(cancelling), kGoldenTargets / 2);  // good enough at ordinary targets...
  EXPECT_LT(safe_matches(cancelling, 1e-12), kOracleTargets / 3);  // ... and nowhere near safe
  EXPECT_EQ(safe_matches(one_part_in_1e12_short, 1e-12), 0);
  EXPECT_EQ(safe_matches(one_part_in_1e12_more, 1e-12), 0);
}

TEST(Privacy, the_comparison_helpers_reject_the_wrong_side_and_nan) {
  EXPECT_FALSE(at_least(std::nextafter(1.0, 0.0), 1, 1));
  EXPECT_FALSE(at_least(1 + 2e-13, 1, 1e-13));
  EXPECT_FALSE(at_most(std::nextafter(1.0, 2.0), 1, 1));
  EXPECT_FALSE(at_most(1 - 2e-13, 1, 1e-13));
  EXPECT_FALSE(at_least_probability(1 - 1e-9, 1 - 9e-10L, 9e-10L, 1e-13));
  EXPECT_FALSE(at_least_probability(1 - 8e-10, 1 - 9e-10L, 9e-10L, 1e-13));
  EXPECT_FALSE(close(kNan, 1, 1) || at_least(kNan, 1, 1) || at_most(kNan, 1, 1) ||
               at_least_probability(kNan, 0.1L, 0.9L, 1) ||
               at_least_probability(kNan, 0.9L, 0.1L, 1));
}

// ---- Laws

const std::vector<double>& epsilons() {
  static const std::vector<double> values = {1e-300, 1e-12, 1e-6, 0.03, 0.5, 1, 4, 20, 333, 1e4};
  return values;
}
const std::vector<double>& deltas() {
  static const std::vector<double> values = {5e-324, 1e-310, 1e-300, 1e-120, 1e-15, 1e-6,
                                             0.02,   0.37,   0.5,    0.77,   0.99,  1 - 1e-12};
  return values;
}

TEST(Privacy, every_inverse_meets_its_target_and_the_next_double_beyond_rounding_does_not) {
  for (const double epsilon : epsilons()) {
    for (const double delta : deltas()) {
      SCOPED_TRACE(::testing::Message() << "epsilon " << epsilon << " delta " << delta);
      const double mu = mu_from_approximate_dp({.epsilon = epsilon, .delta = delta});
      EXPECT_LE(delta_from_mu({.mu = mu, .epsilon = epsilon}), delta);
      EXPECT_GT(delta_from_mu({.mu = mu * (1 + 1e-12) + 1e-323, .epsilon = epsilon}), delta);
      const double back = epsilon_from_mu({.mu = mu, .delta = delta});
      EXPECT_LE(delta_from_mu({.mu = mu, .epsilon = back}), delta);
      // For tiny epsilon / mu, delta hardly depends on epsilon, so the test compares deltas.
      EXPECT_TRUE(back <= epsilon * (1 + 1e-12) ||
                  delta_from_mu({.mu = mu, .epsilon = back}) >= delta * (1 - 1e-14));
      if (epsilon < 1e-100 && delta < 1e-100) continue;  // rho underflows
      const double rho = rho_from_approximate_dp({.epsilon = epsilon, .delta = delta});
      EXPECT_LE(delta_from_rho({.rho = rho, .epsilon = epsilon}), delta);
      EXPECT_GT(delta_from_rho({.rho = rho * (1 + 2e-12) + 1e-323, .epsilon = epsilon}), delta);
      EXPECT_LE(epsilon_from_rho({.rho = rho, .delta = delta}), epsilon * (1 + 1e-15));
      // rho-zCDP promises less than GDP of the same rho, so the same target needs a smaller rho.
      EXPECT_LE(mu_from_rho(rho), mu);
    }
  }
}

TEST(Privacy, noise_falls_as_epsilon_or_delta_grows) {
  for (std::size_t i = 0; i < epsilons().size(); ++i) {
    for (std::size_t j = 0; j < deltas().size(); ++j) {
      const double mu = mu_from_approximate_dp({.epsilon = epsilons()[i], .delta = deltas()[j]});
      if (i > 0) {
        EXPECT_GE(mu, mu_from_approximate_dp({.epsilon = epsilons()[i - 1], .delta = deltas()[j]}));
      }
      if (j > 0) {
        EXPECT_GT(mu, mu_from_approximate_dp({.epsilon = epsilons()[i], .delta = deltas()[j - 1]}));
      }
    }
  }
}

TEST(Privacy, delta_falls_in_epsilon_and_grows_in_mu_across_every_branch) {
  // a = epsilon / mu - mu / 2 crosses 0, -0.7 and -40, in steps far above rounding.
  double previous = 0;
  for (double mu = 1e-3; mu < 200; mu *= 1.001) {
    const double delta = delta_from_mu({.mu = mu, .epsilon = 0.3});
    EXPECT_GE(delta, previous) << "mu " << mu;
    previous = delta;
  }
  EXPECT_EQ(previous, 1);
  for (double epsilon = 0; epsilon < 20; epsilon += 0.01) {
    const double delta = delta_from_mu({.mu = 2, .epsilon = epsilon});
    EXPECT_LE(delta, previous) << "epsilon " << epsilon;
    previous = delta;
  }
}

TEST(Privacy, small_mu_limit_is_the_density) {
  // d delta / d mu is phi(0) as mu -> 0 at epsilon = 0, so nothing may be lost to cancellation.
  for (const double mu : {1e-3, 1e-8, 1e-100, 1e-290, 1e-305}) {
    const LongReal series =
        0.398942280401432677940L * LongReal{mu} * (1 - LongReal{mu} * LongReal{mu} / 24);
    EXPECT_TRUE(close(delta_from_mu({.mu = mu, .epsilon = 0}), series, 1e-13)) << mu;
  }
}

TEST(Privacy, beyond_the_doubles_delta_is_one_or_the_smallest_double) {
  EXPECT_EQ(delta_from_mu({.mu = 1e300, .epsilon = 1}), 1);
  EXPECT_EQ(delta_from_mu({.mu = 1, .epsilon = 1e300}), 5e-324);
  EXPECT_EQ(delta_from_mu({.mu = 1e-320, .epsilon = 1}), 5e-324);
  EXPECT_EQ(delta_from_mu({.mu = 5e-324, .epsilon = 1.7e308}), 5e-324);
  EXPECT_EQ(delta_from_rho({.rho = 1e-300, .epsilon = 1}), 5e-324);
  EXPECT_EQ(delta_from_rho({.rho = 1e300, .epsilon = 1}), 1);
  EXPECT_EQ(epsilon_from_mu({.mu = 1e-3, .delta = 0.5}), 0);
  EXPECT_EQ(epsilon_from_rho({.rho = 1e-6, .delta = 0.5}), 0);
}

TEST(Privacy, at_the_ends_of_the_range_the_answers_stay_finite_and_safe) {
  for (const double epsilon : {5e-324, 1e-308, 1e30, 1e100, 1.7e308}) {
    for (const double delta : {5e-324, 1e-300, 1e-6, 0.5, 1 - 0x1p-53}) {
      SCOPED_TRACE(::testing::Message() << "epsilon " << epsilon << " delta " << delta);
      const double mu = mu_from_approximate_dp({.epsilon = epsilon, .delta = delta});
      EXPECT_TRUE(mu > 0 && std::isfinite(mu));
      EXPECT_LE(delta_from_mu({.mu = mu, .epsilon = epsilon}), delta);
      // Huge epsilon: a = 0 at mu = sqrt(2 epsilon), and delta < 1/2 needs a > 0.
      if (epsilon > 1) {
        EXPECT_TRUE(at_most(mu, std::sqrt(2 * LongReal{epsilon}), 1e-12) || delta > 0.5);
      }
    }
  }
}

TEST(Privacy, epsilon_just_below_the_total_variation_is_small_positive_and_sound) {
  for (const double mu : {1e-6, 0.1, 1.0, 5.0}) {
    const double total_variation = delta_from_mu({.mu = mu, .epsilon = 0});
    EXPECT_EQ(epsilon_from_mu({.mu = mu, .delta = total_variation}), 0);
    for (const double share : {1 - 1e-15, 1 - 1e-12, 1 - 1e-6}) {
      const double delta = total_variation * share;
      const double epsilon = epsilon_from_mu({.mu = mu, .delta = delta});
      EXPECT_GT(epsilon, 0);
      EXPECT_LE(delta_from_mu({.mu = mu, .epsilon = epsilon}), delta);
    }
  }
}

TEST(Privacy, the_concentrated_bound_is_above_the_exact_delta) {
  for (const double mu : {0.01, 0.3, 1.0, 4.0})
    for (const double epsilon : {0.0, 0.01, 0.5, 2.0, 20.0})
      EXPECT_GE(delta_from_rho({.rho = rho_from_mu(mu), .epsilon = epsilon}),
                delta_from_mu({.mu = mu, .epsilon = epsilon}));
}

TEST(Privacy, rho_of_mu_is_rounded_up_and_mu_of_rho_is_rounded_down) {
  EXPECT_EQ(rho_from_mu(3), 4.5);
  EXPECT_EQ(mu_from_rho(4.5), 3);
  double mu = 1e-160;
  for (int step = 0; step < 2000; ++step, mu *= 1.4321) {
    if (mu > 1e154) break;
    const double rho = rho_from_mu(mu);
    EXPECT_TRUE(at_least(rho, LongReal{mu} * LongReal{mu} / 2, mu > 1e-139 ? 0x1p-52 : 0x1p-51))
        << mu;
    const double back = mu_from_rho(mu);
    EXPECT_LE(LongReal{back} * LongReal{back}, 2 * LongReal{mu} * (1 + 1e-19L)) << mu;
    EXPECT_TRUE(close(back, std::sqrt(2 * LongReal{mu}), 0x1p-51)) << mu;
    // Changes by at most the rounding of a square, where rho keeps its full precision.
    if (mu > 1e-150) {
      EXPECT_TRUE(close(mu_from_rho(rho), mu, 0x1p-51)) << mu;
    }
  }
  EXPECT_EQ(mu_from_rho(5e-324) > 0, true);
  EXPECT_EQ(rho_from_mu(1e-300), 5e-324);
  EXPECT_EQ(rho_from_mu(0x1.8p511), 0x1.2p1022);  // mu^2 overflows, mu^2 / 2 does not
  EXPECT_EQ(mu_from_rho(1.7e308), mu_from_rho(1.7e308 / 4) * 2);
}

TEST(Privacy, composition_adds_squares_of_mu_and_adds_rho_rounded_up) {
  EXPECT_EQ(compose_mu(std::vector<double>{3, 4}), 5);
  EXPECT_EQ(compose_mu(std::vector<double>{3e200, 4e200}), 5e200);
  EXPECT_EQ(compose_mu(std::vector<double>{0.7}), 0.7);
  EXPECT_EQ(compose_rho(std::vector<double>{0.5, 0.25, 4}), 4.75);
  EXPECT_EQ(compose_mu({}), 0);
  EXPECT_EQ(compose_rho({}), 0);
  // Adding 0.1 a million times is never below the exact sum, and does not drift above it.
  const std::vector<double> many(1000000, 0.1);
  EXPECT_TRUE(at_least(compose_rho(many), LongReal{0.1} * 1000000, 0x1p-51));
  EXPECT_TRUE(at_least(compose_mu(many), LongReal{0.1} * 1000, 0x1p-51));
  // A term too small to change the sum still raises it by one unit.
  EXPECT_EQ(compose_rho(std::vector<double>{1, 1e-300}), std::nextafter(1.0, 2.0));
  EXPECT_EQ(compose_mu(std::vector<double>{1, 1e-300}), std::nextafter(1.0, 2.0));
  // The two accountings agree: rho of the composition is the composition of the rhos.
  const std::vector<double> mus{0.3, 1.7, 0.04, 2.2};
  std::vector<double> rhos;
  for (const double mu : mus) rhos.push_back(rho_from_mu(mu));
  EXPECT_NEAR(rho_from_mu(compose_mu(mus)), compose_rho(rhos), 1e-14);
}

TEST(Privacy, parts_of_a_limit_fit_it_and_the_whole_stays_within_the_target) {
  for (const double epsilon : epsilons()) {
    for (const double delta : deltas()) {
      SCOPED_TRACE(::testing::Message() << "epsilon " << epsilon << " delta " << delta);
      const double mu = mu_from_approximate_dp({.epsilon = epsilon, .delta = delta});
      const bool has_rho = epsilon >= 1e-100 || delta >= 1e-100;
      const double rho =
          has_rho ? rho_from_approximate_dp({.epsilon = epsilon, .delta = delta}) : 1;
      for (const std::size_t count : {1U, 2U, 3U, 7U, 1000U}) {
        const double parts = static_cast<double>(count);
        if (mu > 1e-290) {
          const double of_mu = compose_mu(std::vector<double>(count, mu / std::sqrt(parts)));
          EXPECT_TRUE(fits_limit({.total = of_mu, .limit = mu})) << count;
          EXPECT_LE(delta_from_mu({.mu = of_mu, .epsilon = epsilon}), delta) << count;
        }
        if (rho > 1e-290) {
          const double of_rho = compose_rho(std::vector<double>(count, rho / parts));
          EXPECT_TRUE(fits_limit({.total = of_rho, .limit = rho})) << count;
          if (has_rho) {
            EXPECT_LE(delta_from_rho({.rho = of_rho, .epsilon = epsilon}), delta) << count;
          }
        }
      }
      // The largest accepted total stays within the target, too.
      const double most = mu * (1 + kCompositionSlack);
      EXPECT_LE(delta_from_mu({.mu = most, .epsilon = epsilon}), delta);
      EXPECT_FALSE(
          fits_limit({.total = mu * (1 + 1.001 * kCompositionSlack) + 5e-324, .limit = mu}));
      if (has_rho) {
        // The computed bound is monotone in rho up to rounding.
        EXPECT_LE(delta_from_rho({.rho = rho * (1 + kCompositionSlack), .epsilon = epsilon}),
                  delta * (1 + 1e-11));
      }
    }
  }
  EXPECT_TRUE(fits_limit({.total = 0, .limit = 1}));
  EXPECT_FALSE(fits_limit({.total = 1e300, .limit = 1e-300}));
  EXPECT_EQ(message_of_refusal([] { fits_limit({.total = -1, .limit = 1}); }),
            invalid("fits_limit: total must be non-negative and finite, got -1"));
  EXPECT_EQ(message_of_refusal([] { fits_limit({.total = kNan, .limit = 1}); }),
            invalid("fits_limit: total must be non-negative and finite, got NaN"));
}

TEST(Privacy, pure_dp_is_concentrated_dp_of_known_rho) {
  // epsilon tanh(epsilon / 2), to 17 digits by mpmath.
  const double known[][2] = {{0.1, 0.0049958374957880026}, {0.5, 0.12245933120185457},
                             {1, 0.46211715726000976},     {2, 1.5231883119115297},
                             {4, 3.8561103203032675},      {8, 7.9946343979125364}};
  for (const auto& [epsilon, rho] : known)
    EXPECT_TRUE(at_least(rho_from_pure_dp(epsilon), rho * (1 - 1e-14), 2e-14)) << epsilon;
  for (double epsilon = 1e-150; epsilon < 1e300; epsilon *= 1.77) {
    const LongReal rho = LongReal{epsilon} * std::tanh(LongReal{epsilon} / 2);
    EXPECT_TRUE(at_least(rho_from_pure_dp(epsilon), rho, 0x1p-47)) << epsilon;
  }
  // Randomised response attains it as alpha decreases to 1, and never exceeds it.
  for (const LongReal epsilon : {0.01L, 0.3L, 1.0L, 4.0L, 20.0L}) {
    const LongReal rho = rho_from_pure_dp(static_cast<double>(epsilon));
    LongReal largest = 0;
    for (LongReal beta = 1e-4L; beta < 1e4L; beta *= 1.1L) {
      // ln(cosh x / cosh y) / beta for x = (beta + 1/2) epsilon, y = epsilon / 2. If these are
      // close, cosh x - cosh y is computed as a product of sinh values, without cancellation.
      const LongReal gap = beta * epsilon, x = epsilon / 2 + gap, y = epsilon / 2;
      const auto log_cosh = [](LongReal z) { return z + std::log1p(std::exp(-2 * z)); };
      const LongReal log_ratio =
          gap < 1 ? std::log1p(2 * std::sinh((x + y) / 2) * std::sinh(gap / 2) / std::cosh(y))
                  : log_cosh(x) - log_cosh(y);
      const LongReal divergence = log_ratio / beta;
      EXPECT_LE(divergence, (1 + beta) * rho * (1 + 1e-12L)) << epsilon << " " << beta;
      largest = std::max(largest, divergence / (1 + beta));
    }
    EXPECT_GE(largest, rho * (1 - 1e-3L)) << epsilon;
  }
  EXPECT_EQ(rho_from_pure_dp(1e-300), 5e-324);
  EXPECT_THROW((void)rho_from_pure_dp(0), Error);
  EXPECT_THROW((void)rho_from_pure_dp(-1), Error);
  EXPECT_THROW((void)rho_from_pure_dp(kNan), Error);
  EXPECT_THROW((void)rho_from_pure_dp(kInfinity), Error);
  EXPECT_THROW((void)rho_from_pure_dp(1.7976931348623157e308), Error);
}

/// Exact delta at epsilon of discrete Gaussian noise that is rho-zCDP for integers `distance`
/// apart, as the sum over all integers that matter. Not inlined: see long_doubles.hpp.
[[gnu::noinline]] LongReal enumerated_delta(LongReal rho, int distance, LongReal epsilon) {
  const LongReal variance = distance * distance / (2 * rho);
  const auto weight = [&](int k) { return std::exp(-LongReal(k) * k / (2 * variance)); };
  const int reach = distance + static_cast<int>(std::ceil(40 * std::sqrt(variance))) + 2;
  LongReal total = 0;
  LongReal delta = 0;
  for (int k = -reach; k <= reach; ++k) {
    total += weight(k);
    delta += std::max(LongReal{0}, weight(k) - std::exp(epsilon) * weight(k + distance));
  }
  return delta / total;
}

TEST(Privacy, concentrated_epsilon_holds_for_discrete_gaussians_and_that_of_the_gaussian_does_not) {
  for (const double rho : {0.01, 0.1, 0.5, 1.0, 3.0, 10.0}) {
    for (const double delta : {0.1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-12}) {
      const double epsilon = epsilon_from_rho({.rho = rho, .delta = delta});
      for (const int distance : {1, 2, 7})
        EXPECT_LE(enumerated_delta(rho, distance, epsilon), delta) << rho << " " << delta;
    }
  }
  EXPECT_NEAR(epsilon_from_rho({.rho = 0.5, .delta = 1e-3}), 3.536562, 1e-6);
  EXPECT_NEAR(epsilon_from_rho({.rho = 0.5, .delta = 1e-5}), 4.728387, 1e-6);
  EXPECT_NEAR(epsilon_from_rho({.rho = 0.5, .delta = 1e-8}), 6.086159, 1e-6);
  const double gaussian = epsilon_from_mu({.mu = mu_from_rho(0.5), .delta = 1e-3});
  EXPECT_NEAR(gaussian, 3.138671, 1e-6);
  EXPECT_NEAR(static_cast<double>(enumerated_delta(0.5, 1, gaussian)), 1.44484e-3, 1e-8);
}

TEST(Privacy, mu_of_pure_dp_is_never_below_the_truth) {
  // 2 Phi(mu / 2) - 1 = tanh(epsilon / 2), solved with 60 digits by mpmath and rounded down.
  const double below[][2] = {{1e-8, 1.2533141373155002e-08}, {1e-3, 0.001253314114901875},
                             {0.1, 0.12530901221160756},     {1, 1.2320353853449009},
                             {2, 2.3579614856472495},        {10, 7.8279143936218665},
                             {50, 19.34965056722471},        {600, 69.02399099946703}};
  for (const auto& [epsilon, mu] : below) {
    EXPECT_GT(mu_from_pure_dp(epsilon), mu) << epsilon;
    EXPECT_LE(mu_from_pure_dp(epsilon), mu * (1 + 1e-12)) << epsilon;
  }
  // Tests values of sqrt(pi / 2) and more times the smallest subnormal.
  const double unit = std::numeric_limits<double>::denorm_min();
  for (const double units : {1.0, 2.0, 3.0, 100.0, 0x1p60}) {
    EXPECT_GT(mu_from_pure_dp(units * unit) / unit, 1.2533141373155002 * units) << units;
    EXPECT_LE(mu_from_pure_dp(units * unit) / unit, 1.2533141373155012 * units + 3) << units;
  }
  EXPECT_LE(mu_from_pure_dp(0x1p-901), mu_from_pure_dp(0x1p-900));
}

TEST(Privacy, composition_of_the_smallest_numbers_is_not_rounded_down) {
  // The result is sqrt(2) times the smallest subnormal.
  const double unit = std::numeric_limits<double>::denorm_min();
  EXPECT_GT(compose_mu(std::vector<double>{unit, unit}), unit);
  EXPECT_GE(compose_mu(std::vector<double>{3 * unit, 3 * unit}), 5 * unit);
}

TEST(Privacy, pure_dp_is_gaussian_dp_of_known_mu) {
  // 2 Phi^-1(e^epsilon / (1 + e^epsilon)), by the inverse of Python's statistics.NormalDist.
  const double known[][2] = {{0.1, 0.12530901221160773},
                             {0.5, 0.6238925920985083},
                             {1, 1.2320353853449013},
                             {3, 3.3406837122406},
                             {10, 7.82791439362187}};
  for (const auto& [epsilon, mu] : known) {
    EXPECT_GE(mu_from_pure_dp(epsilon), mu * (1 - 1e-13)) << epsilon;
    EXPECT_LE(mu_from_pure_dp(epsilon), mu * (1 + 1e-10)) << epsilon;
  }
  EXPECT_LE(mu_from_pure_dp(1e4), std::sqrt(8e4) * (1 + 1e-12));
  // Randomised response attains everything that epsilon-DP allows, and its delta is below that of
  // mu-GDP.
  for (const double epsilon : {1e-8, 1e-3, 0.1, 1.0, 5.0, 30.0, 300.0, 699.0, 701.0, 1e5}) {
    const double mu = mu_from_pure_dp(epsilon);
    const auto is_covered = [epsilon](double by, double at) {
      const double delta = -std::expm1(at - epsilon) / (1 + std::exp(-epsilon));
      return delta_from_mu({.mu = by, .epsilon = at}) >= delta * (1 - 1e-14);
    };
    for (double share = 0; share < 1; share += 1.0 / 16)
      EXPECT_TRUE(is_covered(mu, share * epsilon)) << epsilon << " " << share;
    if (epsilon < 20) {
      EXPECT_FALSE(is_covered(mu * (1 - 1e-6), 0)) << epsilon;
    }
  }
  EXPECT_THROW((void)mu_from_pure_dp(0), Error);
  EXPECT_THROW((void)mu_from_pure_dp(kNan), Error);
  EXPECT_THROW((void)mu_from_pure_dp(kInfinity), Error);
}

TEST(Privacy, classical_formula_says_when_it_is_unsound) {
  const ClassicalGaussian small = classical_gaussian({.epsilon = 0.5, .delta = 1e-5});
  EXPECT_TRUE(small.theorem_applies && small.sound);
  EXPECT_GT(small.noise_multiplier, 1.3 * noise_multiplier({.epsilon = 0.5, .delta = 1e-5}));
  const ClassicalGaussian large = classical_gaussian({.epsilon = 10, .delta = 1e-6});
  EXPECT_FALSE(large.theorem_applies || large.sound);
  EXPECT_LT(large.noise_multiplier, noise_multiplier({.epsilon = 10, .delta = 1e-6}));
  for (const double epsilon : epsilons()) {
    for (const double delta : deltas()) {
      if (epsilon < 1e-100) continue;
      const ApproximateDp target{.epsilon = epsilon, .delta = delta};
      const ClassicalGaussian classical = classical_gaussian(target);
      EXPECT_EQ(classical.sound, classical.noise_multiplier >= noise_multiplier(target));
    }
  }
}

// ---- Bad input

TEST(Privacy, bad_epsilon_or_delta_is_refused_with_its_name_and_value) {
  struct Case {
    double epsilon;
    double delta;
    std::string complaint;
  };
  const std::vector<Case> cases = {
      {0, 0.1, "epsilon must be positive and finite, got 0"},
      {-1, 0.1, "epsilon must be positive and finite, got -1"},
      {kNan, 0.1, "epsilon must be positive and finite, got NaN"},
      {kInfinity, 0.1, "epsilon must be positive and finite, got inf"},
      {-kInfinity, 0.1, "epsilon must be positive and finite, got -inf"},
      {1, 0, "delta must be strictly between 0 and 1, got 0"},
      {1, 1, "delta must be strictly between 0 and 1, got 1"},
      {1, 1.5, "delta must be strictly between 0 and 1, got 1.5"},
      {1, -1e-6, "delta must be strictly between 0 and 1, got -1e-06"},
      {1, kNan, "delta must be strictly between 0 and 1, got NaN"},
      {1, kInfinity, "delta must be strictly between 0 and 1, got inf"},
  };
  for (const auto& [epsilon, delta, complaint] : cases) {
    const ApproximateDp target{.epsilon = epsilon, .delta = delta};
    EXPECT_EQ(message_of_refusal([&] { noise_multiplier(target); }),
              invalid("noise_multiplier: " + complaint));
    EXPECT_EQ(message_of_refusal([&] { mu_from_approximate_dp(target); }),
              invalid("mu_from_approximate_dp: " + complaint));
    EXPECT_EQ(message_of_refusal([&] { rho_from_approximate_dp(target); }),
              invalid("rho_from_approximate_dp: " + complaint));
    EXPECT_EQ(message_of_refusal([&] { classical_gaussian(target); }),
              invalid("classical_gaussian: " + complaint));
    if (epsilon == 1) {
      EXPECT_EQ(message_of_refusal([&] { epsilon_from_mu({.mu = 1, .delta = delta}); }),
                invalid("epsilon_from_mu: " + complaint));
      EXPECT_EQ(message_of_refusal([&] { epsilon_from_rho({.rho = 1, .delta = delta}); }),
                invalid("epsilon_from_rho: " + complaint));
    }
  }
  for (const auto& [epsilon, text] :
       std::vector<std::pair<double, std::string>>{{-1, "-1"}, {kNan, "NaN"}, {kInfinity, "inf"}}) {
    const std::string complaint = "epsilon must be non-negative and finite, got " + text;
    EXPECT_EQ(message_of_refusal([&] { delta_from_mu({.mu = 1, .epsilon = epsilon}); }),
              invalid("delta_from_mu: " + complaint));
    EXPECT_EQ(message_of_refusal([&] { delta_from_rho({.rho = 1, .epsilon = epsilon}); }),
              invalid("delta_from_rho: " + complaint));
  }
}

TEST(Privacy, bad_mu_or_rho_is_refused_with_its_name_and_value) {
  for (const auto& [value, text] : std::vector<std::pair<double, std::string>>{
           {0, "0"}, {-1, "-1"}, {kNan, "NaN"}, {kInfinity, "inf"}}) {
    const std::string mu = "mu must be positive and finite, got " + text;
    const std::string rho = "rho must be positive and finite, got " + text;
    EXPECT_EQ(message_of_refusal([&] { delta_from_mu({.mu = value, .epsilon = 1}); }),
              invalid("delta_from_mu: " + mu));
    EXPECT_EQ(message_of_refusal([&] { epsilon_from_mu({.mu = value, .delta = 0.1}); }),
              invalid("epsilon_from_mu: " + mu));
    EXPECT_EQ(message_of_refusal([&] { rho_from_mu(value); }), invalid("rho_from_mu: " + mu));
    EXPECT_EQ(message_of_refusal([&] { mu_from_rho(value); }), invalid("mu_from_rho: " + rho));
    EXPECT_EQ(message_of_refusal([&] { delta_from_rho({.rho = value, .epsilon = 1}); }),
              invalid("delta_from_rho: " + rho));
    EXPECT_EQ(message_of_refusal([&] { epsilon_from_rho({.rho = value, .delta = 0.1}); }),
              invalid("epsilon_from_rho: " + rho));
    const std::vector<double> list{1, value};
    EXPECT_EQ(message_of_refusal([&] { compose_mu(list); }),
              invalid("compose_mu: mus[1] must be positive and finite, got " + text));
    EXPECT_EQ(message_of_refusal([&] { compose_rho(list); }),
              invalid("compose_rho: rhos[1] must be positive and finite, got " + text));
  }
}

TEST(Privacy, answers_outside_the_doubles_are_refused_not_returned_as_infinity_or_zero) {
  EXPECT_EQ(message_of_refusal([] { noise_multiplier({.epsilon = 1e-310, .delta = 1e-310}); }),
            invalid("noise_multiplier: epsilon must be large enough for a finite noise multiplier, "
                    "got 1e-310"));
  EXPECT_EQ(message_of_refusal([] { classical_gaussian({.epsilon = 1e-310, .delta = 0.1}); }),
            invalid("classical_gaussian: epsilon must be large enough for a finite noise "
                    "multiplier, got 1e-310"));
  EXPECT_EQ(
      message_of_refusal([] { rho_from_approximate_dp({.epsilon = 1e-200, .delta = 1e-200}); }),
      invalid("rho_from_approximate_dp: epsilon must be large enough for a positive rho, "
              "got 1e-200"));
  EXPECT_EQ(message_of_refusal([] { epsilon_from_mu({.mu = 1e200, .delta = 0.1}); }),
            invalid("epsilon_from_mu: mu must be small enough for a finite epsilon, got 1e+200"));
  EXPECT_EQ(message_of_refusal(
                [] { epsilon_from_rho({.rho = 1.7976931348623157e308, .delta = 1e-300}); }),
            invalid("epsilon_from_rho: rho must be small enough for a finite epsilon, got "
                    "1.7976931348623157e+308"));
  EXPECT_EQ(message_of_refusal([] { rho_from_mu(1e200); }),
            invalid("rho_from_mu: mu must be small enough for a finite rho, got 1e+200"));
  const std::vector<double> huge(2, 1.7e308);
  EXPECT_EQ(message_of_refusal([&] { compose_rho(huge); }),
            invalid("compose_rho: rhos must be small enough for a finite total, got 1.7e+308"));
  EXPECT_EQ(message_of_refusal([&] { compose_mu(huge); }),
            invalid("compose_mu: mus must be small enough for a finite total, got 1.7e+308"));
}

}  // namespace
}  // namespace dpftrl
