// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "base/sha256.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "dpftrl/release/release_ledger.hpp"
#include "noise/checkpoint.hpp"
#include "release/ledger_log.hpp"
#include "release/people_store.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::name_of;
using testing::released;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kPeopleLedgerSteps = 12, kPeopleLedgerDimension = 2;
constexpr std::array<double, kPeopleLedgerDimension> kOneEntry = {0.5, 0.25};
const Participation kTwice = Participation::min_separation({2, 3});

std::shared_ptr<const Mechanism> people_ledger_mechanism(
    const Participation& participation = kTwice) {
  return Mechanism::make({.strategy = "honaker",
                          .steps = kPeopleLedgerSteps,
                          .target = {.epsilon = 1, .delta = 1e-6},
                          .participation = participation});
}

PrefixSumOptions people_ledger_options(std::uint64_t seed = 4,
                                       ReleaseMode mode = ReleaseMode::grid) {
  return {.key = Key::insecure_from_seed(seed), .dimension = kPeopleLedgerDimension, .mode = mode};
}

/// Store that opens ledgers of `how` with these options.
struct Store : testing::PeopleStore {
  PeopleLedger open(const std::shared_ptr<const Mechanism>& how,
                    const PrefixSumOptions& options = people_ledger_options()) const {
    return opened({how, options});
  }
};

struct Given {
  std::int64_t step;
  int person;
  std::array<double, kPeopleLedgerDimension> values;
};

class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  int below(unsigned end) { return static_cast<int>(bits_() % end); }

 private:
  std::mt19937 bits_;
};

/// Contributions of five persons, in the order of their steps.
std::vector<Given> people_stream(unsigned seed) {
  Random random(seed);
  std::vector<Given> all;
  for (std::int64_t t = 0; t < kPeopleLedgerSteps; ++t)
    for (int count = random.below(6); count > 0; --count)
      all.push_back({.step = t,
                     .person = random.below(5),
                     .values = {0.1 * random.below(9), 0.3 - 0.1 * random.below(5)}});
  return all;
}

/// Totals of a PeopleSum for these contributions, and the number of those it drops.
std::pair<std::vector<double>, std::int64_t> expected_of(
    const std::vector<Given>& all, const std::shared_ptr<const Mechanism>& how,
    const PrefixSumOptions& options = people_ledger_options()) {
  PeopleSum sums(how, options);
  std::vector<double> totals(kPeopleLedgerSteps * kPeopleLedgerDimension);
  auto next = all.begin();
  for (std::int64_t t = 0; t < kPeopleLedgerSteps; ++t) {
    for (; next != all.end() && next->step == t; ++next)
      sums.contribute(next->person, next->values);
    sums.release(std::span(totals).subspan(static_cast<std::size_t>(t) * kPeopleLedgerDimension,
                                           kPeopleLedgerDimension));
  }
  return {totals, sums.num_dropped()};
}

/// Continues with the contributions not yet given, from the number that the ledger reports.
template <typename Use>
void give_from(PeopleLedger& ledger, const std::vector<Given>& all, Use&& after_each) {
  while (ledger.num_decided() < kPeopleLedgerSteps) {
    const auto next = static_cast<std::size_t>(ledger.num_contributions());
    if (next < all.size() && all[next].step == ledger.num_decided())
      ledger.contribute(name_of(all[next].person), all[next].values);
    else
      ledger.decide(ledger.num_decided());
    after_each();
  }
}

/// The end of a state, which is about people; the sums before it also depend on noise rows made in
/// advance.
Bytes people_of(PeopleLedger& ledger) {
  const Bytes state = ledger.state();
  const auto sums = static_cast<std::ptrdiff_t>(detail::word_at(state, 64));
  return {state.begin() + 72 + sums, state.end()};
}

