// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/statistics/statistics.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "special_values.hpp"
#include "statistics/columns.hpp"
#include "statistics/intervals.hpp"

namespace dpftrl {
namespace {

using testing::added;
using testing::expect_refused;
using testing::kNan;
using testing::tolerance;

constexpr double kSlack = 0x1p-14;

struct MomentsRelation {
  Neighbours neighbours;
  bool fixed_times;
};

constexpr MomentsRelation kRemoved = {Neighbours::zero_out, false};
constexpr MomentsRelation kMoved = {Neighbours::replace_one, false};
constexpr MomentsRelation kReplaced = {Neighbours::replace_one, true};
constexpr std::array kRelations = {kRemoved, kMoved, kReplaced};

MomentColumns columns_of(std::int64_t num, bool covariance, const MomentsRelation& relation) {
  return MomentColumns({.ranges = std::vector(static_cast<std::size_t>(num), ColumnRange{-1, 1}),
                        .covariance = covariance,
                        .neighbours = relation.neighbours,
                        .fixed_times = relation.fixed_times});
}

/// Vector that each record of a lattice adds to the sums; the lattice has `num_values` values from
/// -1 to 1 in each column.
std::vector<Vector> all_added(const MomentColumns& columns, int num_values) {
  const auto num = static_cast<std::size_t>(columns.num_columns());
  std::vector<Vector> all;
  std::vector<int> index(num, 0);
  std::vector<double> record(num);
  for (std::size_t carry = 0; carry < num;) {
    for (std::size_t i = 0; i < num; ++i) record[i] = -1 + 2.0 * index[i] / (num_values - 1);
    all.push_back(added(columns, record));
    for (carry = 0; carry < num && ++index[carry] == num_values; ++carry) index[carry] = 0;
  }
  return all;
}

struct MomentCase {
  std::int64_t num;
  bool covariance;
  int num_values;
};

TEST(MomentsTest, no_two_records_are_farther_apart_than_the_distance_and_some_are_that_far) {
  for (const auto& [num, covariance, num_values] :
       {MomentCase{1, false, 257}, MomentCase{2, false, 17}, MomentCase{2, true, 25},
        MomentCase{3, true, 9}, MomentCase{4, true, 5}})
    for (const MomentsRelation& relation : kRelations) {
      const MomentColumns columns = columns_of(num, covariance, relation);
      const std::vector<Vector> all = all_added(columns, num_values);
      double farthest = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        farthest = std::max(farthest, all[i].norm());  // compared with no record
        if (relation.neighbours == Neighbours::replace_one)
          for (std::size_t j = 0; j < i; ++j)
            farthest = std::max(farthest, (all[i] - all[j]).norm());
      }
      EXPECT_LE(farthest, columns.distance()) << num << covariance;
      EXPECT_GE(farthest, columns.distance() * (1 - 2 * kSlack)) << num << covariance;
    }
}

TEST(MomentsTest, distances_are_those_of_the_note) {
  const auto distance = [](std::int64_t num, bool covariance, const MomentsRelation& relation) {
    return columns_of(num, covariance, relation).distance() / (1 + kSlack);
  };
  EXPECT_NEAR(distance(1, false, kRemoved), std::sqrt(1 + 1.5625), 1e-12);
  EXPECT_NEAR(distance(1, true, kRemoved), std::sqrt(1 + 1.5625), 1e-12);
  EXPECT_NEAR(distance(5, false, kRemoved), std::sqrt(1 + 5 * 1.5625), 1e-12);
  EXPECT_NEAR(distance(5, true, kRemoved), std::sqrt(1 + 5 * 2.5625), 1e-12);
  for (const MomentsRelation& relation : {kMoved, kReplaced})
    for (const bool covariance : {false, true}) {
      EXPECT_NEAR(distance(1, covariance, relation), 2, 1e-12);
      EXPECT_NEAR(distance(5, covariance, relation), 2 * std::sqrt(5.0), 1e-12);
    }
}

/// All streams with at most one of these records per step, and all neighbours of each.
TEST(MomentsTest, all_streams_of_up_to_eight_steps_are_within_the_noise_of_their_neighbours) {
  const std::vector<std::vector<double>> records = {{10, 5}, {0, -5},  {5, 0},
                                                    {0, 5},  {99, -3}, {2.5, 0.1}};
  for (const std::int64_t steps : {1, 2, 3, 5, 8})
    for (const MomentsRelation& relation : kRelations)
      for (const Participation& participation : testing::patterns_of(steps))
        for (const char* strategy : {"square-root", "optimal"}) {
          const MechanismOptions options{.strategy = strategy,
                                         .steps = steps,
                                         .target = {.epsilon = 1, .delta = 1e-6},
                                         .participation = participation};
          const MomentsOptions what{.ranges = {{0, 10}, {-5, 5}},
                                    .covariance = true,
                                    .neighbours = relation.neighbours,
                                    .fixed_times = relation.fixed_times};
          const testing::MomentStream sum(options, what, Key::insecure_from_seed(1));
          testing::expect_farthest(sum, {records.begin(), records.end()}, 2 * kSlack);
          testing::expect_certified(sum, relation.neighbours);
        }
}

/// Mean, variance and other moments of records, by definition.
struct Truth {
  double count = 0;
  std::array<double, 2> mean{}, variance{};
  double covariance = 0;
};

Truth truth_of(const std::vector<std::array<double, 2>>& records) {
  Truth truth{.count = static_cast<double>(records.size())};
  for (const auto& record : records)
    for (std::size_t i = 0; i < 2; ++i) truth.mean[i] += record[i] / truth.count;
  for (const auto& record : records) {
    for (std::size_t i = 0; i < 2; ++i)
      truth.variance[i] += std::pow(record[i] - truth.mean[i], 2) / truth.count;
    truth.covariance += (record[0] - truth.mean[0]) * (record[1] - truth.mean[1]) / truth.count;
  }
  return truth;
}

const MomentsOptions kTwo{.ranges = {{0, 10}, {-5, 5}}, .covariance = true, .confidence = 0.9};

/// Streams with values over the whole ranges, near an end of each, at one corner, and at two
/// opposite corners in turn.
std::vector<std::vector<std::array<double, 2>>> streams(std::size_t num) {
  std::vector<std::vector<std::array<double, 2>>> all(4);
  for (std::size_t i = 0; i < num; ++i) {
    const double x = static_cast<double>(i * 37 % 101) / 101;
    const double y = static_cast<double>(i * 53 % 97) / 97;
    all[0].push_back({10 * x, 10 * (x + y) / 2 - 5});
    all[1].push_back({x, 5 - y});
    all[2].push_back({10, -5});
    all[3].push_back({i % 2 == 0 ? 10.0 : 0.0, i % 2 == 0 ? 5.0 : -5.0});
  }
  return all;
}

struct Trial {
  int seed;
  MomentsRelation relation;
  double epsilon = 1;
  double scale = 1;  ///< factor on the standard deviation that the intervals assume
};

/// Moments of records of one step.
Moments moments_of(const std::vector<std::array<double, 2>>& records, const Trial& trial) {
  MomentsOptions what = kTwo;
  what.neighbours = trial.relation.neighbours;
  what.fixed_times = trial.relation.fixed_times;
  testing::MomentStream sum(
      {.strategy = "independent", .steps = 1, .target = {.epsilon = trial.epsilon, .delta = 1e-6}},
      what, Key::insecure_from_seed(static_cast<std::uint64_t>(trial.seed)));
  for (const auto& record : records) sum.contribute(record);
  sum.release();
  return sum.columns().read(
      {.sums = sum.noisy_sums(), .stddev = trial.scale * sum.sums().release_stddev(0)});
}

TEST(MomentsTest, with_little_noise_they_are_those_of_their_definitions) {
  for (const MomentsRelation& relation : kRelations)
    for (const auto& records : streams(300)) {
      const Truth truth = truth_of(records);
      const Moments found = moments_of(records, {.seed = 3, .relation = relation, .epsilon = 5000});
      EXPECT_NEAR(found.count.value, truth.count, 0.5);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(found.mean[i].value, truth.mean[i], 0.02);
        EXPECT_NEAR(found.variance[i].value, truth.variance[i], 0.1);
      }
      EXPECT_NEAR(found.covariance[0].value, truth.covariance, 0.1);
    }
}

