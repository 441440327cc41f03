// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/stream.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "noise/checkpoint.hpp"
#include "release/stream_cells.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::AnyStream;
using testing::Cell;
using testing::kCellSteps;
using testing::Numerals;
using testing::PersonRecord;
using Bytes = std::vector<std::byte>;
/// The records of each step.
using StreamWorld = std::vector<std::vector<PersonRecord>>;

const std::vector<Cell>& stream_cells() {
  static const std::vector<Cell> all = testing::make_cells();
  return all;
}

std::vector<Cell> cells_with_journal() {
  std::vector<Cell> some;
  std::ranges::copy_if(stream_cells(), std::back_inserter(some), &Cell::journal);
  return some;
}

/// Up to four records a step, of three people.
StreamWorld random_world(const Cell& cell, unsigned seed) {
  std::mt19937 bits(seed);
  StreamWorld world(kCellSteps);
  for (auto& step : world)
    for (auto count = bits() % 5; count > 0; --count)
      step.push_back({.person = std::string(1, static_cast<char>('a' + bits() % 3)),
                      .record = cell.records[bits() % cell.records.size()]});
  return world;
}

/// The steps of each person that count, by the definition: the earliest that the participation
/// allows.
std::map<std::string, std::set<std::int64_t>> steps_that_count(const Cell& cell,
                                                               const StreamWorld& world) {
  std::map<std::string, std::set<std::int64_t>> counting;
  const Participation& participation = cell.mechanism->participation();
  for (std::int64_t t = 0; t < std::ssize(world); ++t)
    for (const PersonRecord& given : world[static_cast<std::size_t>(t)]) {
      auto& own = counting[given.person];
      own.insert(t);
      const std::vector<std::int64_t> steps(own.begin(), own.end());
      if (!participation.allows(steps, kCellSteps)) own.erase(t);
    }
  return counting;
}

/// Contributions to each step. A person who counts makes one: the sum of her rows or, where rows do
/// not add up, the first.
std::vector<std::vector<Numerals>> contributions_of(const Cell& cell, const StreamWorld& world) {
  const auto counting = steps_that_count(cell, world);
  std::vector<std::vector<Numerals>> all(world.size());
  for (std::size_t t = 0; t < world.size(); ++t) {
    std::map<std::string, Numerals> parts;
    for (const PersonRecord& given : world[t]) {
      const Numerals row = cell.row(given.record);
      if (!cell.people) {
        all[t].push_back(row);
        continue;
      }
      if (!counting.at(given.person).contains(static_cast<std::int64_t>(t))) continue;
      const auto [at, is_first] = parts.try_emplace(given.person, row);
      for (std::size_t i = 0; !is_first && cell.adds && i < row.size(); ++i)
        at->second[i] += row[i];
    }
    for (auto& [person, part] : parts) all[t].push_back(std::move(part));
  }
  return all;
}

/// Readings by a PrefixSum of these contributions.
std::vector<Numerals> expected_readings(const Cell& cell, const StreamWorld& world) {
  PrefixSum sums(cell.mechanism, cell.options);
  std::vector<Numerals> readings;
  for (const auto& step : contributions_of(cell, world)) {
    for (const Numerals& row : step) sums.contribute(row);
    Numerals noisy(static_cast<std::size_t>(sums.dimension()));
    sums.release(noisy);
    readings.push_back(cell.read({.step = sums.step() - 1, .values = noisy, .noise = sums}));
  }
  return readings;
}

/// Sums of the contributions without noise, by the definition: A times the sums of the clipped
/// contributions of the steps, for one workload A after the other.
Matrix sums_without_noise(const Cell& cell, const StreamWorld& world) {
  const auto contributions = contributions_of(cell, world);
  const Mechanism& mechanism = *cell.mechanism;
  const auto width = testing::index_of(std::ssize(cell.row(cell.records[0])));
  Matrix steps = Matrix::Zero(kCellSteps, width);
  for (std::size_t t = 0; t < contributions.size(); ++t)
    for (const Numerals& row : contributions[t]) {
      double norm = 0;
      for (const double x : row)
        norm = mechanism.is_pure() ? norm + std::abs(x) : std::hypot(norm, x);
      const double factor = norm > mechanism.clip() ? mechanism.clip() / norm : 1;
      for (Eigen::Index i = 0; i < width; ++i)
        steps(testing::index_of(static_cast<std::int64_t>(t)), i) +=
            factor * row[static_cast<std::size_t>(i)];
    }
  Matrix sums(kCellSteps, width * mechanism.num_readers());
  for (std::int64_t i = 0; i < mechanism.num_readers(); ++i)
    sums.middleCols(testing::index_of(i) * width, width) =
        mechanism.reader(i)->strategy().workload().matrix() * steps;
  return sums;
}

