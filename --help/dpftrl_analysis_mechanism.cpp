#include "dpftrl/analysis/mechanism.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_analysis_mechanism();
void dpftrl_analysis_mechanism() {
  const auto mechanism = dpftrl::Mechanism::make(
      {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
  const dpftrl::Certificate& certificate = mechanism->certificate();
  assert(certificate.exactness == dpftrl::Exactness::exact);
  assert(mechanism->release_stddev(/*step=*/99) > 0);
}
