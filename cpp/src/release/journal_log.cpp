// SPDX-License-Identifier: Apache-2.0
#include "release/journal_log.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/sha256.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl::detail {
namespace {

constexpr std::size_t kHead = 16, kCheck = 8, kHeader = kHead + kCheck;
constexpr std::size_t kSector = 512;

/// Stored size of `size` bytes, at seven bits to a byte.
constexpr std::uint64_t stored_size(std::uint64_t size) {
  return size + (size + 6) / 7;
}
constexpr std::size_t kStoredHeader = stored_size(kHeader);

/// Encodes seven bits as a byte that differs from zero in more than one bit.
constexpr std::byte kNoBits{0x7f};
std::byte stored(std::uint32_t bits) {
  return bits == 0 ? kNoBits : static_cast<std::byte>(0x80 | bits);
}

void append_stored(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  std::uint32_t waiting = 0;
  int num_waiting = 0;
  for (const std::byte byte : bytes) {
    waiting |= std::to_integer<std::uint32_t>(byte) << num_waiting;
    num_waiting += 8;
    for (; num_waiting >= 7; num_waiting -= 7, waiting >>= 7) out.push_back(stored(waiting & 0x7f));
  }
  if (num_waiting > 0) out.push_back(stored(waiting));
}

/// Decodes stored bytes; nullopt if they are not a valid encoding.
std::optional<std::vector<std::byte>> read_stored(std::span<const std::byte> all) {
  std::vector<std::byte> bytes;
  bytes.reserve(all.size());
  std::uint32_t waiting = 0;
  int num_waiting = 0;
  for (const std::byte byte : all) {
    const auto bits = std::to_integer<std::uint32_t>(byte);
    if (byte != kNoBits && bits <= 0x80) return std::nullopt;
    waiting |= (byte == kNoBits ? 0 : bits & 0x7f) << num_waiting;
    num_waiting += 7;
    if (num_waiting < 8) continue;
    bytes.push_back(static_cast<std::byte>(waiting & 0xff));
    num_waiting -= 8;
    waiting >>= 8;
  }
  if (waiting != 0) return std::nullopt;
  return bytes;
}

/// First number of a message. The codes of steps, made with the same secret, begin with a step
/// instead, which is not negative.
enum class Purpose : std::int64_t { base = -1, header = -2, frame = -3, person = -4, record = -5 };

HmacSha256 begin_hmac(const HmacSecret& secret, Purpose purpose) {
  HmacSha256 hmac(secret);
  hmac.message().append(static_cast<std::int64_t>(purpose));
  return hmac;
}

ShortDigest frame_tag(const HmacSecret& secret, const ShortDigest& before,
                      std::span<const std::byte> frame) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::frame);
  hmac.message().append(std::span<const std::byte>(before));
  hmac.message().append(frame);
  return shortened(hmac.finish());
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

std::uint64_t check_of(const HmacSecret& secret, std::span<const std::byte> head) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::header);
  hmac.message().append(head);
  return word_at(hmac.finish(), 0);
}

/// Decodes a stored header; nullopt if its check is wrong.
std::optional<std::vector<std::byte>> checked_header(const HmacSecret& secret,
                                                     std::span<const std::byte> stored) {
  std::optional<std::vector<std::byte>> header = read_stored(stored);
  if (!header || check_of(secret, std::span(*header).first(kHead)) != word_at(*header, kHead))
    return std::nullopt;
  return header;
}

[[noreturn]] void fail_damaged(std::int64_t step) {
  fail(ErrorCode::bad_state, "stream", "checkpoint",
       "must be followed by whole releases from step " + to_text(step) + " on", "damaged ones");
}

}  // namespace

ShortDigest base_tag(const HmacSecret& secret, std::span<const std::byte> base) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::base);
  hmac.message().append(base);
  return shortened(hmac.finish());
}

ShortDigest person_code(const HmacSecret& secret, std::span<const std::byte> person) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::person);
  hmac.message().append(person);
  return shortened(hmac.finish());
}

ShortDigest step_code(const HmacSecret& secret, std::int64_t step) {
  HmacSha256 hmac(secret);
  hmac.message().append(step);
  return shortened(hmac.finish());
}

ShortDigest record_code(const HmacSecret& secret, const ShortDigest& before,
                        std::span<const std::byte> person, std::span<const double> row) {
  HmacSha256 hmac = begin_hmac(secret, Purpose::record);
  hmac.message().append(std::span<const std::byte>(before));
  hmac.message().append(person);
  for (const double x : row) hmac.message().append(x == 0 ? 0.0 : x);
  return shortened(hmac.finish());
}