/// All cells that keep sums without noise, also for workloads that weight their steps.
std::vector<Cell> cells_without_noise() {
  std::vector<Cell> all = testing::make_cells();
  Matrix matrix = Matrix::Identity(kCellSteps, kCellSteps);
  matrix(4, 1) = -2.5;
  matrix(5, 4) = 0.125;
  const std::vector<Workload> workloads{
      Workload::sliding_window({kCellSteps, 1}),
      Workload::sliding_window({kCellSteps, 3}),
      Workload::momentum({.steps = kCellSteps, .momentum = 0, .decay = 0.5}),
      Workload::momentum({.steps = kCellSteps, .momentum = 0.75, .decay = 0.9}),
      Workload::learning_rates({.rates = {1, 2, -0.5, 4, 0.1, 3}, .momentum = 0.5}),
      Workload::lower_triangular(matrix)};
  const ApproximateDp target{.epsilon = 1, .delta = 1e-6};
  const std::vector<Numerals> records{{1, 0.1}, {0.3, -0.3}, {7, 1e300}, {0, 0}};
  for (const Workload& workload : workloads)
    append_cells(all, workload.name(), Numbers(2),
                 Mechanism::make({.strategy = "optimal",
                                  .steps = kCellSteps,
                                  .target = target,
                                  .clip = 2,
                                  .workload = workload}),
                 records, {});
  append_cells(all, "without a delta", Numbers(2),
               Mechanism::make_pure({.steps = kCellSteps, .epsilon = 1, .clip = 2}), records, {});
  std::erase_if(all, [](const Cell& cell) { return !cell.nonprivate; });
  return all;
}

std::int64_t expected_dropped(const Cell& cell, const StreamWorld& world) {
  if (!cell.people) return 0;
  const auto counting = steps_that_count(cell, world);
  std::int64_t dropped = 0;
  for (std::size_t t = 0; t < world.size(); ++t) {
    std::set<std::string> seen;
    for (const PersonRecord& given : world[t]) {
      const bool counts = counting.at(given.person).contains(static_cast<std::int64_t>(t));
      const bool is_first = seen.insert(given.person).second;
      dropped += counts && (cell.adds || is_first) ? 0 : 1;
    }
  }
  return dropped;
}

/// Contents of a store: a state, and the frames appended to it.
struct StreamStore {
  Bytes base = {}, log = {};
  LogTag tag = {};
  std::vector<std::size_t> ends = {};  ///< of the frames

  void save(AnyStream& stream) {
    base = stream.state();
    log.clear();
    ends = {0};
    tag = stream.log_tag(base);
    stream.acknowledge(stream.step());
  }
  void append(AnyStream& stream, std::int64_t max_steps = Journal::kAllSteps) {
    const std::int64_t before = stream.num_acknowledged();
    const LogPart part = stream.frame(tag, max_steps);
    log.insert(log.end(), part.bytes.begin(), part.bytes.end());
    ends.push_back(log.size());
    tag = part.tag;
    stream.acknowledge(before + part.steps);
  }
  LogEnd open(AnyStream& stream, std::size_t size) const {
    stream.restore(base);
    return stream.replay(std::span(log).first(size), {.before = stream.log_tag(base)});
  }
};

/// Readings of the acknowledged steps of a stream with a journal.
std::vector<Numerals> all_readings(const AnyStream& stream) {
  std::vector<Numerals> readings;
  for (std::int64_t t = 0; t < stream.num_acknowledged(); ++t) readings.push_back(stream.at(t));
  return readings;
}

