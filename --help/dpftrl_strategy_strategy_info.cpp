#include "dpftrl/strategy/strategy_info.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_strategy_strategy_info();
void dpftrl_strategy_strategy_info() {
  dpftrl::StrategyOptions options;
  options.name = "blt";
  options.num_steps = 1000;
  options.parameters.num_buffers = 3;
  assert(dpftrl::objective_of(options.parameters) == dpftrl::Objective::max);
  const dpftrl::StrategyPlan plan{.numbers = {{"decays", {0.9, 0.5}}, {"weights", {0.1, 0.2}}}};
  assert(plan.list("decays")[1] == 0.5);
}
