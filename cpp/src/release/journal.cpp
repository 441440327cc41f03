// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/journal.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/sha256.hpp"
#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"
#include "release/grid/quantiser.hpp"
#include "release/journal_log.hpp"
#include "release/stored_numbers.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kJournal = "stream";

LogTag fingerprint_of(const LogTag& sums, const JournalIdentity& identity) {
  detail::Sha256 hash;
  hash.append(std::span<const std::byte>(sums));
  for (const std::int64_t number : identity.rule) hash.append(number);
  hash.append(std::as_bytes(std::span(identity.about)));
  return detail::shortened(hash.finish());
}

}  // namespace

void detail::OpenSums::require_open(std::int64_t num_contributions) const {
  sums_.require_left(1);
  sums_.require_room(num_contributions);
}

void detail::OpenSums::add_to(Contributions& step, std::span<const double> row) const {
  static constexpr std::array<double, 1> kOne = {1};
  add_to(step, ProductRecord{.scales = kOne, .features = row});
}

void detail::OpenSums::add_to(Contributions& step, const ProductRecord& row) const {
  add_integers(step, sums_.integers_of(row));
}

void detail::OpenSums::add_to(Contributions& step, const CountChanges& changes) const {
  add_integers(step, sums_.integers_of(changes));
}

void detail::OpenSums::add_integers(Contributions& step, const GridRecord& record) const {
  if (step.integers.empty()) step.integers.resize(static_cast<std::size_t>(sums_.record_size()));
  record.add_to(step.integers);
  ++step.count;
}

void detail::OpenSums::release(Contributions step, std::span<double> noisy) {
  sums_.release_integers(std::move(step.integers), step.count, noisy);
}

Journal::Journal(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options,
                 const JournalIdentity& identity)
    : OpenSums(std::move(mechanism), options),
      secret_(options.key),
      fingerprint_(fingerprint_of(fingerprint(), identity)),
      open_code_(code_of(0)) {}

LogTag Journal::log_tag(std::span<const std::byte> base) const {
  return detail::base_tag(secret_.hmac(), base);
}

std::span<const double> Journal::released(std::int64_t step) const {
  require_between(kJournal, "step", step, 0, num_acknowledged_ - 1);
  return decided(step);
}

std::span<const double> Journal::decided(std::int64_t step) const {
  const auto width = static_cast<std::size_t>(sums_.dimension());
  return std::span(releases_).subspan(static_cast<std::size_t>(step) * width, width);
}

Code Journal::code_of(std::int64_t step) const {
  return detail::step_code(secret_.hmac(), step);
}

Code Journal::code_after(const Code& before, std::span<const std::byte> person,
                         std::span<const double> row) const {
  return detail::record_code(secret_.hmac(), before, person, row);
}

void Journal::decide(Contributions step, Bytes change) {
  // Allocates first: nothing may fail once the sums have taken the step.
  const auto width = static_cast<std::size_t>(sums_.dimension());
  const std::int64_t next = sums_.step() + 1;
  codes_.resize(static_cast<std::size_t>(next));
  releases_.resize(static_cast<std::size_t>(next) * width);
  if (pending_.size() == pending_.capacity()) pending_.reserve(2 * pending_.size() + 1);
  step.integers.resize(static_cast<std::size_t>(sums_.record_size()));
  release(step, std::span(releases_).last(width));
  codes_.back() = open_code_;
  pending_.push_back({.step = std::move(step), .change = std::move(change)});
  open_ = {};
  open_code_ = code_of(next);
}

void Journal::append_open(const RecordCounts& counts, Bytes& bytes) const {
  detail::append_number(bytes, counts.records);
  detail::append_number(bytes, counts.ended);
  detail::append_number(bytes, counts.dropped);
  detail::append_bytes(bytes, open_code_);
  detail::append_number(bytes, open_.count);
  if (open_.count > 0) detail::append_integers(bytes, open_.integers);
}

std::span<const std::byte> Journal::take_open(std::span<const std::byte> bytes,
                                              RecordCounts& counts) {
  detail::StoredNumbers stored(bytes);
  const RecordCounts found{
      .records = stored.count(), .ended = stored.count(), .dropped = stored.count()};
  const Code code = stored.code();
  Contributions open{.count = stored.count(), .integers = {}};
  if (open.count > 0) open.integers = stored.integers(sums_.record_size());
  if (found.waiting() < open.count || found.dropped > found.records)
    detail::fail_state("must have at least as many records as contributions");
  counts = found;
  open_code_ = code;
  open_ = std::move(open);
  return stored.rest();
}

Journal::Bytes Journal::state(std::span<const std::byte> open) {
  const Bytes sums = sums_.checkpoint();
  Bytes bytes = detail::begin_checkpoint();
  const auto count = codes_.size();
  const auto width = static_cast<std::size_t>(sums_.dimension());
  bytes.reserve(bytes.size() + 8 + sums.size() + count * (Code().size() + 8 * width) + open.size());
  detail::append_number(bytes, std::ssize(sums));
  detail::append_bytes(bytes, sums);
  for (std::size_t t = 0; t < count; ++t) {
    detail::append_bytes(bytes, codes_[t]);
    detail::append_doubles(bytes, std::span(releases_).subspan(t * width, width));
  }
  detail::append_bytes(bytes, open);
  detail::seal_checkpoint({.kind = detail::CheckpointKind::stream,
                           .step = sums_.step(),
                           .fingerprint = fingerprint_,
                           .commitment = commitment()},
                          bytes);
  return bytes;
}

