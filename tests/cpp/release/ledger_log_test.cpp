// SPDX-License-Identifier: Apache-2.0
#include "release/ledger_log.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "dpftrl/release/release_ledger.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::LogFrame;
using detail::LogReader;
using detail::ShortDigest;
using Bytes = std::vector<std::byte>;

/// Bytes of a frame whose steps and memo have the given size.
constexpr std::size_t frame_size(std::size_t size) {
  return 28 + (8 * (size + 16) + 6) / 7;
}
constexpr std::size_t kStepSize = 40, kFrame = frame_size(kStepSize);
constexpr std::int64_t kLoggedSteps = 1000;
const Bytes kSecret(64, std::byte{7});

/// Log of frames with these numbers of steps, with mostly non-zero bytes.
Bytes make_log(const std::vector<std::int64_t>& sizes) {
  ShortDigest tag = detail::base_tag(kSecret, {});
  Bytes log;
  std::int64_t step = 1;
  for (const std::int64_t size : sizes) {
    const Bytes decisions(static_cast<std::size_t>(size) * kStepSize, std::byte{1});
    const detail::SealedFrame frame = detail::seal_frame(
        kSecret, tag, {.first_step = step, .steps = size, .decisions = decisions, .memo = {}});
    tag = frame.tag;
    log.insert(log.end(), frame.bytes.begin(), frame.bytes.end());
    step += size;
  }
  return log;
}

/// Number of steps in the complete frames of a log.
std::int64_t num_read(const Bytes& log, std::size_t position = 0) {
  LogReader reader(log, detail::base_tag(kSecret, {}),
                   {.secret = kSecret,
                    .step_size = kStepSize,
                    .first_step = 1,
                    .steps = kLoggedSteps,
                    .position = position});
  std::int64_t count = 0;
  while (const auto frame = reader.next()) count += frame->steps;
  return count;
}

Bytes first(const Bytes& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

TEST(LedgerLog, a_frame_that_is_shorter_is_torn_at_every_length) {
  const Bytes log = make_log({1, 1, 30});
  for (std::size_t size = 0; size <= log.size(); ++size) {
    const std::int64_t expected = size < kFrame ? 0 : size < 2 * kFrame ? 1 : 2;
    EXPECT_EQ(num_read(first(log, size)), size == log.size() ? 32 : expected) << size;
  }
}

TEST(LedgerLog, sectors_that_a_crash_lost_are_torn_wherever_they_begin) {
  const Bytes log = make_log({1, 40});
  for (std::size_t position = 0; position < 512; position += 3) {
    for (std::size_t begin = kFrame; begin < log.size();) {
      const std::size_t end = std::min(begin + 512 - (position + begin) % 512, log.size());
      Bytes torn = log;
      std::fill(torn.begin() + static_cast<std::ptrdiff_t>(begin),
                torn.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
      EXPECT_EQ(num_read(torn, position), 1) << position << " " << begin;
      begin = end;
    }
    Bytes nothing = log;
    std::fill(nothing.begin() + kFrame, nothing.end(), std::byte{0});
    EXPECT_EQ(num_read(nothing, position), 1);
  }
}

TEST(LedgerLog, a_changed_byte_is_damage_in_every_frame) {
  const Bytes log = make_log({1, 2, 1});
  for (std::size_t at = 0; at < log.size(); ++at) {
    Bytes bad = log;
    bad[at] ^= std::byte{16};
    EXPECT_ERROR(num_read(bad), "bad_state", "whole releases from step");
  }
}

TEST(LedgerLog, a_changed_bit_is_damage_in_a_frame_of_zeros_wherever_sectors_begin) {
  const ShortDigest tag = detail::base_tag(kSecret, {});
  const Bytes zeros(40 * kStepSize);
  for (const LogFrame& frame :
       {LogFrame{.first_step = 1, .steps = 40, .decisions = zeros, .memo = {}},
        LogFrame{.first_step = 1, .steps = 0, .decisions = {}, .memo = zeros}}) {
    const Bytes whole = detail::seal_frame(kSecret, tag, frame).bytes;
    EXPECT_EQ(std::ranges::count(whole, std::byte{0}), 0);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      Bytes bad = whole;
      bad[at] ^= static_cast<std::byte>(1 << at % 8);
      for (const std::size_t position : {std::size_t{0}, std::size_t{511}, 511 - at % 512})
        EXPECT_ERROR(num_read(bad, position), "bad_state", "whole releases from step 1");
    }
  }
}

TEST(LedgerLog, what_was_lost_before_other_frames_is_damage) {
  const Bytes log = make_log({30, 1, 1});
  const std::size_t size = frame_size(30 * kStepSize);
  for (const auto& [begin, end] : {std::pair{0, 512}, {512, 1024}, {1024, 1400}}) {
    Bytes bad = log;
    std::fill(bad.begin() + begin, bad.begin() + end, std::byte{0});
    EXPECT_ERROR(num_read(bad), "bad_state", "whole releases");
  }
  // A complete frame that is missing or repeated.
  Bytes gap = first(log, size);
  gap.insert(gap.end(), log.end() - kFrame, log.end());
  EXPECT_ERROR(num_read(gap), "bad_state", "from step 31 on");
  Bytes twice = log;
  twice.insert(twice.end(), log.end() - kFrame, log.end());
  EXPECT_ERROR(num_read(twice), "bad_state", "from step 33 on");
  // The same steps in frames of another log.
  const Bytes other = make_log({29, 1, 1});
  Bytes mixed = first(log, log.size() - kFrame);
  mixed.insert(mixed.end(), other.end() - kFrame, other.end());
  EXPECT_ERROR(num_read(mixed), "bad_state", "from step 32 on");
}

TEST(LedgerLog, steps_past_the_horizon_are_refused_whatever_the_tag_says) {
  EXPECT_EQ(num_read(make_log({kLoggedSteps - 1})), kLoggedSteps - 1);
  EXPECT_ERROR(num_read(make_log({kLoggedSteps})), "bad_state", "from step 1 on");
}

TEST(LedgerLog, a_memo_is_there_or_not_and_may_be_empty) {
  const ShortDigest tag = detail::base_tag(kSecret, {});
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}}) {
    const Bytes memo(size, std::byte{9});
    const LogFrame frame{.first_step = 1, .steps = 0, .decisions = {}, .memo = memo};
    const Bytes log = detail::seal_frame(kSecret, tag, frame).bytes;
    EXPECT_EQ(log.size(), frame_size(size));
    LogReader reader(log, tag,
                     {.secret = kSecret,
                      .step_size = kStepSize,
                      .first_step = 1,
                      .steps = kLoggedSteps,
                      .position = 0});
    const auto read = reader.next();
    ASSERT_TRUE(read && read->memo);
    EXPECT_TRUE(std::ranges::equal(*read->memo, memo));
    EXPECT_EQ(reader.size(), log.size());
  }
}

