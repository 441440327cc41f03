// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/problem/participation.hpp"

#include <map>
#include <vector>

#include "dpftrl/random/random.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

struct Event {
  std::int64_t person;
  std::int64_t step;
  bool operator==(const Event&) const = default;
};

std::vector<Event> bounded(const Participation& participation, const std::vector<Event>& events) {
  ContributionBound bound(participation);
  std::map<std::int64_t, ContributionBound::Counted> people;
  std::vector<Event> kept;
  for (const Event& event : events)
    if (bound.admits(people[event.person], event.step)) kept.push_back(event);
  return kept;
}

std::vector<std::int64_t> steps_of_person(const std::vector<Event>& events, std::int64_t person) {
  std::vector<std::int64_t> steps;
  for (const Event& event : events)
    if (event.person == person && (steps.empty() || steps.back() != event.step))
      steps.push_back(event.step);
  return steps;
}

/// Calls `use` for every stream of events of two persons over 5 steps, with at most one event per
/// person and step.
template <typename Use>
void for_each_small_stream(Use&& use) {
  for (unsigned pattern = 0; pattern < 1u << 10; ++pattern) {
    std::vector<Event> events;
    for (std::int64_t step = 0; step < 5; ++step)
      for (std::int64_t person = 0; person < 2; ++person)
        if ((pattern >> (2 * step + person) & 1u) != 0) events.push_back({person, step});
    use(events);
  }
}

std::vector<Participation> small_patterns() {
  std::vector<Participation> patterns = {Participation::single()};
  for (std::int64_t k = 1; k <= 3; ++k)
    for (std::int64_t b = 1; b <= 3; ++b) patterns.push_back(Participation::min_separation({k, b}));
  return patterns;
}

TEST(ContributionBound, what_counts_is_allowed_and_the_earliest_in_every_small_stream) {
  for (const Participation& pattern : small_patterns())
    for_each_small_stream([&](const std::vector<Event>& events) {
      const std::vector<Event> kept = bounded(pattern, events);
      for (std::int64_t person = 0; person < 2; ++person) {
        const std::vector<std::int64_t> steps = steps_of_person(kept, person);
        ASSERT_TRUE(pattern.allows(steps, 5));
        // The bound is greedy: an event is dropped if and only if it does not fit those counted
        // before it.
        std::vector<std::int64_t> before;
        for (const std::int64_t step : steps_of_person(events, person)) {
          before.push_back(step);
          const bool counts = std::ranges::find(steps, step) != steps.end();
          ASSERT_EQ(pattern.allows(before, 5), counts);
          if (!counts) before.pop_back();
        }
      }
    });
}

TEST(ContributionBound, leaving_a_person_out_changes_nothing_else) {
  for (const Participation& pattern : small_patterns())
    for_each_small_stream([&](const std::vector<Event>& events) {
      std::vector<Event> others = events, kept = bounded(pattern, events);
      std::erase_if(others, [](const Event& event) { return event.person == 0; });
      std::erase_if(kept, [](const Event& event) { return event.person == 0; });
      ASSERT_EQ(bounded(pattern, others), kept);
    });
}

TEST(ContributionBound, several_records_at_one_step_are_one_contribution) {
  ContributionBound bound(Participation::min_separation({2, 3}));
  ContributionBound::Counted ann, bob;
  EXPECT_TRUE(bound.admits(ann, 0));
  EXPECT_TRUE(bound.admits(ann, 0));
  EXPECT_FALSE(bound.admits(ann, 2));
  EXPECT_TRUE(bound.admits(ann, 3));
  EXPECT_TRUE(bound.admits(ann, 3));
  EXPECT_FALSE(bound.admits(ann, 9));
  EXPECT_TRUE(bound.admits(bob, 9));
  EXPECT_EQ(ann.times, 2);
  EXPECT_EQ(ann.last, 3);
}

TEST(ContributionBound, steps_that_go_back_and_fixed_epochs_are_refused) {
  ContributionBound bound(Participation::single());
  ContributionBound::Counted ann, bob;
  EXPECT_TRUE(bound.admits(ann, 4));
  EXPECT_ERROR(bound.admits(bob, 3), "invalid_argument", "step must be at least 4");
  EXPECT_ERROR(ContributionBound(Participation::fixed_epoch({2, 4})), "invalid_argument",
               "participation must be single or min-separation, got fixed-epoch");
}

}  // namespace
}  // namespace dpftrl
