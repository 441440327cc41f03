// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/prefix_sum.hpp"

#include <array>
#include <limits>

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

PrefixSumOptions people_options(std::int64_t dimension = 1) {
  return {.key = Key::insecure_from_seed(5), .dimension = dimension};
}

/// Contributions of each person at each step, in input units: 0 means none, 1.6 two records of 0.8.
using PeopleWorld = std::array<std::array<double, kPeopleSteps>, 2>;

/// Increments of the sums in clip norms, without noise.
template <typename Contribute>
Vector people_increments(const std::shared_ptr<const Mechanism>& how, Contribute&& contribute) {
  PeopleSum sums(how, people_options()), silent(how, people_options());
  Vector steps(testing::index_of(kPeopleSteps));
  double before = 0;
  for (std::int64_t t = 0; t < kPeopleSteps; ++t) {
    contribute(sums, t);
    std::array<double, 1> with{}, without{};
    sums.release(with);
    silent.release(without);
    const double added = with[0] - without[0] - before;
    steps(testing::index_of(t)) = added;
    before += added;
  }
  return steps;
}

Vector increments_of(const std::shared_ptr<const Mechanism>& how, const PeopleWorld& world) {
  return people_increments(how, [&](PeopleSum& sums, std::int64_t t) {
    for (std::size_t person = 0; person < 2; ++person) {
      double left = world[person][static_cast<std::size_t>(t)];
      for (; left != 0; left -= left > 1 ? 0.8 : left)
        sums.contribute(static_cast<std::int64_t>(person), std::array{left > 1 ? 0.8 : left});
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

TEST(PeopleSum, leaving_one_person_out_is_within_the_sensitivity) {
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

TEST(PeopleSum, a_looser_bound_exceeds_the_sensitivity) {
  // Falsifies the check above: calibrated for one participation but bounded for two.
  const auto single = people_mechanism(Participation::single());
  const Participation twice = Participation::min_separation({2, 2});
  const double found = people_sensitivity(twice, *single, people_mechanism(twice));
  EXPECT_GT(found, 1.1 * single->certificate().sensitivity);
}

TEST(PeopleSum, a_step_is_the_sum_of_everyones_clipped_part) {
  const auto how = people_mechanism(Participation::min_separation({4, 1}));
  PeopleSum sums(how, people_options(2)), silent(how, people_options(2));
  std::array<double, 2> with{}, without{};
  for (std::int64_t person = 0; person < 100; ++person) {
    EXPECT_TRUE(sums.contribute(person, std::array{3.0, 4.0}));
    EXPECT_TRUE(sums.contribute(person, std::array{3.0, 4.0}));
  }
  EXPECT_TRUE(sums.contribute(1000, std::array{0.25, -0.5}));
  sums.release(with);
  silent.release(without);
  EXPECT_NEAR(with[0] - without[0], 60.25, 101 * sums.grid());
  EXPECT_NEAR(with[1] - without[1], 79.5, 101 * sums.grid());
  EXPECT_EQ(sums.num_dropped(), 0);
}

TEST(PeopleSum, records_of_one_person_at_one_step_are_added_before_they_are_clipped) {
  const auto how = people_mechanism(Participation::single());
  PeopleSum sums(how, people_options());
  PrefixSum plain(how, people_options());
  std::array<double, 1> of_people{}, of_sum{};
  for (const double part : {0.5, 0.25, -0.125}) EXPECT_TRUE(sums.contribute(7, std::array{part}));
  sums.release(of_people);
  plain.release(std::array{0.625}, of_sum);
  EXPECT_EQ(of_people, of_sum);
}

TEST(PeopleSum, the_noise_is_that_of_a_prefix_sum_with_the_same_key) {
  const auto how = people_mechanism(Participation::min_separation({2, 1}), "honaker");
  PeopleSum people(how, people_options());
  PrefixSum records(how, people_options());
  for (std::int64_t t = 0; t < kPeopleSteps; ++t) {
    std::array<double, 1> a{}, b{};
    people.contribute(t, std::array{0.5});
    people.release(a);
    records.release(std::array{0.5}, b);
    EXPECT_EQ(a, b);
  }
}

TEST(PeopleSum, parts_beyond_the_doubles_stay_at_the_largest) {
  const auto how = people_mechanism(Participation::single());
  constexpr double kLargest = std::numeric_limits<double>::max();
  const Vector steps = people_increments(how, [&](PeopleSum& sums, std::int64_t t) {
    if (t == 0)
      for (int i = 0; i < 3; ++i) sums.contribute(1, std::array{-kLargest});
  });
  EXPECT_EQ(steps(0), -1);
}

TEST(PeopleSum, what_is_refused_changes_nothing) {
  PeopleSum sums(people_mechanism(Participation::single()), people_options());
  EXPECT_ERROR(sums.contribute(1, std::array{kNan}), "invalid_argument",
               "people_sum: values[0] must be finite, got NaN");
  EXPECT_ERROR(sums.contribute(1, std::array{1.0, 1.0}), "wrong_length",
               "values must have 1 entry, got 2");
  std::array<double, 1> total{};
  std::array<double, 2> wide{};
  EXPECT_ERROR(sums.release(wide), "wrong_length", "noisy must have 1 entry, got 2");
  EXPECT_EQ(sums.step(), 0);
  // Refused contributions did not use up the pattern of person 1.
  EXPECT_TRUE(sums.contribute(1, std::array{1.0}));
  for (std::int64_t t = 0; t < kPeopleSteps; ++t) sums.release(total);
  EXPECT_ERROR(sums.contribute(2, std::array{1.0}), "past_horizon", "below the horizon 4");
  EXPECT_ERROR(sums.release(total), "past_horizon", "below the horizon 4");
  EXPECT_ERROR(PeopleSum(people_mechanism(Participation::fixed_epoch({2, 2})), people_options()),
               "invalid_argument", "participation must be single or min-separation");
}

}  // namespace
}  // namespace dpftrl
