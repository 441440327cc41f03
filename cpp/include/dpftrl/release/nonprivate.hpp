// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A place that also keeps the sums WITHOUT noise, so that holders of the records can compare both.
/// NOTHING DERIVED FROM THEM IS PRIVATE: never publish them, nor let them decide what is published.
///
/// ```cpp
/// #include "dpftrl/release/stream.hpp"
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// dpftrl::RecordStream<dpftrl::Number, dpftrl::People, dpftrl::NonprivateMemory> guests(
///     dpftrl::Number(), mechanism, {.key = dpftrl::Key::from_entropy()});
/// guests.add("ann", 1);
/// guests.add("ann", 1);  // the same step: clipped to 1 together
/// const double released = guests.end().value;
/// assert(guests.nonprivate().value == 1 && released != 1);
/// ```

#include <memory>
#include <span>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/release/journal.hpp"
#include "dpftrl/release/record.hpp"

namespace dpftrl {

namespace detail {
class RunningWorkload;
}  // namespace detail

/// Memory that also keeps the noiseless sums of the mechanism's workload, over the same records,
/// clipped in the same norm but not put on the grid. A stream with this place has `nonprivate()`.
/// @checked-by  stream_test "sums without noise are those of the records that count clipped and
///              weighted"
class NonprivateMemory : public Memory {
 public:
  /// @throws as PrefixSum; std::bad_alloc: a window keeps its steps, and a matrix all steps of the
  ///         horizon, at 8 bytes per step and coordinate.
  NonprivateMemory(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options,
                   const JournalIdentity& identity);
  ~NonprivateMemory();
  NonprivateMemory(NonprivateMemory&&) noexcept;
  NonprivateMemory& operator=(NonprivateMemory&&) noexcept;

  /// Adds what a released row contributes to the open step.
  void add_nonprivate(std::span<const double> row);
  void add_nonprivate(const ProductRecord& row);
  /// Ends the open step.
  void end_nonprivate();
  /// Sums after the last ended step. NOT PRIVATE.
  std::span<const double> nonprivate_sums() const { return totals_; }

 private:
  std::vector<std::shared_ptr<const Mechanism>> readers_;  ///< keep the workloads alive
  std::vector<detail::RunningWorkload> running_;           ///< one per coordinate
  std::vector<double> step_;
  std::vector<double> totals_;
};

}  // namespace dpftrl
