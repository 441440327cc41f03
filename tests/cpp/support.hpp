// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/catalogue.hpp"

namespace dpftrl::testing {

/// Whether this is a build under AddressSanitizer, ten times as slow: what needs size to be right,
/// not to be free of undefined behaviour, takes less of it there.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
#else
inline constexpr bool kIsSanitized = false;
#endif

/// Small and awkward horizons: 1, around powers of two, odd.
inline const std::vector<std::int64_t>& awkward_horizons() {
  static const std::vector<std::int64_t> horizons = {1, 2, 3, 5, 7, 8, 13, 16, 64};
  static const std::vector<std::int64_t> short_ones = {1, 2, 3, 5, 7, 8, 13, 16};
  return kIsSanitized ? short_ones : horizons;
}

/// Eigen's index, which has 32 bits on 32-bit platforms.
inline Eigen::Index index_of(std::int64_t value) {
  return static_cast<Eigen::Index>(value);
}

/// Families whose strategies take a search to make.
inline bool is_optimised(const StrategyInfo& info) {
  return info.parameters.find("objective") != std::string_view::npos;
}

/// A horizon up to `num_steps` at which the family is made quickly: those that are dense matrices
/// take a search among O(n^2) numbers, and O(n) operations a step.
inline std::int64_t within_reach(const StrategyInfo& info, std::int64_t num_steps) {
  constexpr std::int64_t kLongestMatrix = 2048, kQuick = 64;
  return info.max_steps <= kLongestMatrix ? std::min(num_steps, kQuick) : num_steps;
}

/// Returns what `make` gave for that title the first time, so that no test repeats a search.
template <class Make>
std::shared_ptr<const Strategy> remembered(const std::string& title, Make&& make) {
  static std::map<std::string, std::shared_ptr<const Strategy>> all;
  std::shared_ptr<const Strategy>& found = all[title];
  if (found == nullptr) found = make();
  return found;
}

/// A strategy of the catalogue.
inline std::shared_ptr<const Strategy> make_known(std::string_view name, std::int64_t num_steps) {
  const auto make = [&] {
    return make_strategy({.name = std::string(name), .num_steps = num_steps});
  };
  for (const StrategyInfo& info : strategy_catalogue())
    if (info.name == name && is_optimised(info))
      return remembered(std::string(name) + " " + std::to_string(num_steps), make);
  return make();
}

inline Participation fixed(std::int64_t num_epochs, std::int64_t epoch_length) {
  return Participation::fixed_epoch({.num_epochs = num_epochs, .epoch_length = epoch_length});
}

inline Participation separated(std::int64_t max_participations, std::int64_t min_separation) {
  return Participation::min_separation(
      {.max_participations = max_participations, .min_separation = min_separation});
}

/// Two hexadecimal digits a byte.
inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    for (const int shift : {4, 0})
      text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> shift & 15];
  return text;
}

inline bool relatively_close(double actual, double expected, double tolerance) {
  return std::abs(actual - expected) <= tolerance * std::abs(expected);
}

/// True for "num_steps".
inline bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '_';
  };
  return !text.empty() && 'a' <= text[0] && text[0] <= 'z' && std::ranges::all_of(text, fits);
}

/// True for "rates", "rates[3]", "matrix(1, 2)", "factors[0].encoder": a name in the code, and the
/// place in it.
inline bool is_parameter(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of("[(."), text.size());
  if (!is_name(text.substr(0, end))) return false;
  text.remove_prefix(end);
  if (text.empty()) return true;
  if (text[0] == '.') return is_parameter(text.substr(1));
  const std::size_t close = text.find(text[0] == '[' ? ']' : ')');
  if (close == std::string_view::npos) return false;
  text.remove_prefix(close + 1);
  return text.empty() ||
         (text[0] != '.' ? is_parameter("x" + std::string(text)) : is_parameter(text.substr(1)));
}

/// Checks what every surface rests on: a refusal names a parameter, if any, and names others only
/// in braces that close.
inline void expect_sound(const Error& error) {
  EXPECT_FALSE(error.function().empty()) << error.what();
  EXPECT_TRUE(error.parameter().empty() || is_parameter(error.parameter())) << error.parameter();
  EXPECT_FALSE(error.constraint().empty()) << error.what();
  std::string_view rest = error.constraint();
  for (std::size_t at = rest.find_first_of("{}"); at != std::string_view::npos;
       at = rest.find_first_of("{}")) {
    const std::size_t close = rest.find('}');
    EXPECT_TRUE(rest[at] == '{' && close != std::string_view::npos &&
                is_name(rest.substr(at + 1, close - at - 1)))
        << error.constraint();
    rest.remove_prefix(std::max(at, std::min(close, rest.size() - 1)) + 1);
  }
  EXPECT_EQ(error.what(), to_text(error.facts()));
}

/// Code and text of the Error that `action` throws; empty text if it throws none.
template <class Action>
std::string error_text(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    expect_sound(error);
    return std::string(to_string(error.code())) + " | " + error.what();
  }
  return "";
}

/// Message of the Error{invalid_argument} that `action` throws.
template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace dpftrl::testing

/// `action` must throw an Error whose code is `code` and whose message contains `part`.
#define EXPECT_ERROR(action, code, part)                                     \
  do {                                                                       \
    const std::string text = ::dpftrl::testing::error_text([&] { action; }); \
    EXPECT_EQ(text.substr(0, text.find(" | ")), code) << text;               \
    EXPECT_NE(text.find(part), std::string::npos) << "got: " << text;        \
  } while (false)
