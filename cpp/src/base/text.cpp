// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

// Avoids std::to_chars, whose tables take 100 KB in WebAssembly, a quarter of the package.
std::string to_text(double value) {
  if (std::isnan(value)) return "NaN";
  std::array<char, 32> buffer{};
  for (int digits = 6; digits <= std::numeric_limits<double>::max_digits10; ++digits) {
    std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, value);
    if (std::strtod(buffer.data(), nullptr) == value) break;
  }
  return buffer.data();
}

}  // namespace dpftrl
