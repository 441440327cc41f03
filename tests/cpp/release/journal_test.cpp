// SPDX-License-Identifier: Apache-2.0
// Bytes of a journal: docs/math/checkpoints.md. What streams do with them is in stream_test.
#include "dpftrl/release/journal.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <new>
#include <string>

#include "dpftrl/release/stream.hpp"
#include "noise/checkpoint.hpp"
#include "release/journal_log.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using Bytes = std::vector<std::byte>;
using RecordJournal = RecordStream<Numbers, Records, Journal>;
using PeopleJournal = RecordStream<Numbers, People, Journal>;

constexpr std::int64_t kJournalSteps = 12, kJournalSize = 2;
constexpr std::array kJournalRecord = {0.5, 0.25};

std::shared_ptr<const Mechanism> journal_mechanism(
    const Participation& participation = Participation::min_separation({2, 3})) {
  return Mechanism::make({.strategy = "honaker",
                          .steps = kJournalSteps,
                          .target = {.epsilon = 1, .delta = 1e-6},
                          .participation = participation});
}

template <class Stream>
Stream make_journal(const Participation& participation = Participation::min_separation({2, 3})) {
  return {
      Numbers(kJournalSize), journal_mechanism(participation), {.key = Key::insecure_from_seed(4)}};
}

std::string hex_text(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    for (const unsigned digit :
         {std::to_integer<unsigned>(byte) >> 4, std::to_integer<unsigned>(byte) & 15})
      text += "0123456789abcdef"[digit];
  return text;
}

/// Size of a frame whose steps, changes and their lengths have that many bytes.
constexpr std::size_t journal_frame_size(std::size_t size) {
  return 28 + (8 * (size + 16) + 6) / 7;
}
constexpr std::size_t kJournalStepSize = 24 + 16 * kJournalSize;

/// Codes that another program computed from the definition: ChaCha20 of seed 4 at stream 6, and
/// HMAC-SHA256. A secret from the stream of the commitment would let anyone test guesses of
/// records.
TEST(Journal, bytes_of_records_are_those_of_the_frozen_format) {
  constexpr std::array kCodes = {
      "7c533ceb36cf4184a5d944fc511467c6", "0dad292c556a722d265ef85fe0d70baa",
      "dc5f6ce5c628c1e833a886b0b9d6ed77", "9f9cdf2a8bc170f8ec995d2f57a139e8"};
  auto stream = make_journal<RecordJournal>();
  stream.release(std::array{0.5, 0.0});
  stream.release(std::array{0.5, -0.0});
  stream.end();
  stream.add(std::array{0.25, -1.0});
  stream.add(std::array{0.0, 3.0});
  stream.end();
  const Bytes bytes = stream.state();
  stream.acknowledge(4);
  EXPECT_EQ(hex_text(std::span(bytes).first(7)), "6470666301000c");  // "dpfc", version 1, kind 12
  EXPECT_EQ(detail::word_at(bytes, 8), 4u);
  EXPECT_EQ(hex_text(std::span(bytes).subspan(40, 16)), "50ec4ff0a7bb0f8a7c617f3d3753b5b9");
  const auto sums_size = static_cast<std::size_t>(detail::word_at(bytes, 64));
  EXPECT_EQ(hex_text(std::span(bytes).subspan(72, 7)), "64706663010002");  // the sums
  constexpr std::size_t kEntry = 16 + 8 * kJournalSize, kOpen = 3 * 8 + 16 + 8;
  ASSERT_EQ(bytes.size(), 72 + sums_size + 4 * kEntry + kOpen);
  for (std::int64_t t = 0; t < 4; ++t) {
    const auto entry =
        std::span(bytes).subspan(72 + sums_size + static_cast<std::size_t>(t) * kEntry);
    EXPECT_EQ(hex_text(entry.first(16)), kCodes.at(static_cast<std::size_t>(t))) << t;
    const Estimates reading = stream.at(t);
    for (std::size_t i = 0; i < kJournalSize; ++i)
      EXPECT_EQ(std::bit_cast<double>(detail::word_at(entry, 16 + 8 * i)), reading.values[i]);
  }
  const auto open = std::span(bytes).last(kOpen);
  EXPECT_EQ(detail::word_at(open, 0), 4u);   // records
  EXPECT_EQ(detail::word_at(open, 8), 4u);   // in steps that ended
  EXPECT_EQ(detail::word_at(open, 16), 0u);  // dropped
  EXPECT_EQ(detail::word_at(open, 40), 0u);  // contributions to the open step
}

