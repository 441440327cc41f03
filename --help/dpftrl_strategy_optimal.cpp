#include "dpftrl/strategy/optimal.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_strategy_optimal();
void dpftrl_strategy_optimal() {
  const auto strategy = dpftrl::optimal_strategy(
      dpftrl::Workload::prefix_sums(100), /*num_buffers=*/4, dpftrl::Objective::mean,
      dpftrl::Participation::single());
  assert(std::abs(strategy->max_column_norm_squared() - 1) < 1e-9);
}
