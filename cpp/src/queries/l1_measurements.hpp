// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Measurements for noise proportional to the l1 norm of the columns (internal header).

#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl::detail {

struct L1Options {
  Objective objective = Objective::mean;
  Neighbours neighbours = Neighbours::zero_out;
};

/// Chooses, among measurements known to be good, the M with the least ||F M^+|| max_j ||M_j||_1 or,
/// for replace_one, the least ||F_c M_c^+|| max_ij ||M_i - M_j||_1, where F_c and M_c are F and M
/// minus their mean column. The candidates are the single values; the queries; sums of 1, b, b^2,
/// ... neighbouring values, for several b, for zero_out with or without the total; `optimum`, the
/// best M in the l2 norm, and its symmetric root, which answers with the same error and is
/// concentrated around the diagonal. The result need not be the best of all M, for which there is
/// no solver here.
Matrix best_l1_measurements(const Matrix& f, const Matrix& optimum, const L1Options& options);

}  // namespace dpftrl::detail