constexpr std::int64_t kHorizon = 40, kLoggedDimension = 2;

/// Ledger with a log. A window as long as the horizon gives the prefix sums.
ReleaseLedger make_logged_ledger(const char* strategy, ReleaseMode mode = ReleaseMode::grid,
                                 std::int64_t width = kHorizon) {
  const auto how = Mechanism::make({.strategy = strategy,
                                    .steps = kHorizon,
                                    .target = {.epsilon = 1, .delta = 1e-6},
                                    .workload = Workload::sliding_window({kHorizon, width})});
  return {how, {.key = Key::insecure_from_seed(4), .dimension = kLoggedDimension, .mode = mode}};
}

std::vector<double> logged_record(std::int64_t step) {
  return {0.1 * static_cast<double>(step % 7), -0.3};
}

/// Contents of a store: a state, and the frames appended to it.
struct Stored {
  Bytes base, log;
  ReleaseLedger::LogTag tag;

  explicit Stored(ReleaseLedger& ledger) : base(ledger.state()), tag(ledger.log_tag(base)) {
    ledger.acknowledge(ledger.num_decided());
  }
  void append(ReleaseLedger& ledger) {
    const ReleaseLedger::LogPart part = ledger.log_frame(tag);
    log.insert(log.end(), part.bytes.begin(), part.bytes.end());
    tag = part.tag;
    ledger.acknowledge(ledger.num_decided());
  }
  void open(ReleaseLedger& ledger) const {
    ledger.restore(base);
    const auto end = ledger.replay(log, {.before = ledger.log_tag(base)});
    EXPECT_EQ(end.size, log.size());
    EXPECT_EQ(end.tag, tag);
  }
};

TEST(LedgerLog, a_ledger_that_repeats_its_log_has_the_state_of_one_that_went_on) {
  using enum ReleaseMode;
  constexpr std::array<std::pair<ReleaseMode, std::int64_t>, 4> kKinds = {
      {{grid, kHorizon}, {lattice, kHorizon}, {grid, 1}, {grid, 5}}};
  for (const auto& [mode, width] : kKinds) {
    for (const char* const strategy : {"tree", "honaker", "blt-rational"}) {
      ReleaseLedger ledger = make_logged_ledger(strategy, mode, width);
      for (std::int64_t t = 0; t < 3; ++t) ledger.decide(t, logged_record(t));
      Stored store(ledger);
      for (std::int64_t t = 3; t < 20; ++t) {
        std::vector<double> several;
        for (std::int64_t i = 0; i < t % 4; ++i)
          for (const double x : logged_record(t + i)) several.push_back(x);
        ledger.decide_step(t, several);
        if (t % 3 != 0) store.append(ledger);
      }
      store.append(ledger);
      ReleaseLedger next = make_logged_ledger(strategy, mode, width);
      store.open(next);
      EXPECT_EQ(next.num_acknowledged(), 20);
      EXPECT_ERROR(next.decide(19, logged_record(1)), "already_released", "another record");
      // The log continues where it ended.
      next.decide(20, logged_record(20));
      store.append(next);
      ReleaseLedger third = make_logged_ledger(strategy, mode, width);
      store.open(third);
      for (std::int64_t t = 20; t < kHorizon; ++t)
        for (ReleaseLedger* const each : {&ledger, &next, &third})
          each->decide(t, logged_record(t));
      for (ReleaseLedger* const each : {&ledger, &next, &third}) each->acknowledge(kHorizon);
      for (std::int64_t t = 0; t < kHorizon; ++t) {
        EXPECT_TRUE(std::ranges::equal(next.released(t), ledger.released(t))) << strategy << t;
        EXPECT_TRUE(std::ranges::equal(third.released(t), ledger.released(t))) << strategy << t;
      }
    }
  }
}

