// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Places where the sums of a stream live: in Memory, or with a Journal for a store, so that no
/// step is ever released for two different lists of records.
///
/// A journal decides a step (its integers, and the code of its records) before any noise is used,
/// and hands out the noisy sums only after a store has acknowledged the bytes that record them:
///
///     decide -> state() or frame() -> [a store makes the bytes durable] -> acknowledge(n)
///                                                                      -> released(step)
///
/// If the process dies before the bytes are durable, nobody has seen the sums and the step is free
/// again; if it dies later, the step keeps these sums. A store that can append need not write all
/// of state() again for every step. It appends frames to its bytes:
///
///     log_tag(base) -> [decide, frame -> append -> acknowledge]*      base | frame | frame ...
///     restore(state) -> replay(log)
///
/// A journal cannot detect whether its bytes are the newest, or whether another process continues
/// from the same ones. The store must ensure both; the stores of the package do.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// const dpftrl::PrefixSumOptions options{.key = dpftrl::Key::from_entropy()};
/// assert(dpftrl::Memory(mechanism, options, {}).sums().step() == 0);
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/release/columns.hpp"
#include "dpftrl/release/people.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

namespace detail {

/// Base of Memory and Journal: the sums, and the operations of a stream on them.
class OpenSums {
 public:
  const PrefixSum& sums() const { return sums_; }
  /// Checks that the open step has room for this many contributions.
  /// @throws Error{past_horizon, resource_exhausted}.
  void require_open(std::int64_t num_contributions) const;
  /// Adds a row, clipped and on the grid, to the integers of a step.
  /// @throws Error{invalid_argument} an entry is not finite; std::bad_alloc. After either, nothing
  ///         has changed.
  void add_to(Contributions& step, const ProductRecord& row) const;
  void add_to(Contributions& step, std::span<const double> row) const;
  /// Adds changes of counts, which are not clipped.
  void add_to(Contributions& step, const CountChanges& changes) const;

 protected:
  using Digest16 = std::array<std::byte, 16>;

  OpenSums(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options)
      : sums_(std::move(mechanism), options) {}

  /// Ends the open step with the contributions. A call that throws changes nothing.
  void release(Contributions step, std::span<double> noisy);
  Digest16 fingerprint() const { return sums_.fingerprint(); }
  Digest16 commitment() const { return sums_.commitment_; }
  void restore(std::span<const std::byte> checkpoint) { sums_.restore(checkpoint); }

  PrefixSum sums_;

 private:
  void add_integers(Contributions& step, const GridRecord& record) const;
};

}  // namespace detail

/// Identifies the stream of a state, besides its sums: states of any other stream are refused.
struct JournalIdentity {
  std::vector<std::int64_t> rule = {0, 0, 0};  ///< who counts: People::rule
  std::string_view about = {};                 ///< in the caller's words: "ages from 0 to 100"
};

/// Sums that are lost when the process ends.
class Memory : public detail::OpenSums {
 public:
  Memory(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options,
         const JournalIdentity&)
      : OpenSums(std::move(mechanism), options),
        noisy_(static_cast<std::size_t>(sums_.dimension())) {}

  template <class Row>
  void contribute(const Row& row) {
    sums_.contribute(row);
  }
  /// Ends the open step; the noisy sums are valid until the next call.
  std::span<const double> end() { return sums_.release(noisy_), noisy_; }
  /// Ends a step with these contributions.
  std::span<const double> end(Contributions step) {
    return release(std::move(step), noisy_), noisy_;
  }
  /// `contribute` and `end`, in one pass over the row.
  template <class Row>
  std::span<const double> end_with(const Row& row) {
    return sums_.release(row, noisy_), noisy_;
  }

 private:
  using OpenSums::release;
  std::vector<double> noisy_;
};

/// Numbers of records of a stream.
struct RecordCounts {
  std::int64_t records = 0;  ///< so far, across restarts: the index of the next one
  std::int64_t ended = 0;    ///< records in ended steps
  std::int64_t dropped = 0;  ///< records that do not count; not private

  /// Records in the open step.
  std::int64_t waiting() const { return records - ended; }
};

/// Authenticates some bytes and everything before them in a store.
using LogTag = std::array<std::byte, 16>;

