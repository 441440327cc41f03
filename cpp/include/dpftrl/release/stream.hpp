// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A private stream: records go in, and after each step a reading of all of them comes out.
///
///     record --> [Columns] --> row --> [Who] --> rows that count --> [Place] --> sums + noise
///                Number                Records                       Memory        |
///                Numbers               People                        Journal       v
///                MomentColumns                                             [Columns] --> reading
///                HistogramColumns
///                SumColumns
///                Examples
///                ActiveCounts          ActivePeople
///
/// A third place, NonprivateMemory (nonprivate.hpp), also keeps the sums without noise.
///
/// The three brackets are chosen independently: what is read, whose records count, and where the
/// sums live. `add` puts a record into the open step, `end` ends it, and `release` does both.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// const dpftrl::PrefixSumOptions options{.key = dpftrl::Key::from_entropy()};
/// dpftrl::RecordStream visits(dpftrl::Number(), mechanism, options);
/// for (const double visit : {1.0, 0.0, 1.0}) {
///   const dpftrl::Estimate total = visits.release(visit);
///   assert(total.low < total.value && total.value < total.high);
/// }
/// assert(visits.step() == 3);
///
/// using PeopleStream = dpftrl::RecordStream<dpftrl::Number, dpftrl::People>;
/// PeopleStream guests(dpftrl::Number(), mechanism, options);
/// guests.add("ann", 1);
/// guests.add("ann", 1);  // the same step: clipped to 1 together
/// guests.end();
/// guests.add("ann", 1);  // another step, which the mechanism does not allow her
/// assert(guests.counts().dropped == 1);
///
/// dpftrl::RecordStream<dpftrl::Number, dpftrl::Records, dpftrl::Journal> kept(
///     dpftrl::Number(), mechanism, options);
/// const std::int64_t step = kept.release(1);
/// const std::vector<std::byte> bytes = kept.state();  // store them, then:
/// kept.acknowledge(kept.step());
/// const double total = kept.at(step).value;
///
/// dpftrl::RecordStream<dpftrl::Number, dpftrl::Records, dpftrl::Journal> restarted(
///     dpftrl::Number(), mechanism, options);
/// restarted.restore(bytes);
/// assert(restarted.at(step).value == total);
/// ```

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/release/active_people.hpp"
#include "dpftrl/release/columns.hpp"
#include "dpftrl/release/journal.hpp"
#include "dpftrl/release/nonprivate.hpp"
#include "dpftrl/release/people.hpp"

namespace dpftrl {

/// Releases readings of all records so far, step by step.
///
/// @guarantee   as PrefixSum::release for the mechanism's participation, neighbours and target,
///              with nothing to add to delta, for records chosen after seeing readings. With
///              Records, the caller promises that each user has at most one record per step, only
///              at steps that the participation allows. With People, neighbouring streams differ
///              in any records of one person, which are left out or, with replace-one, replaced.
///              With ActivePeople, it covers all events of one person, with an open start also
///              those before the first step; without a horizon, it is that of
///              Mechanism::make_endless_active.
/// @checked-by  stream_test, active_stream_test
template <Columns C, class Who = Records, class Place = Memory>
class RecordStream {
 public:
  using Record = typename C::Record;
  using Reading = typename C::Reading;
  static constexpr bool kActive = std::same_as<Who, ActivePeople>;
  static constexpr bool kPeople = std::same_as<Who, People> || kActive;
  static constexpr bool kJournal = std::same_as<Place, Journal>;
  static constexpr bool kNonprivate = std::same_as<Place, NonprivateMemory>;
  static constexpr bool kFollows = FollowingColumns<C>;
  static_assert(!kNonprivate || (!kActive && (!kFollows || requires { C::kMayFollow; })),
                "readings that follow noisy steps, and active people, have none without noise");
  /// Result of `end`: the reading, or with a journal the index of the step, whose reading `at`
  /// gives after a store has acknowledged the step.
  using Ended = std::conditional_t<kJournal, std::int64_t, Reading>;

