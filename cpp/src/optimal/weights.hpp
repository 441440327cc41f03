// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace dpftrl::detail {

/// Weights of rows and columns of A_ij = decay^(i-j), i >= j: W = D_u^(1/2) A D_v^(1/2).
struct Weights {
  std::vector<double> rows;     ///< u, positive
  std::vector<double> columns;  ///< v, positive
  double decay = 1;             ///< above 0 and at most 1
};

}  // namespace dpftrl::detail
