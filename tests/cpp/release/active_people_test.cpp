// SPDX-License-Identifier: Apache-2.0
/// Releases of counts of active people: the law of their noise, audits, and restarts.

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "dense_algebra.hpp"
#include "dpftrl/release/journal.hpp"
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

/// Releases of streams without people, one stream per column.
Matrix noise_of_streams(const std::shared_ptr<const Mechanism>& mechanism) {
  PrefixSum sums(mechanism, {.key = Key::insecure_from_seed(31), .dimension = kActiveStreams});
  const std::vector<std::int64_t> nobody(kActiveStreams);
  Matrix noise(index_of(kActiveDays), index_of(kActiveStreams));
  for (Eigen::Index day = 0; day < noise.rows(); ++day)
    sums.release(CountChanges{nobody}, {noise.row(day).data(), nobody.size()});
  return noise;
}

/// The activity u of one person with the largest energy u^T `inverse` u. All patterns are tried:
/// runs of at least two weeks fit into 30 days at most three times, the first and the last cut off,
/// so the activity changes at most six times.
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

// With 20,000 streams, a sample std is off by 2 % (4 standard errors) with probability below 7e-5,
// hence on any of the 30 days with probability about 0.2 %; and the seed is fixed.
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
  // With two thirds of the noise, the test would fail.
  EXPECT_GT(measured_mu(noise * (2.0 / 3), inverse, worst), mu * 1.02);
}

/// Streams of people whose window is 3 days, and the factor of the inverse covariance of the noise.
struct Adversary {
  static constexpr std::int64_t kWindow = 3;

  /// Log likelihood ratios of a person who changes the count by `weight` against nobody, one for
  /// each stream. An adversary chooses, depending on earlier releases, the days on which the person
  /// has an event, and how many others come and go.
  std::vector<double> ratios(bool is_there, std::int64_t weight) const {
    PrefixSum sums(mechanism, {.key = Key::insecure_from_seed(is_there ? 37 : 38),
                               .dimension = kActiveStreams});
    const auto size = static_cast<std::size_t>(kActiveStreams);
    std::vector<std::int64_t> last(size, -kWindow), before(size), others(size), changes(size);
    std::vector<double> released(size), ratios(size);
    std::vector<Vector> seen(size, Vector::Zero(kActiveDays)), activity = seen;
    for (std::int64_t day = 0; day < kActiveDays; ++day) {
      for (std::size_t i = 0; i < size; ++i) {
        const bool looks_there = day > 0 && seen[i][index_of(day - 1)] > 0;
        const std::int64_t left = last[i] + kWindow - day;
        if (left <= 0 ? !looks_there : left == 1 && looks_there) last[i] = day;
        const std::int64_t active = last[i] + kWindow > day ? weight : 0;
        const std::int64_t coming = looks_there ? 7 : -3;
        others[i] += coming;
        changes[i] = coming + (is_there ? active - before[i] : 0);
        before[i] = active;
        activity[i][index_of(day)] = static_cast<double>(active);
      }
      sums.release(CountChanges{changes}, released);
      for (std::size_t i = 0; i < size; ++i) {
        seen[i][index_of(day)] = released[i] - static_cast<double>(others[i]);
        // The ratio grows by that of the whitened release of this day, whose mean the person moves.
        const auto row = whitening.row(index_of(day));
        const double moved = row.dot(activity[i]), found = row.dot(seen[i]);
        ratios[i] += moved * (found - moved / 2);
      }
    }
    return ratios;
  }

  std::shared_ptr<const Mechanism> mechanism;
  Matrix whitening;
};

double share_above(const std::vector<double>& ratios, double threshold) {
  const auto count = std::ranges::count_if(ratios, [&](double it) { return it > threshold; });
  return static_cast<double>(count) / static_cast<double>(ratios.size());
}

