// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/people.hpp"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "dpftrl/release/stream.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;

constexpr std::int64_t kPeopleSteps = 4;

std::shared_ptr<const Mechanism> people_mechanism(const Participation& participation,
                                                  std::string strategy = "tree",
                                                  Neighbours neighbours = Neighbours::zero_out) {
  return Mechanism::make({.strategy = std::move(strategy),
                          .steps = kPeopleSteps,
                          .target = {.epsilon = 1, .delta = 1e-6},
                          .clip = 1,
                          .neighbours = neighbours,
                          .participation = participation});
}

PrefixSumOptions people_options() {
  return {.key = Key::insecure_from_seed(5)};
}

using PeopleCounter = RecordStream<Number, People>;

/// Contributions of each person at each step, in input units: 0 means none, 1.6 two records of 0.8.
using PeopleWorld = std::array<std::array<double, kPeopleSteps>, 2>;

/// Increments of the sums in clip norms, without noise.
template <typename Contribute>
Vector people_increments(const std::shared_ptr<const Mechanism>& how, Contribute&& contribute) {
  PeopleCounter sums(Number(), how, people_options()), silent(Number(), how, people_options());
  Vector steps(testing::index_of(kPeopleSteps));
  double before = 0;
  for (std::int64_t t = 0; t < kPeopleSteps; ++t) {
    contribute(sums, t);
    const double added = sums.end().value - silent.end().value - before;
    steps(testing::index_of(t)) = added;
    before += added;
  }
  return steps;
}

Vector increments_of(const std::shared_ptr<const Mechanism>& how, const PeopleWorld& world) {
  return people_increments(how, [&](PeopleCounter& sums, std::int64_t t) {
    for (std::size_t person = 0; person < 2; ++person) {
      double left = world[person][static_cast<std::size_t>(t)];
      for (; left != 0; left -= left > 1 ? 0.8 : left)
        sums.add(std::to_string(person), left > 1 ? 0.8 : left);
    }
  });
}

/// Calls `use` for all worlds in which person 0 contributes 0, 0.5, -3 or 1.6 at each step, and
/// person 1 nothing or 1.
template <typename Use>
void for_each_world(Use&& use) {
  constexpr std::array kValues = {0.0, 0.5, -3.0, 1.6};
  for (unsigned own = 0; own < 256; ++own)
    for (unsigned other = 0; other < 16; other += 5) {
      PeopleWorld world{};
      for (unsigned t = 0; t < kPeopleSteps; ++t) {
        world[0][t] = kValues[own >> (2 * t) & 3u];
        world[1][t] = (other >> t & 1u) != 0 ? 1.0 : 0.0;
      }
      use(world);
    }
}

/// Largest ||C (x - x')|| over all worlds x, where x' is the world x without person 0.
double people_sensitivity(const Participation& bound, const Mechanism& how,
                          const std::shared_ptr<const Mechanism>& bounding) {
  double largest = 0;
  const Matrix encoder = how.strategy().encoder();
  for_each_world([&](const PeopleWorld& world) {
    PeopleWorld without = world;
    without[0] = {};
    const Vector difference = increments_of(bounding, world) - increments_of(bounding, without);
    std::vector<std::int64_t> steps;
    for (Eigen::Index t = 0; t < kPeopleSteps; ++t) {
      EXPECT_LE(std::abs(difference(t)), 1);
      if (difference(t) != 0) steps.push_back(t);
    }
    EXPECT_TRUE(bound.allows(steps, kPeopleSteps));
    largest = std::max(largest, (encoder * difference).norm());
  });
  return largest;
}

TEST(People, leaving_one_person_out_is_within_the_sensitivity) {
  for (const char* strategy : {"tree", "square-root"})
    for (const Participation& pattern :
         {Participation::single(), Participation::min_separation({2, 2}),
          Participation::min_separation({4, 1})}) {
      const auto how = people_mechanism(pattern, strategy);
      const double found = people_sensitivity(pattern, *how, how);
      EXPECT_LE(found, how->certificate().sensitivity) << strategy;
      // The worst world is among them, so the noise is no larger than necessary.
      EXPECT_GT(found, (1 - 1e-9) * how->certificate().sensitivity) << strategy;
    }
}

TEST(People, a_looser_bound_exceeds_the_sensitivity) {
  // Falsifies the check above: calibrated for one participation but bounded for two.
  const auto single = people_mechanism(Participation::single());
  const Participation twice = Participation::min_separation({2, 2});
  const double found = people_sensitivity(twice, *single, people_mechanism(twice));
  EXPECT_GT(found, 1.1 * single->certificate().sensitivity);
}

TEST(People, a_step_is_the_sum_of_everyones_clipped_part) {
  const auto how = people_mechanism(Participation::min_separation({4, 1}));
  using Totals = RecordStream<Numbers, People>;
  Totals sums(Numbers(2), how, people_options()), silent(Numbers(2), how, people_options());
  for (int person = 0; person < 100; ++person)
    for (int i = 0; i < 2; ++i) sums.add(std::to_string(person), std::array{3.0, 4.0});
  sums.add("one more", std::array{0.25, -0.5});
  const std::vector<double> with = sums.end().values, without = silent.end().values;
  EXPECT_NEAR(with[0] - without[0], 60.25, 101 * sums.sums().grid());
  EXPECT_NEAR(with[1] - without[1], 79.5, 101 * sums.sums().grid());
  EXPECT_EQ(sums.counts().dropped, 0);
}

TEST(People, records_of_one_person_at_one_step_are_added_before_they_are_clipped) {
  const auto how = people_mechanism(Participation::single());
  PeopleCounter people(Number(), how, people_options());
  RecordStream records(Number(), how, people_options());
  for (const double part : {0.5, 0.25, -0.125}) people.add("ann", part);
  EXPECT_EQ(people.end().value, records.release(0.625).value);
}

TEST(People, parts_beyond_the_doubles_stay_at_the_largest) {
  const auto how = people_mechanism(Participation::single());
  constexpr double kLargest = std::numeric_limits<double>::max();
  const Vector steps = people_increments(how, [&](PeopleCounter& sums, std::int64_t t) {
    for (int i = 0; t == 0 && i < 3; ++i) sums.add("ann", -kLargest);
  });
  EXPECT_EQ(steps(0), -1);
}

TEST(People, refused_records_do_not_use_up_a_participation) {
  PeopleCounter sums(Number(), people_mechanism(Participation::single()), people_options());
  EXPECT_ERROR(sums.add("ann", kNan), "invalid_argument", "record must be finite, got NaN");
  sums.end();
  sums.add("ann", 1);
  EXPECT_EQ(sums.counts().dropped, 0);
}

}  // namespace
}  // namespace dpftrl
