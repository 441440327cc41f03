#include "dpftrl/release/release_ledger.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_release_ledger();
void dpftrl_release_release_ledger() {
  const auto mechanism = dpftrl::Mechanism::make(
      {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
  const dpftrl::PrefixSumOptions options{.key = dpftrl::Key::from_entropy()};
  dpftrl::ReleaseLedger ledger(mechanism, options);
  ledger.decide(/*step=*/0, std::array{1.0});
  const std::vector<std::byte> bytes = ledger.state();  // make them last, and then:
  ledger.acknowledge(1);
  const double total = ledger.released(0)[0];
  
  dpftrl::ReleaseLedger restarted(mechanism, options);
  restarted.restore(bytes);
  assert(restarted.released(0)[0] == total);
}