TEST(Journal, bytes_of_people_are_those_of_the_frozen_format) {
  auto stream = make_journal<PeopleJournal>();
  stream.release("ann", std::array{0.5, 0.0});
  stream.add("ann", std::array{0.5, 0.0});  // too soon to be counted, but part of the code
  stream.add("bob", std::array{1.0, 2.0});
  const Bytes bytes = stream.state();
  const auto sums_size = static_cast<std::size_t>(detail::word_at(bytes, 64));
  constexpr std::size_t kEntry = 16 + 8 * kJournalSize, kOpen = 3 * 8 + 16 + 8;
  const auto rest = std::span(bytes).subspan(72 + sums_size);
  ASSERT_EQ(rest.size(), kEntry + kOpen + 32 + 32 + 8 * kJournalSize);
  EXPECT_EQ(hex_text(rest.first(16)), "c77cda8fb428dc71cd67de3620c44070");
  const auto open = rest.subspan(kEntry);
  EXPECT_EQ(detail::word_at(open, 0), 3u);
  EXPECT_EQ(detail::word_at(open, 8), 1u);
  EXPECT_EQ(detail::word_at(open, 16), 1u);
  EXPECT_EQ(hex_text(open.subspan(24, 16)), "d7ad98a34555afc319037f2bc826d036");
  const std::string people = hex_text(open.subspan(kOpen));
  EXPECT_NE(people.find("7486a63e903c39a5dedba63a494cfdf3"), std::string::npos);  // ann's
}

TEST(Journal, a_frame_costs_its_own_steps_and_people) {
  auto records = make_journal<RecordJournal>();
  const LogTag tag = records.log_tag(records.state());
  const auto size_of = [&](auto& stream) { return stream.frame(tag).bytes.size(); };
  EXPECT_EQ(size_of(records), journal_frame_size(0));
  records.release(kJournalRecord);
  EXPECT_EQ(size_of(records), journal_frame_size(kJournalStepSize));
  records.end();
  EXPECT_EQ(size_of(records), journal_frame_size(2 * kJournalStepSize));
  constexpr std::size_t kCounts = 3 * 8 + 16 + 8;
  records.add(kJournalRecord);
  records.add(kJournalRecord);
  EXPECT_EQ(size_of(records),
            journal_frame_size(2 * kJournalStepSize + 3 * 8 + kCounts + 8 * kJournalSize));
  records.acknowledge(2);
  EXPECT_EQ(size_of(records), journal_frame_size(0));

  auto people = make_journal<PeopleJournal>(Participation::single());
  constexpr std::size_t kPart = 16 + 8 * kJournalSize;
  for (int i = 0; i < 50; ++i) {
    people.add("person " + std::to_string(i), kJournalRecord);
    EXPECT_EQ(size_of(people), journal_frame_size(8 + kCounts + kPart));
    people.acknowledge(0);
  }
  for (const char* const name : {"person 1", "person 2", "person 1"})
    people.add(name, kJournalRecord);
  EXPECT_EQ(size_of(people), journal_frame_size(8 + kCounts + 2 * kPart));
  people.acknowledge(0);
  people.end();
  EXPECT_EQ(size_of(people), journal_frame_size(kJournalStepSize));
  people.acknowledge(1);
  people.add("person 1", kJournalRecord);  // dropped: the frame has counts, but no person
  EXPECT_EQ(size_of(people), journal_frame_size(8 + kCounts));
}

