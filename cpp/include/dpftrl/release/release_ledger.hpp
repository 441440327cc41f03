// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private running totals that survive a crash: no step is ever released for two records.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// const dpftrl::PrefixSumOptions options{.key = dpftrl::Key::from_entropy()};
/// dpftrl::ReleaseLedger ledger(mechanism, options);
/// ledger.decide(/*step=*/0, std::array{1.0});
/// const std::vector<std::byte> bytes = ledger.state();  // make them last, and then:
/// ledger.acknowledge(1);
/// const double total = ledger.released(0)[0];
///
/// dpftrl::ReleaseLedger restarted(mechanism, options);
/// restarted.restore(bytes);
/// assert(restarted.released(0)[0] == total);
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

/// A PrefixSum and its releases, with an order of events that makes restarts safe:
///
///     decide(step, record) -> state() -> [a store makes the bytes last] -> acknowledge(n)
///                                                                      -> released(step)
///
/// A release is returned only after the bytes that record it are durable. If the process dies
/// before that, the release was never seen and the step is free again; if it dies later, the step
/// has that release and no other. ReleaseLedger is for records, PeopleLedger for contributions of
/// people.
///
/// A store that can append need not write all of state() again for every release. It can append
/// frames to its bytes, each with only the decisions since the last one:
///
///     log_tag(base) -> [decide, log_frame -> append -> acknowledge]*      base | frame | frame ...
///     restore(state) -> replay(log)
///
/// A ledger cannot detect whether its bytes are the newest, or whether another process continues
/// from the same ones. The store must ensure both; the stores of the package do.
class Ledger {
 public:
  virtual ~Ledger();

  /// Identifies the key, and thereby this ledger, without revealing it.
  std::array<std::byte, 16> key_commitment() const { return sums_.commitment_; }

  /// Returns bytes that record every decision. They contain the TRUE sums and are as secret as the
  /// records, but do not contain the key.
  /// @cost  (checkpoint + num_decided() * (8 dimension + 16)) bytes.
  virtual std::vector<std::byte> state();

  /// Authenticates bytes and everything before them in a store: see log_frame.
  using LogTag = std::array<std::byte, 16>;
  /// Tag of the bytes that a log follows: those of state(), and anything else stored with them.
  LogTag log_tag(std::span<const std::byte> base) const;

  struct LogPart {
    std::vector<std::byte> bytes;
    LogTag tag;          ///< of these bytes and everything before them
    std::int64_t steps;  ///< that the bytes record
  };
  static constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();
  struct FrameOptions {
    std::optional<std::span<const std::byte>> memo = {};  ///< stored with the steps
    std::int64_t max_steps = kAllSteps;                   ///< at least 1
  };
  /// Returns bytes that record the decisions since the last acknowledged one, or the first
  /// max_steps of them, to be appended to the bytes whose tag is `before`. They contain the sums of
  /// their steps and are as secret as the records. Sync each frame and acknowledge its steps before
  /// appending the next, so that a crash can truncate only the last one.
  /// @cost  8/7 of 40 bytes, the memo, and 24 + 16 dimension() bytes per step.
  virtual LogPart log_frame(const LogTag& before, const FrameOptions& options);
  LogPart log_frame(const LogTag& before) { return log_frame(before, FrameOptions{}); }

  struct LogEnd {
    LogTag tag;        ///< of the last whole frame
    std::size_t size;  ///< bytes of whole frames; the rest is a torn frame, to be cut off
    std::optional<std::vector<std::byte>> memo;  ///< the last one
  };
  struct LogOptions {
    LogTag before;              ///< tag of what precedes the log
    std::int64_t position = 0;  ///< length of that: where the sectors of its disk begin
  };
  /// Replays the decisions of a log after those of `restore`, with their noise. All of them count
  /// as acknowledged.
  /// @guarantee  a torn last frame is detected and not replayed; any other change of the bytes is
  ///             refused, as is a step whose release would have different bits.
  /// @throws Error{bad_state}; the ledger is unusable afterwards.
  /// @checked-by release_ledger_test, ledger_log_test, people_ledger_test
  LogEnd replay(std::span<const std::byte> log, const LogOptions& options);

  /// Confirms that the latest bytes of `state` or `log_frame`, with `steps` decisions, are
  /// durable.
  /// @throws Error{invalid_argument} more steps than were decided.
  virtual void acknowledge(std::int64_t steps);

  /// The release of an acknowledged step.
  /// @throws Error{invalid_argument} the step is not acknowledged.
  std::span<const double> released(std::int64_t step) const;