/// Pairs of all estimates and their true values.
std::vector<std::pair<Estimate, double>> against(const Moments& found, const Truth& truth) {
  return {{found.count, truth.count},
          {found.mean[0], truth.mean[0]},
          {found.mean[1], truth.mean[1]},
          {found.variance[0], truth.variance[0]},
          {found.variance[1], truth.variance[1]},
          {found.covariance[0], truth.covariance},
          {found.standard_deviation[0], std::sqrt(truth.variance[0])},
          {found.standard_deviation[1], std::sqrt(truth.variance[1])}};
}
constexpr std::size_t kNumEstimates = 8;

/// For each estimate, the number of `num_trials` intervals at confidence 0.9 that miss their value,
/// when they are made for `scale` times the actual noise.
std::array<int, kNumEstimates> missed_moments(const std::vector<std::array<double, 2>>& records,
                                              const MomentsRelation& relation, int num_trials,
                                              double scale = 1) {
  const Truth truth = truth_of(records);
  std::array<int, kNumEstimates> missed{};
  for (int trial = 0; trial < num_trials; ++trial) {
    const Moments found =
        moments_of(records, {.seed = 1000 + trial, .relation = relation, .scale = scale});
    const auto all = against(found, truth);
    testing::add_misses(all, missed);
  }
  return missed;
}

