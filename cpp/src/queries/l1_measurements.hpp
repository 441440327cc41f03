// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Measurements for noise as large as the l1 norm of the columns (internal header).

#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl::detail {

struct L1Options {
  Objective objective = Objective::mean;
  Neighbours neighbours = Neighbours::zero_out;
};

/// Chooses, among measurements known to be good, the M with the least ||F M^+|| max_j ||M_j||_1,
/// with replace_one ||F_c M_c^+|| max_ij ||M_i - M_j||_1 for the columns less their mean: every
/// value; the queries; sums of 1, b, b^2, ... neighbouring values, for several b, with the total or
/// without; `optimum`, that of the l2 norm, and its symmetric root, which answers with the same
/// error and is gathered around the diagonal. Not the least of all M: no solver for that is known
/// here.
Matrix best_l1_measurements(const Matrix& f, const Matrix& optimum, const L1Options& options);

}  // namespace dpftrl::detail
