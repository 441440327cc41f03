// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/bounds.hpp"

#include <cmath>
#include <numbers>

#include "double_double.hpp"
#include "dpftrl/error.hpp"
#include "dpftrl/types.hpp"

namespace dpftrl {
namespace {

double steps_as_double(const char* function, std::int64_t num_steps) {
  return static_cast<double>(require_between(function, "num_steps", num_steps, 1, kMaxNumSteps));
}

}  // namespace

double schatten_lower_bound(std::int64_t num_steps) {
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 22;
  const double n = steps_as_double("schatten_lower_bound", num_steps);
  if (num_steps > kMaxSteps)
    fail(ErrorCode::unsupported, "schatten_lower_bound: num_steps must be at most " +
                                     to_text(kMaxSteps) + ", got " + to_text(num_steps));
  DoubleDouble sum;
  for (std::int64_t i = num_steps; i >= 1; --i) {
    const double angle = (2 * static_cast<double>(i) - 1) * std::numbers::pi / (4 * n + 2);
    sum = add(sum, 1 / (2 * std::sin(angle)));
  }
  return sum.high / n;
}

double square_root_max_error_bound(std::int64_t num_steps) {
  const double n = steps_as_double("square_root_max_error_bound", num_steps);
  return 1 + std::log((4 * n - 1) / 3) * std::numbers::inv_pi;
}

double square_root_mean_error_bound(std::int64_t num_steps) {
  const double n = steps_as_double("square_root_mean_error_bound", num_steps);
  return std::sqrt(square_root_max_error_bound(num_steps) *
                   (1 + std::log((2 * n + 1) / 3) * std::numbers::inv_pi));
}

}  // namespace dpftrl