TEST(MomentsTest, intervals_cover_what_they_are_for) {
  const int num_trials = testing::is_full_size() ? 1000 : 100;
  // With kRemoved, the std of the count is 1.3 times the count, a quarter of it, and a fortieth.
  for (const std::size_t num : {8u, 40u, 400u})
    for (const auto& records : streams(num))
      for (const MomentsRelation& relation : kRelations) {
        const std::array<int, kNumEstimates> missed = missed_moments(records, relation, num_trials);
        for (std::size_t i = 0; i < missed.size(); ++i)
          EXPECT_LE(missed[i], 0.1 * num_trials + tolerance(num_trials)) << i << " of " << num;
      }
}

/// Sums of one column of `num` records with the given mean and mean square.
std::array<double, 3> sums_of(double num, double mean, double square) {
  return {num, num * mean, 2 * num * (square - 0.625)};
}

TEST(MomentsTest, intervals_have_their_estimates_also_where_less_than_one_record_is_seen) {
  for (const double confidence : {0.05, 0.5, 0.95}) {
    const MomentColumns columns({.ranges = {{-1, 1}}, .confidence = confidence});
    for (const double num : {-1.0, 0.01, 0.2, 0.6, 0.99, 3.0})
      for (const double mean : {-3.0, -0.9, 0.0, 0.5, 2.0})
        for (const double stddev : {1e-3, 0.1, 1.0, 10.0}) {
          const auto sums = sums_of(num, mean, 0.4);
          const Moments found = columns.read({.sums = sums, .stddev = stddev});
          for (const Estimate& it : {found.count, found.mean[0], found.variance[0]}) {
            EXPECT_LE(it.low, it.value) << num << " of mean " << mean;
            EXPECT_LE(it.value, it.high) << num << " of mean " << mean;
          }
        }
  }
}

TEST(MomentsTest, an_interval_of_a_variance_has_what_any_mean_of_its_interval_gives) {
  // At confidence 0.5, an interval for the mean may use a tenth of the failure probability.
  const double normal = detail::normal_half_width(0.9 * 0.5);
  const MomentColumns columns({.ranges = {{-1, 1}}, .confidence = 0.5});
  const MomentColumns for_mean({.ranges = {{-1, 1}}, .confidence = 0.95});
  for (const double num : {0.05, 0.3, 0.7, 0.95, 1.5, 4.0})
    for (const double mean : {-0.9, -0.4, 0.0, 0.6, 1.5})
      for (const double square : {0.2, 0.5, 1.0, 3.0})
        for (const double stddev : {0.01, 0.05, 0.2, 1.0}) {
          const auto sums = sums_of(num, mean, square);
          const Estimate means = for_mean.read({.sums = sums, .stddev = stddev}).mean[0];
          const Estimate found = columns.read({.sums = sums, .stddev = stddev}).variance[0];
          for (int i = 0; i <= 40; ++i)
            for (int j = 0; j <= 40; ++j) {
              const double m = means.low + (means.high - means.low) * i / 40;
              const double variance = j / 40.0;
              const double pivot = num * (square - 2 * m * mean + m * m - variance);
              const double noise = std::hypot(0.5, 2 * m, 0.625 + m * m - variance);
              if (std::abs(pivot) > normal * noise * stddev) continue;
              EXPECT_LE(found.low, variance) << num << " of mean " << mean << ", " << square;
              EXPECT_GE(found.high, variance) << num << " of mean " << mean << ", " << square;
            }
        }
}

