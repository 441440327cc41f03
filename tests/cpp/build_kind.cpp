// SPDX-License-Identifier: Apache-2.0
/// Compiled with the library's options in every build, whereas the other test files may be linked
/// from another build (CMakeLists.txt).
#include <cstdlib>
#include <string_view>

#include "support.hpp"

namespace dpftrl::testing {

namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace

bool is_sanitized() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return true;
#endif
#endif
  return false;
}

bool is_long() {
  return is_set("DPFTRL_LONG");
}

bool is_full_size() {
#if defined(__EMSCRIPTEN__)
  return false;
#else
  return is_set("DPFTRL_ALL") && !is_sanitized();
#endif
}

}  // namespace dpftrl::testing
