// SPDX-License-Identifier: Apache-2.0

// Statistics of people in a PeopleLedger: the releases of PeopleStatisticSum, across restarts.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/release/release_ledger.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "release/people_store.hpp"
#include "statistics/columns.hpp"

namespace dpftrl {
namespace {

using testing::name_of;
using testing::PeopleStore;
using testing::released;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kLedgerSteps = 9;
constexpr std::string_view kAbout = "a statistic of the test";

/// Index of a record that a person contributes to a step, and its encoding.
struct Contributed {
  std::int64_t step;
  int person;
  std::size_t record;
  std::vector<double> columns;
};

/// Uninterrupted run of a statistic of people, and the means to make ledgers of it.
struct Uninterrupted {
  std::string name;
  std::shared_ptr<const Mechanism> mechanism;
  PrefixSumOptions options;
  bool first_only;
  std::vector<Contributed> stream;
  std::vector<double> sums = {};
  std::int64_t num_dropped = 0;

  PeopleLedger ledger(std::string_view about = kAbout) const {
    return {mechanism, options, {.first_only = first_only, .about = about}};
  }
};

MechanismOptions statistic_options(const Participation& participation,
                                   std::int64_t steps = kLedgerSteps) {
  return {.strategy = "honaker",
          .steps = steps,
          .target = {.epsilon = 1, .delta = 1e-6},
          .participation = participation};
}

/// Random contributions of some of the records by several people, ordered by step, often several to
/// one step.
template <class Columns, class Record>
std::vector<Contributed> drawn(const Columns& columns, const std::vector<Record>& records,
                               unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<Contributed> all;
  for (std::int64_t t = 0; t < kLedgerSteps; ++t)
    for (std::uint_fast32_t count = bits() % 7; count > 0; --count) {
      const int person = static_cast<int>(bits() % 4);
      const std::size_t record = bits() % records.size();
      std::vector<double> row(static_cast<std::size_t>(columns.dimension()));
      columns.write(records[record], row);
      all.push_back({.step = t, .person = person, .record = record, .columns = row});
    }
  return all;
}

/// Columns with the mechanism of a PeopleStatisticSum, and the releases of that sum.
template <class Columns, class Record>
Uninterrupted case_of(std::string name, const typename Columns::Options& what,
                      const std::vector<Record>& records, unsigned seed) {
  const MechanismOptions how = statistic_options(testing::separated(3, 2));
  const Key key = Key::insecure_from_seed(seed);
  const Columns columns(what);
  Uninterrupted made{
      .name = std::move(name),
      .mechanism = detail::statistic_mechanism(
          how, {.distance = columns.distance(), .grid = columns.grid(), .moves = columns.moves()},
          Columns::kName),
      .options = {.key = key, .dimension = columns.dimension(), .grid = columns.grid()},
      .first_only = true,
      .stream = drawn(columns, records, seed)};
  testing::StatisticStream<Columns, People> statistic(how, what, key);
  for (std::int64_t t = 0; t < kLedgerSteps; ++t) {
    for (const Contributed& each : made.stream)
      if (each.step == t) statistic.contribute(each.person, records[each.record]);
    statistic.release();
    made.sums.insert(made.sums.end(), statistic.noisy_sums().begin(), statistic.noisy_sums().end());
  }
  made.num_dropped = statistic.num_dropped();
  return made;
}

/// Several workloads of one stream, whose records are added up.
Uninterrupted stack_case(unsigned seed) {
  MechanismOptions how = statistic_options(testing::separated(3, 2));
  const StackColumns columns(
      Mechanism::make_stack(how, {.workloads = {Workload::prefix_sums(kLedgerSteps),
                                                Workload::sliding_window({kLedgerSteps, 3})}}),
      {.record_size = 2});
  const std::vector<std::array<double, 2>> records = {{0.5, 0.25}, {-0.75, 0.5}, {0.125, 0}};
  Uninterrupted made{.name = "stack",
                     .mechanism = columns.mechanism(),
                     .options = {.key = Key::insecure_from_seed(seed),
                                 .dimension = columns.dimension(),
                                 .grid = columns.grid()},
                     .first_only = false,
                     .stream = drawn(columns, records, seed)};
  PeopleSum sums(made.mechanism, made.options);
  std::vector<double> row(static_cast<std::size_t>(columns.dimension()));
  for (std::int64_t t = 0; t < kLedgerSteps; ++t) {
    for (const Contributed& each : made.stream)
      if (each.step == t) sums.contribute(each.person, each.columns);
    sums.release(row);
    made.sums.insert(made.sums.end(), row.begin(), row.end());
  }
  made.num_dropped = sums.num_dropped();
  return made;
}

std::vector<Uninterrupted> uninterrupted_cases(unsigned seed) {
  using Numbers = std::array<double, 2>;
  const std::vector<Numbers> numbers = {{10, -1}, {0, 1}, {2.5, 0.5}, {11, 0}};
  const std::vector<std::int64_t> categories = {0, 1, 2, 2};
  std::vector<Uninterrupted> all;
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    all.push_back(case_of<MomentColumns>(
        "moments", {.ranges = {{0, 10}, {-1, 1}}, .covariance = true, .neighbours = neighbours},
        numbers, seed));
    all.push_back(case_of<HistogramColumns>(
        "histogram", {.num_categories = 3, .total = true, .neighbours = neighbours}, categories,
        seed));
  }
  all.push_back(stack_case(seed));
  return all;
}

/// Adds the next contribution, or ends the step if there is none.
/// @return  whether it ended the step.
bool add_the_rest(PeopleLedger& ledger, const Uninterrupted& what) {
  const auto next = static_cast<std::size_t>(ledger.num_contributions());
  const bool ends = next == what.stream.size() || what.stream[next].step > ledger.num_decided();
  if (ends)
    ledger.decide(ledger.num_decided());
  else
    ledger.contribute(name_of(what.stream[next].person), what.stream[next].columns);
  return ends;
}

void expect_whole(const PeopleLedger& ledger, const Uninterrupted& what) {
  EXPECT_EQ(released(ledger), what.sums) << what.name;
  EXPECT_EQ(ledger.num_dropped(), what.num_dropped) << what.name;
  EXPECT_EQ(ledger.num_contributions(), std::ssize(what.stream)) << what.name;
}

TEST(PeopleStatisticLedger, opened_after_every_call_it_has_the_sums_of_one_never_interrupted) {
  for (unsigned seed = 0; seed < 4; ++seed)
    for (const Uninterrupted& what : uninterrupted_cases(seed)) {
      EXPECT_GT(what.num_dropped, 0);
      for (const bool is_late : {false, true}) {
        std::mt19937 bits(seed);
        PeopleLedger ledger = what.ledger();
        PeopleStore store;
        store.save(ledger);
        while (ledger.num_decided() < kLedgerSteps) {
          // Contributions are stored one at a time, or together with the step they belong to.
          while (!add_the_rest(ledger, what) && is_late) {
          }
          if (bits() % 5 == 0)
            store.save(ledger);
          else
            store.append(ledger);
          const std::int64_t num_contributions = ledger.num_contributions();
          ledger = store.opened(what.ledger());
          EXPECT_EQ(ledger.num_contributions(), num_contributions);
        }
        expect_whole(ledger, what);
      }
    }
}

TEST(PeopleStatisticLedger, left_at_any_point_it_takes_the_first_record_of_a_step_once) {
  for (const Uninterrupted& what : uninterrupted_cases(7)) {
    PeopleLedger whole = what.ledger();
    PeopleStore begun;
    begun.save(whole);
    // The ledger is abandoned after each stored call, and after some that were not stored.
    while (whole.num_decided() < kLedgerSteps) {
      PeopleLedger lost = begun.opened(what.ledger());
      for (int i = 0; i < 3 && lost.num_decided() < kLedgerSteps; ++i)
        if (add_the_rest(lost, what)) lost.acknowledge(lost.num_decided());
      PeopleLedger next = begun.opened(what.ledger());
      while (next.num_decided() < kLedgerSteps)
        if (add_the_rest(next, what)) next.acknowledge(next.num_decided());
      expect_whole(next, what);
      add_the_rest(whole, what);
      begun.append(whole);
    }
  }
}

TEST(PeopleStatisticLedger, all_small_worlds_have_the_sums_that_the_noise_is_made_for) {
  // Person 0 brings nothing, one of two categories or both to each of three steps. The property
  // that changing_one_person_is_within_the_noise_and_some_changes_reach_it shows for
  // PeopleStatisticSum holds across a restart after any call.
  constexpr std::int64_t kDays = 3;
  const std::array<std::vector<std::int64_t>, 5> kinds = {{{}, {0}, {1}, {0, 1}, {1, 0}}};
  const HistogramOptions what{.num_categories = 2, .neighbours = Neighbours::replace_one};
  const HistogramColumns columns(what);
  const Key key = Key::insecure_from_seed(3);
  for (const Participation& pattern : {Participation::single(), testing::separated(2, 2)}) {
    const auto mechanism = detail::statistic_mechanism(
        statistic_options(pattern, kDays),
        {.distance = columns.distance(), .grid = columns.grid(), .moves = columns.moves()}, "test");
    for (std::size_t world = 0; world < 125; ++world) {
      testing::PeopleHistogramStream statistic(statistic_options(pattern, kDays), what, key);
      const auto made = [&] {
        return PeopleLedger(mechanism,
                            {.key = key, .dimension = columns.dimension(), .grid = columns.grid()},
                            {.first_only = true, .about = "h"});
      };
      PeopleLedger ledger = made();
      const auto reopen = [&] {
        const Bytes state = ledger.state();
        ledger = made();
        ledger.restore(state);
      };
      std::vector<double> row(static_cast<std::size_t>(columns.dimension()));
      for (std::size_t t = 0, rest = world; t < kDays; ++t, rest /= 5) {
        for (const std::int64_t category : kinds[rest % 5]) {
          columns.write(category, row);
          EXPECT_EQ(ledger.contribute("ann", row), statistic.contribute(0, category));
          reopen();
        }
        statistic.release();
        ledger.decide(static_cast<std::int64_t>(t));
        reopen();
        EXPECT_TRUE(std::ranges::equal(ledger.released(static_cast<std::int64_t>(t)),
                                       statistic.noisy_sums()))
            << world;
      }
    }
  }
}

TEST(PeopleStatisticLedger, a_second_record_of_a_step_changes_nothing_but_the_numbers_of_records) {
  for (const Uninterrupted& what : uninterrupted_cases(2)) {
    if (!what.first_only) continue;
    PeopleLedger once = what.ledger(), twice = what.ledger();
    const std::vector<double>& first = what.stream[0].columns;
    std::vector<double> second = first;
    std::ranges::reverse(second);
    for (PeopleLedger* const ledger : {&once, &twice})
      EXPECT_TRUE(ledger->contribute("ann", first));
    EXPECT_FALSE(twice.contribute("ann", second));
    EXPECT_EQ(twice.num_contributions(), 2);
    EXPECT_EQ(twice.num_dropped(), 1);
    for (PeopleLedger* const ledger : {&once, &twice}) {
      ledger->decide(0);
      ledger->acknowledge(1);
    }
    EXPECT_EQ(released(once), released(twice)) << what.name;
    // Adding the records up gives other sums, and the two kinds of ledger are distinguished.
    PeopleLedger added(what.mechanism, what.options);
    added.contribute("ann", first);
    added.contribute("ann", second);
    added.decide(0);
    added.acknowledge(1);
    EXPECT_NE(released(added), released(once)) << what.name;
  }
}

TEST(PeopleStatisticLedger, a_state_is_continued_as_what_it_is_of_and_nothing_else) {
  const Uninterrupted what = uninterrupted_cases(1)[0];
  const std::array<PeopleLedgerOptions, 6> kinds = {{
      {},
      {.about = kAbout},
      {.first_only = true},
      {.first_only = true, .about = kAbout},
      {.first_only = true, .about = "a statistic of the tesT"},
      {.first_only = true, .about = "a statistic of the test "},
  }};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    PeopleLedger ledger(what.mechanism, what.options, kinds[i]);
    ledger.contribute("ann", what.stream[0].columns);
    const Bytes state = ledger.state();
    for (std::size_t j = 0; j < kinds.size(); ++j) {
      PeopleLedger next(what.mechanism, what.options, kinds[j]);
      if (i == j) {
        EXPECT_NO_THROW(next.restore(state));
        EXPECT_EQ(next.num_contributions(), 1);
        continue;
      }
      EXPECT_ERROR(next.restore(state), "bad_state", "must be of this mechanism");
      EXPECT_EQ(next.num_contributions(), 0);
    }
  }
  // A stack has another mechanism than the sums of one workload, but the same columns.
  const Uninterrupted stack = stack_case(1);
  PeopleLedger of_stack = stack.ledger();
  PeopleLedger plain(Mechanism::make(statistic_options(testing::separated(3, 2))), stack.options,
                     {.about = kAbout});
  EXPECT_ERROR(plain.restore(of_stack.state()), "bad_state", "");
}

