// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace dpftrl::detail {

/// Sum of (factor x_i)^2 in a fixed order that suits vector units, with the same bits on every
/// platform. Infinite or NaN if an entry is. Each term is rounded at most size / 8 + 17 times,
/// each time by a relative 2^-53 at most.
inline double sum_of_squares(std::span<const double> values, double factor = 1) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = values[i + lane] * factor;
      sums[lane] += x * x;
    }
  double sum = 0;
  for (std::size_t i = whole; i < values.size(); ++i)
    sum += values[i] * factor * (values[i] * factor);
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace dpftrl::detail
