// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/active_people.hpp"

#include <algorithm>
#include <iterator>

#include "base/reserve.hpp"
#include "dpftrl/base/error.hpp"
#include "release/journal_log.hpp"
#include "release/stored_numbers.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kActive = "active";

/// Flags in stored bytes for how a person changed in the open step; flags are added up.
constexpr std::int64_t kSeen = 1, kForgotten = 2;

}  // namespace

ActivePeople::ActivePeople(std::span<const std::int64_t> windows, CodeSecret secret)
    : windows_(windows.begin(), windows.end()),
      secret_(std::move(secret)),
      num_last_seen_(static_cast<std::size_t>(std::ranges::max(windows_))),
      before_(windows_.size()) {}

Code ActivePeople::code_of(std::string_view person) const {
  return detail::person_code(secret_.hmac(), std::as_bytes(std::span(person)));
}

void ActivePeople::see(Person& person) {
  if (person.last == step_) return;
  if (person.last != kNever) --num_last_seen(person.last);
  ++num_last_seen(step_);
  person.last = step_;
}

void ActivePeople::admit(const Code& person, std::span<const double> row, std::int64_t /*step*/) {
  const bool is_request = row[0] == static_cast<double>(PersonEvent::forgotten);
  reserve_one_more(changed_);
  Entry* const entry = &*people_.try_emplace(person).first;
  // Nothing below throws.
  Person& own = entry->second;
  if (!is_request && own.forgotten != kNever) {
    ++num_dropped_;
    return;
  }
  if ((is_request ? own.forgotten : own.last) == step_) return;
  if (is_request)
    own.forgotten = step_;
  else
    see(own);
  if (!std::exchange(own.is_changed, true)) changed_.push_back(entry);
}

std::vector<std::int64_t> ActivePeople::counts() const {
  std::vector<std::int64_t> counts;
  for (const std::int64_t window : windows_) {
    std::int64_t count = 0;
    for (std::int64_t step = std::max<std::int64_t>(0, step_ - window + 1); step <= step_; ++step)
      count += num_last_seen_[static_cast<std::size_t>(step) % num_last_seen_.size()];
    counts.push_back(count);
  }
  return counts;
}

std::vector<std::int64_t> ActivePeople::changes() const {
  std::vector<std::int64_t> changes = counts();
  for (std::size_t i = 0; i < before_.size(); ++i) changes[i] -= before_[i];
  return changes;
}

void ActivePeople::end_step() {
  before_ = counts();
  mark_stored();
  ++step_;
  // The open step reuses the slot of the step that has left every window.
  num_last_seen(step_) = 0;
  const std::int64_t leaving = step_ - std::ssize(num_last_seen_);
  for (auto at = people_.begin(); at != people_.end();) {
    Person& person = at->second;
    if (person.last == leaving) person.last = kNever;
    if (person.forgotten == leaving) person.forgotten = kNever;
    const bool is_gone = person.last == kNever && person.forgotten == kNever;
    at = is_gone ? people_.erase(at) : std::next(at);
  }
}

void ActivePeople::append_changes(std::vector<std::byte>& bytes) const {
  for (const Entry* const entry : changed_) {
    const auto& [code, person] = *entry;
    detail::append_bytes(bytes, code);
    detail::append_number(
        bytes, (person.last == step_ ? kSeen : 0) + (person.forgotten == step_ ? kForgotten : 0));
  }
}

void ActivePeople::mark_stored() {
  for (Entry* const entry : changed_) entry->second.is_changed = false;
  changed_.clear();
}

void ActivePeople::take_changes(std::span<const std::byte> bytes, std::int64_t /*step*/,
                                std::int64_t /*row_size*/) {
  detail::StoredNumbers stored(bytes);
  while (!stored.is_empty()) {
    const Code code = stored.code();
    const std::int64_t change = stored.number();
    if (change < kSeen || change > kSeen + kForgotten)
      detail::fail_state("must have people who were seen, or who are to be forgotten");
    Person& person = people_.try_emplace(code).first->second;
    if ((change & kSeen) != 0) see(person);
    if ((change & kForgotten) != 0) person.forgotten = step_;
  }
}

