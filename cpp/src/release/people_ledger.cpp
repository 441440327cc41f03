// SPDX-License-Identifier: Apache-2.0

/// Contributions of persons in frames and states of a ledger (docs/math/checkpoints.md).

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "base/sha256.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/release_ledger.hpp"
#include "noise/checkpoint.hpp"
#include "release/person_part.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kPeopleLedger = "people_ledger";

/// Reserves room for one more value, so that appending it cannot fail.
template <typename Value>
void make_room(std::vector<Value>& values) {
  if (values.size() == values.capacity()) values.reserve(2 * values.size() + 8);
}

[[noreturn]] void fail_state(std::string constraint) {
  fail(ErrorCode::bad_state, std::string(kPeopleLedger), "checkpoint", std::move(constraint),
       "something else");
}

/// Reads stored values from the front.
class Stored {
 public:
  explicit Stored(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool is_empty() const { return rest_.empty(); }

  std::span<const std::byte> bytes(std::uint64_t size) {
    if (size > rest_.size()) fail_state("must contain whole entries of people");
    const auto first = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(first.size());
    return first;
  }

  std::uint64_t word() { return detail::word_at(bytes(8), 0); }
  std::int64_t number() { return static_cast<std::int64_t>(word()); }

  detail::ShortDigest code() {
    detail::ShortDigest code;
    std::ranges::copy(bytes(code.size()), code.begin());
    return code;
  }

  std::vector<double> part(std::int64_t dimension) {
    std::vector<double> part(static_cast<std::size_t>(dimension));
    for (double& x : part) x = std::bit_cast<double>(word());
    if (!std::ranges::all_of(part, [](double x) { return std::isfinite(x); }))
      fail_state("must have finite parts of people");
    return part;
  }

 private:
  std::span<const std::byte> rest_;
};

void append_number(std::vector<std::byte>& bytes, std::int64_t number) {
  detail::append_word(bytes, static_cast<std::uint64_t>(number));
}

void append_part(std::vector<std::byte>& bytes, std::span<const double> part) {
  for (const double x : part) detail::append_word(bytes, std::bit_cast<std::uint64_t>(x));
}

}  // namespace

PeopleLedger::PeopleLedger(std::shared_ptr<const Mechanism> mechanism,
                           const PrefixSumOptions& options, const PeopleLedgerOptions& people)
    : Ledger(std::move(mechanism), options),
      bound_(this->mechanism().participation()),
      first_only_(people.first_only),
      about_(people.about) {}

bool PeopleLedger::contribute(std::string_view person, std::span<const double> values) {
  require_length(kPeopleLedger, "values", std::ssize(values), dimension());
  require_all_finite(kPeopleLedger, "values", values);
  if (num_decided() == steps())
    fail(ErrorCode::past_horizon, std::string(kPeopleLedger), "step",
         "must be below the horizon " + to_text(steps()), to_text(num_decided()));
  // A frame has contributions first and then steps, so none may follow a step that is not stored.
  if (num_acknowledged() != num_decided())
    fail_argument(kPeopleLedger, "step", "acknowledged before others contribute",
                  to_text(num_acknowledged()));
  make_room(open_);
  make_room(changed_);
  std::vector<double> part(values.size());
  Entry* const entry = &*people_.try_emplace(code_of_person(person)).first;
  // Nothing below throws.
  ++num_contributions_;
  const bool is_repeated = first_only_ && !entry->second.part.empty();
  if (is_repeated || !bound_.admits(entry->second.counted, num_decided())) {
    ++num_dropped_;
    return false;
  }
  if (entry->second.part.empty()) {
    entry->second.part = std::move(part);
    open_.push_back(entry);
  }
  detail::add_to_part(entry->second.part, values);
  if (!std::exchange(entry->second.is_changed, true)) changed_.push_back(entry);
  return true;
}

void PeopleLedger::decide(std::int64_t step) {
  require_between(kPeopleLedger, "step", step, 0, num_decided());
  if (step < num_decided()) return;
  std::optional<Bytes> noted = noted_ ? std::nullopt : changes();
  decide_integers(code_of(step, {}),
                  {.num_contributions = std::ssize(open_), .integers = open_integers()});
  if (noted) {
    noted_ = std::move(noted);
    noted_step_ = step;
  }
  end_step();
}

/// Sum of the parts of the open step, each clipped and on the grid.
std::vector<std::int64_t> PeopleLedger::open_integers() const {
  std::vector<std::int64_t> sum(static_cast<std::size_t>(dimension()));
  for (const Entry* const entry : open_) {
    const std::vector<std::int64_t> part = integers_of(entry->second.part);
    std::ranges::transform(sum, part, sum.begin(), std::plus());
  }
  return sum;
}

void PeopleLedger::end_step() {
  for (Entry* const entry : open_) {
    entry->second.part = std::vector<double>();
    entry->second.is_changed = false;
  }
  open_.clear();
  changed_.clear();
}

