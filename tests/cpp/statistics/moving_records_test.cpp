// SPDX-License-Identifier: Apache-2.0
// Distances between streams whose records are replaced by others, in the same or in other steps,
// compared with those that the noise covers: for sums, statistics and people, and every workload.

#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "catalogue.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/stream.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "statistics/columns.hpp"
#include "worlds.hpp"

namespace dpftrl {
namespace {

using testing::Relation;
using testing::separated;

constexpr std::int64_t kSteps = 4;
constexpr ApproximateDp kTarget = {.epsilon = 1, .delta = 1e-6};

std::vector<Participation> moving_patterns() {
  return {Participation::single(), separated(2, 1), separated(2, 2), separated(3, 1),
          testing::fixed(2, 2)};
}

/// Distance for which the noise of a claim is made.
double covered_by(const Certificate& claim) {
  return claim.noise_stddev * claim.mu;
}

/// Expects that no neighbours are farther apart than the noise covers, that half of it would not
/// cover all of them, and that some are that far apart where `is_attained`.
void expect_covered(const Certificate& claim, double found, double slack, bool is_attained) {
  const double covered = covered_by(claim);
  EXPECT_LE(found, covered * (1 + 1e-12));
  EXPECT_GT(found, covered / 2);
  if (is_attained) {
    EXPECT_GT(found, covered * (1 - slack));
  }
}

/// True if records without negative inner products attain an exact sensitivity: with more than one
/// of them, columns that point in opposite directions would require opposite records.
bool is_attained_by_columns(const Mechanism& mechanism) {
  return mechanism.certificate().exactness == Exactness::exact &&
         (mechanism.participation().times() == 1 || mechanism.strategy().has_nonnegative_gram());
}

// Sums of vectors.

/// Records whose norm is the clip norm 1.
std::vector<Vector> vectors() {
  return {Vector{{1, 0}}, Vector{{-1, 0}}, Vector{{0, 1}}};
}

std::vector<Workload> all_workloads() {
  std::vector<Workload> workloads = testing::other_workloads(kSteps);
  workloads.push_back(Workload::prefix_sums(kSteps));
  for (const std::int64_t width : {1, 2})
    workloads.push_back(Workload::sliding_window({kSteps, width}));
  workloads.push_back(Workload::momentum({.steps = kSteps, .momentum = 0, .decay = 0.5}));
  return workloads;
}

/// Expects the noise for vectors to cover the given relation. Replaced records may move.
void expect_vectors_covered(const Mechanism& mechanism, Neighbours neighbours) {
  const std::vector<testing::World> worlds =
      testing::worlds_of(mechanism.strategy().encoder(), mechanism.participation(), vectors());
  const bool replaces = neighbours == Neighbours::replace_one;
  const double found =
      testing::farthest_worlds(worlds, replaces ? Relation::moving : Relation::zero_out);
  expect_covered(mechanism.certificate(), found, 1e-9,
                 mechanism.certificate().exactness == Exactness::exact);
  // For vectors, a promise of fixed times would gain nothing.
  if (replaces && mechanism.certificate().exactness == Exactness::exact) {
    EXPECT_NEAR(testing::farthest_worlds(worlds, Relation::fixed_times) / found, 1, 1e-9);
  }
}

TEST(MovingRecords, of_sums_are_covered_for_every_workload) {
  for (const Workload& workload : all_workloads())
    for (const char* strategy : {"optimal", "normalized-square-root", "tree", "haar"})
      for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
        for (const Participation& participation : moving_patterns()) {
          SCOPED_TRACE(workload.name() + ", " + strategy + ", " + participation.description());
          const auto mechanism = Mechanism::make({.strategy = strategy,
                                                  .steps = kSteps,
                                                  .target = kTarget,
                                                  .neighbours = neighbours,
                                                  .participation = participation,
                                                  .workload = workload});
          expect_vectors_covered(*mechanism, neighbours);
        }
}

TEST(MovingRecords, of_several_workloads_are_covered) {
  const auto window = [](std::int64_t width) { return Workload::sliding_window({kSteps, width}); };
  const Workload decay = Workload::momentum({.steps = kSteps, .momentum = 0, .decay = 0.5});
  for (const std::vector<Workload>& workloads :
       {std::vector{Workload::prefix_sums(kSteps), window(2)}, std::vector{window(1), window(3)},
        std::vector{decay, Workload::prefix_sums(kSteps)}, testing::other_workloads(kSteps)})
    for (const char* strategy : {"optimal", "normalized-square-root", "haar"})
      for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
        for (const Participation& participation : moving_patterns()) {
          SCOPED_TRACE(std::string(strategy) + ", " + participation.description());
          expect_vectors_covered(*Mechanism::make_stack({.strategy = strategy,
                                                         .steps = kSteps,
                                                         .target = kTarget,
                                                         .neighbours = neighbours,
                                                         .participation = participation},
                                                        {.workloads = workloads}),
                                 neighbours);
        }
}

// Statistics.

struct StatisticCase {
  Relation relation;
  Neighbours neighbours;
  bool fixed_times;
};

constexpr std::array kStatisticCases = {
    StatisticCase{Relation::zero_out, Neighbours::zero_out, false},
    StatisticCase{Relation::moving, Neighbours::replace_one, false},
    StatisticCase{Relation::fixed_times, Neighbours::replace_one, true}};

template <class Columns>
struct StatisticKind {
  std::string name;
  typename Columns::Options options;
  std::vector<typename Columns::Record> records;
};

/// Vector that each record adds to the sums.
template <class Columns>
std::vector<Vector> integers_of(const Columns& columns,
                                const std::vector<typename Columns::Record>& records) {
  std::vector<Vector> all;
  for (const auto& record : records) all.push_back(testing::added(columns, record));
  return all;
}

template <class Columns>
void expect_statistics_covered(const std::vector<StatisticKind<Columns>>& kinds, double slack,
                               bool are_some_orthogonal = true) {
  for (const StatisticKind<Columns>& kind : kinds)
    for (const StatisticCase& wanted : kStatisticCases)
      for (const std::int64_t width : {kSteps, std::int64_t{1}, std::int64_t{2}})
        for (const char* strategy :
             {"optimal", "square-root", "normalized-square-root", "independent", "haar"})
          for (const Participation& participation : moving_patterns()) {
            SCOPED_TRACE(kind.name + ", " + strategy + ", window " + std::to_string(width) + ", " +
                         participation.description() + (wanted.fixed_times ? ", fixed times" : ""));
            typename Columns::Options options = kind.options;
            options.neighbours = wanted.neighbours;
            options.fixed_times = wanted.fixed_times;
            const testing::StatisticStream<Columns> sum(
                {.strategy = strategy,
                 .steps = kSteps,
                 .target = kTarget,
                 .participation = participation,
                 .workload = Workload::sliding_window({kSteps, width})},
                options, Key::insecure_from_seed(1));
            const Certificate claim = sum.certificate();
            EXPECT_EQ(claim.neighbours, wanted.neighbours);
            EXPECT_EQ(claim.fixed_times, wanted.fixed_times);
            const std::vector<testing::World> worlds =
                testing::worlds_of(sum.sums().mechanism().strategy().encoder(), participation,
                                   integers_of(sum.columns(), kind.records));
            expect_covered(claim, testing::farthest_worlds(worlds, wanted.relation), slack,
                           are_some_orthogonal && is_attained_by_columns(sum.sums().mechanism()));
          }
}

TEST(MovingRecords, of_moments_are_covered) {
  static const std::vector<std::vector<double>> one = {{1}, {-1}, {0}, {-1.0 / 3}};
  static const std::vector<std::vector<double>> two = {{1, 1}, {-1, -1}, {1, -1}, {0, 0}};
  static const std::vector<std::vector<double>> three = {{1, 1, 1}, {-1, -1, -1}, {0, 0, -1}};
  const auto kind = [](const std::string& name, const std::vector<std::vector<double>>& records,
                       bool covariance) {
    return StatisticKind<MomentColumns>{
        name,
        {.ranges = std::vector(records[0].size(), ColumnRange{-1, 1}), .covariance = covariance},
        {records.begin(), records.end()}};
  };
  expect_statistics_covered<MomentColumns>(
      {kind("one column", one, false), kind("two columns", two, false),
       kind("covariance of two", two, true), kind("covariances of three", three, true)},
      0x1p-12);
}

TEST(MovingRecords, of_histograms_are_covered) {
  expect_statistics_covered<HistogramColumns>(
      {{"two categories", {.num_categories = 2}, {0, 1}},
       {"three categories", {.num_categories = 3}, {0, 1, 2}}},
      1e-9);
  // With a total, and with one category, no two records are orthogonal, so bounds are not attained.
  expect_statistics_covered<HistogramColumns>(
      {{"one category", {.num_categories = 1}, {0}},
       {"a total, too", {.num_categories = 3, .total = true}, {0, 1, 2}}},
      1e-9, false);
}

// Records that move have no negative inner product, as the sensitivity supposes.
TEST(MovingRecords, are_no_longer_than_supposed_and_point_nowhere_opposite) {
  for (const std::int64_t num : {1, 2, 3})
    for (const bool covariance : {false, true}) {
      const MomentColumns columns(
          {.ranges = std::vector(static_cast<std::size_t>(num), ColumnRange{-1, 1}),
           .covariance = covariance,
           .neighbours = Neighbours::replace_one});
      const int num_values = num == 1 ? 129 : num == 2 ? 17 : 9;
      std::vector<Vector> all;
      std::vector<int> index(static_cast<std::size_t>(num), 0);
      std::vector<double> record(index.size()), row(static_cast<std::size_t>(columns.dimension()));
      for (std::size_t carry = 0; carry < index.size();) {
        for (std::size_t i = 0; i < index.size(); ++i)
          record[i] = -1 + 2.0 * index[i] / (num_values - 1);
        columns.write(record, row);
        all.emplace_back(Eigen::Map<const Vector>(row.data(), std::ssize(row)));
        for (carry = 0; carry < index.size() && ++index[carry] == num_values; ++carry)
          index[carry] = 0;
      }
      const double squared = columns.distance() * columns.distance() / 2;
      double longest = 0, least = squared;
      for (std::size_t i = 0; i < all.size(); ++i) {
        longest = std::max(longest, all[i].squaredNorm());
        for (std::size_t j = 0; j < i; ++j) least = std::min(least, all[i].dot(all[j]));
      }
      EXPECT_LE(longest, squared) << num << covariance;
      EXPECT_GE(longest, squared * (1 - 0x1p-12)) << num << covariance;
      EXPECT_GE(least, -1e-12) << num << covariance;
      EXPECT_LE(least, 1e-12) << num << covariance;
    }
}

// Falsifies the law: noise for records that stay does not cover records that move.
TEST(MovingRecords, exceed_the_noise_for_fixed_times) {
  const auto excess = [](std::int64_t steps, std::int64_t width, const char* strategy) {
    const testing::HistogramStream sum(
        {.strategy = strategy,
         .steps = steps,
         .target = kTarget,
         .workload = Workload::sliding_window({steps, width})},
        {.num_categories = 2, .neighbours = Neighbours::replace_one, .fixed_times = true},
        Key::insecure_from_seed(1));
    return testing::farthest_worlds(
               testing::worlds_of(sum.sums().mechanism().strategy().encoder(),
                                  Participation::single(), integers_of(sum.columns(), {0, 1})),
               Relation::moving) /
           covered_by(sum.certificate());
  };
  EXPECT_NEAR(excess(2, 1, "independent"), std::sqrt(2.0), 1e-6);
  EXPECT_GT(excess(30, 7, "optimal"), 1.5);
}

// People.

constexpr std::int64_t kMovingDays = 3;
/// Number of ways in which a person contributes nothing, or one of three records, to each of three
/// steps.
constexpr int kPersons = 64;

/// Matrix that a person's records add to the sums, one row per step. `take` adds a record of the
/// person to a stream, `read` ends a step.
template <class Sums, class Take, class Read>
Matrix added_by_person(Sums sums, Sums silent, int code, Take take, Read read) {
  Matrix steps(kMovingDays, 0);
  Vector before;
  for (Eigen::Index t = 0; t < kMovingDays; ++t, code /= 4) {
    if (code % 4 > 0) take(sums, code % 4 - 1);
    const Vector now = read(sums) - read(silent);
    if (t == 0) {
      steps = Matrix(kMovingDays, now.size());
      before = Vector::Zero(now.size());
    }
    steps.row(t) = now - before;
    before = now;
  }
  return steps;
}

/// Largest distance between the contributions of two people, one of whom replaces the other.
template <class Made, class Take, class Read>
double farthest_persons(const Matrix& encoder, Made made, Take take, Read read) {
  std::vector<Matrix> all;
  for (int code = 0; code < kPersons; ++code)
    all.push_back(encoder * added_by_person(made(), made(), code, take, read));
  double largest = 0;
  for (const Matrix& from : all)
    for (const Matrix& to : all) largest = std::max(largest, (from - to).norm());
  return largest;
}

TEST(MovingRecords, of_persons_are_covered) {
  for (const Participation& participation :
       {Participation::single(), separated(2, 1), separated(2, 2), separated(3, 1)}) {
    SCOPED_TRACE(participation.description());
    const MechanismOptions options{.strategy = "square-root",
                                   .steps = kMovingDays,
                                   .target = kTarget,
                                   .neighbours = Neighbours::replace_one,
                                   .participation = participation};
    const auto read = [](auto& sum) {
      sum.release();
      return Vector(
          Eigen::Map<const Vector>(sum.noisy_sums().data(), std::ssize(sum.noisy_sums())));
    };
    const auto histogram = [&] {
      return testing::PeopleHistogramStream(
          options, {.num_categories = 3, .neighbours = Neighbours::replace_one},
          Key::insecure_from_seed(2));
    };
    const auto encoder = [](const auto& sum) {
      return sum.sums().mechanism().strategy().encoder();
    };
    expect_covered(histogram().certificate(),
                   farthest_persons(
                       encoder(histogram()), histogram,
                       [](auto& sum, int record) { sum.contribute(7, record); }, read),
                   1e-9, true);
    const auto moments = [&] {
      return testing::PeopleMomentStream(
          options, {.ranges = {{-1, 1}}, .neighbours = Neighbours::replace_one},
          Key::insecure_from_seed(2));
    };
    expect_covered(
        moments().certificate(),
        farthest_persons(
            encoder(moments()), moments,
            [](auto& sum, int record) { sum.contribute(7, std::array{record - 1.0}); }, read),
        0x1p-12, true);

    const SumColumns two_workloads({.workloads = {Workload::prefix_sums(kMovingDays),
                                                  Workload::sliding_window({kMovingDays, 2})}});
    const auto totals = [&] {
      return RecordStream<SumColumns, People>(two_workloads, options,
                                              {.key = Key::insecure_from_seed(2)});
    };
    const auto mechanism = two_workloads.mechanism(options);
    expect_covered(mechanism->certificate(),
                   farthest_persons(
                       mechanism->strategy().encoder(), totals,
                       [](auto& sum, int record) {
                         for (int i = 0; i < 2; ++i) sum.add("ann", std::array{5.0 * (record - 1)});
                       },
                       [](auto& sum) { return Vector{{sum.end()[0].values[0]}}; }),
                   1e-9, true);
    const auto total = [&] {
      return RecordStream<Number, People>(Number(), options, {.key = Key::insecure_from_seed(2)});
    };
    expect_covered(total().mechanism().certificate(),
                   farthest_persons(
                       total().mechanism().strategy().encoder(), total,
                       [](auto& sum, int record) {
                         for (int i = 0; i < 2; ++i) sum.add("ann", 5.0 * (record - 1));
                       },
                       [](auto& sum) { return Vector{{sum.end().value}}; }),
                   1e-9, true);
  }
}

// Attacks on the noise.

/// Delta at epsilon 1 that the best test finds between a record on day 1 and one on day 2, of a
/// histogram of two days that is released day by day, and its standard deviation.
struct FoundDelta {
  double value;
  double stddev;
};

FoundDelta found_delta(bool fixed_times, std::int64_t num_trials) {
  constexpr ApproximateDp kClaim = {.epsilon = 1, .delta = 0.01};
  const HistogramOptions what{
      .num_categories = 2, .neighbours = Neighbours::replace_one, .fixed_times = fixed_times};
  const HistogramColumns columns(what);
  const auto mechanism = detail::statistic_mechanism(
      {.strategy = "independent",
       .steps = 2,
       .target = kClaim,
       .workload = Workload::sliding_window({2, 1})},
      {.distance = columns.distance(), .grid = columns.grid(), .moves = columns.moves()},
      HistogramColumns::kName);
  std::vector<double> record(static_cast<std::size_t>(columns.dimension())), none(record),
      noisy(record);
  columns.write(0, record);
  const double squared = std::inner_product(record.begin(), record.end(), record.begin(), 0.0);
  const double variance = std::pow(mechanism->noise_stddev(), 2);
  double num_of_first = 0, num_of_second = 0;
  for (std::int64_t trial = 0; trial < num_trials; ++trial)
    for (const int day : {0, 1}) {
      PrefixSum sums(mechanism,
                     {.key = Key::insecure_from_seed(static_cast<std::uint64_t>(2 * trial + day)),
                      .dimension = columns.dimension(),
                      .grid = columns.grid()});
      double along = 0;  // <first day's sums - second day's, record>
      for (const int step : {0, 1}) {
        sums.release(step == day ? record : none, noisy);
        along += (step == 0 ? 1 : -1) *
                 std::inner_product(noisy.begin(), noisy.end(), record.begin(), 0.0);
      }
      // The logarithm of the odds of day 1 against day 2 is along / variance.
      if (along / variance > kClaim.epsilon) ++(day == 0 ? num_of_first : num_of_second);
    }
  EXPECT_GT(squared, 0);
  const double trials = static_cast<double>(num_trials), odds = std::exp(kClaim.epsilon);
  const double p = num_of_first / trials, q = num_of_second / trials;
  return {p - odds * q, std::sqrt((p * (1 - p) + odds * odds * q * (1 - q)) / trials)};
}

TEST(MovingRecords, keep_the_delta_of_a_record_on_one_of_two_days) {
  const std::int64_t num_trials = testing::sizes({.full = {200000}, .elsewhere = {50000}})[0];
  // The claim is tight: the true delta is 0.01, from which the estimate is 4.3 standard deviations
  // away with probability below 2e-5.
  const FoundDelta moving = found_delta(false, num_trials);
  EXPECT_LT(moving.value, 0.01 + 4.3 * moving.stddev);
  EXPECT_GT(moving.value, 0.01 - 4.3 * moving.stddev);
  // The noise for fixed times lets the attacker reach 0.05.
  const FoundDelta promised = found_delta(true, num_trials);
  EXPECT_GT(promised.value, 0.01 + 4.3 * promised.stddev);
  EXPECT_NEAR(promised.value, 0.05, 4.3 * promised.stddev + 0.001);
}

TEST(FixedTimes, are_refused_where_nothing_is_replaced) {
  testing::expect_refused([] { HistogramColumns({.num_categories = 2, .fixed_times = true}); },
                          ErrorCode::invalid_argument, "fixed_times");
  testing::expect_refused([] { MomentColumns({.ranges = {{0, 1}}, .fixed_times = true}); },
                          ErrorCode::invalid_argument, "fixed_times");
}

}  // namespace
}  // namespace dpftrl
