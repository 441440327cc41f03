#include "dpftrl/learn/regret.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_learn_regret();
void dpftrl_learn_regret() {
  dpftrl::ComparatorSolver solver({.loss = dpftrl::make_loss("squared")});
  solver.append(std::array{1.0}, /*label=*/0.25);
  solver.append(std::array{1.0}, 0.75);
  const dpftrl::Comparator best = solver.solve();
  assert(best.status == dpftrl::ComparatorStatus::certified);
  assert(std::abs(best.point[0] - 0.5) < 0.01);
  
  const dpftrl::RegretSetting setting{.num_steps = 1000};
  const double lambda = dpftrl::theorem_lambda(setting);
  assert(dpftrl::regret_bound(setting, lambda).total() < 0.04);
}
