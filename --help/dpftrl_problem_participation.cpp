#include "dpftrl/problem/participation.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_problem_participation();
void dpftrl_problem_participation() {
  const auto weekly =
      dpftrl::Participation::min_separation({.max_participations = 3, .min_separation = 7});
  assert(weekly.max_participations_within(/*num_steps=*/10) == 2);
  dpftrl::ContributionBound bound(weekly);
  assert(bound.admits(/*person=*/42, /*step=*/0));
  assert(!bound.admits(42, 3));  // too soon: does not count
  assert(bound.admits(42, 7));
}