  /// @param options    `dimension` is set by the columns, and so is the grid if they choose one.
  /// @param about      what is counted, in the caller's words: a journal refuses states of anything
  ///                   else.
  /// @throws as the columns' mechanism(), PrefixSum, and with people ContributionBound.
  RecordStream(C columns, const MechanismOptions& mechanism, const PrefixSumOptions& options,
               std::string_view about = {})
      : RecordStream(Made{}, std::move(columns), mechanism, options, about) {}
  /// For columns that clip records to the norm of the given mechanism.
  RecordStream(C columns, std::shared_ptr<const Mechanism> mechanism,
               const PrefixSumOptions& options, std::string_view about = {})
    requires(C::kClips)
      : RecordStream(Made{}, std::move(columns), std::move(mechanism), options, about) {}

  /// Throws if the record would be refused, whatever the step.
  void check(const Record& record) {
    columns_.check(record);
    if (sums().is_clipped_by_caller()) sums().check(columns_.write(record, row_));
  }

  /// Adds a record to the open step.
  /// @throws as check(); Error{past_horizon} after the last step; Error{resource_exhausted} as
  ///         PrefixSum::contribute; std::bad_alloc. After any of these nothing has changed.
  void add(Record record)
    requires(!kPeople)
  {
    check(record);
    admit({}, record);
  }
  void add(std::string_view person, Record record)
    requires(kPeople)
  {
    check(record);
    admit(who_.code_of(person), record);
  }
  /// Adds an event of a person to the open step. A person may have any number of events.
  void add(std::string_view person)
    requires(kActive)
  {
    add(person, Record{});
  }
  /// Forgets a person: until the longest window ends, the person counts as before, but new events
  /// of the person do not count.
  void forget(std::string_view person)
    requires(std::same_as<Record, PersonEvent>)
  {
    add(person, PersonEvent::forgotten);
  }

  /// Adds all records, or none if one is refused. (If memory runs out, the records added so far
  /// stay.)
  void add_many(std::span<const Record> records)
    requires(!kPeople)
  {
    add_all({}, records);
  }
  /// @param people  one for each record.
  void add_many(std::span<const std::string_view> people, std::span<const Record> records)
    requires(kPeople)
  {
    add_all(people, records);
  }

  /// Ends the open step, with or without records.
  /// @throws Error{past_horizon}; std::bad_alloc. After either, nothing has changed.
  Ended end() {
    require_going();
    if constexpr (kJournal) {
      return decide();
    } else if constexpr (kPeople) {
      return ended(place_.end(contributions()));
    } else {
      return ended(place_.end());
    }
  }

  /// Same as `add`, then `end`.
  Ended release(Record record)
    requires(!kPeople)
  {
    if constexpr (kJournal) {
      add(record);
      return end();
    } else {
      require_going();
      check(record);
      const auto row = columns_.write(record, row_);
      const auto noisy = place_.end_with(row);
      if constexpr (kNonprivate) place_.add_nonprivate(row);
      ++counts_.records;
      return ended(noisy);
    }
  }
  Ended release(std::string_view person, Record record)
    requires(kPeople)
  {
    add(person, record);
    return end();
  }

  /// Makes one step per record, and calls `use` with the result of each `end`. Stops with an error
  /// at the first refused record: step() says how many steps were made.
  template <typename Use>
  void release_many(std::span<const Record> records, Use&& use)
    requires(!kPeople)
  {
    for (const Record& record : records) use(release(record));
  }
  template <typename Use>
  void release_many(std::span<const std::string_view> people, std::span<const Record> records,
                    Use&& use)
    requires(kPeople)
  {
    require_length(kName, "people", std::ssize(people), std::ssize(records));
    for (std::size_t i = 0; i < records.size(); ++i) use(release(people[i], records[i]));
  }

  /// Number of ended steps.
  std::int64_t step() const { return sums().step(); }
  std::int64_t steps() const { return sums().steps(); }
  /// Not private: `dropped` reveals how many records did not count.
  RecordCounts counts() const {
    RecordCounts counts = counts_;
    if constexpr (kPeople) counts.dropped = who_.num_dropped();
    return counts;
  }

  // Parts of the stream, for direct access.
  const C& columns() const { return columns_; }
  const PrefixSum& sums() const { return place_.sums(); }
  const Mechanism& mechanism() const { return sums().mechanism(); }
  const Place& place() const { return place_; }

  /// Reading of the last ended step from the sums WITHOUT noise: NOT PRIVATE, never to be
  /// published. Its std and intervals describe the noise of the release.
  Reading nonprivate() const
    requires(kNonprivate)
  {
    return columns_.read({.step = step() - 1, .values = place_.nonprivate_sums(), .noise = sums()});
  }

  // ---- with a journal ----

