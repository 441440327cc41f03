// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Properties of a strategy, computed from its rows and dense matrices.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl::testing {

inline RowNorms norms_of_the_rows(const Strategy& strategy) {
  const std::int64_t n = strategy.steps();
  const double first = strategy.row_norm_squared(0);
  RowNorms norms = {.min_squared = first, .max_squared = first, .mean_squared = 0};
  for (std::int64_t t = 0; t < n; ++t) {
    const double row = strategy.row_norm_squared(t);
    norms.min_squared = std::min(norms.min_squared, row);
    norms.max_squared = std::max(norms.max_squared, row);
    norms.mean_squared += row;
  }
  norms.mean_squared /= static_cast<double>(n);
  return norms;
}

/// Row m of C is available once its last step has arrived. True if the decoder uses no row earlier.
inline bool waits_for_its_measurements(const Strategy& strategy) {
  const Matrix encoder = strategy.encoder(), decoder = strategy.decoder();
  for (Eigen::Index m = 0; m < encoder.rows(); ++m) {
    Eigen::Index ready = 0;
    for (Eigen::Index j = 0; j < encoder.cols(); ++j)
      if (encoder(m, j) != 0) ready = j;
    for (Eigen::Index t = 0; t < ready; ++t)
      if (std::abs(decoder(t, m)) > 1e-12) return false;
  }
  return true;
}

}  // namespace dpftrl::testing