/// A stream in mode lattice with so many steps, so fine a grid and so high a precision that a step
/// has room for few contributions.
template <class Who, class Place>
RecordStream<Number, Who, Place> make_narrow() {
  const auto how = Mechanism::make({.strategy = "blt",
                                    .steps = 1 << 14,
                                    .target = {.epsilon = 1, .delta = 1e-6},
                                    .clip = 1.5,
                                    .parameters = {.decays = {0.9999}, .weights = {0.01}}});
  return {Number(),
          how,
          {.key = Key::insecure_from_seed(4),
           .mode = ReleaseMode::lattice,
           .grid = 0x1p-12,
           .precision_bits = 30}};
}

TEST(Journal, a_step_that_is_too_crowded_changes_nothing) {
  auto stream = make_narrow<Records, Journal>();
  const std::int64_t most = stream.sums().max_contributions();
  ASSERT_LT(most, 1000);
  const std::vector<double> crowd(static_cast<std::size_t>(most), 0.25);
  stream.release(0.5);
  EXPECT_ERROR(stream.add_many(std::vector<double>(1000, 0.25)), "resource_exhausted",
               "contributions to a step");
  EXPECT_EQ(stream.counts().waiting(), 0);
  stream.add_many(crowd);
  const Bytes before = stream.state();
  EXPECT_ERROR(stream.add(0.25), "resource_exhausted", "contributions to a step");
  EXPECT_EQ(stream.state(), before);
  EXPECT_EQ(stream.end(), 1);
  // A full step of a stream of people ends, too.
  auto people = make_narrow<People, Memory>();
  for (std::int64_t i = 0; i < most; ++i) people.add(std::to_string(i), 0.25);
  EXPECT_ERROR(people.add("one more", 0.25), "resource_exhausted", "contributions to a step");
  EXPECT_NO_THROW((void)people.end());
}

/// Seals bytes again after a change, with the words of their header.
Bytes sealed_again(Bytes bytes) {
  detail::CheckpointHeader header{.kind = detail::CheckpointKind::stream,
                                  .step = static_cast<std::int64_t>(detail::word_at(bytes, 8))};
  std::copy_n(bytes.begin() + 24, 16, header.fingerprint.begin());
  std::copy_n(bytes.begin() + 40, 16, header.commitment.begin());
  detail::seal_checkpoint(header, bytes);
  return bytes;
}

void put_word(Bytes& bytes, std::size_t at, std::uint64_t word) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::byte>(word >> (8 * i));
}