TEST(MomentsTest, intervals_are_not_much_wider_than_they_have_to_be) {
  constexpr int kTrials = 1000;
  // Intervals made for 0.7 of the noise would have confidence 0.75.
  const auto records = streams(400)[0];
  const std::array<int, kNumEstimates> missed = missed_moments(records, kRemoved, kTrials);
  const std::array<int, kNumEstimates> narrow = missed_moments(records, kRemoved, kTrials, 0.7);
  for (std::size_t i = 0; i < missed.size(); ++i) {
    EXPECT_GE(missed[i], 0.05 * kTrials - tolerance(kTrials) / 2) << i;
    EXPECT_GT(narrow[i], 0.1 * kTrials + tolerance(kTrials)) << i;
  }
}

TEST(MomentsTest, measured_errors_are_those_of_the_formula) {
  // Every step has independent noise; a standard deviation estimated from 20,000 of them is off by
  // 2 % with probability 6e-5.
  constexpr std::int64_t kSteps = 20000;
  const auto all_records = streams(100000);
  for (const auto& [which, relation] :
       {std::pair{0u, kRemoved}, {1u, kRemoved}, {1u, kMoved}, {1u, kReplaced}}) {
    MomentsOptions what = kTwo;
    what.neighbours = relation.neighbours;
    what.fixed_times = relation.fixed_times;
    testing::MomentStream sum(
        {.strategy = "output", .steps = kSteps, .target = {.epsilon = 1000, .delta = 1e-6}}, what,
        Key::insecure_from_seed(7));
    const auto& records = all_records[which];
    for (const auto& record : records) sum.contribute(record);
    const Truth truth = truth_of(records);
    std::array<double, kNumEstimates> squares{}, variances{};
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const auto all = against(sum.release(), truth);
      for (std::size_t i = 0; i < all.size(); ++i) {
        squares[i] += std::pow(all[i].first.value - all[i].second, 2);
        variances[i] += std::pow(all[i].first.stddev, 2);
      }
    }
    for (std::size_t i = 0; i < squares.size(); ++i)
      EXPECT_NEAR(std::sqrt(squares[i] / variances[i]), 1, 0.02) << i;
  }
}

TEST(MomentsTest, standard_deviations_are_roots_of_variances_and_their_errors_are_bounded) {
  const MomentColumns columns({.ranges = {{-3, 5}}, .confidence = 0.9});
  for (const double num : {-1.0, 0.2, 3.0, 50.0})
    for (const double square : {0.0, 0.01, 0.4, 1.0})
      for (const double stddev : {0.0, 1e-3, 0.1, 10.0}) {
        const auto sums = sums_of(num, 0.1, square);
        const Moments found = columns.read({.sums = sums, .stddev = stddev});
        const Estimate &root = found.standard_deviation[0], &variance = found.variance[0];
        EXPECT_DOUBLE_EQ(root.value * root.value, variance.value);
        EXPECT_DOUBLE_EQ(root.low * root.low, variance.low);
        EXPECT_DOUBLE_EQ(root.high * root.high, variance.high);
        // |sqrt a - sqrt b| = |a - b| / (sqrt a + sqrt b) is at most sqrt |a - b|, for any b.
        const double most = std::sqrt(variance.stddev);
        const double first = variance.stddev / (2 * root.value);
        EXPECT_EQ(root.stddev, first < most ? first : most);
      }
}

TEST(MomentsTest, errors_of_standard_deviations_of_nearly_nothing_are_within_their_bound) {
  // All records are equal, so the variance is 0 and its root has no first-order expansion.
  constexpr int kTrials = 400;
  const auto records = streams(40)[2];
  double squares = 0, bounds = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Moments found =
        moments_of(records, {.seed = 5000 + trial, .relation = kRemoved, .epsilon = 50});
    squares += std::pow(found.standard_deviation[0].value, 2);
    bounds += found.variance[0].stddev;
  }
  EXPECT_GT(squares, 0);
  EXPECT_LE(squares, bounds);
}

