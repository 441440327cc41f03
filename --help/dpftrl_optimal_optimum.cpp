#include "dpftrl/optimal/optimum.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_optimal_optimum();
void dpftrl_optimal_optimum() {
  const dpftrl::Optimum best =
      dpftrl::find_optimum({.num_steps = 64, .objective = dpftrl::Objective::mean}, {});
  assert(best.status == dpftrl::SolverStatus::converged);
  // Any workload, by dense matrices: here the same one.
  const dpftrl::DenseOptimum dense = dpftrl::find_dense_optimum(
      {.queries = dpftrl::Matrix::Ones(64, 64).triangularView<Eigen::Lower>(),
       .objective = dpftrl::Objective::mean});
  assert(dense.lower_bound <= best.upper_bound && best.lower_bound <= dense.upper_bound);
}
