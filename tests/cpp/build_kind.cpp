// SPDX-License-Identifier: Apache-2.0
/// Compiled with the library's options in every build, whereas the other test files may be linked
/// from another build (CMakeLists.txt).
#include <cstdlib>

#include "support.hpp"

namespace dpftrl::testing {

bool is_sanitized() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return true;
#endif
#endif
  return false;
}

bool is_full_size() {
#if defined(__EMSCRIPTEN__)
  return false;
#else
  static const bool is_whole = std::getenv("DPFTRL_ALL") != nullptr;
  return is_whole && !is_sanitized();
#endif
}

}  // namespace dpftrl::testing
