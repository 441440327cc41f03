// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

namespace dpftrl::testing {
namespace {

/// True for names like "steps".
bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '_';
  };
  return !text.empty() && 'a' <= text[0] && text[0] <= 'z' && std::ranges::all_of(text, fits);
}

/// Checks properties that every binding relies on: if an error names a parameter, the name is
/// well-formed, and all braces around names in its message close.
void expect_sound(const Error& error) {
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

}  // namespace

bool is_parameter(std::string_view text) {
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

std::string error_text(Action action) {
  try {
    action();
  } catch (const Error& error) {
    expect_sound(error);
    return std::string(to_string(error.code())) + " | " + error.what();
  }
  return "";
}

std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing thrown";
}

void expect_error(Action action, std::string_view code, std::string_view part, const Place& place) {
  const std::string text = error_text(action);
  if (text.substr(0, text.find(" | ")) != code)
    ADD_FAILURE_AT(place.file, place.line) << "wanted the code " << code << ", got: " << text;
  if (text.find(part) == std::string::npos)
    ADD_FAILURE_AT(place.file, place.line) << "wanted \"" << part << "\", got: " << text;
}

}  // namespace dpftrl::testing
