// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private running totals that survive a crash: no step is ever released for two records.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
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
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

/// A PrefixSum and its releases, with an order of events that makes restarts safe:
///
///     decide(step, record) -> state() -> [a store makes the bytes last] -> acknowledge(n)
///                                                                      -> released(step)
///
/// A release is given out only once the bytes that record it are safe. If the process dies before
/// that, the release was never seen and the step is free again; if it dies later, the same record
/// gets the same release, and another record is refused. The ledger keeps keyed codes of records
/// (HMAC-SHA256, cut to 128 bits, of the step and the record's bits), never the records themselves.
///
/// A ledger cannot tell whether its bytes are the newest, or whether another process continues from
/// the same ones. Both are up to the store; the stores of the package ensure them.
class ReleaseLedger {
 public:
  /// @throws as PrefixSum.
  ReleaseLedger(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options);
  ~ReleaseLedger();
  ReleaseLedger(ReleaseLedger&&) = default;
  ReleaseLedger& operator=(ReleaseLedger&&) = default;

  /// Decides the release of `step`, or finds it decided for the same record.
  ///
  /// @param step    0 .. num_decided().
  /// @param record  dimension() entries, as in PrefixSum::release; -0 counts as 0.
  /// @guarantee     a step has one release, and a decision is never undone.
  /// @throws Error{already_released} decided for another record; Error{invalid_argument} a step
  ///         after num_decided(), or a record that is not finite; Error{wrong_length};
  ///         Error{past_horizon}. Nothing changes in any of these cases. std::bad_alloc: the same
  ///         call may be made again.
  /// @checked-by release_ledger_test
  void decide(std::int64_t step, std::span<const double> record);

  /// The same for a step that several contribute to.
  ///
  /// @param contributions  dimension() entries each, any number of them, none included; each is
  ///                clipped by itself, as in PrefixSum::contribute.
  /// @throws        as decide; Error{wrong_length} a part of a contribution. Error{bad_state}
  ///                afterwards, where an earlier call failed after it had taken some of them.
  void decide_step(std::int64_t step, std::span<const double> contributions);

  /// Identifies the key, and so this ledger, without revealing it.
  std::array<std::byte, 16> key_commitment() const { return sums_.commitment_; }

  /// Returns bytes that record every decision. They contain the TRUE sums, as secret as the
  /// records, but not the key.
  /// @cost  (checkpoint + num_decided() * (8 dimension + 16)) bytes.
  std::vector<std::byte> state();

  /// Bytes of `state` with num_steps decisions are where they last.
  /// @throws Error{invalid_argument} more than were decided.
  void acknowledge(std::int64_t num_steps);

  /// The release of a step that was acknowledged.
  /// @throws Error{invalid_argument} it was not.
  std::span<const double> released(std::int64_t step) const;

  /// Goes to where `state` was called. All of it counts as acknowledged.
  /// @throws Error{bad_state} see PrefixSum::restore_without_ledger.
  void restore(std::span<const std::byte> bytes);

  const Mechanism& mechanism() const { return sums_.mechanism(); }
  /// The same as those of PrefixSum.
  const LatticeMechanism* lattice() const { return sums_.lattice(); }
  double release_stddev(std::int64_t step) const { return sums_.release_stddev(step); }
  std::int64_t dimension() const { return sums_.dimension(); }
  std::int64_t num_steps() const { return sums_.num_steps(); }
  double grid() const { return sums_.grid(); }
  std::int64_t num_decided() const { return sums_.step(); }
  std::int64_t num_acknowledged() const { return num_acknowledged_; }

 private:
  using Code = std::array<std::byte, 16>;

  Code code_of(std::int64_t step, std::span<const double> record) const;
  void require_whole() const;

  PrefixSum sums_;
  std::array<std::byte, 64> secret_;  ///< of the codes
  std::vector<Code> codes_;           ///< of the records, one a step
  std::vector<double> releases_;      ///< dimension() a step
  std::int64_t num_acknowledged_ = 0;
  bool is_torn_ = false;  ///< a step has some of its contributions, and no release
};

}  // namespace dpftrl