/// Contributions that are not acknowledged, in the format of a frame; nullopt if there are none.
std::optional<PeopleLedger::Bytes> PeopleLedger::changes() const {
  if (num_contributions_ == num_stored_) return std::nullopt;
  Bytes bytes;
  append_number(bytes, num_contributions_);
  append_number(bytes, num_dropped_);
  for (const Entry* const entry : changed_) {
    bytes.insert(bytes.end(), entry->first.begin(), entry->first.end());
    append_part(bytes, entry->second.part);
  }
  return bytes;
}

PeopleLedger::LogPart PeopleLedger::log_frame(const LogTag& before, const FrameOptions& options) {
  if (options.memo) fail_argument(kPeopleLedger, "memo", "left out", "one");
  const std::optional<Bytes> noted = noted_ ? noted_ : changes();
  LogPart part = Ledger::log_frame(before, {.memo = noted, .max_steps = options.max_steps});
  num_recorded_ = num_contributions_;
  return part;
}

void PeopleLedger::acknowledge(std::int64_t steps) {
  Ledger::acknowledge(steps);
  if (noted_ ? num_acknowledged() <= noted_step_ : num_recorded_ != num_contributions_) return;
  noted_.reset();
  num_stored_ = num_contributions_;
  for (Entry* const entry : changed_) entry->second.is_changed = false;
  changed_.clear();
}

void PeopleLedger::take_memo(std::span<const std::byte> memo, LogEnd&) {
  Stored stored(memo);
  num_contributions_ = num_recorded_ = stored.number();
  num_dropped_ = stored.number();
  while (!stored.is_empty()) {
    Entry* const entry = &*people_.try_emplace(stored.code()).first;
    if (!bound_.admits(entry->second.counted, num_decided()))
      fail_state("must have contributions that {participation} allows");
    if (entry->second.part.empty()) open_.push_back(entry);
    entry->second.part = stored.part(dimension());
  }
}

void PeopleLedger::begin_repeat(const Pending& step) {
  if (step.num_contributions != std::ssize(open_) || step.integers != open_integers())
    fail_state("must have the sums of what was contributed, step " + to_text(num_decided()));
  end_step();
}

/// Identifies a state, because two patterns may have the same noise, and two statistics the same
/// columns.
std::array<std::byte, 16> PeopleLedger::people_fingerprint() const {
  detail::Sha256 hash;
  hash.append(std::span<const std::byte>(fingerprint()));
  hash.append(mechanism().participation().times());
  hash.append(mechanism().participation().apart());
  if (first_only_ || !about_.empty()) {
    hash.append(std::int64_t{first_only_});
    hash.append(std::as_bytes(std::span(about_)));
  }
  return detail::shortened(hash.finish());
}

std::vector<std::byte> PeopleLedger::state() {
  const Bytes sums = Ledger::state();
  Bytes bytes = detail::begin_checkpoint();
  append_number(bytes, std::ssize(sums));
  bytes.insert(bytes.end(), sums.begin(), sums.end());
  append_number(bytes, num_contributions_);
  append_number(bytes, num_dropped_);
  for (const auto& [code, person] : people_) {
    bytes.insert(bytes.end(), code.begin(), code.end());
    append_number(bytes, person.counted.times);
    append_number(bytes, person.counted.last);
    append_part(bytes, person.part);
  }
  detail::seal_checkpoint({.kind = detail::CheckpointKind::people_ledger,
                           .step = num_decided(),
                           .fingerprint = people_fingerprint(),
                           .commitment = key_commitment()},
                          bytes);
  num_recorded_ = num_contributions_;
  return bytes;
}

void PeopleLedger::restore(std::span<const std::byte> bytes) {
  const detail::CheckpointHeader header =
      detail::open_checkpoint(kPeopleLedger,
                              {.kind = detail::CheckpointKind::people_ledger,
                               .fingerprint = people_fingerprint(),
                               .commitment = key_commitment()},
                              steps(), bytes);
  Stored stored(bytes.subspan(detail::kCheckpointHeaderSize));
  const std::span<const std::byte> sums = stored.bytes(stored.word());
  const std::int64_t num_contributions = stored.number();
  const std::int64_t num_dropped = stored.number();
  People people;
  std::vector<Entry*> open;
  while (!stored.is_empty()) {
    const auto [at, is_new] = people.try_emplace(stored.code());
    Person& person = at->second;
    person.counted = {.times = stored.number(), .last = stored.number()};
    if (!is_new || person.counted.times < 1 || person.counted.last < 0 ||
        person.counted.last > header.step)
      fail_state("must have steps that people counted at");
    // A person who counted at the open step has a part of it.
    if (person.counted.last < header.step) continue;
    person.part = stored.part(dimension());
    open.push_back(&*at);
  }
  if (sums.size() < detail::kCheckpointHeaderSize ||
      detail::word_at(sums, 8) != static_cast<std::uint64_t>(header.step))
    fail_state("must contain the sums of " + to_text(header.step) + " steps");
  Ledger::restore(sums);
  bound_ = ContributionBound(mechanism().participation());
  people_ = std::move(people);
  open_ = std::move(open);
  changed_.clear();
  noted_.reset();
  num_contributions_ = num_recorded_ = num_stored_ = num_contributions;
  num_dropped_ = num_dropped;
}

}  // namespace dpftrl