/// Runs a world with `step`, and returns the readings.
template <typename Step>
std::vector<Numerals> run_world(const Cell& cell, const StreamWorld& world, Step&& step) {
  const auto stream = cell.make();
  std::vector<Numerals> readings;
  for (const auto& records : world) readings.push_back(step(*stream, records));
  if (!cell.journal) return readings;
  (void)stream->state();
  stream->acknowledge(stream->step());
  return all_readings(*stream);
}

TEST(RecordStream, readings_are_those_of_the_records_that_count) {
  for (const Cell& cell : stream_cells())
    for (unsigned seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(cell.name + ", seed " + std::to_string(seed));
      const StreamWorld world = random_world(cell, seed);
      const std::vector<Numerals> expected = expected_readings(cell, world);
      RecordCounts counts;
      const auto one_by_one = [&](AnyStream& stream, const auto& records) {
        for (const PersonRecord& given : records) stream.add(given);
        EXPECT_EQ(stream.counts().waiting(), std::ssize(records));
        Numerals reading = stream.end();
        counts = stream.counts();
        return reading;
      };
      EXPECT_EQ(run_world(cell, world, one_by_one), expected);
      EXPECT_EQ(counts.dropped, expected_dropped(cell, world));
      EXPECT_EQ(counts.waiting(), 0);
      EXPECT_EQ(run_world(cell, world,
                          [](AnyStream& stream, const auto& records) {
                            stream.add_many(records);
                            return stream.end();
                          }),
                expected);
    }
}