  /// Continues from where `state` was called. All its decisions count as acknowledged.
  /// @throws Error{bad_state} see PrefixSum::restore_without_ledger.
  virtual void restore(std::span<const std::byte> bytes);

  const Mechanism& mechanism() const { return sums_.mechanism(); }
  /// The same as those of PrefixSum.
  const LatticeMechanism* lattice() const { return sums_.lattice(); }
  std::optional<LaplaceNoise> laplace() const { return sums_.laplace(); }
  double release_stddev(std::int64_t step) const { return sums_.release_stddev(step); }
  double release_stddev_of(const ReleaseEntry& entry) const {
    return sums_.release_stddev_of(entry);
  }
  double release_half_width(const StepProbability& wanted) const {
    return sums_.release_half_width(wanted);
  }
  double simultaneous_half_width(double probability) const {
    return sums_.simultaneous_half_width(probability);
  }
  std::int64_t dimension() const { return sums_.dimension(); }
  std::int64_t steps() const { return sums_.steps(); }
  double grid() const { return sums_.grid(); }
  std::int64_t num_decided() const { return sums_.step(); }
  std::int64_t num_acknowledged() const { return num_acknowledged_; }

 protected:
  using Code = std::array<std::byte, 16>;
  using Bytes = std::vector<std::byte>;

  /// A decision not yet acknowledged: the sum of the integers of num_contributions contributions.
  struct Pending {
    std::int64_t num_contributions;
    std::vector<std::int64_t> integers;
  };

  Ledger(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options);
  Ledger(Ledger&&) = default;
  Ledger& operator=(Ledger&&) = default;

  Code code_of(std::int64_t step, std::span<const double> record) const;
  const Code& code_at(std::int64_t step) const { return codes_[static_cast<std::size_t>(step)]; }
  Code code_of_person(std::string_view person) const;
  void decide_integers(const Code& code, Pending step);
  std::vector<std::int64_t> integers_of(std::span<const double> contributions) const {
    return sums_.integers_of(contributions);
  }
  std::array<std::byte, 16> fingerprint() const { return sums_.fingerprint(); }

 private:
  /// Takes the memo of a frame, before the steps of that frame are replayed.
  virtual void take_memo(std::span<const std::byte> memo, LogEnd& end);
  /// Called before a step is replayed.
  virtual void begin_repeat(const Pending& step);
  std::size_t step_size() const;
  void repeat(std::span<const std::byte> step);

  PrefixSum sums_;
  std::array<std::byte, 64> secret_;  ///< of the codes
  std::vector<Code> codes_;           ///< of the records, one per step
  std::vector<double> releases_;      ///< dimension() per step
  std::vector<Pending> pending_;      ///< ends with the steps from num_acknowledged_ on
  std::int64_t num_acknowledged_ = 0;
};

/// Decides each step for one record only: the same record gets the same release again, and a
/// different one is refused. Keeps keyed codes of records (HMAC-SHA256, truncated to 128 bits, of
/// the step and the record's bits), never the records themselves.
class ReleaseLedger : public Ledger {
 public:
  /// @throws as PrefixSum.
  ReleaseLedger(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
      : Ledger(std::move(mechanism), options) {}

  /// Decides the release of `step`; no-op if it is already decided for the same record.
  ///
  /// @param step    0 .. num_decided().
  /// @param record  dimension() entries, as in PrefixSum::release; -0 counts as 0.
  /// @guarantee     a step has one release, and a decision is never undone.
  /// @throws Error{already_released} decided for another record; Error{invalid_argument} a step
  ///         after num_decided(), or a record that is not finite; Error{wrong_length};
  ///         Error{past_horizon}. Nothing changes in any of these cases. std::bad_alloc: the call
  ///         may be repeated.
  /// @checked-by release_ledger_test
  void decide(std::int64_t step, std::span<const double> record);

  /// The same for a step with several contributions.
  ///
  /// @param contributions  dimension() entries each, any number of them, including none; each is
  ///                       clipped separately, as in PrefixSum::contribute.
  /// @throws        as decide; Error{wrong_length} a part of a contribution;
  ///                Error{resource_exhausted} as PrefixSum::contribute.
  void decide_step(std::int64_t step, std::span<const double> contributions);
};

/// Options that define what a PeopleLedger totals.
struct PeopleLedgerOptions {
  /// Counts only the first of several contributions of one person to one step, as
  /// PeopleSum::contribute_first, for columns of statistics. By default they are added up.
  bool first_only = false;
  /// Describes what is counted in the caller's words, for example "moments of ages from 0 to 100".
  std::string_view about = {};
};

/// Totals of a PeopleSum that survive a crash, with a record of who counted when.
///
///     contribute(person, values)* -> log_frame -> append -> acknowledge(num_acknowledged())
///     decide(step)                -> log_frame -> append -> acknowledge(step + 1) ->
///     released(step)
///
/// The caller of log_frame chooses whether contributions are stored one by one or only with the
/// release of their step; after a crash, num_contributions() is the number of the next one to pass.
/// A frame has the whole part of each person whose part of the open step changed. People are stored
/// as keyed codes (HMAC-SHA256, truncated to 128 bits), parts as they were passed, so frames are as
/// secret as the records.
class PeopleLedger : public Ledger {
 public:
  /// A state can be restored only by a ledger with the same people options.
  /// @throws Error{invalid_argument} a mechanism for fixed epochs, and as PrefixSum.
  PeopleLedger(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options,
               const PeopleLedgerOptions& people = {});