// delta(epsilon) of two unit Gaussians with means mu apart bounds what any test finds. A share of
// 20,000 streams is off by 0.014 with probability below 1e-4.
TEST(ActivePeople, who_chooses_events_from_releases_learns_no_more_than_mu) {
  constexpr std::int64_t kWeight = 2;
  const auto mechanism =
      Mechanism::make({.strategy = "offset-ar",
                       .steps = kActiveDays,
                       .target = {.epsilon = 4, .delta = 1e-6},
                       .participation = Participation::active({.window = Adversary::kWindow})})
          ->with_clip(kWeight);
  const Matrix decoder = mechanism->strategy().decoder() * mechanism->noise_stddev();
  const Matrix lower = Matrix(decoder * decoder.transpose()).llt().matrixL();
  const Adversary adversary{mechanism, testing::inverse(lower)};
  const double mu = mechanism->certificate().mu;
  const std::vector<double> nobody = adversary.ratios(false, kWeight);
  const std::vector<double> somebody = adversary.ratios(true, kWeight);
  // A person of one and a half times the weight, as if the noise were two thirds of what it is.
  const std::vector<double> no_other = adversary.ratios(false, kWeight + 1);
  const std::vector<double> other = adversary.ratios(true, kWeight + 1);
  for (const double epsilon : {0.0, 0.5}) {
    const double most = delta_from_mu({.mu = mu, .epsilon = epsilon});
    const double scale = std::exp(epsilon), error = 0.014 * (1 + scale);
    const double found = share_above(somebody, epsilon) - scale * share_above(nobody, epsilon);
    EXPECT_LE(found, most + error) << epsilon;
    EXPECT_GE(found, most * 0.8 - error) << epsilon;
    EXPECT_GT(share_above(other, epsilon) - scale * share_above(no_other, epsilon), most + error)
        << epsilon;
  }
}

TEST(ActivePeople, a_person_changes_releases_by_its_activity_and_nothing_else) {
  const auto mechanism = fortnightly_users();
  const PrefixSumOptions options{.key = Key::insecure_from_seed(32), .grid = 1};
  PrefixSum with(mechanism, options), without(mechanism, options);
  double a = 0, b = 0;
  for (std::int64_t day = 0; day < kActiveDays; ++day) {
    // Many people come and go in a day, so that a clipped record would lose the person.
    const std::int64_t others = day % 3 == 0 ? 1000 : -400;
    const std::int64_t person = day == 4 ? 1 : day == 18 ? -1 : 0;
    with.release(CountChanges{std::array{others + person}}, {&a, 1});
    without.release(CountChanges{std::array{others}}, {&b, 1});
    EXPECT_EQ(a - b, day >= 4 && day < 18 ? 1 : 0) << day;
  }
}

TEST(ActivePeople, the_offset_survives_a_restart) {
  const auto mechanism = fortnightly_users();
  const PrefixSumOptions options{.key = Key::insecure_from_seed(33), .dimension = 3, .grid = 1};
  const std::array<std::int64_t, 3> nobody{};
  for (const std::int64_t stop : {0, 1, 2, 17}) {
    PrefixSum whole(mechanism, options), begun(mechanism, options), resumed(mechanism, options);
    std::vector<double> expected(3), found(3);
    for (std::int64_t day = 0; day < stop; ++day) {
      whole.release(CountChanges{nobody}, expected);
      begun.release(CountChanges{nobody}, found);
    }
    resumed.restore_without_journal(begun.checkpoint());
    for (std::int64_t day = stop; day < kActiveDays; ++day) {
      whole.release(CountChanges{nobody}, expected);
      resumed.release(CountChanges{nobody}, found);
      EXPECT_EQ(found, expected) << stop << ", " << day;
    }
  }
}

