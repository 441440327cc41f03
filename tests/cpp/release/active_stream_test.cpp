// SPDX-License-Identifier: Apache-2.0
/// Streams of active people: who counts, what a journal keeps, and one budget for several windows.
#include "dpftrl/release/active_people.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dense_algebra.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/release/stream.hpp"
#include "release/stored_numbers.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using ActiveStream = RecordStream<ActiveCounts, ActivePeople>;
using ActiveJournal = RecordStream<ActiveCounts, ActivePeople, Journal>;

constexpr std::int64_t kActiveSteps = 40;
const std::vector<std::int64_t> kActiveWindows = {1, 3, 7};

std::shared_ptr<const Mechanism> active_mechanism(const ActiveCounts& counts,
                                                  std::int64_t steps = kActiveSteps) {
  return counts.mechanism({.steps = steps, .target = {.epsilon = 1, .delta = 1e-6}});
}

PrefixSumOptions active_options(std::uint64_t seed = 41) {
  return {.key = Key::insecure_from_seed(seed)};
}

template <class Stream = ActiveStream>
Stream make_active_stream(const std::vector<std::int64_t>& windows = kActiveWindows,
                          std::uint64_t seed = 41) {
  static std::map<std::vector<std::int64_t>, std::shared_ptr<const Mechanism>> made;
  const ActiveCounts counts({.windows = windows});
  auto& mechanism = made[windows];
  if (!mechanism) mechanism = active_mechanism(counts);
  return Stream(counts, mechanism, active_options(seed));
}

struct Event {
  std::string person;
  PersonEvent what = PersonEvent::seen;
};
using Days = std::vector<std::vector<Event>>;

/// Events of eight people, who come and go, are seen several times a day, and are forgotten at
/// times.
Days random_days(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Days days(static_cast<std::size_t>(kActiveSteps));
  for (int person = 0; person < 8; ++person) {
    const std::uint64_t rarity = 1 + random() % 6;
    for (auto& day : days) {
      if (random() % rarity > 0) continue;
      for (std::uint64_t times = 1 + random() % 3; times > 0; --times)
        day.push_back({std::to_string(person)});
      if (random() % 12 == 0) day.push_back({std::to_string(person), PersonEvent::forgotten});
    }
  }
  return days;
}

/// Counts by the definition: the steps at which somebody was seen, unless barred, and the steps
/// after these.
std::vector<std::int64_t> counts_by_definition(const Days& days, std::size_t today,
                                               const std::vector<std::int64_t>& windows) {
  const auto longest = static_cast<std::size_t>(std::ranges::max(windows));
  std::vector<std::int64_t> counts(windows.size());
  for (int person = 0; person < 8; ++person) {
    std::vector<std::size_t> seen;
    std::size_t barred_before = 0;
    for (std::size_t day = 0; day <= today; ++day)
      for (const Event& event : days[day]) {
        if (event.person != std::to_string(person)) continue;
        if (event.what == PersonEvent::seen && day >= barred_before) seen.push_back(day);
        if (event.what == PersonEvent::forgotten) barred_before = day + longest;
      }
    for (std::size_t i = 0; i < windows.size(); ++i)
      if (!seen.empty() && seen.back() + static_cast<std::size_t>(windows[i]) > today) ++counts[i];
  }
  return counts;
}

void add_all(auto& stream, const std::vector<Event>& events) {
  for (const auto& [person, what] : events) stream.add(person, what);
}

std::vector<std::int64_t> differences(const std::vector<Estimate>& with,
                                      const std::vector<Estimate>& without) {
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < with.size(); ++i)
    counts.push_back(std::llround(with[i].value - without[i].value));
  return counts;
}

