#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_analysis_unit_error();
void dpftrl_analysis_unit_error() {
  const auto strategy = dpftrl::make_strategy({.name = "square-root", .num_steps = 1000});
  const dpftrl::UnitError error =
      dpftrl::unit_error(*strategy, dpftrl::Participation::single());
  assert(dpftrl::schatten_lower_bound(1000) <= error.mean_error);
  assert(error.mean_error <= dpftrl::square_root_mean_error_bound(1000));
}