TEST(PeopleLedger, totals_are_those_of_a_people_sum_wherever_it_is_opened_again) {
  for (const ReleaseMode mode : {ReleaseMode::grid, ReleaseMode::lattice})
    for (unsigned seed = 0; seed < 6; ++seed) {
      const auto how = people_ledger_mechanism();
      const PrefixSumOptions options = people_ledger_options(seed, mode);
      const std::vector<Given> all = people_stream(seed);
      const auto [totals, num_dropped] = expected_of(all, how, options);
      EXPECT_GT(num_dropped, 0);
      // Stores a frame after each call, occasionally a new base, and reopens the ledger after each.
      Store store;
      PeopleLedger ledger(how, options);
      Random random(seed);
      give_from(ledger, all, [&] {
        if (random.below(7) == 0)
          store.save(ledger);
        else
          store.append(ledger);
        const std::int64_t before = ledger.num_contributions();
        PeopleLedger next = store.open(how, options);
        EXPECT_EQ(next.num_contributions(), before);
        EXPECT_EQ(next.num_decided(), ledger.num_decided());
        EXPECT_EQ(next.num_dropped(), ledger.num_dropped());
        EXPECT_EQ(people_of(next), people_of(ledger));
        ledger = std::move(next);
      });
      EXPECT_EQ(released(ledger), totals);
      EXPECT_EQ(ledger.num_dropped(), num_dropped);
      EXPECT_EQ(ledger.num_contributions(), std::ssize(all));
    }
}

TEST(PeopleLedger, what_was_not_stored_is_given_again_and_nothing_counts_twice) {
  const auto how = people_ledger_mechanism();
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<Given> all = people_stream(seed);
    const auto [totals, num_dropped] = expected_of(all, how);
    Random random(seed);
    Store store;
    std::int64_t num_contributions = 0, steps = 0;
    PeopleLedger ledger(how, people_ledger_options());
    store.save(ledger);
    // The ledger is abandoned at any time, stored or not, also with unacknowledged steps.
    for (bool is_done = false; !is_done;) {
      ledger = store.open(how);
      EXPECT_EQ(ledger.num_contributions(), num_contributions);
      EXPECT_EQ(ledger.num_decided(), steps);
      const int most = 1 + random.below(9);
      const bool is_late = random.below(2) != 0;
      for (int i = 0; i < most && !is_done; ++i) {
        const auto next = static_cast<std::size_t>(ledger.num_contributions());
        const std::int64_t step = ledger.num_decided();
        const bool has_step = next >= all.size() || all[next].step > step;
        if (has_step && step < kPeopleLedgerSteps)
          ledger.decide(step);
        else if (!has_step)
          ledger.contribute(name_of(all[next].person), all[next].values);
        if (has_step || !is_late) {
          store.append(ledger);
          num_contributions = ledger.num_contributions();
          steps = ledger.num_decided();
        }
        is_done = ledger.num_acknowledged() == kPeopleLedgerSteps;
      }
    }
    EXPECT_EQ(released(ledger), totals) << seed;
    EXPECT_EQ(ledger.num_dropped(), num_dropped) << seed;
  }
}

TEST(PeopleLedger, a_frame_that_was_not_stored_is_in_the_next_one) {
  const auto how = people_ledger_mechanism();
  PeopleLedger ledger(how, people_ledger_options());
  Store store;
  store.save(ledger);
  ledger.contribute("ann", kOneEntry);
  static_cast<void>(ledger.log_frame(store.tag));  // lost
  ledger.contribute("bob", kOneEntry);
  static_cast<void>(ledger.log_frame(store.tag));
  // Arrived after the acknowledged frame was written, so the next frame contains it.
  ledger.contribute("ann", kOneEntry);
  ledger.acknowledge(0);
  ledger.decide(0);
  static_cast<void>(ledger.log_frame(store.tag));
  ledger.decide(1);
  store.append(ledger);
  PeopleLedger next = store.open(how);
  EXPECT_EQ(next.num_contributions(), 3);
  EXPECT_EQ(released(next), released(ledger));
  // The ledger knows who counted: ann and bob may return three steps later.
  EXPECT_FALSE(next.contribute("ann", kOneEntry));
  EXPECT_TRUE(next.contribute("dan", kOneEntry));
}

