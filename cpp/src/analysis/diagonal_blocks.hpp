// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Diagonal blocks of a workload (internal header).

#include <algorithm>
#include <cstdint>

#include "dpftrl/problem/workload.hpp"

namespace dpftrl::detail {

/// Splits A into diagonal blocks of `size` steps, the last one perhaps shorter, and calls
/// visit(block, times); visits equal blocks once.
template <class Visit>
void visit_diagonal_blocks(const Workload& workload, std::int64_t size, Visit visit) {
  const std::int64_t n = workload.steps();
  const std::int64_t rest = n % size;
  if (workload.is_toeplitz()) {
    if (n >= size) visit(workload.leading(size), n / size);
    if (rest > 0) visit(workload.leading(rest), std::int64_t{1});
    return;
  }
  for (std::int64_t first = 0; first < n; first += size)
    visit(workload.block(first, std::min(size, n - first)), std::int64_t{1});
}

}  // namespace dpftrl::detail