TEST(MomentsTest, noise_far_below_the_grid_releases_the_moments_of_integers) {
  testing::MomentStream sum(
      {.strategy = "tree", .steps = 2, .target = {.epsilon = 1e18, .delta = 1e-6}}, kTwo,
      Key::insecure_from_seed(7));
  const Moments found = sum.release(std::array{5.0, 5.0});
  EXPECT_EQ(sum.sums().release_stddev(0), 0);
  EXPECT_EQ(found.count.value, 1);
  EXPECT_NEAR(found.mean[0].value, 5, 1e-3);
  EXPECT_NEAR(found.variance[1].value, 0, 1e-3);
  EXPECT_EQ(sum.step(), 1);
}

TEST(MomentsTest, a_window_has_the_moments_of_its_records) {
  testing::MomentStream sum({.strategy = "normalized-square-root",
                             .steps = 300,
                             .target = {.epsilon = 5000, .delta = 1e-6},
                             .workload = Workload::sliding_window({.steps = 300, .window = 100})},
                            kTwo, Key::insecure_from_seed(7));
  const auto records = streams(300)[0];
  Moments found;
  for (const auto& record : records) found = sum.release(record);
  const Truth truth = truth_of({records.begin() + 200, records.end()});
  for (const auto& [estimate, value] : against(found, truth))
    EXPECT_NEAR(estimate.value, value, 0.5);
  EXPECT_NEAR(found.count.value, 100, 0.5);
}

TEST(MomentsTest, numbers_beyond_a_range_are_clipped_to_it) {
  const MomentColumns columns = columns_of(2, true, kRemoved);
  std::vector<double> beyond(6), ends(6);
  columns.write(std::array{1e308, -7.0}, beyond);
  columns.write(std::array{1.0, -1.0}, ends);
  EXPECT_EQ(beyond, ends);
}

TEST(MomentsTest, refuses_bad_input_and_changes_nothing) {
  const auto make = [](std::vector<ColumnRange> ranges, double confidence = 0.95) {
    return [=] { MomentColumns({.ranges = ranges, .confidence = confidence}); };
  };
  expect_refused(make({}), ErrorCode::invalid_argument, "ranges");
  expect_refused(make(std::vector<ColumnRange>(1001, {0, 1})), ErrorCode::invalid_argument,
                 "ranges");
  for (const ColumnRange& range :
       {ColumnRange{1, 1}, ColumnRange{2, 1}, ColumnRange{0, kNan}, ColumnRange{kNan, 0},
        ColumnRange{-1e300, 1e300}, ColumnRange{1e9, 1e9 + 1}})
    expect_refused(make({{0, 1}, range}), ErrorCode::invalid_argument, "ranges[1]");
  for (const double confidence : {0.0, 1.0, kNan})
    expect_refused(make({{0, 1}}, confidence), ErrorCode::invalid_argument, "confidence");

  MechanismOptions mechanism{
      .strategy = "tree", .steps = 2, .target = {.epsilon = 1, .delta = 1e-6}};
  testing::MomentStream sum(mechanism, kTwo, Key::insecure_from_seed(1));
  mechanism.workload = Workload::momentum({.steps = 2, .momentum = 0.5, .decay = 1});
  expect_refused([&] { testing::MomentStream(mechanism, kTwo, Key::insecure_from_seed(1)); },
                 ErrorCode::invalid_argument, "workload");
  mechanism.workload.reset();
  mechanism.target = {.epsilon = 1e-12, .delta = 1e-15};
  expect_refused([&] { testing::MomentStream(mechanism, kTwo, Key::insecure_from_seed(1)); },
                 ErrorCode::invalid_argument, "epsilon");
  expect_refused([&] { sum.release(std::array{1.0}); }, ErrorCode::wrong_length, "record");
  expect_refused([&] { sum.contribute(std::array{1.0, kNan}); }, ErrorCode::invalid_argument,
                 "record[1]");
  EXPECT_EQ(sum.step(), 0);
  const std::array<double, 3> short_sums{};
  expect_refused([&] { sum.columns().read({.sums = short_sums, .stddev = 1}); },
                 ErrorCode::wrong_length, "sums");
  const std::array<double, 6> sums{};
  for (const double stddev : {-1.0, kNan})
    expect_refused([&] { sum.columns().read({.sums = sums, .stddev = stddev}); },
                   ErrorCode::invalid_argument, "stddev");
  sum.release();
  sum.release();
  expect_refused([&] { sum.release(); }, ErrorCode::past_horizon, "step");
}

}  // namespace
}  // namespace dpftrl