void ActivePeople::append_state(std::vector<std::byte>& bytes, std::int64_t /*step*/) const {
  detail::append_integers(bytes, before_);
  for (const auto& [code, person] : people_) {
    detail::append_bytes(bytes, code);
    detail::append_number(bytes, person.last);
    detail::append_number(bytes, person.forgotten);
  }
}

void ActivePeople::take_state(std::span<const std::byte> bytes, std::int64_t step,
                              std::int64_t /*row_size*/) {
  detail::StoredNumbers stored(bytes);
  std::vector<std::int64_t> before = stored.integers(std::ssize(before_));
  Everybody people;
  const std::int64_t longest = std::ssize(num_last_seen_);
  std::vector<std::int64_t> num_last_seen(num_last_seen_.size());
  while (!stored.is_empty()) {
    const auto [at, is_new] = people.try_emplace(stored.code());
    Person& person = at->second;
    person.last = stored.number();
    person.forgotten = stored.number();
    const auto is_kept = [&](std::int64_t at_step) {
      return at_step >= 0 && at_step <= step && at_step > step - longest;
    };
    for (const std::int64_t at_step : {person.last, person.forgotten})
      if (at_step != kNever && !is_kept(at_step))
        detail::fail_state("must have steps within the longest window");
    if (!is_new || (person.last == kNever && person.forgotten == kNever))
      detail::fail_state("must have people who were seen, or who are to be forgotten");
    if (person.last != kNever) ++num_last_seen[static_cast<std::size_t>(person.last % longest)];
  }
  people_ = std::move(people);
  num_last_seen_ = std::move(num_last_seen);
  before_ = std::move(before);
  changed_.clear();
  step_ = step;
}

std::vector<std::int64_t> ActivePeople::rule() const {
  std::vector<std::int64_t> rule = {-1};  // no other rule begins with it
  rule.insert(rule.end(), windows_.begin(), windows_.end());
  return rule;
}

ActiveCounts::ActiveCounts(ActiveCountsOptions options)
    : options_(std::move(options)),
      beyond_(1 - require_inside(kActive, "confidence", options_.confidence, 0, 1)) {
  require_between(kActive, "windows", dimension(), 1, Mechanism::kMaxStack);
  for (const std::int64_t window : options_.windows)
    require_between(kActive, "windows", window, 1, kMaxNumSteps);
}

std::vector<Estimate> ActiveCounts::read(const NoisySums& sums) const {
  std::vector<Estimate> all;
  for (std::int64_t i = 0; i < dimension(); ++i) {
    const double value = sums.values[static_cast<std::size_t>(i)];
    const double half =
        sums.noise.release_half_width({.step = sums.step, .probability = beyond_, .coordinate = i});
    all.push_back({.value = value,
                   .low = value - half,
                   .high = value + half,
                   .stddev = sums.noise.release_stddev_of({.step = sums.step, .coordinate = i})});
  }
  return all;
}

std::shared_ptr<const Mechanism> ActiveCounts::mechanism(MechanismOptions options) const {
  if (!options_.is_endless)
    for (const std::int64_t window : options_.windows)
      require_between(kActive, "windows", window, 1, options.steps);
  options.neighbours = options_.neighbours;
  options.participation = Participation::active({.window = options_.windows.front(),
                                                 .has_open_start = options_.has_open_start,
                                                 .neighbours = options_.neighbours});
  return options_.is_endless ? Mechanism::make_endless_active(options, options_.windows)
                             : Mechanism::make_active(options, options_.windows);
}

PrefixSumOptions ActiveCounts::release_options(PrefixSumOptions options) const {
  options.dimension = dimension();
  options.grid = 1;
  return options;
}

}  // namespace dpftrl
