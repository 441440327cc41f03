// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/base/error.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace dpftrl {
std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::wrong_length:
      return "wrong_length";
    case ErrorCode::past_horizon:
      return "past_horizon";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::resource_exhausted:
      return "resource_exhausted";
    case ErrorCode::entropy_unavailable:
      return "entropy_unavailable";
    case ErrorCode::bad_state:
      return "bad_state";
    case ErrorCode::already_released:
      return "already_released";
  }
  return "unknown";
}

void fail(ErrorCode code, const std::string& message) {
  throw Error(code, message);
}

void fail_argument(std::string_view function, std::string_view parameter,
                   std::string_view constraint, const std::string& value) {
  std::string message(function);
  message.append(": ").append(parameter).append(" must be ").append(constraint);
  message.append(", got ").append(value);
  fail(ErrorCode::invalid_argument, message);
}

// Not std::to_chars: in WebAssembly its tables are 100 KB, a quarter of the package.
std::string to_text(double value) {
  if (std::isnan(value)) return "NaN";
  std::array<char, 32> buffer{};
  for (int digits = 6; digits <= std::numeric_limits<double>::max_digits10; ++digits) {
    std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, value);
    if (std::strtod(buffer.data(), nullptr) == value) break;
  }
  return buffer.data();
}

std::string to_text(std::int64_t value) {
  return std::to_string(value);
}

double require_finite(std::string_view function, std::string_view parameter, double value) {
  if (!std::isfinite(value)) fail_argument(function, parameter, "finite", to_text(value));
  return value;
}

double require_positive(std::string_view function, std::string_view parameter, double value) {
  if (!(value > 0) || !std::isfinite(value))
    fail_argument(function, parameter, "positive and finite", to_text(value));
  return value;
}

double require_non_negative(std::string_view function, std::string_view parameter, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    fail_argument(function, parameter, "non-negative and finite", to_text(value));
  return value;
}

double require_inside(std::string_view function, std::string_view parameter, double value,
                      double low, double high) {
  if (!(low < value && value < high))
    fail_argument(function, parameter, "strictly between " + to_text(low) + " and " + to_text(high),
                  to_text(value));
  return value;
}

std::int64_t require_between(std::string_view function, std::string_view parameter,
                             std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    fail_argument(function, parameter, "between " + to_text(low) + " and " + to_text(high),
                  to_text(value));
  return value;
}

void require_all_finite(std::string_view function, std::string_view parameter,
                        std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    fail_argument(function, std::string(parameter) + "[" + std::to_string(i) + "]", "finite",
                  to_text(values[i]));
  }
}

void require_length(std::string_view function, std::string_view parameter, std::int64_t length,
                    std::int64_t expected) {
  if (length == expected) return;
  std::string message(function);
  message.append(": ").append(parameter).append(" must have ").append(to_text(expected));
  message.append(" entries, got ").append(to_text(length));
  fail(ErrorCode::wrong_length, message);
}

}  // namespace dpftrl
