// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Frames of a journal's log, which are appended to a store step after step (internal header,
/// docs/math/checkpoints.md, "Logs").
///
///     base | frame | frame | ...      each tag authenticates its frame and the tag before it
///
///     header: first step (8 bytes), number of steps (4), length of the memo + 1, or 0 (4),
///             check of these (8)
///     body:   the steps, `step_size` bytes each, the memo, the tag (16)
///
/// Only the last frame of a log may be torn, because a store syncs a frame before it appends the
/// next. A torn frame is too short, or lacks whole sectors of a disk, which read as zeros. No byte
/// of a whole frame is zero, so that it cannot be mistaken for a torn one: header and body are
/// stored with seven bits to a byte. Anything else is damage, and cutting it off would free steps
/// that were released.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noise/checkpoint.hpp"

namespace dpftrl::detail {

/// Decisions of consecutive steps, and the memo that the caller stored with them.
struct LogFrame {
  std::int64_t first_step;
  std::int64_t steps;
  std::span<const std::byte> decisions;
  std::optional<std::span<const std::byte>> memo;
};

/// Tag that a log begins with, which authenticates its base.
ShortDigest base_tag(const HmacSecret& secret, std::span<const std::byte> base);

/// Code for a person in stored data. It is keyed, so that two persons with the same code cannot be
/// constructed without the secret.
ShortDigest person_code(const HmacSecret& secret, std::span<const std::byte> person);

/// Code of a step without records.
ShortDigest step_code(const HmacSecret& secret, std::int64_t step);
/// Code of a step with one more record than `before` covers.
/// @param person  code of the person whose record it is; empty without people.
/// @param row     -0 counts as 0.
ShortDigest record_code(const HmacSecret& secret, const ShortDigest& before,
                        std::span<const std::byte> person, std::span<const double> row);

struct SealedFrame {
  std::vector<std::byte> bytes;
  ShortDigest tag;
};
SealedFrame seal_frame(const HmacSecret& secret, const ShortDigest& before, const LogFrame& frame);

/// Reads the frames of a log one after the other.
class LogReader {
 public:
  struct Options {
    const HmacSecret& secret;
    std::size_t step_size;
    std::int64_t first_step;
    std::int64_t steps;    ///< horizon
    std::size_t position;  ///< offset of the log in its store; sectors begin at multiples of 512
  };
  /// @param log  must outlive the reader.
  LogReader(std::span<const std::byte> log, const ShortDigest& before, const Options& options)
      : log_(log), tag_(before), options_(options), next_step_(options.first_step) {}

  /// Next frame, valid until the one after it is read; nullopt at the end, or at a torn frame.
  /// @throws Error{bad_state} damage.
  /// @checked-by journal_log_test
  std::optional<LogFrame> next();

  /// Bytes in the whole frames read so far.
  std::size_t size() const { return size_; }
  const ShortDigest& tag() const { return tag_; }

 private:
  bool read_body(std::span<const std::byte> header, std::span<const std::byte> stored);
  bool has_lost_sector(std::size_t size) const;
  bool has_header_after(std::size_t begin) const;

  std::span<const std::byte> log_;
  ShortDigest tag_;
  Options options_;
  std::int64_t next_step_;
  std::size_t size_ = 0;
  std::vector<std::byte> body_;  ///< body of the frame that was read last
};

}  // namespace dpftrl::detail
