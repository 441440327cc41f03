// SPDX-License-Identifier: Apache-2.0
/// Releases of counts of active people: the law of their noise, audits, and restarts.

#include <cmath>
#include <vector>

#include "dense_algebra.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;

constexpr std::int64_t kActiveDays = 30, kActiveWindow = 14, kActiveStreams = 20000;

std::shared_ptr<const Mechanism> fortnightly_users() {
  return Mechanism::make({.strategy = "offset-ar",
                          .steps = kActiveDays,
                          .target = {.epsilon = 1, .delta = 1e-6},
                          .participation = Participation::active({.window = kActiveWindow})});
}

/// Releases of nobody, one stream a column.
Matrix noise_of_streams(const std::shared_ptr<const Mechanism>& mechanism) {
  PrefixSum sums(mechanism, {.key = Key::insecure_from_seed(31), .dimension = kActiveStreams});
  const std::vector<double> nobody(kActiveStreams);
  Matrix noise(index_of(kActiveDays), index_of(kActiveStreams));
  for (Eigen::Index day = 0; day < noise.rows(); ++day)
    sums.release(nobody, {noise.row(day).data(), nobody.size()});
  return noise;
}

/// The pattern with the largest energy, among all of them: two weeks fit into 30 days three times
/// at most, with both ends cut.
Vector pattern_of_most_energy(const Matrix& inverse, const ActivePattern& pattern) {
  Vector worst = Vector::Zero(inverse.rows());
  double largest = 0;
  const Participation active = Participation::active(pattern);
  // Days at which the activity changes.
  std::vector<std::int64_t> changes;
  const auto visit = [&](const auto& self, std::int64_t first) -> void {
    if (active.allows(changes, kActiveDays)) {
      Vector u = Vector::Zero(inverse.rows());
      for (std::size_t i = 0; i < changes.size(); i += 2) {
        const std::int64_t end = i + 1 < changes.size() ? changes[i + 1] : kActiveDays;
        u.segment(index_of(changes[i]), index_of(end - changes[i])).setOnes();
      }
      const double energy = u.dot(inverse * u);
      if (energy > largest) {
        largest = energy;
        worst = u;
      }
    }
    if (changes.size() == 6) return;
    for (std::int64_t day = first; day < kActiveDays; ++day) {
      changes.push_back(day);
      if (changes.size() % 2 == 1 || day - changes[changes.size() - 2] >= kActiveWindow ||
          changes[changes.size() - 2] == 0)
        self(self, day + 1);
      changes.pop_back();
    }
  };
  visit(visit, 0);
  return worst;
}

// With 20,000 streams, a sample std is off by 2 % with probability below 2e-4 x 1e-1 (4 standard
// errors), so the 30 days and the fixed seed leave less than 0.2 %.
TEST(ActivePeople, noise_has_its_std_on_every_day_and_its_covariance) {
  const auto mechanism = fortnightly_users();
  const Matrix noise = noise_of_streams(mechanism);
  const double theta = mechanism->certificate().parameters[0].values[0];
  const double offset = mechanism->certificate().parameters[1].values[0];
  const double unit = mechanism->noise_stddev() * mechanism->noise_stddev();
  const Matrix covariance = noise * noise.transpose() / (unit * kActiveStreams);
  for (Eigen::Index i = 0; i < noise.rows(); ++i) {
    EXPECT_NEAR(std::sqrt(covariance(i, i) * unit) / mechanism->release_stddev(i), 1, 0.02) << i;
    for (Eigen::Index j = 0; j < i; ++j)
      EXPECT_NEAR(covariance(i, j), std::pow(theta, i - j) + offset, 0.06) << i << ", " << j;
  }
}

/// mu of the likelihood ratio test of nobody against one person with that pattern.
double measured_mu(const Matrix& noise, const Matrix& inverse, const Vector& pattern) {
  const Vector weights = inverse * pattern;
  const Vector statistics = noise.transpose() * weights;
  const double mean = statistics.mean();
  const double variance = (statistics.array() - mean).square().sum() / (kActiveStreams - 1);
  return weights.dot(pattern) / std::sqrt(variance);
}

TEST(ActivePeople, the_worst_pattern_is_told_apart_as_well_as_mu_allows_and_no_better) {
  const auto mechanism = fortnightly_users();
  const Matrix noise = noise_of_streams(mechanism);
  const Matrix decoder = mechanism->strategy().decoder();
  const Matrix inverse = testing::inverse(decoder * decoder.transpose());
  const Vector worst = pattern_of_most_energy(inverse, {.window = kActiveWindow});
  const double mu = mechanism->certificate().mu;
  EXPECT_NEAR(std::sqrt(worst.dot(inverse * worst)), mechanism->certificate().sensitivity, 1e-9);
  // The sample std of 20,000 statistics is off by 2 % with probability below 1e-4.
  const double measured = measured_mu(noise, inverse, worst);
  EXPECT_LE(measured, mu * 1.02);
  EXPECT_GE(measured, mu * 0.98);
  // Two thirds of the noise do not pass.
  EXPECT_GT(measured_mu(noise * (2.0 / 3), inverse, worst), mu * 1.02);
}

TEST(ActivePeople, a_person_changes_releases_by_its_activity_and_nothing_else) {
  const auto mechanism = fortnightly_users();
  const PrefixSumOptions options{.key = Key::insecure_from_seed(32), .grid = 1};
  PrefixSum with(mechanism, options), without(mechanism, options);
  double a = 0, b = 0;
  for (std::int64_t day = 0; day < kActiveDays; ++day) {
    const double others = day % 3 == 0 ? 1 : -1;
    for (PrefixSum* sums : {&with, &without}) sums->contribute(std::vector{others});
    if (day == 4) with.contribute(std::vector{1.0});
    if (day == 18) with.contribute(std::vector{-1.0});
    with.release({&a, 1});
    without.release({&b, 1});
    EXPECT_EQ(a - b, day >= 4 && day < 18 ? 1 : 0) << day;
  }
}

TEST(ActivePeople, the_offset_survives_a_restart) {
  const auto mechanism = fortnightly_users();
  const PrefixSumOptions options{.key = Key::insecure_from_seed(33), .dimension = 3, .grid = 1};
  const std::vector<double> nobody(3);
  for (const std::int64_t stop : {0, 1, 2, 17}) {
    PrefixSum whole(mechanism, options), begun(mechanism, options), resumed(mechanism, options);
    std::vector<double> expected(3), found(3);
    for (std::int64_t day = 0; day < stop; ++day) {
      whole.release(nobody, expected);
      begun.release(nobody, found);
    }
    resumed.restore_without_journal(begun.checkpoint());
    for (std::int64_t day = stop; day < kActiveDays; ++day) {
      whole.release(nobody, expected);
      resumed.release(nobody, found);
      EXPECT_EQ(found, expected) << stop << ", " << day;
    }
  }
}

}  // namespace
}  // namespace dpftrl