TEST(RecordStream, sums_without_noise_are_those_of_the_records_that_count_clipped_and_weighted) {
  for (const Cell& cell : cells_without_noise())
    for (unsigned seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(cell.name + ", seed " + std::to_string(seed));
      const StreamWorld world = random_world(cell, seed);
      const Matrix sums = sums_without_noise(cell, world);
      const auto stream = cell.make();
      for (std::size_t t = 0; t < world.size(); ++t) {
        stream->add_many(world[t]);
        (void)stream->end();
        const auto step = static_cast<std::int64_t>(t);
        const Vector own = sums.row(testing::index_of(step));
        const Numerals expected =
            cell.read({.step = step,
                       .values = {own.data(), static_cast<std::size_t>(own.size())},
                       .noise = stream->sums()});
        const Numerals reading = stream->nonprivate();
        ASSERT_EQ(reading.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
          EXPECT_NEAR(reading[i], expected[i], 1e-12 * (1 + std::abs(expected[i])));
      }
    }
}

TEST(RecordStream, noise_that_is_rounded_away_leaves_the_sums_without_noise) {
  // All records are multiples of the grid, with norms below the clip norm.
  const std::vector<Numerals> records{{1, 0.5}, {0.25, -0.25}, {-4, 2}, {0, 0}};
  std::vector<Cell> cells;
  for (const Workload& workload :
       {Workload::prefix_sums(kCellSteps), Workload::sliding_window({kCellSteps, 2})})
    append_cells(cells, workload.name(), Numbers(2),
                 Mechanism::make({.strategy = "optimal",
                                  .steps = kCellSteps,
                                  .target = {.epsilon = 1e8, .delta = 1e-6},
                                  .clip = 8,
                                  .workload = workload}),
                 records, {});
  for (Cell& cell : cells) {
    if (!cell.nonprivate) continue;
    SCOPED_TRACE(cell.name);
    cell.options.grid = 0.25;
    const auto stream = cell.make();
    for (const auto& step : random_world(cell, 1)) {
      const bool is_single = step.size() == 1;
      if (!is_single) stream->add_many(step);
      const Numerals released = is_single ? stream->release(step[0]) : stream->end();
      EXPECT_EQ(released, stream->nonprivate());
    }
  }
}

TEST(RecordStream, a_release_is_add_and_end_and_many_are_one_after_the_other) {
  for (const Cell& cell : stream_cells()) {
    SCOPED_TRACE(cell.name);
    StreamWorld world(kCellSteps);
    std::vector<PersonRecord> records;
    for (std::size_t t = 0; t < world.size(); ++t) {
      records.push_back(
          {.person = t % 4 == 1 ? "bob" : "ann", .record = cell.records[t % cell.records.size()]});
      world[t] = {records.back()};
    }
    const std::vector<Numerals> expected = expected_readings(cell, world);
    EXPECT_EQ(
        run_world(cell, world,
                  [](AnyStream& stream, const auto& step) { return stream.release(step[0]); }),
        expected);
    const auto stream = cell.make();
    const std::vector<Numerals> readings = stream->release_many(records);
    EXPECT_EQ(stream->step(), kCellSteps);
    if (!cell.journal) {
      EXPECT_EQ(readings, expected);
      continue;
    }
    StreamStore store;
    store.save(*cell.make());
    const auto again = cell.make();
    store.append(*stream);
    EXPECT_EQ(all_readings(*stream), expected);
    EXPECT_EQ(store.open(*again, store.log.size()).size, store.log.size());
    EXPECT_EQ(all_readings(*again), expected);
  }
}

TEST(RecordStream, what_is_refused_changes_nothing) {
  for (const Cell& cell : stream_cells()) {
    SCOPED_TRACE(cell.name);
    const StreamWorld world = random_world(cell, 3);
    const auto expected = expected_readings(cell, world);
    const auto stream = cell.make();
    const PersonRecord good{.person = "zoe", .record = cell.records[0]};
    for (const auto& records : world) {
      for (const Numerals& bad : cell.refused) {
        EXPECT_THROW(stream->add({.person = "zoe", .record = bad}), Error);
        EXPECT_THROW(stream->add_many({good, good, {.person = "zoe", .record = bad}}), Error);
        EXPECT_THROW((void)stream->release({.person = "zoe", .record = bad}), Error);
      }
      stream->add_many(records);
      EXPECT_EQ(stream->counts().waiting(), std::ssize(records));
      const Numerals reading = stream->end();
      if (!cell.journal) {
        EXPECT_EQ(reading, expected[static_cast<std::size_t>(stream->step() - 1)]);
      }
    }
    const RecordCounts before = stream->counts();
    EXPECT_ERROR(stream->add(good), "past_horizon", "below the horizon 6");
    EXPECT_ERROR(stream->add_many({good}), "past_horizon", "below the horizon 6");
    EXPECT_ERROR((void)stream->release(good), "past_horizon", "below the horizon 6");
    EXPECT_ERROR((void)stream->end(), "past_horizon", "below the horizon 6");
    EXPECT_EQ(stream->counts().records, before.records);
    EXPECT_EQ(stream->counts().waiting(), 0);
    if (!cell.journal) continue;
    (void)stream->state();
    stream->acknowledge(kCellSteps);
    EXPECT_EQ(all_readings(*stream), expected);
  }
}

TEST(RecordStream, many_steps_stop_at_the_first_record_that_is_refused) {
  for (const Cell& cell : stream_cells()) {
    SCOPED_TRACE(cell.name);
    const auto stream = cell.make();
    const PersonRecord good{.person = "ann", .record = cell.records[0]};
    EXPECT_THROW(
        (void)stream->release_many({good, good, {.person = "b", .record = cell.refused[0]}, good}),
        Error);
    EXPECT_EQ(stream->step(), 2);
    EXPECT_EQ(stream->counts().records, 2);
  }
}

/// Readings of a world. A stream with a journal is opened again after every call.
std::vector<Numerals> readings_of(const Cell& cell, const StreamWorld& world) {
  auto stream = cell.make();
  const auto open_again = [&] {
    if (!cell.journal) return;
    const Bytes state = stream->state();
    stream = cell.make();
    stream->restore(state);
  };
  std::vector<Numerals> readings;
  for (const auto& records : world) {
    for (const PersonRecord& given : records) {
      stream->add(given);
      open_again();
    }
    const Numerals reading = stream->end();
    open_again();
    readings.push_back(cell.journal ? stream->at(stream->step() - 1) : reading);
  }
  return readings;
}

/// Differences between the increments of the sums of two worlds, one row per step.
Matrix difference_of(const Cell& cell, const StreamWorld& a, const StreamWorld& b) {
  const auto first = readings_of(cell, a), second = readings_of(cell, b);
  const auto width = static_cast<std::size_t>(cell.row(cell.records[0]).size());
  Matrix difference(testing::index_of(std::ssize(a)),
                    testing::index_of(std::ssize(cell.row(cell.records[0]))));
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t i = 0; i < width; ++i) {
      const double total = first[t][i] - second[t][i];
      const double before = t == 0 ? 0 : first[t - 1][i] - second[t - 1][i];
      difference(static_cast<Eigen::Index>(t), static_cast<Eigen::Index>(i)) = total - before;
    }
  return difference;
}

