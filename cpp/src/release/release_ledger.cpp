// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/release_ledger.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kName = "release_ledger";

std::array<std::byte, 64> secret_of(const Key& key) {
  const auto words = random_block(key, {.stream = Stream::ledger, .row = 0, .block = 0});
  std::array<std::byte, 64> secret;
  for (std::size_t i = 0; i < secret.size(); ++i)
    secret[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  return secret;
}

}  // namespace

ReleaseLedger::ReleaseLedger(std::shared_ptr<const Mechanism> mechanism,
                             const PrefixSumOptions& options)
    : sums_(std::move(mechanism), options), secret_(secret_of(options.key)) {}

ReleaseLedger::~ReleaseLedger() {
  volatile std::byte* secret = secret_.data();
  for (std::size_t i = 0; i < secret_.size(); ++i) secret[i] = std::byte{0};
}

ReleaseLedger::Code ReleaseLedger::code_of(std::int64_t step,
                                           std::span<const double> record) const {
  detail::HmacSha256 hmac(secret_);
  hmac.message().append(step);
  for (const double x : record) hmac.message().append(x == 0 ? 0.0 : x);
  return detail::shortened(hmac.finish());
}

void ReleaseLedger::require_whole() const {
  if (is_torn_)
    fail(ErrorCode::bad_state, "release_ledger", "",
         "a decision failed halfway; go on from the bytes that were stored");
}

void ReleaseLedger::decide(std::int64_t step, std::span<const double> record) {
  require_length(kName, "record", std::ssize(record), dimension());
  decide_step(step, record);
}

void ReleaseLedger::decide_step(std::int64_t step, std::span<const double> contributions) {
  const auto width = static_cast<std::size_t>(dimension());
  require_whole();
  const std::ptrdiff_t size = std::ssize(contributions);
  require_length(kName, "contributions", size, size - size % dimension());
  require_all_finite(kName, "record", contributions);
  require_between(kName, "step", step, 0, num_decided());
  const Code code = code_of(step, contributions);
  if (step < num_decided()) {
    if (codes_[static_cast<std::size_t>(step)] != code)
      fail(ErrorCode::already_released, "release_ledger", "step",
           "must not be one that was released for another {record}", to_text(step));
    return;
  }
  // Memory first: once the sum has taken the record, nothing may fail.
  const std::size_t begin = static_cast<std::size_t>(step) * width;
  codes_.resize(static_cast<std::size_t>(step) + 1);
  releases_.resize(begin + width);
  const std::span<double> noisy = std::span(releases_).subspan(begin);
  if (contributions.size() == width) {
    sums_.release(contributions, noisy);
  } else {
    for (std::size_t at = 0; at < contributions.size(); at += width) {
      sums_.contribute(contributions.subspan(at, width));
      is_torn_ = true;
    }
    sums_.release(noisy);
    is_torn_ = false;
  }
  codes_.back() = code;
}

std::vector<std::byte> ReleaseLedger::state() {
  require_whole();
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

void ReleaseLedger::acknowledge(std::int64_t num_steps) {
  require_between(kName, "num_steps", num_steps, 0, num_decided());
  num_acknowledged_ = std::max(num_acknowledged_, num_steps);
}

std::span<const double> ReleaseLedger::released(std::int64_t step) const {
  require_between(kName, "step", step, 0, num_acknowledged_ - 1);
  const auto width = static_cast<std::size_t>(dimension());
  return std::span(releases_).subspan(static_cast<std::size_t>(step) * width, width);
}

void ReleaseLedger::restore(std::span<const std::byte> bytes) {
  const detail::CheckpointHeader header =
      detail::open_checkpoint(kName,
                              {.kind = detail::CheckpointKind::ledger,
                               .fingerprint = sums_.fingerprint(),
                               .commitment = sums_.commitment_},
                              num_steps(), bytes);
  const std::span<const std::byte> rest = bytes.subspan(detail::kCheckpointHeaderSize);
  const auto count = static_cast<std::size_t>(header.step);
  const auto width = static_cast<std::size_t>(dimension());
  const std::size_t entry_size = Code().size() + 8 * width;
  const std::uint64_t entries_size = static_cast<std::uint64_t>(count) * entry_size;
  const std::uint64_t sums_size = rest.size() < 8 ? 0 : detail::word_at(rest, 0);
  const bool is_whole = rest.size() >= 8 && sums_size <= rest.size() - 8 &&
                        rest.size() - 8 - sums_size == entries_size;
  // The steps of the sums are those of the entries: the header of a checkpoint begins with them.
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
  num_acknowledged_ = header.step;
  is_torn_ = false;
}

}  // namespace dpftrl
