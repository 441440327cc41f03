// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/people.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/erase.hpp"
#include "base/reserve.hpp"
#include "release/journal_log.hpp"
#include "release/stored_numbers.hpp"

namespace dpftrl {
namespace {

/// Adds a row to a part. Sums that overflow become the largest double.
void add_to_part(std::vector<double>& part, std::span<const double> row) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < part.size(); ++i)
    part[i] = std::clamp(part[i] + row[i], -kLargest, kLargest);
}

detail::HmacSecret code_secret(const Key& key) {
  const auto words = random_block(key, {.stream = Stream::journal, .row = 0, .block = 0});
  std::array<std::byte, 4 * words.size()> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  const detail::HmacSecret secret(bytes);
  detail::erase(bytes);
  return secret;
}

}  // namespace

CodeSecret::CodeSecret(const Key& key) : hmac_(code_secret(key)) {}

People::People(const Participation& participation, CodeSecret secret, bool adds)
    : participation_(participation),
      secret_(std::move(secret)),
      adds_(adds),
      bound_(participation) {}

Code People::code_of(std::string_view person) const {
  return detail::person_code(secret_.hmac(), std::as_bytes(std::span(person)));
}

bool People::admit(const Code& person, std::span<const double> row, std::int64_t step) {
  reserve_one_more(open_);
  reserve_one_more(changed_);
  std::vector<double> part(row.size());
  Entry* const entry = &*people_.try_emplace(person).first;
  // Nothing below throws.
  Person& own = entry->second;
  const bool is_repeated = !adds_ && !own.part.empty();
  if (is_repeated || !bound_.admits(own.counted, step)) {
    ++num_dropped_;
    return false;
  }
  if (own.part.empty()) {
    own.part = std::move(part);
    open_.push_back(entry);
  }
  add_to_part(own.part, row);
  if (!std::exchange(own.is_changed, true)) changed_.push_back(entry);
  return true;
}

void People::end_step() {
  for (Entry* const entry : open_) {
    entry->second.part = std::vector<double>();
    entry->second.is_changed = false;
  }
  open_.clear();
  changed_.clear();
}

void People::append_changes(std::vector<std::byte>& bytes) const {
  for (const Entry* const entry : changed_) {
    detail::append_bytes(bytes, entry->first);
    detail::append_doubles(bytes, entry->second.part);
  }
}

void People::mark_stored() {
  for (Entry* const entry : changed_) entry->second.is_changed = false;
  changed_.clear();
}

void People::take_changes(std::span<const std::byte> bytes, std::int64_t step,
                          std::int64_t row_size) {
  detail::StoredNumbers stored(bytes);
  while (!stored.is_empty()) {
    Entry* const entry = &*people_.try_emplace(stored.code()).first;
    if (!bound_.admits(entry->second.counted, step))
      detail::fail_state("must have contributions that {participation} allows");
    if (entry->second.part.empty()) open_.push_back(entry);
    entry->second.part = stored.doubles(row_size);
  }
}

void People::append_state(std::vector<std::byte>& bytes, std::int64_t step) const {
  for (const auto& [code, person] : people_) {
    detail::append_bytes(bytes, code);
    detail::append_number(bytes, person.counted.times);
    detail::append_number(bytes, person.counted.last);
    if (person.counted.last == step) detail::append_doubles(bytes, person.part);
  }
}

void People::take_state(std::span<const std::byte> bytes, std::int64_t step,
                        std::int64_t row_size) {
  detail::StoredNumbers stored(bytes);
  Everybody people;
  std::vector<Entry*> open;
  while (!stored.is_empty()) {
    const auto [at, is_new] = people.try_emplace(stored.code());
    Person& person = at->second;
    person.counted = {.times = stored.number(), .last = stored.number()};
    if (!is_new || person.counted.times < 1 || person.counted.times > participation_.times() ||
        person.counted.last < 0 || person.counted.last > step)
      detail::fail_state("must have a count and a last step for each person");
    // Only people who counted at the open step have a part of it.
    if (person.counted.last < step) continue;
    person.part = stored.doubles(row_size);
    open.push_back(&*at);
  }
  bound_ = ContributionBound(participation_);
  people_ = std::move(people);
  open_ = std::move(open);
  changed_.clear();
}

std::vector<std::int64_t> People::rule() const {
  return {participation_.times(), participation_.apart(), std::int64_t{adds_}};
}

}  // namespace dpftrl