/// Calls `use` for every world in which ann has no record, one of two, or both at each of three
/// steps, and bob has one at some of them.
template <typename Use>
void for_each_small_world(const Cell& cell, Use&& use) {
  for (unsigned ann = 0; ann < 64; ++ann)
    for (unsigned bob = 0; bob < 8; ++bob) {
      StreamWorld world(3);
      for (unsigned t = 0; t < 3; ++t) {
        for (unsigned which = 0; which < 2; ++which)
          if ((ann >> (2 * t + which) & 1u) != 0)
            world[t].push_back({.person = "ann", .record = cell.records[which == 0 ? 0 : 2]});
        if ((bob >> t & 1u) != 0) world[t].push_back({.person = "bob", .record = cell.records[1]});
      }
      use(world);
    }
}

StreamWorld without_ann(StreamWorld world) {
  for (auto& step : world)
    std::erase_if(step, [](const PersonRecord& given) { return given.person == "ann"; });
  return world;
}

/// Largest norm of C times the difference that ann makes, in clip norms.
double largest_difference(const Cell& cell, const Mechanism& mechanism) {
  double largest = 0;
  const Matrix encoder = mechanism.strategy().encoder().leftCols(3);
  testing::Thinned thinned(cell.journal ? 7 : 1);
  for_each_small_world(cell, [&](const StreamWorld& world) {
    if (!thinned.takes_next()) return;
    const Matrix difference = difference_of(cell, world, without_ann(world));
    std::vector<std::int64_t> steps;
    for (Eigen::Index t = 0; t < difference.rows(); ++t) {
      EXPECT_LE(difference.row(t).norm(), cell.mechanism->clip());
      if (difference.row(t).norm() > 0) steps.push_back(t);
    }
    EXPECT_TRUE(cell.mechanism->participation().allows(steps, kCellSteps));
    largest = std::max(largest, (encoder * difference).norm());
  });
  return largest / mechanism.clip();
}

TEST(RecordStream, a_person_left_out_changes_what_the_person_contributed_and_no_more) {
  for (const Participation& participation :
       {Participation::single(), Participation::min_separation({2, 2})})
    for (const Cell& cell : testing::make_cells(participation)) {
      if (!cell.people) continue;
      SCOPED_TRACE(cell.name);
      EXPECT_LE(largest_difference(cell, *cell.mechanism),
                cell.mechanism->certificate().sensitivity);
    }
}

TEST(RecordStream, a_looser_rule_exceeds_the_sensitivity) {
  // Falsifies the check above: calibrated for one participation but bounded for two.
  const auto once = testing::make_cells(Participation::single());
  const auto twice = testing::make_cells(Participation::min_separation({2, 2}));
  for (std::size_t i = 0; i < once.size(); ++i)
    if (once[i].people && !once[i].journal) {
      EXPECT_GT(largest_difference(twice[i], *once[i].mechanism),
                1.1 * once[i].mechanism->certificate().sensitivity)
          << once[i].name;
    }
}

/// Adds the remaining records of a world to a stream and ends the remaining steps, with a call of
/// `after_each` after each of these actions.
template <typename AfterEach>
void go_on(AnyStream& stream, const StreamWorld& world, AfterEach&& after_each) {
  while (stream.step() < std::ssize(world)) {
    const auto& step = world[static_cast<std::size_t>(stream.step())];
    const auto waiting = static_cast<std::size_t>(stream.counts().waiting());
    if (waiting < step.size())
      stream.add(step[waiting]);
    else
      stream.end();
    after_each();
  }
}

