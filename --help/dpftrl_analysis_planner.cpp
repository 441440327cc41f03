#include "dpftrl/analysis/planner.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_analysis_planner();
void dpftrl_analysis_planner() {
  const dpftrl::PlannerResult found = dpftrl::find_plan(
      {.strategy = {.name = "blt", .num_steps = 64, .parameters = {.num_buffers = 2}}});
  const auto strategy =
      dpftrl::planned_strategy("blt", found.plan, dpftrl::Workload::prefix_sums(64));
  assert(found.plan.list("decays").size() == 2);
}
