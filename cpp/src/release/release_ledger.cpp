// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/release_ledger.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"
#include "release/ledger_log.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kReleaseLedger = "release_ledger";

std::array<std::byte, 64> secret_of(const Key& key) {
  const auto words = random_block(key, {.stream = Stream::ledger, .row = 0, .block = 0});
  std::array<std::byte, 64> secret;
  for (std::size_t i = 0; i < secret.size(); ++i)
    secret[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  return secret;
}

}  // namespace

Ledger::Ledger(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
    : sums_(std::move(mechanism), options), secret_(secret_of(options.key)) {}

Ledger::~Ledger() {
  volatile std::byte* secret = secret_.data();
  for (std::size_t i = 0; i < secret_.size(); ++i) secret[i] = std::byte{0};
}

Ledger::Code Ledger::code_of(std::int64_t step, std::span<const double> record) const {
  detail::HmacSha256 hmac(secret_);
  hmac.message().append(step);
  for (const double x : record) hmac.message().append(x == 0 ? 0.0 : x);
  return detail::shortened(hmac.finish());
}

Ledger::Code Ledger::code_of_person(std::string_view person) const {
  return detail::person_code(secret_, std::as_bytes(std::span(person)));
}

void ReleaseLedger::decide(std::int64_t step, std::span<const double> record) {
  require_length(kReleaseLedger, "record", std::ssize(record), dimension());
  decide_step(step, record);
}

void ReleaseLedger::decide_step(std::int64_t step, std::span<const double> contributions) {
  const auto width = static_cast<std::size_t>(dimension());
  const std::ptrdiff_t size = std::ssize(contributions);
  require_length(kReleaseLedger, "contributions", size, size - size % dimension());
  require_all_finite(kReleaseLedger, "record", contributions);
  require_between(kReleaseLedger, "step", step, 0, num_decided());
  const Code code = code_of(step, contributions);
  if (step < num_decided()) {
    if (code_at(step) != code)
      fail(ErrorCode::already_released, "release_ledger", "step",
           "must not be one that was released for another {record}", to_text(step));
    return;
  }
  decide_integers(code,
                  {.num_contributions = static_cast<std::int64_t>(contributions.size() / width),
                   .integers = integers_of(contributions)});
}

void Ledger::decide_integers(const Code& code, Pending step) {
  // Allocates first: once the sum has taken the record, nothing may fail.
  const auto begin = static_cast<std::size_t>(num_decided() * dimension());
  codes_.resize(static_cast<std::size_t>(num_decided()) + 1);
  releases_.resize(begin + static_cast<std::size_t>(dimension()));
  if (pending_.size() == pending_.capacity()) pending_.reserve(2 * pending_.size() + 1);
  sums_.release_integers(step.integers, step.num_contributions,
                         std::span(releases_).subspan(begin));
  codes_.back() = code;
  pending_.push_back(std::move(step));
}

std::vector<std::byte> Ledger::state() {
  const std::vector<std::byte> sums = sums_.checkpoint();
  std::vector<std::byte> bytes = detail::begin_checkpoint();
  const auto count = static_cast<std::size_t>(num_decided());
  const auto width = static_cast<std::size_t>(dimension());
  bytes.reserve(bytes.size() + 8 + sums.size() + count * (Code().size() + 8 * width));
  detail::append_word(bytes, static_cast<std::uint64_t>(sums.size()));
  bytes.insert(bytes.end(), sums.begin(), sums.end());
  for (std::size_t t = 0; t < count; ++t) {
    bytes.insert(bytes.end(), codes_[t].begin(), codes_[t].end());
    for (std::size_t i = 0; i < width; ++i)
      detail::append_word(bytes, std::bit_cast<std::uint64_t>(releases_[t * width + i]));
  }
  detail::seal_checkpoint({.kind = detail::CheckpointKind::ledger,
                           .step = num_decided(),
                           .fingerprint = sums_.fingerprint(),
                           .commitment = sums_.commitment_},
                          bytes);
  return bytes;
}

void Ledger::acknowledge(std::int64_t steps) {
  require_between(kReleaseLedger, "steps", steps, 0, num_decided());
  num_acknowledged_ = std::max(num_acknowledged_, steps);
  // Erases half of all or more, so that frame after frame costs O(1) per step.
  const std::int64_t num_old = std::ssize(pending_) - (num_decided() - num_acknowledged_);
  if (2 * num_old >= std::ssize(pending_))
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(num_old));
}

std::span<const double> Ledger::released(std::int64_t step) const {
  require_between(kReleaseLedger, "step", step, 0, num_acknowledged_ - 1);
  const auto width = static_cast<std::size_t>(dimension());
  return std::span(releases_).subspan(static_cast<std::size_t>(step) * width, width);
}