TEST(RecordStream, continues_from_every_frame_as_if_nothing_had_happened) {
  for (const Cell& cell : cells_with_journal())
    for (unsigned seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(cell.name + ", seed " + std::to_string(seed));
      const StreamWorld world = random_world(cell, seed);
      const auto expected = expected_readings(cell, world);
      std::mt19937 bits(seed);
      const auto stream = cell.make();
      StreamStore store;
      store.save(*stream);
      // Some calls are stored together, and some frames have only the first steps.
      std::vector<std::pair<std::int64_t, RecordCounts>> stored{{0, {}}};
      go_on(*stream, world, [&] {
        if (bits() % 3 == 0) return;
        store.append(*stream, bits() % 4 == 0 ? 1 : Journal::kAllSteps);
        stored.emplace_back(stream->num_acknowledged(), stream->counts());
      });
      store.append(*stream);
      EXPECT_EQ(all_readings(*stream), expected);
      for (std::size_t i = 0; i < store.ends.size(); ++i) {
        const auto next = cell.make();
        EXPECT_EQ(store.open(*next, store.ends[i]).size, store.ends[i]);
        if (i < stored.size()) {
          EXPECT_EQ(next->step(), stored[i].first);
        }
        StreamStore own;
        own.save(*next);
        go_on(*next, world, [&] { own.append(*next); });
        EXPECT_EQ(all_readings(*next), expected);
        EXPECT_EQ(next->counts().records, stream->counts().records);
        EXPECT_EQ(next->counts().dropped, stream->counts().dropped);
        // A state holds the open step, too.
        const auto last = cell.make();
        own.open(*last, own.log.size());
        EXPECT_EQ(all_readings(*last), expected);
      }
    }
}

TEST(RecordStream, opened_again_after_every_call_it_is_the_stream_it_was) {
  for (const Cell& cell : cells_with_journal()) {
    SCOPED_TRACE(cell.name);
    const StreamWorld world = random_world(cell, 8);
    auto stream = cell.make();
    StreamStore store;
    store.save(*stream);
    std::int64_t num_calls = 0;
    while (stream->step() < kCellSteps) {
      const auto& step = world[static_cast<std::size_t>(stream->step())];
      const auto waiting = static_cast<std::size_t>(stream->counts().waiting());
      if (waiting < step.size())
        stream->add(step[waiting]);
      else
        stream->end();
      if (++num_calls % 5 == 0)
        store.save(*stream);
      else
        store.append(*stream);
      auto next = cell.make();
      const LogEnd end = store.open(*next, store.log.size());
      EXPECT_EQ(end.size, store.log.size());
      EXPECT_EQ(end.tag, store.tag);
      EXPECT_EQ(next->counts().records, stream->counts().records);
      EXPECT_EQ(next->counts().waiting(), stream->counts().waiting());
      EXPECT_EQ(next->counts().dropped, stream->counts().dropped);
      stream = std::move(next);
    }
    EXPECT_EQ(all_readings(*stream), expected_readings(cell, world));
  }
}

TEST(RecordStream, a_torn_frame_is_cut_off_and_a_damaged_one_refused) {
  for (const Cell& cell : cells_with_journal()) {
    SCOPED_TRACE(cell.name);
    const auto stream = cell.make();
    StreamStore store;
    store.save(*stream);
    stream->add({.person = "ann", .record = cell.records[0]});
    store.append(*stream);
    stream->add({.person = "bob", .record = cell.records[1]});
    stream->end();
    stream->add({.person = "cem", .record = cell.records[1]});
    store.append(*stream);
    const std::size_t first = store.ends[1];
    for (std::size_t size = 0; size < store.log.size(); ++size) {
      const auto next = cell.make();
      EXPECT_EQ(store.open(*next, size).size, size >= first ? first : 0);
      EXPECT_EQ(next->counts().records, size >= first ? 1 : 0);
      EXPECT_EQ(next->step(), 0);
    }
    for (std::size_t at = 0; at < store.log.size(); ++at) {
      StreamStore bad = store;
      bad.log[at] ^= std::byte{16};
      const auto next = cell.make();
      EXPECT_ERROR(bad.open(*next, bad.log.size()), "bad_state", "whole");
    }
  }
}

TEST(RecordStream, every_damaged_byte_of_a_state_is_found) {
  for (const Cell& cell : cells_with_journal()) {
    const auto stream = cell.make();
    stream->add({.person = "ann", .record = cell.records[0]});
    stream->end();
    stream->add({.person = "bob", .record = cell.records[1]});
    const Bytes state = stream->state();
    EXPECT_NO_THROW(cell.make()->restore(state));
    for (std::size_t at = 0; at < state.size(); ++at) {
      Bytes bad = state;
      bad[at] ^= std::byte{1};
      EXPECT_ERROR(cell.make()->restore(bad), "bad_state", "");
    }
    EXPECT_ERROR(cell.make()->restore(std::span(state).first(state.size() - 1)), "bad_state", "");
  }
}

