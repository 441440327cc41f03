// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Conversion of counts to indices. Internal to the core.

#include <cstddef>
#include <cstdint>

namespace dpftrl {

/// Converts a non-negative count to a container index.
constexpr std::size_t index_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

}  // namespace dpftrl
