#include "dpftrl/strategy/catalogue.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_strategy_catalogue();
void dpftrl_strategy_catalogue() {
  const auto strategy = dpftrl::make_strategy(
      {.name = "banded-square-root", .num_steps = 1000, .parameters = {.num_bands = 8}});
  assert(strategy->num_bands() == 8);
  for (const dpftrl::StrategyInfo& info : dpftrl::strategy_catalogue())
    assert(!info.summary.empty());
}
