// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Functions of long doubles whose arguments are hidden from the compiler. On WebAssembly, where a
/// long double has 128 bits, Debian 13's Clang 19 crashes when it folds a call with a constant
/// argument.

#include <cmath>

namespace dpftrl::testing {

[[gnu::noinline]] inline long double square_root(long double x) {
  return std::sqrt(x);
}

/// The value through a volatile, so that the compiler cannot fold it.
inline long double opaque(long double x) {
  volatile long double hidden = x;
  return hidden;
}

}  // namespace dpftrl::testing