TEST(ActiveStreamTest, counts_are_those_of_the_events) {
  for (const auto& windows : {kActiveWindows, std::vector<std::int64_t>{7, 1},
                              std::vector<std::int64_t>{1}, std::vector<std::int64_t>{40}}) {
    for (std::uint64_t seed = 1; seed < 6; ++seed) {
      const Days days = random_days(seed);
      ActiveStream users = make_active_stream(windows), nobody = make_active_stream(windows);
      for (std::size_t day = 0; day < days.size(); ++day) {
        add_all(users, days[day]);
        EXPECT_EQ(differences(users.end(), nobody.end()), counts_by_definition(days, day, windows))
            << day;
      }
      EXPECT_THROW(users.end(), Error);
    }
  }
}

TEST(ActiveStreamTest, releases_are_counts_and_rows_of_noise) {
  ActiveStream users = make_active_stream({7});
  const Mechanism& mechanism = users.mechanism();
  NoiseStream noise(mechanism.strategy(), {.key = active_options().key});
  const Days days = random_days(9);
  for (std::size_t day = 0; day < days.size(); ++day) {
    add_all(users, days[day]);
    std::array<double, 1> row{};
    noise.next(row);
    const double count = static_cast<double>(counts_by_definition(days, day, {7})[0]);
    EXPECT_EQ(users.end()[0].value, count + std::floor(row[0] * mechanism.noise_stddev() + 0.5));
  }
}

// Each window has runs of its own length; with the open start, the first may be cut.
TEST(ActiveStreamTest, leaving_a_person_out_changes_counts_by_a_pattern) {
  for (std::uint64_t seed = 11; seed < 16; ++seed) {
    const Days days = random_days(seed);
    for (int left_out = 0; left_out < 8; ++left_out) {
      ActiveStream all = make_active_stream(), others = make_active_stream();
      std::vector<std::vector<std::int64_t>> changes(kActiveWindows.size());
      std::vector<std::int64_t> before(kActiveWindows.size());
      for (std::size_t day = 0; day < days.size(); ++day) {
        add_all(all, days[day]);
        std::vector<Event> rest = days[day];
        std::erase_if(rest, [&](const Event& it) { return it.person == std::to_string(left_out); });
        add_all(others, rest);
        const auto active = differences(all.end(), others.end());
        for (std::size_t i = 0; i < active.size(); ++i) {
          ASSERT_TRUE(active[i] == 0 || active[i] == 1);
          if (active[i] != before[i]) changes[i].push_back(static_cast<std::int64_t>(day));
        }
        before = active;
      }
      for (std::size_t i = 0; i < changes.size(); ++i)
        EXPECT_TRUE(Participation::active({.window = kActiveWindows[i], .has_open_start = false})
                        .allows(changes[i], kActiveSteps))
            << kActiveWindows[i];
    }
  }
}

TEST(ActiveStreamTest, who_is_forgotten_counts_until_the_window_ends_and_cannot_return_before) {
  ActiveStream users = make_active_stream({3}), nobody = make_active_stream({3});
  const auto count = [&] { return differences(users.end(), nobody.end())[0]; };
  users.add("ann");
  EXPECT_EQ(count(), 1);  // step 0
  users.forget("ann");
  users.add("ann");
  EXPECT_EQ(users.counts().dropped, 1);
  EXPECT_EQ(count(), 1);
  users.add("ann");
  EXPECT_EQ(count(), 1);
  users.add("ann");
  EXPECT_EQ(users.counts().dropped, 3);
  EXPECT_EQ(count(), 0);
  users.add("ann");
  EXPECT_EQ(users.counts().dropped, 3);
  EXPECT_EQ(count(), 1);
}

// Otherwise a request would bar later events only if the data contain earlier ones, so leaving out
// the earlier ones would make later ones count.
TEST(ActiveStreamTest, a_request_to_forget_bars_people_of_whom_nothing_is_known) {
  ActiveStream users = make_active_stream({3}), nobody = make_active_stream({3});
  users.forget("ann");
  for (int day = 0; day < 3; ++day) {
    users.add("ann");
    EXPECT_EQ(differences(users.end(), nobody.end())[0], 0);
  }
  users.add("ann");
  EXPECT_EQ(differences(users.end(), nobody.end())[0], 1);
}

