// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/problem/participation.hpp"

#include <array>

#include "dpftrl/base/types.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::fixed;
using testing::separated;
using ParticipationKind = Participation::Kind;

bool allows(const Participation& participation, const std::vector<std::int64_t>& chosen,
            std::int64_t steps) {
  return participation.allows(chosen, steps);
}

/// Steps of the set bits in increasing order.
std::vector<std::int64_t> steps_of_set(unsigned set) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < 32; ++step)
    if ((set >> step & 1U) != 0) steps.push_back(step);
  return steps;
}

/// Size of the largest allowed set, found by testing every subset.
std::int64_t largest_allowed(const Participation& participation, std::int64_t steps) {
  std::int64_t largest = 0;
  for (unsigned set = 0; set < 1U << steps; ++set) {
    const std::vector<std::int64_t> chosen = steps_of_set(set);
    if (participation.allows(chosen, steps))
      largest = std::max<std::int64_t>(largest, std::ssize(chosen));
  }
  return largest;
}

TEST(Participation, changes_of_activity_are_those_of_runs) {
  const std::int64_t n = 9;
  for (const std::int64_t window : {1, 2, 4, 20})
    for (const bool is_open : {false, true})
      for (const std::int64_t most : {0, 1, 2}) {
        ActivePattern pattern{.window = window, .has_open_start = is_open};
        if (most > 0) pattern.runs = most;
        const Participation active = Participation::active(pattern);
        for (unsigned activity = 0; activity < 1U << n; ++activity) {
          std::vector<std::int64_t> changes;
          std::int64_t length = 0, runs = 0;
          bool is_allowed = true;
          for (std::int64_t t = 0; t <= n; ++t) {
            const bool is_active = t < n && (activity >> t & 1U) != 0;
            if (is_active == (length > 0)) {
              length += is_active ? 1 : 0;
              continue;
            }
            if (t < n) changes.push_back(t);
            const bool is_cut = t == n || (is_open && length == t);
            if (!is_active && length < window && !is_cut) is_allowed = false;
            runs += is_active ? 1 : 0;
            length = is_active ? 1 : 0;
          }
          if (most > 0 && runs > most) is_allowed = false;
          EXPECT_EQ(allows(active, changes, n), is_allowed) << activity << ", window " << window;
        }
      }
}

TEST(Participation, active_people_say_their_window_and_runs) {
  const Participation active = Participation::active({.window = 30, .runs = 4});
  EXPECT_EQ(active.name(), "active");
  EXPECT_EQ(active.description(), "active in runs of at least 30 steps, at most 4 of them");
  EXPECT_EQ(Participation::active({.window = 7}).description(),
            "active in runs of at least 7 steps");
  EXPECT_EQ(active.pattern()->runs, 4);
  EXPECT_EQ(active.times(), 8);
  EXPECT_FALSE(fixed(3, 8).pattern().has_value());
  EXPECT_NE(active, Participation::active({.window = 30, .runs = 4, .has_open_start = false}));
  EXPECT_ERROR(Participation::active({.window = 0}), "invalid_argument",
               "window must be between 1 and");
  EXPECT_ERROR(Participation::active({.window = 7, .runs = 0}), "invalid_argument",
               "runs must be between 1 and");
  EXPECT_ERROR(ContributionBound{active}, "invalid_argument",
               "participation must be single or min-separation, got active");
}

TEST(Participation, says_what_it_is) {
  const Participation single = Participation::single(), epochs = fixed(3, 8),
                      apart = separated(4, 5);
  EXPECT_EQ(single.kind(), ParticipationKind::single);
  EXPECT_EQ(epochs.kind(), ParticipationKind::fixed_epoch);
  EXPECT_EQ(apart.kind(), ParticipationKind::min_separation);
  EXPECT_EQ(single.times(), 1);
  EXPECT_EQ(epochs.times(), 3);
  EXPECT_EQ(epochs.apart(), 8);
  EXPECT_EQ(apart.times(), 4);
  EXPECT_EQ(apart.apart(), 5);
  EXPECT_EQ(single.name(), "single");
  EXPECT_EQ(epochs.name(), "fixed-epoch");
  EXPECT_EQ(apart.name(), "min-separation");
  EXPECT_EQ(single.description(), "at most one step");
  EXPECT_EQ(epochs.description(), "once in each of 3 epochs of 8 steps, always at the same place");
  EXPECT_EQ(apart.description(), "at most 4 steps, at least 5 apart");
  EXPECT_EQ(epochs, fixed(3, 8));
  EXPECT_NE(epochs, separated(3, 8));
}

TEST(Participation, counts_within_a_horizon_are_those_of_the_largest_allowed_set) {
  for (std::int64_t n = 1; n <= 9; ++n) {
    EXPECT_EQ(Participation::single().times_within(n), 1);
    EXPECT_EQ(largest_allowed(Participation::single(), n), 1);
    for (std::int64_t b = 1; b <= n + 2; ++b) {
      for (std::int64_t k = 1; k <= n + 1; ++k)
        ASSERT_EQ(separated(k, b).times_within(n), largest_allowed(separated(k, b), n))
            << k << " " << b << " " << n;
      if (n % b == 0) {
        ASSERT_EQ(fixed(n / b, b).times_within(n), n / b);
        ASSERT_EQ(largest_allowed(fixed(n / b, b), n), n / b);
      }
    }
  }
  EXPECT_EQ(separated(kMaxNumSteps, 1).times_within(kMaxNumSteps), kMaxNumSteps);
  EXPECT_EQ(separated(2, kMaxNumSteps).times_within(kMaxNumSteps), 1);
}