SealedFrame seal_frame(const HmacSecret& secret, const ShortDigest& before, const LogFrame& frame) {
  constexpr std::uint64_t kMost = UINT32_MAX;
  const std::uint64_t memo = frame.memo ? frame.memo->size() + std::uint64_t{1} : 0;
  if (memo > kMost || static_cast<std::uint64_t>(frame.steps) > kMost)
    fail(ErrorCode::resource_exhausted, "stream", "memo", "must be smaller than 4 GiB");
  std::vector<std::byte> bytes;
  append_word(bytes, static_cast<std::uint64_t>(frame.first_step));
  append_word(bytes, static_cast<std::uint64_t>(frame.steps) | memo << 32);
  append_word(bytes, check_of(secret, bytes));
  bytes.insert(bytes.end(), frame.decisions.begin(), frame.decisions.end());
  if (frame.memo) bytes.insert(bytes.end(), frame.memo->begin(), frame.memo->end());
  SealedFrame sealed{.bytes = {}, .tag = frame_tag(secret, before, bytes)};
  bytes.insert(bytes.end(), sealed.tag.begin(), sealed.tag.end());
  sealed.bytes.reserve(static_cast<std::size_t>(stored_size(bytes.size())) + 1);
  append_stored(sealed.bytes, std::span(bytes).first(kHeader));
  append_stored(sealed.bytes, std::span(bytes).subspan(kHeader));
  return sealed;
}

std::optional<LogFrame> LogReader::next() {
  const std::span<const std::byte> rest = log_.subspan(size_);
  if (rest.size() < kStoredHeader) return std::nullopt;
  const std::optional<std::vector<std::byte>> header =
      checked_header(options_.secret, rest.first(kStoredHeader));
  if (!header) {
    if (has_lost_sector(kStoredHeader) && !has_header_after(size_ + 1)) return std::nullopt;
    fail_damaged(next_step_);
  }
  const std::uint64_t lengths = word_at(*header, 8);
  LogFrame frame{.first_step = static_cast<std::int64_t>(word_at(*header, 0)),
                 .steps = static_cast<std::int64_t>(lengths & UINT32_MAX),
                 .decisions = {},
                 .memo = {}};
  if (frame.first_step != next_step_ || frame.steps > options_.steps - next_step_)
    fail_damaged(next_step_);
  const std::uint64_t memo = lengths >> 32;
  const std::uint64_t steps_size = static_cast<std::uint64_t>(frame.steps) * options_.step_size;
  const std::uint64_t memo_size = memo == 0 ? 0 : memo - 1;
  const std::uint64_t stored = kStoredHeader + stored_size(steps_size + memo_size + tag_.size());
  if (stored > rest.size()) return std::nullopt;
  const auto size = static_cast<std::size_t>(stored);
  if (!read_body(*header, rest.subspan(kStoredHeader, size - kStoredHeader))) {
    if (size == rest.size() && has_lost_sector(size)) return std::nullopt;
    fail_damaged(next_step_);
  }
  frame.decisions = std::span(body_).first(static_cast<std::size_t>(steps_size));
  if (memo != 0) frame.memo = std::span(body_).last(static_cast<std::size_t>(memo_size));
  next_step_ += frame.steps;
  size_ += size;
  return frame;
}

/// Reads the steps and the memo into body_ and advances to their tag; returns false if they are
/// damaged.
bool LogReader::read_body(std::span<const std::byte> header, std::span<const std::byte> stored) {
  std::optional<std::vector<std::byte>> body = read_stored(stored);
  if (!body) return false;
  std::vector<std::byte> frame(header.begin(), header.end());
  frame.insert(frame.end(), body->begin(), body->end() - std::ssize(tag_));
  const ShortDigest tag = frame_tag(options_.secret, tag_, frame);
  if (!std::ranges::equal(tag, std::span(*body).last(tag.size()))) return false;
  tag_ = tag;
  body->resize(body->size() - tag.size());
  body_ = *std::move(body);
  return true;
}

/// Whether the next `size` bytes are zero throughout some sector.
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

/// Whether a frame begins later, which implies that the frame here was synced.
bool LogReader::has_header_after(std::size_t begin) const {
  for (std::size_t at = begin; at + kStoredHeader <= log_.size(); ++at)
    if (checked_header(options_.secret, log_.subspan(at, kStoredHeader))) return true;
  return false;
}

}  // namespace dpftrl::detail
