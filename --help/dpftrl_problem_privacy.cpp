#include "dpftrl/problem/privacy.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_problem_privacy();
void dpftrl_problem_privacy() {
  const double multiplier = dpftrl::noise_multiplier({.epsilon = 1, .delta = 1e-6});
  assert(multiplier > 4 && multiplier < 5);
  const double mu = dpftrl::mu_from_approximate_dp({.epsilon = 1, .delta = 1e-6});
  assert(dpftrl::delta_from_mu({.mu = mu, .epsilon = 1}) <= 1e-6);
}