TEST(Journal, damaged_states_are_refused_whatever_their_checksum_says) {
  auto stream = make_journal<PeopleJournal>();
  stream.release("ann", kJournalRecord);
  stream.add("bob", kJournalRecord);
  const Bytes state = stream.state();
  EXPECT_EQ(sealed_again(state), state);
  const auto refused = [&](const std::string& words, auto&& change) {
    Bytes bad = state;
    change(bad);
    auto next = make_journal<PeopleJournal>();
    EXPECT_ERROR(next.restore(sealed_again(bad)), "bad_state", words);
  };
  const auto put_from_end = [](std::uint64_t word, std::size_t from_end) {
    return [=](Bytes& bytes) { put_word(bytes, bytes.size() - from_end, word); };
  };
  // The state ends with two persons, one of 32 bytes and one of 48 with a part; either may come
  // first. Before them are 48 bytes of the open step.
  const std::size_t people = 32 + 48, open = people + 48;
  const bool is_open_first = detail::word_at(state, state.size() - people + 24) == 1;
  const std::size_t part = is_open_first ? 48 : 16, last = part + 8, times = part + 16;
  refused("whole entries", [](Bytes& bytes) { bytes.pop_back(); });
  refused("whole entries", [](Bytes& bytes) { bytes.resize(70); });
  refused("not negative", put_from_end(UINT64_MAX, state.size() - 64));
  refused("whole entries", put_from_end(INT64_MAX, state.size() - 64));
  refused("finite numbers", put_from_end(std::bit_cast<std::uint64_t>(HUGE_VAL), part));
  refused("a count and a last step for each person", put_from_end(2, last));
  refused("a count and a last step for each person", put_from_end(UINT64_MAX, last));
  refused("a count and a last step for each person", put_from_end(0, times));
  refused("a count and a last step for each person", put_from_end(3, times));
  refused("not negative", put_from_end(UINT64_MAX, open));
  refused("as many records as contributions", put_from_end(9, open - 8));
  refused("as many records as contributions", put_from_end(9, open - 16));
  refused("sums of 2 steps", [](Bytes& bytes) { put_word(bytes, 8, 2); });
  refused("a count and a last step for each person", [&](Bytes& bytes) {  // one person twice
    const std::size_t first = bytes.size() - people;
    const std::size_t second = first + (is_open_first ? 48u : 32u);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), 16,
                bytes.begin() + static_cast<std::ptrdiff_t>(second));
  });
  // A stream of records stores no people after the open step.
  auto records = make_journal<RecordJournal>();
  Bytes more = records.state();
  more.push_back(std::byte{1});
  EXPECT_ERROR(records.restore(sealed_again(more)), "bad_state", "end with the open step");
}

TEST(Journal, frames_that_break_the_rule_or_have_other_sums_are_refused) {
  const Participation single = Participation::single();
  auto stream = make_journal<PeopleJournal>(single);
  const Bytes base = stream.state();
  const LogTag begin = stream.log_tag(base);
  stream.add("ann", kJournalRecord);
  const LogPart first = stream.frame(begin);
  stream.acknowledge(0);
  stream.end();
  const LogPart second = stream.frame(first.tag);
  const auto replay = [&](const std::vector<Bytes>& frames) {
    Bytes log;
    for (const Bytes& frame : frames) log.insert(log.end(), frame.begin(), frame.end());
    auto next = make_journal<PeopleJournal>(single);
    next.restore(base);
    next.replay(log, {.before = begin});
  };
  EXPECT_NO_THROW(replay({first.bytes, second.bytes}));
  // A frame of a stream with the same key in which ann contributes only now, hence twice in all.
  auto other = make_journal<PeopleJournal>(single);
  other.end();
  (void)other.frame(begin);
  other.acknowledge(1);
  other.add("ann", kJournalRecord);
  EXPECT_ERROR(replay({first.bytes, second.bytes, other.frame(second.tag).bytes}), "bad_state",
               "must have contributions that participation allows");
  // A step whose sums do not match the contributions before it.
  auto silent = make_journal<PeopleJournal>(single);
  silent.end();
  EXPECT_NO_THROW(replay({silent.frame(begin).bytes}));
  EXPECT_ERROR(replay({first.bytes, silent.frame(first.tag).bytes}), "bad_state",
               "must have the sums of what was contributed, step 0");
}

TEST(Journal, a_release_with_other_bits_is_refused) {
  // Sealed again with the journal's own secret, as by a version with different noise.
  const CodeSecret secret(Key::insecure_from_seed(4));
  auto stream = make_journal<RecordJournal>();
  const Bytes base = stream.state();
  const LogTag begin = stream.log_tag(base);
  stream.release(kJournalRecord);
  const LogPart part = stream.frame(begin);
  for (const std::size_t at : {24u, 32u, 40u, 48u}) {  // releases, then integers
    detail::LogReader reader(part.bytes, begin,
                             {.secret = secret.hmac(),
                              .step_size = kJournalStepSize,
                              .first_step = 0,
                              .steps = kJournalSteps,
                              .position = 0});
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    Bytes decisions(frame->decisions.begin(), frame->decisions.end());
    decisions[at] ^= std::byte{1};
    const Bytes log =
        detail::seal_frame(secret.hmac(), begin,
                           {.first_step = 0, .steps = 1, .decisions = decisions, .memo = {}})
            .bytes;
    auto next = make_journal<RecordJournal>();
    next.restore(base);
    EXPECT_ERROR(next.replay(log, {.before = begin}), "bad_state", "step 0, got one with");
  }
}

