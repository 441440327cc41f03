// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Functions of long doubles whose arguments the compiler is not to see. Debian 13's Clang 19
/// crashes for WebAssembly, where a long double has 128 bits, when it folds a call of a constant
/// one.

#include <cmath>

namespace dpftrl::testing {

[[gnu::noinline]] inline long double square_root(long double x) {
  return std::sqrt(x);
}

/// The value, unknown to the compiler.
inline long double opaque(long double x) {
  volatile long double hidden = x;
  return hidden;
}

}  // namespace dpftrl::testing
