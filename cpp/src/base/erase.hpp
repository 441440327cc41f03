// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace dpftrl::detail {

/// Overwrites a secret array with writes that the compiler may not optimise away.
template <typename Secret>
void erase(Secret& secret) {
  volatile auto* const values = secret.data();
  for (std::size_t i = 0; i < secret.size(); ++i) values[i] = {};
}

}  // namespace dpftrl::detail