TEST(ActivePeople, counts_are_added_as_they_are_on_every_grid) {
  const auto mechanism = fortnightly_users();
  for (const double grid : {1.0, 0x1p-10}) {
    const PrefixSumOptions options{
        .key = Key::insecure_from_seed(34), .dimension = 2, .grid = grid};
    PrefixSum counts(mechanism, options), nobody(mechanism, options);
    Memory place(mechanism, options, {});
    std::vector<double> noisy(2), noise(2);
    std::vector<std::int64_t> truth(2);
    for (std::int64_t day = 0; day < kActiveDays; ++day) {
      const std::array<std::int64_t, 2> changes{1'000'000 - 70'000 * day, 3 - day};
      for (std::size_t i = 0; i < 2; ++i) truth[i] += changes[i];
      counts.release(CountChanges{changes}, noisy);
      nobody.release(CountChanges{std::array<std::int64_t, 2>{}}, noise);
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(noisy[i] - noise[i], static_cast<double>(truth[i])) << day;
      // A step is also the sum of several changes.
      Contributions step;
      place.add_to(step, CountChanges{std::array{changes[0], std::int64_t{0}}});
      place.add_to(step, CountChanges{std::array{std::int64_t{0}, changes[1]}});
      const std::span<const double> again = place.end(std::move(step));
      EXPECT_EQ(std::vector(again.begin(), again.end()), noisy) << day;
    }
  }
}

TEST(ActivePeople, the_sums_of_the_largest_changes_have_room) {
  const auto mechanism = fortnightly_users();
  PrefixSum counts(mechanism, {.key = Key::insecure_from_seed(35), .grid = 1});
  EXPECT_EQ(counts.max_contributions(), std::int64_t{1} << 22);
  double noisy = 0;
  const auto release = [&](std::int64_t change) {
    counts.release(CountChanges{std::array{change}}, {&noisy, 1});
  };
  const std::int64_t most = std::int64_t{1} << 40;
  release(most);
  EXPECT_NEAR(noisy, 0x1p40, 1000);
  for (const std::int64_t change : {most + 1, -most - 1, INT64_MAX, INT64_MIN})
    EXPECT_ERROR(release(change), "invalid_argument", "record must be");
  EXPECT_EQ(counts.step(), 1);
  release(-most);
  EXPECT_NEAR(noisy, 0, 1000);
}

TEST(ActivePeople, counts_are_for_active_people_alone_and_they_take_nothing_else) {
  const auto mechanism = fortnightly_users();
  const PrefixSumOptions options{.key = Key::insecure_from_seed(36)};
  PrefixSum counts(mechanism, options);
  double noisy = 0;
  const std::array change{1.0};
  const auto refused = [&](auto&& call) {
    EXPECT_ERROR(call(), "unsupported", "record must be changes of counts");
  };
  refused([&] { counts.release(change, {&noisy, 1}); });
  refused([&] { counts.contribute(change); });
  refused([&] { counts.release_batch(change, {&noisy, 1}, 1); });
  Memory place(mechanism, options, {});
  Contributions step;
  refused([&] { place.add_to(step, change); });
  EXPECT_ERROR(counts.release(CountChanges{}, {&noisy, 1}), "wrong_length", "record");
  EXPECT_EQ(counts.step(), 0);

  PrefixSum others(Mechanism::make({.strategy = "tree", .steps = 4, .target = {1, 1e-6}}), options);
  EXPECT_ERROR(others.release(CountChanges{std::array<std::int64_t, 1>{1}}, {&noisy, 1}),
               "unsupported", "only mechanisms for active people");

  const auto with = [&](const std::shared_ptr<const Mechanism>& how, const auto& change_options) {
    PrefixSumOptions own = options;
    change_options(own);
    PrefixSum sums(how, own);
  };
  const auto as_they_are = [](PrefixSumOptions&) {};
  const auto tree = Mechanism::make({.strategy = "tree-k",
                                     .steps = 16,
                                     .target = {1, 1e-6},
                                     .participation = Participation::active({.window = 7})});
  EXPECT_ERROR(with(tree, [](auto& own) { own.mode = ReleaseMode::lattice; }), "unsupported",
               "participation must not be active in mode lattice");
  EXPECT_ERROR(
      with(Mechanism::make_pure(
               {.steps = 16, .epsilon = 1, .participation = Participation::active({.window = 7})}),
           as_they_are),
      "unsupported", "participation must not be active in mode lattice, or without");
  EXPECT_ERROR(with(mechanism->with_clip(0.5), as_they_are), "invalid_argument",
               "clip must be at least 1 for active people");
  EXPECT_ERROR(with(mechanism->with_clip(2), [](auto& own) { own.grid = 2; }), "invalid_argument",
               "grid must be at most 1 for active people");
}

}  // namespace
}  // namespace dpftrl
