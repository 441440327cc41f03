#include "dpftrl/problem/workload.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_problem_workload();
void dpftrl_problem_workload() {
  const auto workload = dpftrl::Workload::momentum({.num_steps = 3, .momentum = 0.5});
  assert(workload.apply({1, 0, 0}) == std::vector<double>({1, 1.5, 1.75}));
  assert(workload.matrix()(2, 0) == 1.75);
}