TEST(PeopleStatisticLedger, every_damaged_byte_is_found) {
  const Uninterrupted what = uninterrupted_cases(3)[1];
  PeopleLedger ledger = what.ledger();
  PeopleStore store;
  store.save(ledger);
  ledger.contribute("ann", what.stream[0].columns);
  store.append(ledger);
  ledger.contribute("ann", what.stream[1].columns);
  ledger.contribute("bob", what.stream[1].columns);
  ledger.decide(0);
  store.append(ledger);
  const Bytes state = ledger.state();
  for (std::size_t at = 0; at < state.size(); ++at) {
    Bytes bad = state;
    bad[at] ^= std::byte{4};
    PeopleLedger next = what.ledger();
    EXPECT_ERROR(next.restore(bad), "bad_state", "");
  }
  for (std::size_t at = 0; at < store.log.size(); ++at) {
    PeopleStore bad = store;
    bad.log[at] ^= std::byte{4};
    EXPECT_ERROR(bad.opened(what.ledger()), "bad_state", "whole");
  }
  for (std::size_t size = 0; size < state.size(); ++size) {
    PeopleLedger next = what.ledger();
    EXPECT_ERROR(next.restore(std::span(state).first(size)), "bad_state", "");
  }
}

}  // namespace
}  // namespace dpftrl