void Ledger::restore(std::span<const std::byte> bytes) {
  const detail::CheckpointHeader header =
      detail::open_checkpoint(kReleaseLedger,
                              {.kind = detail::CheckpointKind::ledger,
                               .fingerprint = sums_.fingerprint(),
                               .commitment = sums_.commitment_},
                              steps(), bytes);
  const std::span<const std::byte> rest = bytes.subspan(detail::kCheckpointHeaderSize);
  const auto count = static_cast<std::size_t>(header.step);
  const auto width = static_cast<std::size_t>(dimension());
  const std::size_t entry_size = Code().size() + 8 * width;
  const std::uint64_t entries_size = static_cast<std::uint64_t>(count) * entry_size;
  const std::uint64_t sums_size = rest.size() < 8 ? 0 : detail::word_at(rest, 0);
  const bool is_whole = rest.size() >= 8 && sums_size <= rest.size() - 8 &&
                        rest.size() - 8 - sums_size == entries_size;
  // The sums must be at the step of the entries, which the header of their checkpoint states.
  if (!is_whole || sums_size < detail::kCheckpointHeaderSize ||
      detail::word_at(rest, 8 + 8) != static_cast<std::uint64_t>(header.step))
    fail(ErrorCode::bad_state, "release_ledger", "checkpoint",
         "must contain the sums and " + to_text(header.step) + " releases", "something else");
  std::vector<Code> codes(count);
  std::vector<double> releases(count * width);
  const std::span<const std::byte> entries = rest.last(count * entry_size);
  for (std::size_t t = 0; t < count; ++t) {
    const std::span<const std::byte> entry = entries.subspan(t * entry_size, entry_size);
    std::copy_n(entry.begin(), codes[t].size(), codes[t].begin());
    for (std::size_t i = 0; i < width; ++i)
      releases[t * width + i] =
          std::bit_cast<double>(detail::word_at(entry, codes[t].size() + 8 * i));
  }
  sums_.restore(rest.subspan(8, static_cast<std::size_t>(sums_size)));
  codes_ = std::move(codes);
  releases_ = std::move(releases);
  pending_.clear();
  num_acknowledged_ = header.step;
}

Ledger::LogTag Ledger::log_tag(std::span<const std::byte> base) const {
  return detail::base_tag(secret_, base);
}

Ledger::LogPart Ledger::log_frame(const LogTag& before, const FrameOptions& options) {
  require_between(kReleaseLedger, "max_steps", options.max_steps, 1, kAllSteps);
  const auto width = static_cast<std::size_t>(dimension());
  const auto num_pending = static_cast<std::size_t>(num_decided() - num_acknowledged_);
  const auto steps =
      static_cast<std::size_t>(std::min(static_cast<std::int64_t>(num_pending), options.max_steps));
  std::vector<std::byte> decisions;
  decisions.reserve(steps * step_size());
  auto t = static_cast<std::size_t>(num_acknowledged_);
  for (const Pending& step : std::span(pending_).last(num_pending).first(steps)) {
    detail::append_word(decisions, static_cast<std::uint64_t>(step.num_contributions));
    decisions.insert(decisions.end(), codes_[t].begin(), codes_[t].end());
    for (const double release : std::span(releases_).subspan(t++ * width, width))
      detail::append_word(decisions, std::bit_cast<std::uint64_t>(release));
    for (const std::int64_t integer : step.integers)
      detail::append_word(decisions, static_cast<std::uint64_t>(integer));
  }
  auto [bytes, tag] = detail::seal_frame(secret_, before,
                                         {.first_step = num_acknowledged_,
                                          .steps = static_cast<std::int64_t>(steps),
                                          .decisions = decisions,
                                          .memo = options.memo});
  return {.bytes = std::move(bytes), .tag = tag, .steps = static_cast<std::int64_t>(steps)};
}

/// Size in bytes of a step in a frame.
std::size_t Ledger::step_size() const {
  return 8 + Code().size() + 16 * static_cast<std::size_t>(dimension());
}

void Ledger::repeat(std::span<const std::byte> step) {
  const auto width = static_cast<std::size_t>(dimension());
  Pending pending{.num_contributions = static_cast<std::int64_t>(detail::word_at(step, 0)),
                  .integers = std::vector<std::int64_t>(width)};
  Code code;
  std::copy_n(step.begin() + 8, code.size(), code.begin());
  const std::span<const std::byte> numbers = step.subspan(8 + code.size());
  for (std::size_t i = 0; i < width; ++i)
    pending.integers[i] = static_cast<std::int64_t>(detail::word_at(numbers, 8 * (width + i)));
  begin_repeat(pending);
  decide_integers(code, std::move(pending));
  const std::span<const double> release = std::span(releases_).last(width);
  for (std::size_t i = 0; i < width; ++i)
    if (std::bit_cast<std::uint64_t>(release[i]) != detail::word_at(numbers, 8 * i))
      fail(ErrorCode::bad_state, "release_ledger", "checkpoint",
           "must have the releases of this library, step " + to_text(num_decided() - 1),
           "one with other bits");
}

void Ledger::take_memo(std::span<const std::byte> memo, LogEnd& end) {
  end.memo.emplace(memo.begin(), memo.end());
}

void Ledger::begin_repeat(const Pending&) {}

Ledger::LogEnd Ledger::replay(std::span<const std::byte> log, const LogOptions& options) {
  detail::LogReader reader(log, options.before,
                           {.secret = secret_,
                            .step_size = step_size(),
                            .first_step = num_decided(),
                            .steps = steps(),
                            .position = static_cast<std::size_t>(options.position)});
  LogEnd end{};
  while (const std::optional<detail::LogFrame> frame = reader.next()) {
    if (frame->memo) take_memo(*frame->memo, end);
    for (std::int64_t i = 0; i < frame->steps; ++i)
      repeat(frame->decisions.subspan(static_cast<std::size_t>(i) * step_size(), step_size()));
    acknowledge(num_decided());
  }
  end.tag = reader.tag();
  end.size = reader.size();
  return end;
}

}  // namespace dpftrl