TEST(ActiveStreamTest, the_same_person_again_needs_no_storing) {
  ActiveJournal users = make_active_stream<ActiveJournal>();
  LogTag tag = users.log_tag(users.state());
  const auto store = [&] {
    const LogPart part = users.frame(tag);
    tag = part.tag;
    users.acknowledge(users.step());
    return part.bytes.size();
  };
  const auto add = [&](std::string_view person) {
    users.add(person);
    return users.is_stored();
  };
  EXPECT_FALSE(add("ann"));
  store();
  EXPECT_TRUE(add("ann"));
  EXPECT_FALSE(add("bob"));
  store();
  EXPECT_TRUE(add("bob"));
  EXPECT_TRUE(add("ann"));
  users.forget("bob");
  EXPECT_FALSE(users.is_stored());
  store();
  EXPECT_TRUE(add("bob"));
  users.end();
  EXPECT_FALSE(users.is_stored());
  store();
  EXPECT_TRUE(users.is_stored());
  EXPECT_FALSE(add("ann"));
}

/// Bytes of a journal that stores each change, and how many of them there were after each event.
struct StoredDays {
  std::vector<std::byte> base;
  std::vector<std::byte> log;
  struct Point {
    std::size_t size;
    std::size_t day, event;  ///< of the next event
  };
  std::vector<Point> points;
  std::vector<std::vector<Estimate>> readings;
};

StoredDays store_days(const Days& days) {
  ActiveJournal users = make_active_stream<ActiveJournal>();
  StoredDays stored{.base = users.state(), .log = {}, .points = {}, .readings = {}};
  LogTag tag = users.log_tag(stored.base);
  const auto store = [&](std::size_t day, std::size_t event) {
    if (!users.is_stored()) {
      const LogPart part = users.frame(tag);
      tag = part.tag;
      stored.log.insert(stored.log.end(), part.bytes.begin(), part.bytes.end());
      users.acknowledge(users.step());
    }
    stored.points.push_back({stored.log.size(), day, event});
  };
  for (std::size_t day = 0; day < days.size(); ++day) {
    for (std::size_t i = 0; i < days[day].size(); ++i) {
      users.add(days[day][i].person, days[day][i].what);
      store(day, i + 1);
    }
    const std::int64_t step = users.end();
    store(day + 1, 0);
    stored.readings.push_back(users.at(step));
  }
  return stored;
}

void expect_same(const std::vector<Estimate>& found, const std::vector<Estimate>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].value, wanted[i].value);
}

TEST(ActiveStreamTest, a_stream_that_was_killed_goes_on_as_if_it_had_not_been) {
  const Days days = random_days(21);
  const StoredDays stored = store_days(days);
  for (const auto& [size, day, event] : stored.points) {
    ActiveJournal users = make_active_stream<ActiveJournal>();
    users.restore(stored.base);
    users.replay(std::span(stored.log).first(size), {.before = users.log_tag(stored.base)});
    EXPECT_EQ(users.step(), static_cast<std::int64_t>(day));
    // A stream restored from its state continues as one restored from the log.
    const std::vector<std::byte> bytes = users.state();
    ActiveJournal again = make_active_stream<ActiveJournal>();
    again.restore(bytes);
    for (ActiveJournal* const one : {&users, &again}) {
      for (std::size_t t = day; t < std::min(day + 8, days.size()); ++t) {
        for (std::size_t i = t == day ? event : 0; i < days[t].size(); ++i)
          one->add(days[t][i].person, days[t][i].what);
        const std::int64_t step = one->end();
        one->acknowledge(one->step());
        expect_same(one->at(step), stored.readings[t]);
      }
    }
  }
}

