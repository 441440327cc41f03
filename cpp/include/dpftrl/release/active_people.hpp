// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Counts of active people: how many did something within the last day, week or month, counted
/// every day. All events of one person are protected, however many there are.
///
///     events of a step --> [ActivePeople] --> changes of the counts --> [Place] --> counts + noise
///                          last active step                                              |
///                          of each person            reading <-- [ActiveCounts] <--------+
///
/// ```cpp
/// #include "dpftrl/release/stream.hpp"
/// using ActiveStream = dpftrl::RecordStream<dpftrl::ActiveCounts, dpftrl::ActivePeople>;
/// const dpftrl::ActiveCounts counts({.windows = {1, 7}});
/// const auto mechanism =
///     counts.mechanism({.steps = 365, .target = {.epsilon = 1, .delta = 1e-6}});
/// ActiveStream users(counts, mechanism, {.key = dpftrl::Key::from_entropy()});
/// users.add("ann");
/// users.add("ann");  // any number of times
/// users.add("bob");
/// const std::vector<dpftrl::Estimate> today = users.end();
/// assert(today[1].low < today[1].value);  // 2 people in the last week, and noise
/// users.forget("ann");  // she counts until her week ends, and cannot return for a week
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/release/columns.hpp"
#include "dpftrl/release/people.hpp"

namespace dpftrl {

/// The event that a record reports; a record contains nothing else.
enum class PersonEvent {
  seen,       ///< the person did something
  forgotten,  ///< the person is to be forgotten
};

/// Decides who counts: each person, from an event on, for as many steps as a window has. Keeps the
/// last active step of each person, under a keyed code of the name, until the longest window ends;
/// for the counts, it keeps one integer for each step of that window. A person who is to be
/// forgotten counts as before, but new events do not count for the length of the longest window.
/// After that, nothing about the person is kept.
///
///     step         0 1 2 3 4 5 6        window 3
///     seen           x   x x   x
///     to be forgotten      x
///     counts       . 1 1 1 1 1 .        the events of steps 4 and 6 do not count
///
/// @guarantee   the steps at which a person counts form runs of at least one window, whatever the
///              person's events are, and do not depend on other people: a pattern of
///              Participation::active. Which events count depends only on requests to forget, so
///              leaving events out does not affect whether others count.
/// @checked-by  active_stream_test "counts are those of the events",
///              "leaving a person out changes counts by a pattern"
class ActivePeople {
 public:
  /// @param windows  at least one, each at least 1.
  ActivePeople(std::span<const std::int64_t> windows, CodeSecret secret);

  Code code_of(std::string_view person) const;

  /// @param row   a PersonEvent as its first number.
  /// @param step  the open step.
  /// @throws      std::bad_alloc; then nothing has changed.
  void admit(const Code& person, std::span<const double> row, std::int64_t step);

  /// Changes of the counts from the last step to the open one, one for each window.
  std::vector<std::int64_t> changes() const;
  /// Ends the step, and forgets the people whom no window counts any more.
  void end_step();

  /// Contributions to the open step: none, because changes are contributed when it ends.
  static std::int64_t num_open() { return 0; }
  /// Number of events that did not count, because their people are to be forgotten. Not private.
  std::int64_t num_dropped() const { return num_dropped_; }
  /// Whether every change in the open step is stored.
  bool is_stored() const { return changed_.empty(); }

  // A journal stores and reads the following, as for People.

  void append_changes(std::vector<std::byte>& bytes) const;
  void mark_stored();
  /// @throws Error{bad_state}
  void take_changes(std::span<const std::byte> bytes, std::int64_t step, std::int64_t row_size);
  void append_state(std::vector<std::byte>& bytes, std::int64_t step) const;
  /// @throws Error{bad_state}; then nothing has changed.
  void take_state(std::span<const std::byte> bytes, std::int64_t step, std::int64_t row_size);
  void set_num_dropped(std::int64_t num_dropped) { num_dropped_ = num_dropped; }
  /// The windows, so that states with other windows are refused.
  std::vector<std::int64_t> rule() const;

 private:
  static constexpr std::int64_t kNever = -1;
  struct Person {
    std::int64_t last = kNever;       ///< latest active step, if within the longest window
    std::int64_t forgotten = kNever;  ///< step of the last request, if within it
    bool is_changed = false;          ///< in changed_
  };
  using Everybody = std::map<Code, Person>;
  using Entry = Everybody::value_type;

  std::int64_t& num_last_seen(std::int64_t step) {
    return num_last_seen_[static_cast<std::size_t>(step) % num_last_seen_.size()];
  }
  /// Number of people whom each window counts in the open step.
  std::vector<std::int64_t> counts() const;
  void see(Person& person);

  std::vector<std::int64_t> windows_;
  CodeSecret secret_;
  Everybody people_;
  /// Number of people last seen in each step of the longest window.
  std::vector<std::int64_t> num_last_seen_;
  std::vector<std::int64_t> before_;  ///< counts of the last step
  std::vector<Entry*> changed_;       ///< people whose change in the open step is not stored
  std::int64_t step_ = 0;
  std::int64_t num_dropped_ = 0;
};

struct ActiveCountsOptions {
  std::vector<std::int64_t> windows;  ///< steps, each at least 1, such as 1, 7 and 30 days
  /// Whether there is no horizon (windows of 1, 7 and 30 steps only): see make_endless_active.
  bool is_endless = false;
  /// Whether people may have been active before the first step; false needs less noise.
  bool has_open_start = true;
  Neighbours neighbours = Neighbours::zero_out;
  double confidence = 0.95;  ///< of each interval individually, between 0 and 1
};

/// The counts of active people in several windows. A reading has one count for each window, with
/// its interval.
class ActiveCounts {
 public:
  using Record = PersonEvent;
  using Reading = std::vector<Estimate>;
  static constexpr bool kClips = true;  ///< each person adds 1 to a count, whatever the mechanism

  /// @throws Error{invalid_argument} no window, or one below 1; a confidence out of range.
  explicit ActiveCounts(ActiveCountsOptions options);

  std::span<const std::int64_t> windows() const { return options_.windows; }
  std::int64_t dimension() const { return std::ssize(options_.windows); }
  static constexpr bool adds() { return true; }
  static void check(PersonEvent) {}
  std::span<const double> write(PersonEvent event, std::span<double> row) const {
    row[0] = static_cast<double>(event);
    return row.first(1);
  }
  /// @guarantee   each interval contains the noiseless count, with at least the confidence.
  /// @checked-by  active_stream_test "intervals contain the counts"
  std::vector<Estimate> read(const NoisySums& sums) const;
  /// @throws Error{invalid_argument} a window beyond the steps; as Mechanism::make_active.
  std::shared_ptr<const Mechanism> mechanism(MechanismOptions options) const;
  /// The grid is 1: counts are integers.
  PrefixSumOptions release_options(PrefixSumOptions options) const;

 private:
  ActiveCountsOptions options_;
  double beyond_;  ///< probability of a count outside its interval
};

}  // namespace dpftrl