/// Bytes to append to a log.
struct LogPart {
  std::vector<std::byte> bytes;
  LogTag tag;          ///< of these bytes and everything before them
  std::int64_t steps;  ///< number of steps that the bytes record
};

struct LogEnd {
  LogTag tag;        ///< of the last whole frame
  std::size_t size;  ///< bytes of whole frames; the rest is a torn frame, to be cut off
};

struct LogOptions {
  LogTag before;              ///< tag of what precedes the log
  std::int64_t position = 0;  ///< length of what precedes the log, to find disk sectors
};

/// Sums with a journal for a store. The stream writes its part of the open step as bytes (`open`)
/// into states and frames.
class Journal : public detail::OpenSums {
 public:
  static constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();

  Journal(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options,
          const JournalIdentity& identity);

  /// Identifies the key, and thereby this journal, without revealing it.
  LogTag key_commitment() const { return commitment(); }
  /// Tag of the bytes before a log: a state, and anything else stored with it.
  LogTag log_tag(std::span<const std::byte> base) const;
  std::int64_t num_acknowledged() const { return num_acknowledged_; }
  /// Noisy sums of an acknowledged step.
  /// @throws Error{invalid_argument} the step is not acknowledged.
  std::span<const double> released(std::int64_t step) const;

 private:
  template <Columns C, class Who, class Place>
  friend class RecordStream;

  using Bytes = std::vector<std::byte>;

  /// A step that is decided but not acknowledged, and its changes that were not stored while it was
  /// open.
  struct Pending {
    Contributions step;
    Bytes change;
  };

  /// Code of a step without records, to which the codes of records are chained.
  Code code_of(std::int64_t step) const;
  /// @param person  code of the person whose record it is; empty without people.
  Code code_after(const Code& before, std::span<const std::byte> person,
                  std::span<const double> row) const;
  const Code& code_at(std::int64_t step) const { return codes_[static_cast<std::size_t>(step)]; }

  template <class Row>
  void contribute(const Row& row) {
    add_to(open_, row);
  }
  /// Noisy sums of a decided step.
  std::span<const double> decided(std::int64_t step) const;
  /// Adds a record to the code of the open step.
  void note(std::span<const std::byte> person, std::span<const double> row) {
    open_code_ = code_after(open_code_, person, row);
  }
  /// Contributions to the open step.
  std::int64_t num_open() const { return open_.count; }

  /// Decides the open step, and computes its noisy sums.
  /// @throws as PrefixSum::release; then nothing has changed.
  void decide(Contributions step, Bytes change);
  /// Appends the journal's own part of the open step.
  void append_open(const RecordCounts& counts, Bytes& bytes) const;
  /// Reads that part, and returns the rest of the bytes.
  std::span<const std::byte> take_open(std::span<const std::byte> bytes, RecordCounts& counts);

  Bytes state(std::span<const std::byte> open);
  /// Calls `take_open` with the step of a state and the bytes of its open step, before anything
  /// changes here.
  /// @throws Error{bad_state}
  void restore(std::span<const std::byte> bytes,
               const std::function<void(std::int64_t, std::span<const std::byte>)>& take_open);
  /// @param open  the change of the open step, stored if the frame has all steps.
  LogPart frame(const LogTag& before, std::int64_t max_steps,
                std::span<const std::byte> open) const;
  void acknowledge(std::int64_t steps);

  /// One step of a log, or with an empty `code` the end of a frame.
  struct Event {
    std::span<const std::byte> change;  ///< of the open step, before its end
    std::optional<Code> code;
    Contributions step;
    std::vector<double> noisy;
  };
  /// Calls `use` with each event of a log.
  LogEnd read(std::span<const std::byte> log, const LogOptions& options,
              const std::function<void(Event&&)>& use);
  /// Decides a step of a log anew.
  /// @throws Error{bad_state} its noisy sums have different bits.
  void repeat(Event&& event);

  std::size_t step_size() const;

  CodeSecret secret_;
  LogTag fingerprint_;
  Contributions open_;            ///< contributions of records without people to the open step
  Code open_code_;                ///< of the open step
  std::vector<Code> codes_;       ///< one per decided step
  std::vector<double> releases_;  ///< dimension() per step
  std::vector<Pending> pending_;  ///< its last entries are the steps from num_acknowledged_ on
  std::int64_t num_acknowledged_ = 0;
};

}  // namespace dpftrl
