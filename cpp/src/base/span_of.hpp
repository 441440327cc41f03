// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The entries of Eigen's vectors and matrices as spans, which Eigen itself does not convert to.

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
/// In the order of rows.
inline std::span<const double> span_of(const Matrix& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

}  // namespace dpftrl::detail
