// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ledgers of people, and the contents of their store.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dpftrl/release/release_ledger.hpp"
#include "support.hpp"

namespace dpftrl::testing {

/// Contents of a store: a state, and the frames appended to it.
struct PeopleStore {
  std::vector<std::byte> base = {}, log = {};
  Ledger::LogTag tag = {};

  void save(Ledger& ledger) {
    base = ledger.state();
    log.clear();
    tag = ledger.log_tag(base);
    ledger.acknowledge(ledger.num_decided());
  }
  void append(Ledger& ledger) {
    if (base.empty()) return save(ledger);
    const Ledger::LogPart part = ledger.log_frame(tag);
    log.insert(log.end(), part.bytes.begin(), part.bytes.end());
    tag = part.tag;
    ledger.acknowledge(ledger.num_decided());
  }
  /// Restores a new ledger from the stored contents.
  PeopleLedger opened(PeopleLedger ledger) const {
    if (base.empty()) return ledger;
    ledger.restore(base);
    const auto end = ledger.replay(log, {.before = ledger.log_tag(base)});
    EXPECT_EQ(end.tag, tag);
    EXPECT_EQ(end.size, log.size());
    return ledger;
  }
};

inline std::string name_of(int person) {
  return "person " + std::to_string(person);
}

/// Concatenates all acknowledged releases.
inline std::vector<double> released(const Ledger& ledger) {
  std::vector<double> all;
  for (std::int64_t t = 0; t < ledger.num_acknowledged(); ++t)
    for (const double x : ledger.released(t)) all.push_back(x);
  return all;
}

}  // namespace dpftrl::testing