  /// Whether the latest durable bytes lead to the same readings. For active people, further events
  /// of a person in the same step need not be stored.
  bool is_stored() const
    requires(kJournal)
  {
    if (place_.num_acknowledged() != step()) return false;
    if constexpr (kActive) return who_.is_stored();
    return num_stored_ == counts_.records;
  }

  /// Reading of an acknowledged step.
  /// @throws Error{invalid_argument} the step is not acknowledged.
  Reading at(std::int64_t step) const
    requires(kJournal)
  {
    const std::span<const double> noisy = place_.released(step);
    if constexpr (kFollows)
      columns_.seek(step, [this](std::int64_t earlier) { return place_.released(earlier); });
    return columns_.read({.step = step, .values = noisy, .noise = sums()});
  }

  /// Whether the step was ended with these records, in this order; false if it is the open step,
  /// and no records are waiting in it.
  /// @param people  one for each record; empty without people.
  /// @throws Error{already_released} the step was ended with other records; Error{bad_state} it is
  ///         the open step, and records are waiting in it; Error{invalid_argument} it is a later
  ///         step, or a record is refused.
  bool is_repeat(std::int64_t step, std::span<const std::string_view> people,
                 std::span<const Record> records)
    requires(kJournal)
  {
    check_all(people, records);
    require_between(kName, "step", step, 0, this->step());
    if (step == this->step()) {
      if (counts_.waiting() > 0)
        fail(ErrorCode::bad_state, kName, "step", "must have no waiting records", to_text(step));
      return false;
    }
    Code code = place_.code_of(step);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto numbers = identity_of(records[i], columns_.write(records[i], row_));
      if constexpr (kPeople)
        code = place_.code_after(code, who_.code_of(people[i]), numbers);
      else
        code = place_.code_after(code, {}, numbers);
    }
    if (code != place_.code_at(step))
      fail(ErrorCode::already_released, kName, "step",
           "must not be one that was released for other {records}", to_text(step));
    return true;
  }

  /// Ends the step with these records, or does nothing if it was already ended with them.
  /// @throws as is_repeat and add_many; then nothing has changed.
  void release_at(std::int64_t step, std::span<const std::string_view> people,
                  std::span<const Record> records)
    requires(kJournal)
  {
    if (is_repeat(step, people, records)) return;
    admit_all(people, records);
    end();
  }

  /// Bytes that record everything. They contain the TRUE sums, and the records of the open step:
  /// they are as secret as the records, but do not contain the key.
  /// @cost  as PrefixSum::checkpoint, plus 16 + 8 dimension bytes per step, 32 bytes per person,
  ///        and the open step.
  std::vector<std::byte> state()
    requires(kJournal)
  {
    std::vector<std::byte> open;
    place_.append_open(counts(), open);
    if constexpr (kPeople) who_.append_state(open, step());
    num_recorded_ = counts_.records;
    return place_.state(open);
  }

  /// Continues where `state` was called. All its steps count as acknowledged.
  /// @throws Error{bad_state} the bytes are damaged or belong to another stream; this stream is
  ///         unusable afterwards.
  void restore(std::span<const std::byte> bytes)
    requires(kJournal)
  {
    if constexpr (kFollows) columns_.begin(sums());
    place_.restore(bytes, [&](std::int64_t step, std::span<const std::byte> open) {
      const auto rest = place_.take_open(open, counts_);
      if constexpr (kPeople) {
        who_.take_state(rest, step, place_.sums().record_size());
        who_.set_num_dropped(counts_.dropped);
      } else if (!rest.empty()) {
        fail(ErrorCode::bad_state, kName, "checkpoint", "must end with the open step", "more");
      }
    });
    if constexpr (kFollows)
      for (std::int64_t t = 0; t < step(); ++t) columns_.follow(place_.decided(t));
    num_recorded_ = num_stored_ = counts_.records;
  }

  /// Tag of the bytes before a log.
  LogTag log_tag(std::span<const std::byte> base) const
    requires(kJournal)
  {
    return place_.log_tag(base);
  }

