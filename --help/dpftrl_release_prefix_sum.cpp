#include "dpftrl/release/prefix_sum.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_prefix_sum();
void dpftrl_release_prefix_sum() {
  const auto mechanism = dpftrl::Mechanism::make(
      {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
  dpftrl::PrefixSum visits(mechanism, {.key = dpftrl::Key::from_entropy()});
  std::array<double, 1> total{};
  for (const double visit : {1.0, 0.0, 1.0}) visits.release(std::array{visit}, total);
  assert(visits.step() == 3);  // total[0] is 2 and noise
  
  const auto weekly = dpftrl::Mechanism::make(
      {.strategy = "normalized-square-root",
       .num_steps = 100,
       .target = {.epsilon = 1, .delta = 1e-6},
       .workload = dpftrl::Workload::sliding_window({.num_steps = 100, .width = 7})});
  dpftrl::PrefixSum last_week(weekly, {.key = dpftrl::Key::from_entropy()});
  for (int day = 0; day < 9; ++day) last_week.release(std::array{1.0}, total);
  // total[0] is 7 and noise
  
  const auto fading = dpftrl::Mechanism::make(
      {.strategy = "optimal",
       .num_steps = 100,
       .target = {.epsilon = 1, .delta = 1e-6},
       .workload = dpftrl::Workload::momentum({.num_steps = 100, .momentum = 0, .decay = 0.5})});
  dpftrl::PrefixSum lately(fading, {.key = dpftrl::Key::from_entropy()});
  for (int day = 0; day < 3; ++day) lately.release(std::array{1.0}, total);
  // total[0] is 1.75 and noise
  
  const auto hourly = dpftrl::Mechanism::make(
      {.num_steps = 24,
       .target = {.epsilon = 1, .delta = 1e-6},
       .participation = dpftrl::Participation::min_separation(
           {.max_participations = 2, .min_separation = 1})});
  dpftrl::PeopleSum people(hourly, {.key = dpftrl::Key::from_entropy()});
  for (int hour = 0; hour < 3; ++hour) {
    const bool counts = people.contribute(/*person=*/42, std::array{1.0});
    assert(counts == (hour < 2));
    people.release(total);
  }
}
