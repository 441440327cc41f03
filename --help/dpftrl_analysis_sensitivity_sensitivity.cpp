#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_analysis_sensitivity_sensitivity();
void dpftrl_analysis_sensitivity_sensitivity() {
  const auto strategy = dpftrl::make_strategy({.name = "tree", .num_steps = 8});
  const dpftrl::Sensitivity once =
      dpftrl::sensitivity(*strategy, dpftrl::Participation::single());
  assert(once.exactness == dpftrl::Exactness::exact);
  assert(once.value == 2);  // a record is in nodes of four levels
}