TEST(RecordStream, a_step_is_for_its_records_in_their_order_and_for_no_others) {
  for (const Cell& cell : cells_with_journal()) {
    SCOPED_TRACE(cell.name);
    const auto stream = cell.make();
    const std::vector<PersonRecord> first{{.person = "ann", .record = cell.records[0]},
                                          {.person = "bob", .record = cell.records[1]}};
    stream->release_at(0, first);
    // The code of a step also covers records of people who do not count any more.
    stream->release_at(1, first);
    (void)stream->state();
    stream->acknowledge(2);
    const Numerals reading = stream->at(0);
    const RecordCounts counts = stream->counts();
    stream->release_at(0, first);
    stream->release_at(1, first);
    EXPECT_TRUE(stream->is_repeat(1, first));
    EXPECT_EQ(stream->at(0), reading);
    EXPECT_EQ(stream->counts().records, counts.records);
    EXPECT_EQ(stream->step(), 2);
    const std::vector<std::vector<PersonRecord>> others{
        {},
        {first[0]},
        {first[1], first[0]},
        {first[0], first[0]},
        {first[0], first[1], first[1]},
        {first[0], {.person = "bob", .record = cell.records[2]}}};
    for (const auto& other : others)
      for (const std::int64_t step : {0, 1})
        EXPECT_ERROR(stream->release_at(step, other), "already_released", "other");
    const std::vector<PersonRecord> renamed{{.person = "bob", .record = cell.records[0]},
                                            {.person = "ann", .record = cell.records[1]}};
    if (cell.people) {
      EXPECT_ERROR(stream->release_at(0, renamed), "already_released", "other");
    } else {
      EXPECT_TRUE(stream->is_repeat(0, renamed));
    }
    EXPECT_FALSE(stream->is_repeat(2, {}));
    EXPECT_ERROR(stream->is_repeat(3, {}), "invalid_argument", "step must be");
    EXPECT_ERROR(stream->is_repeat(-1, {}), "invalid_argument", "step must be");
    stream->add(first[0]);
    EXPECT_ERROR(stream->release_at(2, first), "bad_state", "waiting");
    EXPECT_TRUE(stream->is_repeat(0, first));
  }
}

TEST(RecordStream, minus_zero_is_zero) {
  for (const Cell& cell : cells_with_journal()) {
    if (!cell.adds) continue;
    const auto stream = cell.make();
    Numerals zeros(cell.records[0].size(), 0.0), minus(cell.records[0].size(), -0.0);
    stream->release({.person = "ann", .record = zeros});
    EXPECT_TRUE(stream->is_repeat(0, {{.person = "ann", .record = minus}})) << cell.name;
  }
}

TEST(RecordStream, nothing_is_read_before_it_is_acknowledged) {
  for (const Cell& cell : cells_with_journal()) {
    SCOPED_TRACE(cell.name);
    const auto stream = cell.make();
    const PersonRecord given{.person = "ann", .record = cell.records[0]};
    stream->release(given);
    stream->release(given);
    EXPECT_ERROR((void)stream->at(0), "invalid_argument", "step must be");
    (void)stream->state();
    stream->acknowledge(1);
    EXPECT_NO_THROW((void)stream->at(0));
    EXPECT_ERROR((void)stream->at(1), "invalid_argument", "step must be");
    EXPECT_ERROR((void)stream->at(-1), "invalid_argument", "step must be");
    EXPECT_ERROR(stream->acknowledge(3), "invalid_argument", "steps must be");
    stream->acknowledge(2);
    stream->acknowledge(1);  // from a slower store
    EXPECT_NO_THROW((void)stream->at(1));
    // A step that is decided but not stored is still open in another process.
    const auto other = cell.make();
    other->release({.person = "bob", .record = cell.records[1]});
    EXPECT_EQ(other->step(), 1);
  }
}