TEST(Participation, separation_is_the_difference_of_steps) {
  // Separation 3: steps 0 and 3 are allowed, with two steps strictly between them.
  EXPECT_TRUE(allows(separated(2, 3), {0, 3}, 4));
  EXPECT_FALSE(allows(separated(2, 3), {0, 2}, 4));
  EXPECT_EQ(apart_from_steps_between(2), 3);
  EXPECT_TRUE(allows(separated(2, apart_from_steps_between(0)), {4, 5}, 8));
}

TEST(Participation, allows_what_the_schema_says) {
  EXPECT_TRUE(allows(Participation::single(), {}, 4));
  EXPECT_TRUE(allows(Participation::single(), {3}, 4));
  EXPECT_FALSE(allows(Participation::single(), {4}, 4)) << "past the horizon";
  EXPECT_FALSE(allows(Participation::single(), {-1}, 4));
  EXPECT_FALSE(allows(Participation::single(), {0, 2}, 4));
  EXPECT_TRUE(allows(fixed(3, 4), {1, 5, 9}, 12));
  EXPECT_TRUE(allows(fixed(3, 4), {1, 9}, 12)) << "a part of a pattern";
  EXPECT_FALSE(allows(fixed(3, 4), {1, 6, 9}, 12)) << "another place in the second epoch";
  EXPECT_FALSE(allows(fixed(3, 4), {1, 6}, 12)) << "far enough apart, and another place";
  EXPECT_FALSE(allows(separated(2, 3), {0, 3, 6}, 9)) << "once too often";
  EXPECT_FALSE(allows(separated(3, 3), {6, 3, 0}, 9)) << "not increasing";
  EXPECT_FALSE(allows(separated(3, 1), {3, 3}, 9)) << "twice the same step";
}

TEST(Participation, fixed_epochs_fit_one_horizon_only) {
  fixed(3, 4).require_horizon(12);
  EXPECT_ERROR(fixed(3, 4).require_horizon(13), "invalid_argument",
               "participation: steps must be epochs * epoch_length = 12, got 13");
  EXPECT_ERROR((void)allows(fixed(3, 4), {0}, 11), "invalid_argument", "= 12, got 11");
  separated(3, 4).require_horizon(13);
  Participation::single().require_horizon(1);
}

TEST(Participation, bad_input_is_refused_by_name) {
  EXPECT_ERROR(fixed(0, 4), "invalid_argument", "fixed_epoch: epochs must be between 1");
  EXPECT_ERROR(fixed(4, -1), "invalid_argument", "epoch_length must be between 1 and");
  EXPECT_ERROR(fixed(std::int64_t{1} << 21, std::int64_t{1} << 20), "invalid_argument",
               "epoch_length must be at most 2^40 / epochs, got 2097152 * 1048576");
  EXPECT_EQ(fixed(std::int64_t{1} << 20, std::int64_t{1} << 20).times(), 1 << 20);
  EXPECT_ERROR(separated(0, 1), "invalid_argument", "min_separation: times must be between 1 and");
  EXPECT_ERROR(separated(1, 0), "invalid_argument", "min_separation: apart must be between");
  EXPECT_ERROR(separated(1, kMaxNumSteps + 1), "invalid_argument", "got 1099511627777");
  EXPECT_ERROR((void)separated(1, 1).times_within(0), "invalid_argument",
               "participation: steps must be between 1");
}

TEST(Neighbours, names_go_there_and_back) {
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
    EXPECT_EQ(neighbours_from_string(to_string(neighbours)), neighbours);
  EXPECT_ERROR((void)neighbours_from_string("add-remove"), "invalid_argument",
               "neighbours must be one of zero-out, replace-one, got \"add-remove\"");
  EXPECT_ERROR((void)neighbours_from_convention("swap"), "invalid_argument",
               "one of zero-out, replace-one, add-remove, add-or-remove-one, add-or-remove, "
               "replace, change-one, substitution, got \"swap\"");
}

TEST(Neighbours, replacing_is_twice_as_far_as_leaving_out) {
  EXPECT_EQ(neighbour_distance(Neighbours::zero_out), 1);
  EXPECT_EQ(neighbour_distance(Neighbours::replace_one), 2);
  for (const char* name : {"add-remove", "add-or-remove-one", "add-or-remove", "zero-out"})
    EXPECT_EQ(neighbours_from_convention(name), Neighbours::zero_out) << name;
  for (const char* name : {"replace", "replace-one", "change-one", "substitution"})
    EXPECT_EQ(neighbours_from_convention(name), Neighbours::replace_one) << name;
}

TEST(Conventions, counts_are_one_more_than_what_lies_between_or_below) {
  EXPECT_EQ(apart_from_steps_between(0), 1) << "every step allowed";
  EXPECT_EQ(bands_from_off_diagonals(0), 1) << "diagonal";
  EXPECT_EQ(bands_from_off_diagonals(3), 4);
  EXPECT_ERROR((void)apart_from_steps_between(-1), "invalid_argument",
               "apart_from_steps_between: steps_between must be between 0 and");
  EXPECT_ERROR((void)bands_from_off_diagonals(kMaxNumSteps), "invalid_argument",
               "bands_from_off_diagonals: num_off_diagonals must be between 0 and");
}

}  // namespace
}  // namespace dpftrl
