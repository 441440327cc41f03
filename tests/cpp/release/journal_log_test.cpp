// SPDX-License-Identifier: Apache-2.0
#include "release/journal_log.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

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
const detail::HmacSecret kSecret(Bytes(64, std::byte{7}));

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

/// Steps in the complete frames of a log.
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

TEST(JournalLog, a_frame_that_is_shorter_is_torn_at_every_length) {
  const Bytes log = make_log({1, 1, 30});
  for (std::size_t size = 0; size <= log.size(); ++size) {
    const std::int64_t expected = size < kFrame ? 0 : size < 2 * kFrame ? 1 : 2;
    EXPECT_EQ(num_read(first(log, size)), size == log.size() ? 32 : expected) << size;
  }
}

TEST(JournalLog, sectors_that_a_crash_lost_are_torn_wherever_they_begin) {
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

TEST(JournalLog, a_changed_byte_is_damage_in_every_frame) {
  const Bytes log = make_log({1, 2, 1});
  for (std::size_t at = 0; at < log.size(); ++at) {
    Bytes bad = log;
    bad[at] ^= std::byte{16};
    EXPECT_ERROR(num_read(bad), "bad_state", "whole releases from step");
  }
}

TEST(JournalLog, a_changed_bit_is_damage_in_a_frame_of_zeros_wherever_sectors_begin) {
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

TEST(JournalLog, what_was_lost_before_other_frames_is_damage) {
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
  // A frame of another log with the same step.
  const Bytes other = make_log({29, 2, 1});
  Bytes mixed = first(log, log.size() - kFrame);
  mixed.insert(mixed.end(), other.end() - kFrame, other.end());
  EXPECT_ERROR(num_read(mixed), "bad_state", "from step 32 on");
}

TEST(JournalLog, steps_past_the_horizon_are_refused_whatever_the_tag_says) {
  EXPECT_EQ(num_read(make_log({kLoggedSteps - 1})), kLoggedSteps - 1);
  EXPECT_ERROR(num_read(make_log({kLoggedSteps})), "bad_state", "from step 1 on");
}

TEST(JournalLog, a_memo_is_there_or_not_and_may_be_empty) {
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

}  // namespace
}  // namespace dpftrl