TEST(Journal, leaves_no_secret_in_memory) {
  const CodeSecret secret(Key::insecure_from_seed(4));
  alignas(PeopleJournal) std::array<std::byte, sizeof(PeopleJournal)> place{};
  const auto has_secret = [&] {
    return std::ranges::any_of(
        std::array{secret.hmac().inner(), secret.hmac().outer()}, [&](const auto& state) {
          return !std::ranges::search(place, std::as_bytes(std::span(state))).empty();
        });
  };
  auto* const stream = new (place.data()) PeopleJournal(make_journal<PeopleJournal>());
  EXPECT_TRUE(has_secret());
  std::destroy_at(stream);
  EXPECT_FALSE(has_secret());
}

TEST(Journal, frames_of_few_steps_repeat_what_one_frame_of_all_does) {
  for (const std::int64_t max_steps : {1, 2, 3, 7, 12, 100}) {
    auto stream = make_journal<PeopleJournal>();
    const Bytes base = stream.state();
    LogTag tag = stream.log_tag(base);
    for (std::int64_t t = 0; t < kJournalSteps; ++t) {
      stream.add("person " + std::to_string(t % 5), kJournalRecord);
      stream.add("person " + std::to_string(t % 3), kJournalRecord);
      stream.end();
    }
    Bytes log;
    while (stream.place().num_acknowledged() < kJournalSteps) {
      const std::int64_t first = stream.place().num_acknowledged();
      const LogPart part = stream.frame(tag, max_steps);
      EXPECT_EQ(part.steps, std::min(max_steps, kJournalSteps - first));
      log.insert(log.end(), part.bytes.begin(), part.bytes.end());
      tag = part.tag;
      stream.acknowledge(first + part.steps);
      // After a crash, the steps of whole frames are restored.
      auto next = make_journal<PeopleJournal>();
      next.restore(base);
      EXPECT_EQ(next.replay(log, {.before = next.log_tag(base)}).size, log.size());
      EXPECT_EQ(next.step(), first + part.steps);
      EXPECT_EQ(next.counts().records, 2 * next.step());
      for (std::int64_t t = 0; t < next.step(); ++t)
        EXPECT_EQ(next.at(t).values, stream.at(t).values);
    }
    EXPECT_ERROR(stream.frame(tag, 0), "invalid_argument", "max_steps");
  }
}

/// Mechanisms and modes that cover every engine of a PrefixSum of one workload.
std::vector<std::pair<std::shared_ptr<const Mechanism>, ReleaseMode>> mechanisms_by_engine() {
  constexpr std::int64_t kSteps = 40;
  using enum ReleaseMode;
  std::vector<std::pair<std::shared_ptr<const Mechanism>, ReleaseMode>> all;
  const auto add = [&](const std::string& strategy, const Workload& workload, ReleaseMode mode) {
    all.emplace_back(Mechanism::make({.strategy = strategy,
                                      .steps = kSteps,
                                      .target = {.epsilon = 1, .delta = 1e-6},
                                      .participation = Participation::min_separation({9, 3}),
                                      .workload = workload}),
                     mode);
  };
  for (const char* const strategy : {"tree", "honaker", "blt-rational"}) {
    for (const std::int64_t width : {std::int64_t{1}, std::int64_t{5}, kSteps})
      add(strategy, Workload::sliding_window({kSteps, width}), grid);
    add(strategy, Workload::prefix_sums(kSteps), lattice);
  }
  add("normalized-square-root",
      Workload::momentum({.steps = kSteps, .momentum = 0.5, .decay = 0.75}), grid);
  all.emplace_back(
      Mechanism::make_pure(
          {.steps = kSteps, .epsilon = 1, .participation = Participation::min_separation({9, 3})}),
      grid);
  return all;
}