TEST(PeopleLedger, contributions_that_were_acknowledged_with_an_earlier_step_are_not_repeated) {
  const auto how = people_ledger_mechanism();
  PeopleLedger ledger(how, people_ledger_options());
  Store store;
  store.save(ledger);
  ledger.contribute("ann", kOneEntry);
  ledger.decide(0);
  const Ledger::LogPart part = ledger.log_frame(store.tag);
  store.log = part.bytes;
  store.tag = part.tag;
  ledger.decide(1);
  ledger.acknowledge(1);
  store.append(ledger);
  PeopleLedger next = store.open(how);
  EXPECT_EQ(next.num_decided(), 2);
  EXPECT_EQ(released(next), released(ledger));
}

TEST(PeopleLedger, a_frame_costs_its_own_persons) {
  PeopleLedger ledger(people_ledger_mechanism(Participation::single()), people_ledger_options());
  Store store;
  store.save(ledger);
  const auto stored = [](std::size_t size) { return 28 + (8 * (size + 16) + 6) / 7; };
  for (int i = 0; i < 50; ++i) {
    ledger.contribute(name_of(i), kOneEntry);
    EXPECT_EQ(ledger.log_frame(store.tag).bytes.size(),
              stored(16 + 16 + 8 * kPeopleLedgerDimension));
    store.append(ledger);
  }
  ledger.contribute(name_of(1), kOneEntry);
  ledger.contribute(name_of(2), kOneEntry);
  ledger.contribute(name_of(1), kOneEntry);
  EXPECT_EQ(ledger.log_frame(store.tag).bytes.size(),
            stored(16 + 2 * (16 + 8 * kPeopleLedgerDimension)));
  store.append(ledger);
  ledger.decide(0);
  EXPECT_EQ(ledger.log_frame(store.tag).bytes.size(), stored(24 + 16 * kPeopleLedgerDimension));
  store.append(ledger);
  // A dropped contribution adds a number but no person.
  EXPECT_FALSE(ledger.contribute(name_of(1), kOneEntry));
  EXPECT_EQ(ledger.log_frame(store.tag).bytes.size(), stored(16));
}

TEST(PeopleLedger, a_torn_frame_takes_all_of_its_contributions_with_it) {
  const auto how = people_ledger_mechanism();
  PeopleLedger ledger(how, people_ledger_options());
  Store store;
  store.save(ledger);
  ledger.contribute("ann", kOneEntry);
  store.append(ledger);
  const std::size_t first = store.log.size();
  ledger.contribute("bob", kOneEntry);
  ledger.contribute("cem", kOneEntry);
  ledger.decide(0);
  store.append(ledger);
  for (std::size_t size = 0; size <= store.log.size(); ++size) {
    PeopleLedger next(how, people_ledger_options());
    next.restore(store.base);
    const auto end =
        next.replay(std::span(store.log).first(size), {.before = next.log_tag(store.base)});
    const bool has_all = size == store.log.size(), has_first = size >= first;
    EXPECT_EQ(end.size, has_all ? size : has_first ? first : 0);
    EXPECT_EQ(next.num_contributions(), has_all ? 3 : has_first ? 1 : 0);
    EXPECT_EQ(next.num_decided(), has_all ? 1 : 0);
  }
  for (std::size_t at = 0; at < store.log.size(); ++at) {
    Bytes bad = store.log;
    bad[at] ^= std::byte{16};
    PeopleLedger next(how, people_ledger_options());
    next.restore(store.base);
    EXPECT_ERROR(next.replay(bad, {.before = next.log_tag(store.base)}), "bad_state", "whole");
  }
}

