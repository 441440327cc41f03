// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace dpftrl {

/// A lower-triangular encoder of few bands whose entries change from step to step; see
/// VaryingBandedDecoder.
struct VaryingBands {
  std::int64_t num_bands;  ///< p, with the main diagonal
  /// C_{t,t} > 0, C_{t,t-1}, ..., C_{t,t-p+1}: p a step, 0 left of the matrix.
  std::vector<double> entries;
  /// Number that the error bounds of its noise are computed from: the largest standard deviation of
  /// a row w_0 + ... + w_t, or more.
  double max_row_stddev;
};

}  // namespace dpftrl
