// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/base/error.hpp"

#include <cstdio>
#include <utility>

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

std::string to_text(const ErrorFacts& facts) {
  std::string text = facts.function + ": " + facts.parameter;
  if (!facts.parameter.empty()) text += ' ';
  for (const char letter : facts.constraint)
    if (letter != '{' && letter != '}') text += letter;
  if (!facts.value.empty()) text.append(", got ").append(facts.value);
  return text;
}

Error::Error(ErrorFacts facts)
    : std::runtime_error(to_text(facts)),
      facts_(std::make_shared<const ErrorFacts>(std::move(facts))) {}

void fail(ErrorCode code, std::string_view function, std::string_view parameter,
          std::string_view constraint, std::string_view value) {
  throw Error({.code = code,
               .function = std::string(function),
               .parameter = std::string(parameter),
               .constraint = std::string(constraint),
               .value = std::string(value)});
}

void fail_argument(std::string_view function, std::string_view parameter,
                   std::string_view constraint, std::string_view value) {
  fail(ErrorCode::invalid_argument, function, parameter, std::string("must be ").append(constraint),
       value);
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

std::int64_t require_count(std::string_view function, std::string_view parameter,
                           std::string_view what, std::int64_t count, std::int64_t low,
                           std::int64_t high) {
  if (count >= low && count <= high) return count;
  const std::string limits = "must have between " + to_text(low) + " and " + to_text(high) + " ";
  fail(ErrorCode::invalid_argument, function, parameter, limits + std::string(what),
       to_text(count));
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
  const std::string_view noun = expected == 1 ? " entry" : " entries";
  fail(ErrorCode::wrong_length, function, parameter,
       std::string("must have ").append(to_text(expected)).append(noun), to_text(length));
}

}  // namespace dpftrl
