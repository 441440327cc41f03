// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Entries of Eigen's vectors and matrices as spans, a conversion that Eigen lacks.

#include <Eigen/Core>
#include <cstddef>
#include <span>

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

inline std::span<double> span_of(Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}
inline std::span<const double> span_of(const Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}
/// In row order.
inline std::span<const double> span_of(const Matrix& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

}  // namespace dpftrl::detail
