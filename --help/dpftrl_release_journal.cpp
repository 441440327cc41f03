#include "dpftrl/release/journal.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_journal();
void dpftrl_release_journal() {
  const auto mechanism = dpftrl::Mechanism::make(
      {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
  const dpftrl::PrefixSumOptions options{.key = dpftrl::Key::from_entropy()};
  assert(dpftrl::Memory(mechanism, options, {}).sums().step() == 0);
}