void Journal::restore(
    std::span<const std::byte> bytes,
    const std::function<void(std::int64_t, std::span<const std::byte>)>& take_open) {
  const detail::CheckpointHeader header =
      detail::open_checkpoint(kJournal,
                              {.kind = detail::CheckpointKind::stream,
                               .fingerprint = fingerprint_,
                               .commitment = commitment()},
                              sums_.steps(), bytes);
  detail::StoredNumbers stored(bytes.subspan(detail::kCheckpointHeaderSize));
  const std::span<const std::byte> sums = stored.bytes(static_cast<std::uint64_t>(stored.count()));
  // The header of the sums' checkpoint states their step, which must be the step of the releases.
  if (sums.size() < detail::kCheckpointHeaderSize ||
      detail::word_at(sums, 8) != static_cast<std::uint64_t>(header.step))
    detail::fail_state("must contain the sums of " + to_text(header.step) + " steps");
  std::vector<Code> codes;
  std::vector<double> releases;
  for (std::int64_t t = 0; t < header.step; ++t) {
    codes.push_back(stored.code());
    const std::vector<double> release = stored.doubles(sums_.dimension());
    releases.insert(releases.end(), release.begin(), release.end());
  }
  OpenSums::restore(sums);
  codes_ = std::move(codes);
  releases_ = std::move(releases);
  pending_.clear();
  num_acknowledged_ = header.step;
  take_open(header.step, stored.rest());
}

std::size_t Journal::step_size() const {
  return 8 + Code().size() + 8 * static_cast<std::size_t>(sums_.dimension() + sums_.record_size());
}

LogPart Journal::frame(const LogTag& before, std::int64_t max_steps,
                       std::span<const std::byte> open) const {
  require_between(kJournal, "max_steps", max_steps, 1, kAllSteps);
  const auto width = static_cast<std::size_t>(sums_.dimension());
  const std::int64_t num_pending = sums_.step() - num_acknowledged_;
  const std::int64_t steps = std::min(num_pending, max_steps);
  Bytes decisions, changes;
  bool has_changes = false;
  decisions.reserve(static_cast<std::size_t>(steps) * step_size());
  const auto append_change = [&](std::span<const std::byte> change) {
    detail::append_number(changes, std::ssize(change));
    detail::append_bytes(changes, change);
    has_changes = has_changes || !change.empty();
  };
  auto t = static_cast<std::size_t>(num_acknowledged_);
  for (const Pending& pending : std::span(pending_)
                                    .last(static_cast<std::size_t>(num_pending))
                                    .first(static_cast<std::size_t>(steps))) {
    append_change(pending.change);
    detail::append_number(decisions, pending.step.count);
    detail::append_bytes(decisions, codes_[t]);
    detail::append_doubles(decisions, std::span(releases_).subspan(t++ * width, width));
    detail::append_integers(decisions, pending.step.integers);
  }
  // The open step comes after all other steps.
  append_change(steps == num_pending ? open : std::span<const std::byte>());
  auto [bytes, tag] = detail::seal_frame(
      secret_.hmac(), before,
      {.first_step = num_acknowledged_,
       .steps = steps,
       .decisions = decisions,
       .memo = has_changes ? std::optional(std::span<const std::byte>(changes)) : std::nullopt});
  return {.bytes = std::move(bytes), .tag = tag, .steps = steps};
}

void Journal::acknowledge(std::int64_t steps) {
  require_between(kJournal, "steps", steps, 0, sums_.step());
  num_acknowledged_ = std::max(num_acknowledged_, steps);
  // Erases at least half of all at once, so that a series of frames costs O(1) per step.
  const std::int64_t num_old = std::ssize(pending_) - (sums_.step() - num_acknowledged_);
  if (2 * num_old >= std::ssize(pending_))
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(num_old));
}

LogEnd Journal::read(std::span<const std::byte> log, const LogOptions& options,
                     const std::function<void(Event&&)>& use) {
  detail::LogReader reader(log, options.before,
                           {.secret = secret_.hmac(),
                            .step_size = step_size(),
                            .first_step = sums_.step(),
                            .steps = sums_.steps(),
                            .position = static_cast<std::size_t>(options.position)});
  while (const std::optional<detail::LogFrame> frame = reader.next()) {
    detail::StoredNumbers changes(frame->memo.value_or(std::span<const std::byte>()));
    detail::StoredNumbers decisions(frame->decisions);
    const auto next_change = [&] {
      if (!frame->memo) return std::span<const std::byte>();
      return changes.bytes(static_cast<std::uint64_t>(changes.count()));
    };
    for (std::int64_t i = 0; i < frame->steps; ++i) {
      Event event{.change = next_change(), .code = {}, .step = {}, .noisy = {}};
      event.step.count = decisions.count();
      event.code = decisions.code();
      event.noisy = decisions.doubles(sums_.dimension());
      event.step.integers = decisions.integers(sums_.record_size());
      use(std::move(event));
    }
    use({.change = next_change(), .code = {}, .step = {}, .noisy = {}});
    if (!changes.is_empty()) detail::fail_state("must have one change per step");
  }
  return {.tag = reader.tag(), .size = reader.size()};
}

void Journal::repeat(Event&& event) {
  open_code_ = *event.code;
  decide(std::move(event.step), {});
  const std::span<const double> made = std::span(releases_).last(event.noisy.size());
  for (std::size_t i = 0; i < made.size(); ++i)
    if (std::bit_cast<std::uint64_t>(made[i]) != std::bit_cast<std::uint64_t>(event.noisy[i]))
      fail(ErrorCode::bad_state, kJournal, "checkpoint",
           "must have the releases of this library, step " + to_text(sums_.step() - 1),
           "one with other bits");
}

}  // namespace dpftrl
