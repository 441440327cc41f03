// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Decides what counts: all records, or those of each person at the earliest steps that the
/// participation allows.
///
/// ```cpp
/// dpftrl::People people(dpftrl::Participation::single(),
///                       dpftrl::CodeSecret(dpftrl::Key::insecure_from_seed(1)), /*adds=*/true);
/// const auto ann = people.code_of("ann"), bob = people.code_of("bob");
/// assert(people.admit(ann, std::array{1.0}, /*step=*/0));
/// assert(people.admit(ann, std::array{1.0}, 0));  // her record of the step is now 2
/// people.end_step();
/// assert(!people.admit(ann, std::array{1.0}, 1));  // she took part
/// assert(people.admit(bob, std::array{1.0}, 1));
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/base/hmac_secret.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

/// Code of a person, or of the records of a step: HMAC-SHA256, truncated to 128 bits. It is keyed,
/// so that no one without the secret can find two people with the same code.
using Code = std::array<std::byte, 16>;

/// Secret of the codes, derived from the key of the noise.
class CodeSecret {
 public:
  explicit CodeSecret(const Key& key);

  const detail::HmacSecret& hmac() const { return hmac_; }

 private:
  detail::HmacSecret hmac_;
};

/// Sum of the contributions to a step, in integers.
struct Contributions {
  std::int64_t count = 0;
  std::vector<std::int64_t> integers;
};

/// Records without people: all of them count. The caller promises that they respect the
/// participation.
class Records {
 public:
  Records(const Participation&, const CodeSecret&, bool) {}
  static std::vector<std::int64_t> rule() { return {0, 0, 0}; }
};

/// Lets through one contribution per person and step, at the earliest steps that the participation
/// allows each person, and keeps the contributions to the open step. Names are not kept.
///
/// @guarantee   what counts for one person does not depend on other people, so leaving a person out
///              changes nothing but that person's contributions, each of which is clipped as a
///              whole.
/// @checked-by  stream_test "a person left out changes what the person contributed, and no more"
class People {
 public:
  /// @param adds  whether a person's rows of a step add up to one contribution. Otherwise only the
  ///              first row counts.
  /// @throws Error{invalid_argument} as ContributionBound.
  People(const Participation& participation, CodeSecret secret, bool adds);

  Code code_of(std::string_view person) const;

  /// Adds a row to the person's part of the open step. Sums beyond the range of double saturate.
  /// @param row   finite numbers, equally many at each call.
  /// @param step  the open step.
  /// @return      whether the row counts. Not private.
  /// @throws      std::bad_alloc; then nothing has changed.
  bool admit(const Code& person, std::span<const double> row, std::int64_t step);

  /// Calls `use(part)` for each person who counts in the open step, in order of arrival.
  template <typename Use>
  void for_each_part(Use&& use) const {
    for (const Entry* const entry : open_) use(std::span<const double>(entry->second.part));
  }
  /// Forgets the parts of the step, but not the participants.
  void end_step();

  /// People who count in the open step. Not private.
  std::int64_t num_open() const { return std::ssize(open_); }
  /// Rows that did not count. Not private.
  std::int64_t num_dropped() const { return num_dropped_; }

  // A journal stores and reads the following.

  /// Appends the parts of the open step that changed since mark_stored().
  void append_changes(std::vector<std::byte>& bytes) const;
  void mark_stored();
  /// @throws Error{bad_state} parts that the participation does not allow.
  void take_changes(std::span<const std::byte> bytes, std::int64_t step, std::int64_t row_size);
  /// Appends all participants, in the order of their codes, and the parts of the open step.
  void append_state(std::vector<std::byte>& bytes, std::int64_t step) const;
  /// @throws Error{bad_state}; then nothing has changed.
  void take_state(std::span<const std::byte> bytes, std::int64_t step, std::int64_t row_size);
  void set_num_dropped(std::int64_t num_dropped) { num_dropped_ = num_dropped; }
  /// The participation and `adds`, so that states with others are refused even if the noise is the
  /// same.
  std::vector<std::int64_t> rule() const;

 private:
  struct Person {
    ContributionBound::Counted counted;
    std::vector<double> part = {};  ///< of the open step; empty if there is none
    bool is_changed = false;        ///< in changed_
  };
  /// Ordered, so that a state does not reveal who came first.
  using Everybody = std::map<Code, Person>;
  using Entry = Everybody::value_type;

  Participation participation_;
  CodeSecret secret_;
  bool adds_;
  ContributionBound bound_;
  Everybody people_;
  std::vector<Entry*> open_;     ///< who counts in the open step
  std::vector<Entry*> changed_;  ///< people whose part is not stored
  std::int64_t num_dropped_ = 0;
};

}  // namespace dpftrl