TEST(PeopleLedger, frames_that_break_the_pattern_or_have_other_sums_are_refused) {
  const auto how = people_ledger_mechanism(Participation::single());
  PeopleLedger ledger(how, people_ledger_options());
  Store store;
  store.save(ledger);
  const Ledger::LogTag begin = store.tag;
  ledger.contribute("ann", kOneEntry);
  store.append(ledger);
  // A frame of a ledger with the same key in which ann did not come before, as if she came twice.
  PeopleLedger other(how, people_ledger_options());
  Store elsewhere;
  elsewhere.save(other);
  other.decide(0);
  elsewhere.append(other);
  other.contribute("ann", kOneEntry);
  ledger.decide(0);
  store.append(ledger);
  const auto replay = [&](const Bytes& frame) {
    Bytes log = store.log;
    log.insert(log.end(), frame.begin(), frame.end());
    PeopleLedger next(how, people_ledger_options());
    next.restore(store.base);
    next.replay(log, {.before = begin});
  };
  EXPECT_ERROR(replay(other.log_frame(store.tag).bytes), "bad_state",
               "must have contributions that participation allows");
  // A step whose sums do not match the contributions.
  PeopleLedger silent(how, people_ledger_options());
  silent.decide(0);
  store.log = silent.log_frame(begin).bytes;
  EXPECT_NO_THROW(replay({}));
  ledger = PeopleLedger(how, people_ledger_options());
  store = {};
  store.save(ledger);
  ledger.contribute("ann", kOneEntry);
  store.append(ledger);
  EXPECT_ERROR(replay(silent.log_frame(store.tag).bytes), "bad_state",
               "must have the sums of what was contributed, step 0");
}

TEST(PeopleLedger, states_that_belong_elsewhere_are_refused) {
  PeopleLedger ledger(people_ledger_mechanism(), people_ledger_options());
  ledger.contribute("ann", std::array{0.5, 0.25});
  const Bytes state = ledger.state();
  const auto restore = [&](const std::shared_ptr<const Mechanism>& how,
                           const PrefixSumOptions& options) {
    PeopleLedger(how, options).restore(state);
  };
  EXPECT_NO_THROW(restore(people_ledger_mechanism(), people_ledger_options()));
  EXPECT_ERROR(restore(people_ledger_mechanism(), people_ledger_options(5)), "bad_state", "key");
  PrefixSumOptions narrow = people_ledger_options();
  narrow.dimension = 1;
  EXPECT_ERROR(restore(people_ledger_mechanism(), narrow), "bad_state", "");
  // A pattern with the same noise that allows no more participations within the horizon.
  const auto more = people_ledger_mechanism(Participation::min_separation({kPeopleLedgerSteps, 6}));
  const auto same = people_ledger_mechanism(Participation::min_separation({2, 6}));
  ASSERT_EQ(more->noise_stddev(), same->noise_stddev());
  PeopleLedger wide(more, people_ledger_options());
  const Bytes of_more = wide.state();
  EXPECT_ERROR(PeopleLedger(same, people_ledger_options()).restore(of_more), "bad_state", "");
  const auto often = people_ledger_mechanism(Participation::min_separation({1, 3}));
  const auto seldom = people_ledger_mechanism(Participation::min_separation({1, 6}));
  ASSERT_EQ(often->noise_stddev(), seldom->noise_stddev());
  PeopleLedger close(often, people_ledger_options());
  const Bytes of_close = close.state();
  EXPECT_ERROR(PeopleLedger(seldom, people_ledger_options()).restore(of_close), "bad_state", "");
  // Neither kind of ledger opens states of the other.
  ReleaseLedger records(people_ledger_mechanism(), people_ledger_options());
  EXPECT_ERROR(records.restore(state), "bad_state", "");
  EXPECT_ERROR(
      PeopleLedger(people_ledger_mechanism(), people_ledger_options()).restore(records.state()),
      "bad_state", "");
}

TEST(PeopleLedger, states_without_people_options_are_those_of_before_there_were_any) {
  const Bytes state = PeopleLedger(people_ledger_mechanism(), people_ledger_options()).state();
  // Fingerprint written before they existed.
  EXPECT_EQ(detail::word_at(state, 24), 17179084868917116274u);
  EXPECT_EQ(detail::word_at(state, 32), 1554227291346494353u);
}