  /// Bytes that record what was not acknowledged, to be appended to the bytes whose tag is
  /// `before`. They are as secret as the records. Sync each frame and acknowledge it before
  /// appending the next, so that a crash can truncate only the last one.
  /// @param max_steps  at least 1; the open step is recorded only in a frame with all ended steps.
  LogPart frame(const LogTag& before, std::int64_t max_steps = Journal::kAllSteps)
    requires(kJournal)
  {
    std::vector<std::byte> change;
    if (counts_.records != num_stored_ && counts_.waiting() > 0) append_change(change);
    LogPart part = place_.frame(before, max_steps, change);
    if (place_.num_acknowledged() + part.steps == step()) num_recorded_ = counts_.records;
    return part;
  }

  /// Releases the steps of a log again, after `restore`. All of them count as acknowledged.
  /// @guarantee  a torn last frame is detected and not replayed; any other change of the bytes is
  ///             refused, as is a step whose sums would have different bits.
  /// @throws Error{bad_state}; the stream is unusable afterwards.
  /// @checked-by stream_test "a torn frame is cut off and a damaged one refused", journal_test
  ///             "a release with other bits is refused"
  LogEnd replay(std::span<const std::byte> log, const LogOptions& options)
    requires(kJournal)
  {
    return place_.read(log, options, [&](Journal::Event&& event) { take(std::move(event)); });
  }

  /// Confirms that the latest bytes of `state` or `frame`, with `steps` steps, are durable.
  /// @throws Error{invalid_argument} more steps than were ended.
  void acknowledge(std::int64_t steps)
    requires(kJournal)
  {
    place_.acknowledge(steps);
    // If records are newer than the bytes, nothing is marked: the next bytes have all of them
    // again.
    if (place_.num_acknowledged() != step() || num_recorded_ != counts_.records) return;
    num_stored_ = counts_.records;
    if constexpr (kPeople) who_.mark_stored();
  }

 private:
  static constexpr std::string_view kName = "stream";
  struct Made {};
  /// Stands for a person in streams without people.
  struct Nobody {};
  using Person = std::conditional_t<kPeople, Code, Nobody>;

  RecordStream(Made, C columns, const MechanismOptions& mechanism, const PrefixSumOptions& options,
               std::string_view about)
      : RecordStream(Made{}, columns, columns.mechanism(mechanism), options, about) {}
  RecordStream(Made, C columns, std::shared_ptr<const Mechanism> mechanism,
               const PrefixSumOptions& options, std::string_view about)
      : columns_(std::move(columns)),
        who_(who_of(columns_, require_given(mechanism), CodeSecret(options.key))),
        place_(mechanism, columns_.release_options(options), {.rule = who_.rule(), .about = about}),
        row_(static_cast<std::size_t>(columns_.dimension())) {
    if constexpr (kFollows) columns_.begin(sums());
    if (kPeople && options.clipped_by_caller)
      fail(ErrorCode::unsupported, kName, "clipped_by_caller",
           "must not be set with people, whose records are clipped here");
  }

  static Who who_of(const C& columns, const Mechanism& mechanism, CodeSecret secret) {
    if constexpr (kActive)
      return Who(columns.windows(), std::move(secret));
    else
      return Who(mechanism.participation(), std::move(secret), columns.adds());
  }
  static const Mechanism& require_given(const std::shared_ptr<const Mechanism>& mechanism) {
    if (!mechanism) fail(ErrorCode::invalid_argument, kName, "mechanism", "must be given");
    return *mechanism;
  }

  std::int64_t num_open() const {
    if constexpr (kPeople)
      return who_.num_open();
    else if constexpr (kJournal)
      return place_.num_open();
    else
      return 0;  // PrefixSum counts them itself
  }

  void require_going() const {
    if constexpr (kFollows) columns_.require_going();
  }

  void admit(const Person& person, Record record) {
    require_going();
    place_.require_open(num_open() + 1);
    const auto row = columns_.write(record, row_);
    if constexpr (kPeople)
      who_.admit(person, numbers_of(row), step());
    else
      place_.contribute(row);
    // Nothing below throws.
    if constexpr (kNonprivate && !kPeople) place_.add_nonprivate(row);
    if constexpr (kJournal && kPeople) place_.note(person, identity_of(record, row));
    if constexpr (kJournal && !kPeople) place_.note({}, identity_of(record, row));
    ++counts_.records;
  }

  std::span<const double> numbers_of(std::span<const double> row) { return row; }
  /// Writes the products to row_.
  std::span<const double> numbers_of(const ProductRecord& row) {
    const std::size_t width = row.features.size();
    for (std::size_t k = 0; k < row.scales.size(); ++k)
      for (std::size_t i = 0; i < width; ++i) row_[k * width + i] = row.scales[k] * row.features[i];
    return std::span(row_).first(static_cast<std::size_t>(row.size()));
  }

