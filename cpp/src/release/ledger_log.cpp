// SPDX-License-Identifier: Apache-2.0
#include "release/ledger_log.hpp"

#include <algorithm>
#include <string>

#include "base/sha256.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl::detail {
namespace {

constexpr std::size_t kHead = 16, kCheck = 8, kHeader = kHead + kCheck;
constexpr std::size_t kSector = 512;

/// First number of a message: the codes of records, of the same secret, begin with a step.
enum class Purpose : std::int64_t { base = -1, header = -2, frame = -3 };

HmacSha256 begin_hmac(std::span<const std::byte> secret, Purpose purpose) {
  HmacSha256 hmac(secret);
  hmac.message().append(static_cast<std::int64_t>(purpose));
  return hmac;
}

ShortDigest frame_tag(std::span<const std::byte> secret, const ShortDigest& before,
                      std::span<const std::byte> frame) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::frame);
  hmac.message().append(std::span<const std::byte>(before));
  hmac.message().append(frame);
  return shortened(hmac.finish());
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

std::uint64_t check_of(std::span<const std::byte> secret, std::span<const std::byte> head) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::header);
  hmac.message().append(head);
  return word_at(hmac.finish(), 0);
}

[[noreturn]] void fail_damaged(std::int64_t step) {
  fail(ErrorCode::bad_state, "release_ledger", "checkpoint",
       "must be followed by whole releases from step " + to_text(step) + " on", "damaged ones");
}

}  // namespace

ShortDigest base_tag(std::span<const std::byte> secret, std::span<const std::byte> base) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::base);
  hmac.message().append(base);
  return shortened(hmac.finish());
}

std::vector<std::byte> seal_frame(std::span<const std::byte> secret, const ShortDigest& before,
                                  const LogFrame& frame) {
  constexpr std::uint64_t kMost = UINT32_MAX;
  const std::uint64_t memo = frame.memo ? frame.memo->size() + std::uint64_t{1} : 0;
  if (memo > kMost || static_cast<std::uint64_t>(frame.num_steps) > kMost)
    fail(ErrorCode::resource_exhausted, "release_ledger", "memo", "must have less than 4 GiB");
  std::vector<std::byte> bytes;
  bytes.reserve(kHeader + frame.steps.size() + (frame.memo ? frame.memo->size() : 0) +
                ShortDigest().size());
  append_word(bytes, static_cast<std::uint64_t>(frame.first_step));
  append_word(bytes, static_cast<std::uint64_t>(frame.num_steps) | memo << 32);
  append_word(bytes, check_of(secret, bytes));
  bytes.insert(bytes.end(), frame.steps.begin(), frame.steps.end());
  if (frame.memo) bytes.insert(bytes.end(), frame.memo->begin(), frame.memo->end());
  const ShortDigest tag = frame_tag(secret, before, bytes);
  bytes.insert(bytes.end(), tag.begin(), tag.end());
  return bytes;
}

std::optional<LogFrame> LogReader::next() {
  const std::span<const std::byte> rest = log_.subspan(size_);
  if (rest.size() < kHeader) return std::nullopt;
  const std::span<const std::byte> head = rest.first(kHead);
  if (check_of(options_.secret, head) != word_at(rest, kHead)) {
    if (has_lost_sector(kHeader) && !has_header_after(size_ + 1)) return std::nullopt;
    fail_damaged(next_step_);
  }
  LogFrame frame{.first_step = static_cast<std::int64_t>(word_at(head, 0)),
                 .num_steps = static_cast<std::int64_t>(word_at(head, 8) & UINT32_MAX),
                 .steps = {},
                 .memo = {}};
  const std::uint64_t memo = word_at(head, 8) >> 32;
  const std::uint64_t steps_size = static_cast<std::uint64_t>(frame.num_steps) * options_.step_size;
  const std::uint64_t memo_size = memo == 0 ? 0 : memo - 1;
  const std::uint64_t size = kHeader + steps_size + memo_size;
  const std::size_t tag_size = tag_.size();
  if (frame.first_step != next_step_ || frame.num_steps > options_.num_steps - next_step_)
    fail_damaged(next_step_);
  if (size + tag_size > rest.size()) return std::nullopt;
  const std::span<const std::byte> signed_part = rest.first(static_cast<std::size_t>(size));
  const std::span<const std::byte> end = rest.subspan(signed_part.size(), tag_size);
  const ShortDigest tag = frame_tag(options_.secret, tag_, signed_part);
  if (!std::ranges::equal(tag, end)) {
    const std::size_t whole = signed_part.size() + tag_size;
    if (whole == rest.size() && has_lost_sector(whole)) return std::nullopt;
    fail_damaged(next_step_);
  }
  frame.steps = signed_part.subspan(kHeader, static_cast<std::size_t>(steps_size));
  if (memo != 0) frame.memo = signed_part.last(static_cast<std::size_t>(memo_size));
  next_step_ += frame.num_steps;
  size_ += signed_part.size() + tag_size;
  tag_ = tag;
  return frame;
}

/// Whether some sector's part of the next `size` bytes is zero.
bool LogReader::has_lost_sector(std::size_t size) const {
  const std::size_t end = size_ + size;
  for (std::size_t begin = size_; begin < end;) {
    const std::size_t sector_end = begin + kSector - (options_.position + begin) % kSector;
    const std::size_t part_end = std::min(sector_end, log_.size());
    if (is_zero(log_.subspan(begin, part_end - begin))) return true;
    begin = sector_end;
  }
  return false;
}

/// Whether a frame begins somewhere later, so that the one here was synced.
bool LogReader::has_header_after(std::size_t begin) const {
  for (std::size_t at = begin; at + kHeader <= log_.size(); ++at) {
    const std::uint64_t step = word_at(log_, at);
    if (step < static_cast<std::uint64_t>(next_step_) ||
        step > static_cast<std::uint64_t>(options_.num_steps))
      continue;
    const std::span<const std::byte> header = log_.subspan(at, kHeader);
    if (check_of(options_.secret, header.first(kHead)) == word_at(header, kHead)) return true;
  }
  return false;
}

}  // namespace dpftrl::detail