TEST(LedgerLog, a_ledger_of_another_window_is_refused) {
  ReleaseLedger ledger = make_logged_ledger("tree", ReleaseMode::grid, 5);
  for (std::int64_t t = 0; t < 7; ++t) ledger.decide(t, logged_record(t));
  const Bytes state = ledger.state();
  for (const std::int64_t width : {std::int64_t{4}, std::int64_t{6}, kHorizon}) {
    ReleaseLedger other = make_logged_ledger("tree", ReleaseMode::grid, width);
    EXPECT_ERROR(other.restore(state), "bad_state", "must be of this mechanism");
    EXPECT_EQ(other.num_decided(), 0);
  }
}

TEST(LedgerLog, a_frame_costs_its_own_steps) {
  ReleaseLedger ledger = make_logged_ledger("tree");
  ledger.decide(0, logged_record(0));
  Stored store(ledger);
  for (std::int64_t t = 1; t < 30; ++t) {
    ledger.decide(t, logged_record(t));
    EXPECT_EQ(ledger.log_frame(store.tag).bytes.size(), frame_size(24 + 16 * kLoggedDimension));
    store.append(ledger);
  }
  // A frame contains all unacknowledged steps.
  ledger.decide(30, logged_record(30));
  ledger.decide(31, logged_record(31));
  EXPECT_EQ(ledger.log_frame(store.tag).bytes.size(), frame_size(2 * (24 + 16 * kLoggedDimension)));
}

TEST(LedgerLog, frames_of_few_steps_repeat_what_one_frame_of_all_does) {
  for (const std::int64_t max_steps : {1, 2, 3, 7, 19, 20, 100}) {
    ReleaseLedger ledger = make_logged_ledger("honaker");
    ledger.decide(0, logged_record(0));
    Stored store(ledger);
    for (std::int64_t t = 1; t < 20; ++t) ledger.decide(t, logged_record(t));
    while (ledger.num_acknowledged() < 20) {
      const std::int64_t first = ledger.num_acknowledged();
      const auto part = ledger.log_frame(store.tag, {.max_steps = max_steps});
      EXPECT_EQ(part.steps, std::min(max_steps, 20 - first));
      EXPECT_EQ(part.bytes.size(),
                frame_size(static_cast<std::size_t>(part.steps) * (24 + 16 * kLoggedDimension)));
      store.log.insert(store.log.end(), part.bytes.begin(), part.bytes.end());
      store.tag = part.tag;
      ledger.acknowledge(first + part.steps);
      // After a crash, the steps of whole frames are there.
      ReleaseLedger next = make_logged_ledger("honaker");
      store.open(next);
      EXPECT_EQ(next.num_acknowledged(), first + part.steps);
    }
    ReleaseLedger next = make_logged_ledger("honaker");
    store.open(next);
    for (std::int64_t t = 0; t < 20; ++t)
      EXPECT_TRUE(std::ranges::equal(next.released(t), ledger.released(t))) << max_steps << t;
    EXPECT_ERROR(ledger.log_frame(store.tag, {.max_steps = 0}), "invalid_argument", "max_steps");
  }
}

TEST(LedgerLog, a_release_with_other_bits_is_refused) {
  // Sealed again with the ledger's own secret, as by a version with different noise.
  const auto words =
      random_block(Key::insecure_from_seed(4), {.stream = Stream::ledger, .row = 0, .block = 0});
  Bytes secret(64);
  for (std::size_t i = 0; i < secret.size(); ++i)
    secret[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  ReleaseLedger ledger = make_logged_ledger("tree");
  Stored store(ledger);
  const ReleaseLedger::LogTag begin = store.tag;
  ledger.decide(0, logged_record(0));
  store.append(ledger);
  const std::size_t step_size = 24 + 16 * kLoggedDimension;
  const auto reseal = [&](std::size_t at) {
    LogReader reader(store.log, begin,
                     {.secret = secret,
                      .step_size = step_size,
                      .first_step = 0,
                      .steps = kHorizon,
                      .position = 0});
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    Bytes decisions(frame->decisions.begin(), frame->decisions.end());
    decisions[at] ^= std::byte{1};
    const LogFrame other{.first_step = 0, .steps = 1, .decisions = decisions, .memo = {}};
    store.log = detail::seal_frame(secret, begin, other).bytes;
  };
  const Bytes whole = store.log;
  for (const std::size_t at : {24u, 32u, 40u, 48u}) {  // releases, then integers
    store.log = whole;
    reseal(at);
    ReleaseLedger next = make_logged_ledger("tree");
    next.restore(store.base);
    EXPECT_ERROR(next.replay(store.log, {.before = begin}), "bad_state", "step 0, got one with");
  }
}

}  // namespace
}  // namespace dpftrl