  template <class Row>
  std::span<const double> identity_of(Record record, const Row& row) {
    if constexpr (requires { columns_.identity(record, row); })
      return columns_.identity(record, row);
    else
      return numbers_of(row);
  }

  void check_all(std::span<const std::string_view> people, std::span<const Record> records) {
    if constexpr (kPeople) require_length(kName, "people", std::ssize(people), std::ssize(records));
    for (const Record& record : records) check(record);
  }
  void admit_all(std::span<const std::string_view> people, std::span<const Record> records) {
    if (!records.empty()) place_.require_open(num_open() + std::ssize(records));
    for (std::size_t i = 0; i < records.size(); ++i) {
      if constexpr (kPeople)
        admit(who_.code_of(people[i]), records[i]);
      else
        admit({}, records[i]);
    }
  }
  void add_all(std::span<const std::string_view> people, std::span<const Record> records) {
    check_all(people, records);
    admit_all(people, records);
  }

  /// Integers of the people's parts, or of the changes of their counts.
  Contributions contributions() const
    requires(kPeople)
  {
    Contributions all;
    if constexpr (kActive) {
      place_.add_to(all, CountChanges{who_.changes()});
    } else {
      who_.for_each_part([&](std::span<const double> part) { place_.add_to(all, part); });
      all.integers.resize(static_cast<std::size_t>(sums().record_size()));
    }
    return all;
  }

  Reading ended(std::span<const double> noisy) {
    if constexpr (kNonprivate) {
      if constexpr (kPeople)
        who_.for_each_part([&](std::span<const double> part) { place_.add_nonprivate(part); });
      place_.end_nonprivate();
    }
    if constexpr (kPeople) who_.end_step();
    counts_.ended = counts_.records;
    if constexpr (kFollows) columns_.follow(noisy);
    return columns_.read({.step = step() - 1, .values = noisy, .noise = sums()});
  }

  std::int64_t decide()
    requires(kJournal)
  {
    if constexpr (kPeople) {
      Contributions all = contributions();
      std::vector<std::byte> change;
      if (counts_.records != num_stored_) append_change(change);
      place_.decide(std::move(all), std::move(change));
      who_.end_step();
    } else {
      place_.decide(place_.open_, {});
    }
    counts_.ended = counts_.records;
    if constexpr (kFollows) columns_.follow(place_.decided(step() - 1));
    return step() - 1;
  }

  /// Appends the change of the open step since it was stored, in the format of a frame.
  void append_change(std::vector<std::byte>& change) const
    requires(kJournal)
  {
    place_.append_open(counts(), change);
    if constexpr (kPeople) who_.append_changes(change);
  }

  void take(Journal::Event&& event)
    requires(kJournal)
  {
    if (!event.change.empty()) {
      const auto rest = place_.take_open(event.change, counts_);
      if constexpr (kPeople) {
        who_.take_changes(rest, step(), sums().record_size());
        who_.set_num_dropped(counts_.dropped);
      }
    }
    if (!event.code) {
      num_recorded_ = counts_.records;
      acknowledge(step());
      return;
    }
    if constexpr (kPeople) {
      const Contributions all = contributions();
      if (all.count != event.step.count || all.integers != event.step.integers)
        fail(ErrorCode::bad_state, kName, "checkpoint",
             "must have the sums of what was contributed, step " + to_text(step()),
             "something else");
      who_.end_step();
    } else {
      counts_.records = counts_.ended + event.step.count;
    }
    place_.repeat(std::move(event));
    if constexpr (kFollows) columns_.follow(place_.decided(step() - 1));
    counts_.ended = counts_.records;
  }

  C columns_;
  [[no_unique_address]] Who who_;
  Place place_;
  std::vector<double> row_;
  RecordCounts counts_;            ///< `dropped` is that of the restored state
  std::int64_t num_recorded_ = 0;  ///< records in the latest bytes
  std::int64_t num_stored_ = 0;    ///< records in acknowledged bytes
};

template <class C>
RecordStream(C, std::shared_ptr<const Mechanism>, const PrefixSumOptions&) -> RecordStream<C>;
template <class C>
RecordStream(C, const MechanismOptions&, const PrefixSumOptions&) -> RecordStream<C>;

}  // namespace dpftrl