TEST(ActiveStreamTest, states_of_other_windows_are_refused) {
  ActiveJournal users = make_active_stream<ActiveJournal>();
  users.add("ann");
  const std::vector<std::byte> bytes = users.state();
  for (const auto& windows : {std::vector<std::int64_t>{1, 3}, std::vector<std::int64_t>{1, 3, 8},
                              std::vector<std::int64_t>{3, 1, 7}, std::vector<std::int64_t>{7}}) {
    ActiveJournal other = make_active_stream<ActiveJournal>(windows);
    EXPECT_THROW(other.restore(bytes), Error);
  }
  const ActiveCounts closed({.windows = kActiveWindows, .has_open_start = false});
  ActiveJournal other(closed, active_mechanism(closed), active_options());
  EXPECT_THROW(other.restore(bytes), Error);
}

TEST(ActiveStreamTest, damaged_people_are_refused) {
  ActiveJournal users = make_active_stream<ActiveJournal>();
  ActivePeople people(kActiveWindows, CodeSecret(Key::insecure_from_seed(1)));
  people.admit(people.code_of("ann"), std::vector{0.0}, 0);
  std::vector<std::byte> state;
  people.append_state(state, 0);
  EXPECT_NO_THROW(people.take_state(state, 0, 3));
  EXPECT_NO_THROW(people.take_state(state, 6, 3));
  EXPECT_THROW(people.take_state(state, 7, 3), Error);  // beyond the longest window
  EXPECT_THROW(people.take_state(std::span(state).first(state.size() - 1), 0, 3), Error);
  std::vector<std::byte> changes(16);
  detail::append_number(changes, 0);
  EXPECT_THROW(people.take_changes(changes, 0, 3), Error);
  detail::append_number(changes, 3);
  EXPECT_THROW(people.take_changes(std::span(changes).first(20), 0, 3), Error);
}

TEST(ActiveStreamTest, nobody_is_kept_longer_than_the_longest_window) {
  ActiveJournal users = make_active_stream<ActiveJournal>();
  ActiveJournal nobody = make_active_stream<ActiveJournal>();
  for (const char* const person : {"ann", "bob", "cem"}) users.add(person);
  for (int day = 0; day <= 7; ++day) {
    const std::size_t kept = users.state().size() - nobody.state().size();
    EXPECT_EQ(kept, day < 7 ? 3 * 32U : 0U) << day;
    users.end();
    nobody.end();
  }
}

/// Sum over the windows of u^T X u, where u is the indicator of the steps at which the person
/// counts and X an inverse covariance.
double joint_energy(const std::vector<Matrix>& inverses, const std::vector<std::int64_t>& events) {
  double sum = 0;
  for (std::size_t i = 0; i < inverses.size(); ++i) {
    Vector u = Vector::Zero(kActiveSteps);
    for (const std::int64_t t : events) {
      const std::int64_t first = std::max<std::int64_t>(0, t);
      const std::int64_t end = std::min(kActiveSteps, t + kActiveWindows[i]);
      if (end > first) u.segment(index_of(first), index_of(end - first)).setOnes();
    }
    sum += u.dot(inverses[i] * u);
  }
  return sum;
}

// With the inverse covariances of the noise, no sequence of events has a joint energy above mu^2,
// and some come close. Gaps between events are random: a gap of 2, 4 or 8 is the shortest that
// interrupts the activity in the window of 1, 3 or 7 steps.
TEST(ActiveStreamTest, windows_share_one_budget) {
  const ActiveCounts counts({.windows = kActiveWindows});
  const auto whole = active_mechanism(counts);
  std::vector<Matrix> inverses;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto part = whole->reader(i);
    const auto alone =
        active_mechanism(ActiveCounts({.windows = {kActiveWindows[static_cast<std::size_t>(i)]}}));
    EXPECT_EQ(part->certificate().active->window, kActiveWindows[static_cast<std::size_t>(i)]);
    EXPECT_LT(part->release_stddev(0) / alone->release_stddev(0), 1.68);
    const Matrix decoder = part->strategy().decoder() * part->noise_stddev();
    inverses.push_back(testing::inverse(decoder * decoder.transpose()));
  }
  const double mu = whole->certificate().mu;
  std::mt19937_64 random(61);
  double most = 0;
  for (int person = 0; person < 20000; ++person) {
    const std::uint64_t first = 1 + random() % 8, rarity = 1 + random() % 4;
    std::vector<std::int64_t> events;
    for (auto t = static_cast<std::int64_t>(first) - 7; t < kActiveSteps;) {
      events.push_back(t);
      constexpr std::array<std::int64_t, 4> kGaps = {1, 2, 4, 8};
      t += kGaps[static_cast<std::size_t>(random() % rarity)];
    }
    most = std::max(most, joint_energy(inverses, events));
  }
  EXPECT_LE(most, mu * mu);
  EXPECT_GE(most, mu * mu * 0.9);
  EXPECT_EQ(whole->certificate().exactness, Exactness::upper_bound);
}

