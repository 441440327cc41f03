#include "dpftrl/statistics/statistics.hpp"
#include <array>
#include <cmath>
#include "dpftrl/release/stream.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_statistics_statistics();
void dpftrl_statistics_statistics() {
  const dpftrl::MechanismOptions year{.num_steps = 400,
                                      .target = {.epsilon = 1, .delta = 1e-6}};
  const dpftrl::PrefixSumOptions seeded{.key = dpftrl::Key::insecure_from_seed(1)};
  dpftrl::RecordStream ages(dpftrl::MomentColumns({.ranges = {{.low = 0, .high = 100}}}), year,
                            seeded);
  dpftrl::Moments now;
  for (int i = 0; i < 400; ++i) now = ages.release(std::array{30.0 + i % 20});
  assert(now.mean[0].low <= 39.5 && 39.5 <= now.mean[0].high);
  
  dpftrl::RecordStream drinks(dpftrl::HistogramColumns({.num_categories = 3}), year, seeded);
  dpftrl::Histogram counts;
  for (int i = 0; i < 400; ++i) counts = drinks.release(i % 4 == 0 ? 2 : 0);
  assert(counts.count[2].low <= 100 && 100 <= counts.count[2].high);
  
  dpftrl::RecordStream<dpftrl::HistogramColumns, dpftrl::People> guests(
      dpftrl::HistogramColumns({.num_categories = 3}),
      {.num_steps = 7,
       .target = {.epsilon = 1, .delta = 1e-6},
       .participation = dpftrl::Participation::min_separation(
           {.max_participations = 2, .min_separation = 1})},
      seeded);
  for (int day = 0; day < 7; ++day) guests.release("ann", /*category=*/day % 3);
  assert(guests.counts().dropped == 5);
  
  const dpftrl::StackOptions sums{.workloads = {dpftrl::Workload::prefix_sums(60),
                                                dpftrl::Workload::sliding_window({60, 7})}};
  dpftrl::RecordStream visits(dpftrl::SumColumns(sums),
                              {.strategy = "optimal",
                               .num_steps = 60,
                               .target = {.epsilon = 1, .delta = 1e-6}},
                              seeded);
  std::vector<dpftrl::Estimates> found;
  for (int day = 0; day < 60; ++day) found = visits.release(std::array{1.0});
  assert(std::abs(found[0].values[0] - 60) <= found[0].half_width);  // all days
  assert(std::abs(found[1].values[0] - 7) <= found[1].half_width);   // the last seven
}