  /// Adds to a person's part of the open step, as PeopleSum::contribute, or with `first_only` as
  /// PeopleSum::contribute_first.
  ///
  /// @param person  the same bytes for the same person, also after a restart.
  /// @return        false if the pattern is used up, or with `first_only` the person already has a
  ///                part, so that this does not count. Not private.
  /// @guarantee     for each person, only contributions that the pattern allows count, across all
  ///                restarts.
  /// @throws Error{wrong_length, invalid_argument} refused, also while a decided step is not
  ///         acknowledged; Error{past_horizon}. Nothing changes in any of these cases, nor after
  ///         std::bad_alloc.
  /// @checked-by people_ledger_test
  bool contribute(std::string_view person, std::span<const double> values);

  /// Decides the release of the open step; no-op for a step that is already decided.
  ///
  /// @param step    0 .. num_decided().
  /// @guarantee     a step has one release, and a decision is never undone: that of PeopleSum.
  /// @throws Error{invalid_argument} a step after num_decided(); Error{past_horizon};
  ///         Error{resource_exhausted} as PrefixSum::contribute. Nothing changes.
  void decide(std::int64_t step);

  /// Number of calls of `contribute` that returned, including those of earlier processes that were
  /// stored. This is the number of the next contribution. Not private.
  std::int64_t num_contributions() const { return num_contributions_; }
  /// Number of contributions that did not count. Not private.
  std::int64_t num_dropped() const { return num_dropped_; }

  /// See Ledger::state; plus 32 bytes per person, and the parts of the open step.
  std::vector<std::byte> state() override;
  /// See Ledger::log_frame; a frame has the changed parts of the open step, 16 + 8 dimension()
  /// bytes per person, and 16 bytes.
  /// The memo must be omitted, because the ledger uses it itself.
  using Ledger::log_frame;
  LogPart log_frame(const LogTag& before, const FrameOptions& options) override;
  /// Also acknowledges contributions, unless some came after the last state() or log_frame(); then
  /// the next frame has all of them again.
  void acknowledge(std::int64_t steps) override;
  void restore(std::span<const std::byte> bytes) override;

 private:
  struct Person {
    ContributionBound::Counted counted;
    std::vector<double> part = {};  ///< of the open step; empty if there is none
    bool is_changed = false;        ///< in changed_
  };
  /// Ordered, so that a state does not reveal who came first.
  using People = std::map<Code, Person>;
  using Entry = People::value_type;

  void take_memo(std::span<const std::byte> memo, LogEnd& end) override;
  void begin_repeat(const Pending& step) override;
  void end_step();
  std::vector<std::int64_t> open_integers() const;
  std::optional<Bytes> changes() const;
  std::array<std::byte, 16> people_fingerprint() const;

  ContributionBound bound_;
  bool first_only_;
  std::string about_;
  People people_;
  std::vector<Entry*> open_;     ///< who counts in the open step
  std::vector<Entry*> changed_;  ///< those of them whose part is not acknowledged
  std::optional<Bytes> noted_;   ///< changes of a decided step that is not acknowledged
  std::int64_t noted_step_ = 0;
  std::int64_t num_contributions_ = 0;
  std::int64_t num_recorded_ = 0;  ///< of them, in the last state or frame
  std::int64_t num_stored_ = 0;    ///< of them, acknowledged
  std::int64_t num_dropped_ = 0;
};

}  // namespace dpftrl