TEST(PeopleLedger, damaged_states_are_refused_whatever_their_checksum_says) {
  const auto how = people_ledger_mechanism();
  PeopleLedger ledger(how, people_ledger_options());
  ledger.contribute("ann", kOneEntry);
  ledger.decide(0);
  ledger.acknowledge(1);
  ledger.contribute("bob", kOneEntry);
  const Bytes state = ledger.state();
  const auto refused = [&](const std::string& words, auto&& change) {
    Bytes bad = state;
    change(bad);
    // Sealed again, with the same header words.
    std::array<std::byte, 32> ids{};
    std::copy_n(bad.begin() + 24, ids.size(), ids.begin());
    detail::CheckpointHeader header{.kind = detail::CheckpointKind::people_ledger,
                                    .step = static_cast<std::int64_t>(detail::word_at(bad, 8))};
    std::copy_n(ids.begin(), 16, header.fingerprint.begin());
    std::copy_n(ids.begin() + 16, 16, header.commitment.begin());
    detail::seal_checkpoint(header, bad);
    PeopleLedger next(how, people_ledger_options());
    EXPECT_ERROR(next.restore(bad), "bad_state", words);
    EXPECT_EQ(next.num_contributions(), 0);
    EXPECT_EQ(next.num_decided(), 0);
  };
  const auto put = [](std::uint64_t word, std::size_t from_end) {
    return [=](Bytes& bytes) {
      for (std::size_t i = 0; i < 8; ++i)
        bytes[bytes.size() - from_end + i] = static_cast<std::byte>(word >> (8 * i));
    };
  };
  // The state ends with two persons, one of 32 bytes and one of 48 with a part; either may come
  // first.
  const std::size_t people = 32 + 48;
  const bool is_open_first =
      detail::word_at(state, state.size() - people + 24) == 1;  // its last step is the open one
  const std::size_t open_part = is_open_first ? 48 : 16;
  const std::size_t open_last = open_part + 8, open_times = open_part + 16;
  refused("whole entries", [](Bytes& bytes) { bytes.pop_back(); });
  refused("whole entries", [](Bytes& bytes) { bytes.resize(70); });
  refused("whole entries", put(UINT64_MAX, state.size() - 64));
  refused("finite parts", put(std::bit_cast<std::uint64_t>(HUGE_VAL), open_part));
  refused("steps that people counted at", put(2, open_last));
  refused("steps that people counted at", put(UINT64_MAX, open_last));
  refused("steps that people counted at", put(0, open_times));
  refused("sums of 2 steps", [](Bytes& bytes) {
    bytes[8] = std::byte{2};
    bytes.resize(bytes.size() - 80);
  });
  refused("steps that people counted at", [&](Bytes& bytes) {  // one person twice
    const std::size_t first = bytes.size() - people;
    const std::size_t second = first + (is_open_first ? 48u : 32u);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), 16,
                bytes.begin() + static_cast<std::ptrdiff_t>(second));
  });
}

TEST(PeopleLedger, names_are_told_apart_and_stored_as_codes_of_the_key) {
  const auto how = people_ledger_mechanism(Participation::single());
  const std::string nul("a\0b", 3);
  const std::vector<std::string> names = {"",  "a",       nul, "ab", std::string(1000, 'a'),
                                          "A", "\xc3\xa9"};
  PeopleLedger ledger(how, people_ledger_options());
  for (const std::string& name : names) EXPECT_TRUE(ledger.contribute(name, std::array{0.5, 0.0}));
  ledger.decide(0);
  ledger.acknowledge(1);
  for (const std::string& name : names) EXPECT_FALSE(ledger.contribute(name, std::array{0.5, 0.0}));
  // The bytes contain neither the name nor its plain hash, and other keys give other codes.
  const std::string name = "person 7 of the test";
  const auto code_in = [&](std::uint64_t seed) {
    PeopleLedger one(how, people_ledger_options(seed));
    one.contribute(name, std::array{0.5, 0.0});
    const Bytes state = one.state();
    const auto bytes = std::as_bytes(std::span(name));
    EXPECT_TRUE(std::ranges::search(state, bytes).empty());
    detail::Sha256 hash;
    hash.append(bytes);
    EXPECT_TRUE(std::ranges::search(state, detail::shortened(hash.finish())).empty());
    return Bytes(state.end() - 48, state.end() - 32);
  };
  EXPECT_NE(code_in(4), code_in(5));
  EXPECT_EQ(code_in(4), code_in(4));
}