TEST(RecordStream, records_that_came_after_a_frame_was_written_are_in_the_next_one) {
  for (const Cell& cell : cells_with_journal()) {
    SCOPED_TRACE(cell.name);
    const auto stream = cell.make();
    StreamStore store;
    store.save(*stream);
    const PersonRecord ann{.person = "ann", .record = cell.records[0]};
    const PersonRecord bob{.person = "bob", .record = cell.records[1]};
    stream->add(ann);
    (void)stream->frame(store.tag);  // lost
    stream->add(bob);
    (void)stream->frame(store.tag);  // lost
    stream->add(ann);                // after the frame that is acknowledged
    stream->acknowledge(0);
    stream->end();
    (void)stream->frame(store.tag);  // lost
    stream->release(bob);
    stream->end();
    store.append(*stream);
    const auto next = cell.make();
    store.open(*next, store.log.size());
    EXPECT_EQ(next->counts().records, 4);
    EXPECT_EQ(next->counts().dropped, stream->counts().dropped);
    EXPECT_EQ(all_readings(*next), all_readings(*stream));
    EXPECT_EQ(all_readings(*next), [&] {
      auto expected = expected_readings(cell, {{ann, bob, ann}, {bob}, {}});
      return expected;
    }());
  }
}

TEST(RecordStream, states_that_belong_elsewhere_are_refused) {
  const std::vector<Cell> all = cells_with_journal();
  std::vector<Bytes> states;
  for (const Cell& cell : all) {
    const auto stream = cell.make();
    stream->release({.person = "ann", .record = cell.records[0]});
    states.push_back(stream->state());
    EXPECT_ERROR(cell.make("something else")->restore(states.back()), "bad_state", "");
    PrefixSumOptions other_key = cell.options;
    other_key.key = Key::insecure_from_seed(8);
    EXPECT_ERROR(cell.make_of(other_key, "test")->restore(states.back()), "bad_state", "key");
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all.size(); ++j)
      if (i == j)
        EXPECT_NO_THROW(all[i].make()->restore(states[j]));
      else
        EXPECT_ERROR(all[i].make()->restore(states[j]), "bad_state", "");
  // Participations with the same noise that allow people other steps, or would in a longer stream.
  for (const auto& [one, other] :
       {std::pair{Participation::min_separation({1, 3}), Participation::min_separation({1, 6})},
        std::pair{Participation::min_separation({6, 3}), Participation::min_separation({2, 3})}}) {
    const auto from = testing::make_cells(one), to = testing::make_cells(other);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!from[i].people || !from[i].journal) continue;
      ASSERT_EQ(from[i].mechanism->noise_stddev(), to[i].mechanism->noise_stddev());
      EXPECT_ERROR(to[i].make()->restore(from[i].make()->state()), "bad_state", "");
    }
  }
}

TEST(RecordStream, people_refuse_epochs) {
  const auto mechanism = Mechanism::make({.steps = 6,
                                          .target = {.epsilon = 1, .delta = 1e-6},
                                          .participation = Participation::fixed_epoch({2, 3})});
  const PrefixSumOptions options{.key = Key::insecure_from_seed(1)};
  EXPECT_NO_THROW(RecordStream(Number(), mechanism, options));
  EXPECT_ERROR((RecordStream<Number, People>(Number(), mechanism, options)), "invalid_argument",
               "participation must be single or min-separation");
}

TEST(RecordStream, names_are_told_apart_and_stored_as_codes_of_the_key) {
  const std::string nul("a\0b", 3);
  const std::vector<std::string> names = {
      "", "a", nul, "ab", std::string(1000, 'a'), "A", "\xc3\xa9", "person 7 of the test"};
  for (const Cell& cell : testing::make_cells(Participation::single())) {
    if (!cell.people) continue;
    const auto stream = cell.make();
    for (const std::string& name : names) stream->add({.person = name, .record = cell.records[0]});
    EXPECT_EQ(stream->counts().dropped, 0);
    stream->end();
    for (const std::string& name : names) stream->add({.person = name, .record = cell.records[0]});
    EXPECT_EQ(stream->counts().dropped, std::ssize(names));
    if (!cell.journal) continue;
    const Bytes state = stream->state();
    EXPECT_TRUE(std::ranges::search(state, std::as_bytes(std::span(names.back()))).empty());
  }
}

}  // namespace
}  // namespace dpftrl