// A correlation of 4000 pairs is beyond 0.07 with probability 1e-5.
TEST(ActiveStreamTest, windows_have_noise_of_their_own) {
  const ActiveCounts counts({.windows = {3, 3}});
  const auto mechanism = active_mechanism(counts);
  double xx = 0, yy = 0, xy = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    ActiveStream users(counts, mechanism, active_options(seed));
    const std::vector<Estimate> noise = users.end();
    const double x = noise[0].value, y = noise[1].value;
    xx += x * x, yy += y * y, xy += x * y;
  }
  EXPECT_LT(std::abs(xy / std::sqrt(xx * yy)), 0.07);
  EXPECT_NEAR(std::sqrt(xx / 4000) / mechanism->reader(0)->release_stddev(0), 1, 0.05);
  EXPECT_NEAR(std::sqrt(yy / 4000) / mechanism->reader(1)->release_stddev(0), 1, 0.05);
}

TEST(ActiveStreamTest, intervals_contain_the_counts) {
  const ActiveCounts counts({.windows = {1, 7}, .confidence = 0.9});
  const auto mechanism = active_mechanism(counts);
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    ActiveStream users(counts, mechanism, active_options(seed));
    users.add("ann");
    for (const Estimate& count : users.end())
      if (count.low > 1 || count.high < 1) ++missed;
  }
  // 4000 trials of probability 0.1, or a little less because of the grid.
  EXPECT_NEAR(missed, 390, 90);
}

TEST(ActiveStreamTest, what_makes_no_sense_is_refused) {
  EXPECT_THROW(ActiveCounts({.windows = {}}), Error);
  EXPECT_THROW(ActiveCounts({.windows = {0}}), Error);
  EXPECT_THROW(ActiveCounts({.windows = {1}, .confidence = 1}), Error);
  EXPECT_THROW(active_mechanism(ActiveCounts({.windows = {41}})), Error);
  EXPECT_NO_THROW(active_mechanism(ActiveCounts({.windows = {40}})));
  EXPECT_THROW(
      Mechanism::make_active({.steps = 9, .target = {.epsilon = 1, .delta = 1e-6}}, kActiveWindows),
      Error);
}

TEST(ActiveStreamTest, replaced_people_need_more_noise) {
  const ActiveCounts removed({.windows = {7}});
  const ActiveCounts replaced({.windows = {7}, .neighbours = Neighbours::replace_one});
  const auto year = [](const ActiveCounts& counts) {
    return active_mechanism(counts, 365)->release_stddev(0);
  };
  EXPECT_NEAR(year(removed), 37.37, 0.01);
  EXPECT_NEAR(year(replaced), 67.65, 0.01);
}

TEST(ActiveStream, windows_with_noise_of_their_own_are_not_analysed_as_one) {
  const auto several = active_mechanism(ActiveCounts({.windows = {1, 3}}));
  EXPECT_ERROR(simultaneous_errors(*several, {.beta = 0.05}), "unsupported", "mechanism must");
  EXPECT_ERROR(several->stack_lower_bound(), "unsupported", "mechanism must");
  for (std::int64_t i = 0; i < several->num_readers(); ++i)
    EXPECT_EQ(std::ssize(simultaneous_errors(*several->reader(i), {.beta = 0.05})), 1);
}

}  // namespace
}  // namespace dpftrl
