// SPDX-License-Identifier: Apache-2.0
#pragma once

/// True sums A q of workloads with weights, with more digits than their rounding reads (internal
/// header; docs/math/weights.md).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/problem/workload.hpp"
#include "math/wide_number.hpp"

namespace dpftrl::detail {

/// Bound on the magnitudes of the entries of A, and at least 1. No intermediate sum of K records of
/// norm c exceeds K c times this.
double largest_weight(const Workload& workload);
/// Bound on the sum of the magnitudes of a row of A.
double weight_of_row(const Workload& workload);

/// Least magnitude on the diagonal of A.
double least_weight_of_own_step(const Workload& workload);

class WeightedSums {
 public:
  virtual ~WeightedSums() = default;

  /// Sums after step `step` if that step adds these integers. The state does not change until
  /// `accept` is called. Does not throw.
  virtual std::span<const WideNumber> after(std::int64_t step,
                                            std::span<const std::int64_t> added) = 0;
  virtual void accept() = 0;

  /// Size in bytes of the state before a step.
  virtual std::size_t state_size(std::int64_t step) const = 0;
  virtual void write(std::int64_t step, std::vector<std::byte>& out) const = 0;
  /// @param state  state_size(step) bytes.
  virtual void read(std::int64_t step, std::span<const std::byte> state) = 0;
};

/// Bound, in units of 2^-256, on the difference of the stored sums from sums of real numbers.
double error_of_sums(const Workload& workload);

/// @throws Error{invalid_argument} a weight beyond 2^20; Error{resource_exhausted} more than 1 GiB.
std::unique_ptr<WeightedSums> make_weighted_sums(const Workload& workload, std::int64_t dimension);

}  // namespace dpftrl::detail
