// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/nonprivate.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "problem/running_workload.hpp"
#include "release/grid/quantiser.hpp"

namespace dpftrl {

NonprivateMemory::NonprivateMemory(std::shared_ptr<const Mechanism> mechanism,
                                   const PrefixSumOptions& options, const JournalIdentity& identity)
    : Memory(std::move(mechanism), options, identity),
      step_(static_cast<std::size_t>(sums_.record_size())),
      totals_(static_cast<std::size_t>(sums_.dimension())) {
  const Mechanism& all = sums_.mechanism();
  running_.reserve(totals_.size());
  for (std::int64_t i = 0; i < all.num_readers(); ++i) {
    readers_.push_back(all.reader(i));
    const Workload& workload = readers_.back()->strategy().workload();
    running_.insert(running_.end(), step_.size(), detail::RunningWorkload(workload));
  }
}

NonprivateMemory::~NonprivateMemory() = default;
NonprivateMemory::NonprivateMemory(NonprivateMemory&&) noexcept = default;
NonprivateMemory& NonprivateMemory::operator=(NonprivateMemory&&) noexcept = default;

void NonprivateMemory::add_nonprivate(std::span<const double> row) {
  static constexpr std::array<double, 1> kOne = {1};
  add_nonprivate(ProductRecord{.scales = kOne, .features = row});
}

void NonprivateMemory::add_nonprivate(const ProductRecord& row) {
  const Mechanism& mechanism = sums_.mechanism();
  const RecordNorm norm = mechanism.is_pure() ? RecordNorm::l1 : RecordNorm::l2;
  const detail::Clip clipped =
      sums_.is_clipped_by_caller() ? detail::Clip() : detail::Clip(row, mechanism.clip(), norm);
  std::size_t i = 0;
  for (const double scale : row.scales)
    for (const double x : row.features) step_[i++] += clipped(scale * x);
}

void NonprivateMemory::end_nonprivate() {
  for (std::size_t i = 0; i < totals_.size(); ++i)
    totals_[i] = running_[i].next(step_[i % step_.size()]);
  step_.assign(step_.size(), 0);
}

}  // namespace dpftrl
