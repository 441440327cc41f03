#include "dpftrl/release/stream.hpp"
#undef NDEBUG
#include <cassert>
void dpftrl_release_stream();
void dpftrl_release_stream() {
  const auto mechanism = dpftrl::Mechanism::make(
      {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
  const dpftrl::PrefixSumOptions options{.key = dpftrl::Key::from_entropy()};
  dpftrl::RecordStream visits(dpftrl::Number(), mechanism, options);
  for (const double visit : {1.0, 0.0, 1.0}) {
    const dpftrl::Estimate total = visits.release(visit);
    assert(total.low < total.value && total.value < total.high);
  }
  assert(visits.step() == 3);
  
  using PeopleStream = dpftrl::RecordStream<dpftrl::Number, dpftrl::People>;
  PeopleStream guests(dpftrl::Number(), mechanism, options);
  guests.add("ann", 1);
  guests.add("ann", 1);  // the same step: clipped to 1 together
  guests.end();
  guests.add("ann", 1);  // another step, which the mechanism does not allow her
  assert(guests.counts().dropped == 1);
  
  dpftrl::RecordStream<dpftrl::Number, dpftrl::Records, dpftrl::Journal> ledger(
      dpftrl::Number(), mechanism, options);
  const std::int64_t step = ledger.release(1);
  const std::vector<std::byte> bytes = ledger.state();  // make them last, and then:
  ledger.acknowledge(ledger.step());
  const double total = ledger.at(step).value;
  
  dpftrl::RecordStream<dpftrl::Number, dpftrl::Records, dpftrl::Journal> restarted(
      dpftrl::Number(), mechanism, options);
  restarted.restore(bytes);
  assert(restarted.at(step).value == total);
}
