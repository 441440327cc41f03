// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "dpftrl/statistics/statistics.hpp"
#include "special_values.hpp"
#include "statistics/columns.hpp"

namespace dpftrl {
namespace {

using testing::expect_refused;
using testing::kNan;

constexpr std::int64_t kPlacedSteps = 3;

/// Indices of the records that a person contributes to a step, in order; -1 means none.
using Brought = std::array<int, 2>;

/// Person 0 contributes to a step nothing, one of three records, two different ones, or one twice.
constexpr std::array kBrought = {Brought{-1, -1}, Brought{0, -1}, Brought{1, -1},
                                 Brought{2, -1},  Brought{1, 0},  Brought{0, 0}};
using PlacedRecords = std::array<std::size_t, kPlacedSteps>;  ///< indices in kBrought

constexpr std::size_t kNumWorlds = 6 * 6 * 6;

PlacedRecords world_at(std::size_t number) {
  return {number % 6, number / 6 % 6, number / 36};
}

MechanismOptions statistic_mechanism(const Participation& participation) {
  return {.strategy = "square-root",
          .steps = kPlacedSteps,
          .target = {.epsilon = 1, .delta = 1e-6},
          .participation = participation};
}

std::vector<Participation> patterns() {
  if (!testing::is_full_size()) return {Participation::single(), testing::separated(2, 1)};
  return {Participation::single(), testing::separated(2, 2), testing::separated(2, 1),
          testing::separated(3, 1)};
}

/// Computes the integers that a world adds to the sums, one row per step. `take` adds a record of a
/// person; with `others`, other people have records, too.
template <class Sum, class Take>
Matrix statistic_increments(Sum& sum, Sum& silent, const PlacedRecords& world, bool others,
                            Take&& take) {
  Matrix steps(kPlacedSteps, sum.columns().dimension());
  Vector before = Vector::Zero(steps.cols());
  for (Eigen::Index t = 0; t < kPlacedSteps; ++t) {
    if (others) take(sum, 1, 2);
    for (const int record : kBrought[world[static_cast<std::size_t>(t)]])
      if (record >= 0) take(sum, 0, record);
    if (others) take(sum, 1, 0);
    if (others && t > 0) take(sum, 2, 1);
    sum.release();
    silent.release();
    Vector now(steps.cols());
    for (Eigen::Index i = 0; i < now.size(); ++i)
      now[i] = sum.noisy_sums()[static_cast<std::size_t>(i)] -
               silent.noisy_sums()[static_cast<std::size_t>(i)];
    steps.row(t) = now - before;
    before = now;
  }
  return steps;
}

/// True if worlds are neighbours: without person 0 (zero-out), or with other records in place of
/// the originals (replace-one), with fixed times in the same steps, or none.
template <class Columns>
bool are_neighbouring_worlds(const Columns& columns, const PlacedRecords& from,
                             const PlacedRecords& to) {
  if (columns.neighbours() == Neighbours::zero_out) return to == PlacedRecords{};
  if (columns.moves() || to == PlacedRecords{}) return true;
  for (std::size_t t = 0; t < kPlacedSteps; ++t)
    if ((from[t] == 0) != (to[t] == 0)) return false;
  return true;
}

/// Largest distance between the encoded sums of two neighbouring worlds, in units of the noise's
/// standard deviation times mu; at most 1 if the noise covers it.
template <class Columns, class Take>
double farthest(const Participation& participation, const typename Columns::Options& what,
                Take&& take) {
  const auto made = [&] {
    return testing::StatisticStream<Columns, People>(statistic_mechanism(participation), what,
                                                     Key::insecure_from_seed(3));
  };
  const auto reference = made();
  const Matrix encoder = reference.sums().mechanism().strategy().encoder();
  double largest = 0;
  for (const bool others : {false, true}) {
    std::vector<Matrix> all;
    for (std::size_t i = 0; i < kNumWorlds; ++i) {
      auto sum = made(), silent = made();
      all.push_back(statistic_increments(sum, silent, world_at(i), others, take));
    }
    for (std::size_t a = 0; a < kNumWorlds; ++a)
      for (std::size_t b = 0; b < kNumWorlds; ++b) {
        if (!are_neighbouring_worlds(reference.columns(), world_at(a), world_at(b))) continue;
        const Matrix difference = all[a] - all[b];
        largest = std::max(largest, (encoder * difference).norm());
        std::vector<std::int64_t> changed;
        for (Eigen::Index t = 0; t < kPlacedSteps; ++t)
          if (difference.row(t).norm() > 0) changed.push_back(t);
        EXPECT_TRUE(reference.columns().moves() || participation.allows(changed, kPlacedSteps));
      }
  }
  const Certificate claim = reference.certificate();
  return largest / (claim.noise_stddev * claim.mu);
}

const std::array<std::array<double, 1>, 3> kNumbers = {{{10}, {0}, {2.5}}};

MomentsOptions moments_for(Neighbours neighbours, bool fixed_times = false) {
  return {.ranges = {{0, 10}}, .neighbours = neighbours, .fixed_times = fixed_times};
}

HistogramOptions histogram_for(Neighbours neighbours, bool fixed_times = false) {
  return {.num_categories = 3, .neighbours = neighbours, .fixed_times = fixed_times};
}

TEST(PeopleStatisticsTest, changing_one_person_is_within_the_noise_and_some_changes_reach_it) {
  testing::Thinned thinned(3);
  for (const auto& [neighbours, fixed_times] : {std::pair{Neighbours::zero_out, false},
                                                {Neighbours::replace_one, false},
                                                {Neighbours::replace_one, true}})
    for (const Participation& participation : patterns()) {
      if (!thinned.takes_next()) continue;
      const double of_moments = farthest<MomentColumns>(
          participation, moments_for(neighbours, fixed_times),
          [](testing::PeopleMomentStream& sum, int person, int record) {
            sum.contribute(person, kNumbers[static_cast<std::size_t>(record)]);
          });
      EXPECT_LE(of_moments, 1);
      EXPECT_GE(of_moments, 1 - 0x1p-12);
      const double of_histograms =
          farthest<HistogramColumns>(participation, histogram_for(neighbours, fixed_times),
                                     [](testing::PeopleHistogramStream& sum, int person,
                                        int record) { sum.contribute(person, record); });
      EXPECT_LE(of_histograms, 1 + 1e-12);
      EXPECT_GE(of_histograms, 1 - 0x1p-12);
    }
}

TEST(PeopleStatisticsTest, records_that_are_added_up_or_count_too_often_exceed_the_noise) {
  // Falsifies the check above: the person takes a new name for each record, so that all count.
  int alias = 10;
  const auto as_others = [&alias](testing::PeopleMomentStream& sum, int person, int record) {
    const std::span<const double> numbers = kNumbers[static_cast<std::size_t>(record)];
    sum.contribute(person == 0 ? alias++ : person, numbers);
  };
  const Participation single = Participation::single();
  const MomentsOptions what = moments_for(Neighbours::zero_out);
  std::vector<Matrix> all;
  for (const PlacedRecords& world :
       {PlacedRecords{5, 0, 0}, PlacedRecords{1, 1, 0}, PlacedRecords{}}) {
    testing::PeopleMomentStream sum(statistic_mechanism(single), what, Key::insecure_from_seed(3)),
        silent(statistic_mechanism(single), what, Key::insecure_from_seed(3));
    all.push_back(statistic_increments(sum, silent, world, false, as_others));
  }
  const testing::PeopleMomentStream sum(statistic_mechanism(single), what,
                                        Key::insecure_from_seed(3));
  const Matrix encoder = sum.sums().mechanism().strategy().encoder();
  const double covered = sum.certificate().noise_stddev * sum.certificate().mu;
  for (const std::size_t world : {0u, 1u})
    EXPECT_GT((encoder * (all[world] - all[2])).norm(), 1.3 * covered);
}

TEST(PeopleStatisticsTest, rows_that_add_up_are_farther_apart_than_replaced_records) {
  // Only the first record of a step may count: columns of two records, clipped together, are not
  // those of any record.
  const MomentColumns columns(moments_for(Neighbours::replace_one, true));
  const auto mechanism = Mechanism::make({.strategy = "tree",
                                          .steps = 1,
                                          .target = {.epsilon = 1, .delta = 1e-6},
                                          .clip = columns.distance()});
  const auto added = [&](double number, bool first) {
    const PrefixSumOptions options{.key = Key::insecure_from_seed(5),
                                   .dimension = columns.dimension(),
                                   .grid = columns.grid()};
    People people(mechanism->participation(), CodeSecret(options.key), !first);
    std::vector<double> row(static_cast<std::size_t>(columns.dimension())), noisy(row);
    columns.write(std::array{number}, row);
    for (int i = 0; i < 2; ++i) people.admit(people.code_of("ann"), row, 0);
    EXPECT_EQ(people.num_dropped(), first ? 1 : 0);
    PrefixSum sums(mechanism, options);
    people.for_each_part([&](std::span<const double> part) { sums.contribute(part); });
    sums.release(noisy);
    return Vector(Eigen::Map<const Vector>(noisy.data(), std::ssize(noisy)));
  };
  EXPECT_LE((added(10, true) - added(0, true)).norm(), columns.distance());
  EXPECT_GT((added(10, false) - added(0, false)).norm(), 1.05 * columns.distance());
}

TEST(PeopleStatisticsTest, the_earliest_records_count_and_of_a_step_the_first) {
  const HistogramOptions what = histogram_for(Neighbours::zero_out);
  testing::PeopleHistogramStream people(statistic_mechanism(testing::separated(2, 2)), what,
                                        Key::insecure_from_seed(9));
  testing::HistogramStream records(statistic_mechanism(testing::separated(2, 2)), what,
                                   Key::insecure_from_seed(9));
  const auto expect_same = [&] {
    const Histogram of_people = people.release(), of_records = records.release();
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_EQ(of_people.count[j].value, of_records.count[j].value);
    EXPECT_EQ(of_people.total.low, of_records.total.low);
  };
  EXPECT_TRUE(people.contribute(7, 0));
  EXPECT_FALSE(people.contribute(7, 1));
  EXPECT_TRUE(people.contribute(8, 1));
  records.contribute(0);
  records.contribute(1);
  expect_same();
  EXPECT_FALSE(people.contribute(7, 2));
  EXPECT_TRUE(people.contribute(9, 2));
  records.contribute(2);
  expect_same();
  EXPECT_TRUE(people.contribute(7, 2));
  records.contribute(2);
  expect_same();
  EXPECT_EQ(people.num_dropped(), 2);
}

TEST(PeopleStatisticsTest, refuses_bad_records_and_changes_nothing) {
  testing::PeopleMomentStream sum(statistic_mechanism(Participation::single()),
                                  moments_for(Neighbours::zero_out), Key::insecure_from_seed(1));
  EXPECT_TRUE(sum.contribute(2, std::array{1.0}));
  // Refused even if it would not count.
  for (const std::int64_t person : {1, 2}) {
    expect_refused([&] { sum.contribute(person, std::array{kNan}); }, ErrorCode::invalid_argument,
                   "record[0]");
    expect_refused([&] { sum.contribute(person, std::array{1.0, 2.0}); }, ErrorCode::wrong_length,
                   "record");
  }
  EXPECT_EQ(sum.num_dropped(), 0);
  EXPECT_TRUE(sum.contribute(1, std::array{1.0}));
  for (std::int64_t t = 0; t < kPlacedSteps; ++t) sum.release();
  expect_refused([&] { sum.contribute(3, std::array{1.0}); }, ErrorCode::past_horizon, "step");
  expect_refused(
      [] {
        testing::PeopleMomentStream(statistic_mechanism(Participation::fixed_epoch({3, 1})),
                                    moments_for(Neighbours::zero_out), Key::insecure_from_seed(1));
      },
      ErrorCode::invalid_argument, "participation");
}

}  // namespace
}  // namespace dpftrl