TEST(PeopleLedger, what_is_refused_changes_nothing) {
  PeopleLedger ledger(people_ledger_mechanism(Participation::single()), people_ledger_options());
  const Bytes before = ledger.state();
  EXPECT_ERROR(ledger.contribute("ann", std::array{1.0, std::nan("")}), "invalid_argument",
               "people_ledger: values[1] must be finite, got NaN");
  EXPECT_ERROR(ledger.contribute("ann", std::array{1.0}), "wrong_length",
               "values must have 2 entries, got 1");
  EXPECT_ERROR(ledger.decide(1), "invalid_argument", "step must be");
  EXPECT_ERROR(ledger.decide(-1), "invalid_argument", "step must be");
  EXPECT_ERROR(ledger.log_frame({}, {.memo = std::span<const std::byte>(before)}),
               "invalid_argument", "memo must be left out");
  EXPECT_EQ(ledger.state(), before);
  ledger.decide(0);
  EXPECT_ERROR(ledger.contribute("ann", kOneEntry), "invalid_argument",
               "step must be acknowledged before others contribute, got 0");
  EXPECT_ERROR(ledger.released(0), "invalid_argument", "step must be");
  ledger.acknowledge(1);
  ledger.decide(0);  // again: already decided
  EXPECT_EQ(ledger.num_decided(), 1);
  EXPECT_TRUE(ledger.contribute("ann", kOneEntry));
  for (std::int64_t t = 1; t < kPeopleLedgerSteps; ++t) ledger.decide(t);
  ledger.acknowledge(kPeopleLedgerSteps);
  EXPECT_ERROR(ledger.contribute("bob", kOneEntry), "past_horizon", "below the horizon 12");
  EXPECT_ERROR(ledger.decide(kPeopleLedgerSteps), "past_horizon", "below the horizon 12");
  EXPECT_EQ(ledger.num_contributions(), 1);
  EXPECT_ERROR(PeopleLedger(people_ledger_mechanism(Participation::fixed_epoch({2, 6})),
                            people_ledger_options()),
               "invalid_argument", "participation must be single or min-separation");
}

TEST(PeopleLedger, goes_back_to_a_state_and_forgets_what_came_after) {
  const auto how = people_ledger_mechanism();
  PeopleLedger ledger(how, people_ledger_options());
  ledger.contribute("ann", kOneEntry);
  const Bytes state = ledger.state();
  ledger.contribute("bob", kOneEntry);
  ledger.decide(0);
  ledger.acknowledge(1);
  ledger.contribute("cem", kOneEntry);
  ledger.decide(1);
  ledger.restore(state);
  PeopleLedger fresh(how, people_ledger_options());
  fresh.restore(state);
  EXPECT_EQ(ledger.log_frame(Ledger::LogTag{}).bytes, fresh.log_frame(Ledger::LogTag{}).bytes);
  EXPECT_EQ(ledger.state(), state);
  EXPECT_EQ(ledger.num_contributions(), 1);
  EXPECT_TRUE(ledger.contribute("bob", kOneEntry));
  ledger.decide(0);
  PeopleLedger whole(how, people_ledger_options());
  for (const char* const name : {"ann", "bob"}) whole.contribute(name, kOneEntry);
  whole.decide(0);
  EXPECT_EQ(ledger.state(), whole.state());
}

}  // namespace
}  // namespace dpftrl