/// Adds the zero to three records of a step.
template <class Stream>
void add_records_of(std::int64_t step, Stream& stream) {
  for (std::int64_t i = 0; i < step % 4; ++i) {
    const std::array record = {0.1 * static_cast<double>((step + i) % 7), -0.3};
    if constexpr (Stream::kPeople)
      stream.add("person " + std::to_string(i), record);
    else
      stream.add(record);
  }
}

/// Opens a journal again after every few steps, and once more with all frames at the end.
template <class Who>
void expect_readings_of_memory(const std::shared_ptr<const Mechanism>& mechanism,
                               ReleaseMode mode) {
  const PrefixSumOptions options{.key = Key::insecure_from_seed(4), .mode = mode};
  using Kept = RecordStream<Numbers, Who, Journal>;
  const auto open = [&] { return Kept(Numbers(kJournalSize), mechanism, options); };
  RecordStream<Numbers, Who> memory(Numbers(kJournalSize), mechanism, options);
  auto stream = open();
  std::vector<std::vector<double>> expected;
  Bytes base, log;
  LogTag tag{};
  for (std::int64_t t = 0; t < memory.steps(); ++t) {
    add_records_of(t, memory);
    expected.push_back(memory.end().values);
    add_records_of(t, stream);
    stream.end();
    if (t < 3) continue;
    if (t == 3) {
      base = stream.state();
      tag = stream.log_tag(base);
    } else if (t % 3 != 0) {
      const LogPart part = stream.frame(tag);
      log.insert(log.end(), part.bytes.begin(), part.bytes.end());
      tag = part.tag;
    } else {
      continue;
    }
    stream.acknowledge(stream.step());
    if (t % 7 != 0 && t + 1 < memory.steps()) continue;
    stream = open();
    stream.restore(base);
    EXPECT_EQ(stream.replay(log, {.before = stream.log_tag(base)}).tag, tag);
  }
  for (std::int64_t t = 0; t < stream.place().num_acknowledged(); ++t)
    EXPECT_EQ(stream.at(t).values, expected[static_cast<std::size_t>(t)]) << t;
  EXPECT_GE(stream.place().num_acknowledged(), memory.steps() - 1);
}

TEST(Journal, opened_again_at_any_step_it_has_the_noise_of_memory_in_every_engine) {
  for (const auto& [mechanism, mode] : mechanisms_by_engine()) {
    SCOPED_TRACE(mechanism->strategy().name());
    expect_readings_of_memory<Records>(mechanism, mode);
    expect_readings_of_memory<People>(mechanism, mode);
  }
}

TEST(Journal, goes_back_to_a_state_and_forgets_what_came_after) {
  auto stream = make_journal<PeopleJournal>();
  stream.add("ann", kJournalRecord);
  const Bytes state = stream.state();
  stream.release("bob", kJournalRecord);
  stream.release("cem", kJournalRecord);
  stream.restore(state);
  EXPECT_EQ(stream.state(), state);
  EXPECT_EQ(stream.counts().records, 1);
  EXPECT_EQ(stream.step(), 0);
  auto fresh = make_journal<PeopleJournal>();
  fresh.restore(state);
  EXPECT_EQ(stream.frame(LogTag{}).bytes, fresh.frame(LogTag{}).bytes);
  stream.add("bob", kJournalRecord);
  stream.end();
  auto whole = make_journal<PeopleJournal>();
  for (const char* const name : {"ann", "bob"}) whole.add(name, kJournalRecord);
  whole.end();
  EXPECT_EQ(stream.state(), whole.state());
}

}  // namespace
}  // namespace dpftrl
