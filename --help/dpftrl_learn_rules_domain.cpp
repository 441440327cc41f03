#include "dpftrl/learn/rules/domain.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_learn_rules_domain();
void dpftrl_learn_rules_domain() {
  const auto ball = dpftrl::make_domain("ball", /*radius=*/1);
  std::vector<double> point{3, 4};
  ball->project(point);
  assert(std::abs(point[0] - 0.6) < 1e-12 && std::abs(point[1] - 0.8) < 1e-12);
}
