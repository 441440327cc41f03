// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace dpftrl {

/// Numbers of a buffered recursion that changes from step to step; see VaryingBufferedDecoder.
struct VaryingBuffers {
  std::int64_t num_buffers;            ///< q
  std::vector<double> inverse_scales;  ///< 1 / c_t, one a step, positive
  std::vector<double> gains;           ///< g_t, q a step
  std::vector<double> factors;         ///< phi_t, q a step, in (0, 1]
  /// Numbers that the error bounds of its noise are computed from: the largest standard deviations
  /// of a row w_0 + ... + w_t and of a state, or more.
  double max_row_stddev;
  double max_state_stddev;
};

}  // namespace dpftrl
