// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "catalogue.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "strategy/trees/haar.hpp"
#include "support.hpp"
#include "worlds.hpp"

namespace dpftrl {
namespace {

using testing::fixed;
using testing::separated;

/// Two orthogonal records of norm 1 / sqrt 2.
std::vector<Vector> orthogonal_records() {
  const double length = std::numbers::sqrt2 / 2;
  return {Vector{{length, 0}}, Vector{{0, length}}};
}

double farthest_moved(const Matrix& encoder, const Participation& participation) {
  return testing::farthest_worlds(testing::worlds_of(encoder, participation, orthogonal_records()),
                                  testing::Relation::moving);
}

std::vector<Participation> participations_of(std::int64_t steps) {
  std::vector<Participation> all = {Participation::single(), separated(2, 1), separated(2, 2),
                                    separated(3, 1)};
  if (steps % 2 == 0) all.push_back(fixed(2, steps / 2));
  return all;
}

/// Expects a sensitivity not below the distance of any pair of streams, and equal to the largest
/// distance where it is called exact.
void expect_moving(const Strategy& strategy, const Participation& participation) {
  SCOPED_TRACE(std::string(strategy.name()) + ", " + strategy.workload().name() + ", " +
               participation.description());
  const Sensitivity moving = moving_sensitivity(strategy, participation);
  const Sensitivity same = sensitivity(strategy, participation);
  const double found = farthest_moved(strategy.encoder(), participation);
  EXPECT_GE(moving.value * (1 + 1e-10), found);
  EXPECT_LT(moving.value / 2, found);
  EXPECT_GE(moving.value, same.value);
  EXPECT_LE(moving.value, std::numbers::sqrt2 * same.value * (1 + 1e-9));
  if (moving.exactness == Exactness::exact) {
    EXPECT_LE(moving.value, found * (1 + 1e-9));
  }
  if (strategy.has_nonnegative_gram()) {
    EXPECT_LE(moving.value, same.value * (1 + 1e-9));
  }
}

TEST(MovingSensitivity, is_never_below_any_two_streams_and_equal_where_called_exact) {
  for (const std::int64_t n : {1, 2, 4}) {
    testing::Thinned thinned(3);
    std::vector<Workload> workloads = testing::other_workloads(n);
    workloads.push_back(Workload::sliding_window({n, 1}));
    workloads.push_back(Workload::sliding_window({n, std::min<std::int64_t>(n, 2)}));
    for (const testing::Variant& variant : testing::prefix_variants(n)) {
      if (!thinned.takes_next()) continue;
      const auto strategy = make_strategy(variant.options);
      for (const Participation& participation : participations_of(n))
        expect_moving(*strategy, participation);
    }
    for (const Workload& workload : workloads)
      for (const char* name : {"square-root", "normalized-square-root", "optimal", "independent",
                               "tree", "haar", "banded-square-root"})
        for (const Participation& participation : participations_of(n))
          expect_moving(*make_strategy({.name = name, .steps = n, .workload = workload}),
                        participation);
  }
}

/// Largest distance of records that move, from every pair of columns.
double by_pairs(const Strategy& strategy) {
  const Matrix encoder = strategy.encoder();
  const Matrix gram = encoder.transpose() * encoder;
  double largest = gram.diagonal().maxCoeff();
  for (Eigen::Index i = 0; i < gram.rows(); ++i)
    for (Eigen::Index j = 0; j < i; ++j)
      largest = std::max(largest, (gram(i, i) + gram(j, j)) / 2 + std::max(0.0, -gram(i, j)));
  return std::sqrt(largest);
}

TEST(MovingSensitivity, of_long_windows_is_close_to_that_of_every_pair_of_columns) {
  constexpr std::int64_t kLong = 1100;
  for (const char* name : {"square-root", "normalized-square-root"})
    for (const std::int64_t width : {7, 300}) {
      const auto strategy = make_strategy(
          {.name = name, .steps = kLong, .workload = Workload::sliding_window({kLong, width})});
      const double found = by_pairs(*strategy);
      const Sensitivity moving = moving_sensitivity(*strategy, Participation::single());
      EXPECT_GE(moving.value * (1 + 1e-9), found) << name << width;
      EXPECT_LE(moving.value, found * 1.03) << name << width;
    }
}

TEST(MovingSensitivity, of_longer_windows_than_are_scanned_does_not_jump) {
  // At 40,000 steps, only 2^27 / 40,000 = 3355 products of each sum are added up.
  const auto ratio = [](const char* name, std::int64_t steps, std::int64_t width) {
    const auto strategy = make_strategy(
        {.name = name, .steps = steps, .workload = Workload::sliding_window({steps, width})});
    return moving_sensitivity(*strategy, Participation::single()).value /
           sensitivity(*strategy, Participation::single()).value;
  };
  for (const char* name : {"square-root", "normalized-square-root"})
    for (const std::int64_t width : {7, 24}) {
      const double of_short = ratio(name, 4000, width);
      const double of_long = ratio(name, 40000, width);
      EXPECT_GT(of_long, of_short * (1 - 1e-6)) << name << width;
      EXPECT_LT(of_long, of_short * 1.02) << name << width;
    }
}

/// Haar coefficients whose mean weighs so little that columns have negative inner products.
class OpposedHaar final : public HaarBasisStrategy {
 public:
  OpposedHaar() : HaarBasisStrategy(1500, {0.01, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) {}
  std::string_view name() const override { return "opposed-haar"; }
};

TEST(MovingSensitivity, without_a_formula_is_that_of_opposite_streams) {
  const OpposedHaar strategy;
  for (const Participation& participation : {Participation::single(), separated(3, 2)}) {
    const Sensitivity moving = moving_sensitivity(strategy, participation);
    const Sensitivity same = sensitivity(strategy, participation);
    EXPECT_NEAR(moving.value / same.value, std::numbers::sqrt2, 1e-7);
    EXPECT_EQ(moving.exactness, Exactness::upper_bound);
  }
}

TEST(MovingSensitivity, counts_the_distance_once_in_a_mechanism) {
  const MechanismOptions options{.strategy = "square-root",
                                 .steps = 30,
                                 .target = {.epsilon = 1, .delta = 1e-6},
                                 .workload = Workload::sliding_window({30, 7}),
                                 .moving_records = true};
  const Certificate moving = Mechanism::make(options)->certificate();
  const Sensitivity expected =
      moving_sensitivity(Mechanism::make(options)->strategy(), Participation::single());
  EXPECT_EQ(moving.sensitivity, expected.value);
  EXPECT_EQ(moving.exactness, expected.exactness);
  MechanismOptions same = options;
  same.moving_records = false;
  const Certificate fixed_times = Mechanism::make(same)->certificate();
  const double ratio = moving.sensitivity / fixed_times.sensitivity;
  EXPECT_GT(ratio, 1.06);
  EXPECT_NEAR(moving.noise_stddev, ratio * fixed_times.noise_stddev, 1e-12);
  EXPECT_NEAR(moving.max_error, ratio * fixed_times.max_error, 1e-12);
  EXPECT_NEAR(moving.mean_error, ratio * fixed_times.mean_error, 1e-12);
  MechanismOptions twice = options;
  twice.neighbours = Neighbours::replace_one;
  EXPECT_THROW((void)Mechanism::make(twice), Error);
}

}  // namespace
}  // namespace dpftrl
