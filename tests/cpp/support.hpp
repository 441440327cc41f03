// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <Eigen/Core>

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

/// True in `npm run test:long` (DPFTRL_LONG).
bool is_long();

/// True if the library is built under AddressSanitizer, which is ten times slower. Tests that need
/// large sizes for correctness, not to find undefined behaviour, use smaller ones there.
bool is_sanitized();

/// True with DPFTRL_ALL for a native build without sanitizers: in `scripts/test all`, and in stage
/// `native` of `scripts/test everywhere`. Results that do not depend on the platform are checked at
/// full size only there.
bool is_full_size();

struct Sizes {
  std::vector<std::int64_t> full;
  std::vector<std::int64_t> elsewhere;
};

/// Sizes to loop over. Those of `elsewhere` are fewer or smaller, and still reach all of the code.
inline std::vector<std::int64_t> sizes(const Sizes& all) {
  return is_full_size() ? all.full : all.elsewhere;
}

/// Selects one of every so many combinations in nested loops, or all of them at full size. Every
/// value of every loop is selected at least once if that number is coprime to the lengths of the
/// inner loops and not larger than their number of combinations.
class Thinned {
 public:
  explicit Thinned(std::int64_t one_of) : one_of_(is_full_size() ? 1 : one_of) {}
  bool takes_next() { return num_seen_++ % one_of_ == 0; }

 private:
  std::int64_t one_of_;
  std::int64_t num_seen_ = 0;
};

/// Small and awkward horizons: 1, around powers of two, odd.
inline const std::vector<std::int64_t>& awkward_horizons() {
  static const std::vector<std::int64_t> horizons =
      sizes({.full = {1, 2, 3, 5, 7, 8, 13, 16, 64}, .elsewhere = {1, 2, 3, 7, 8, 13}});
  return horizons;
}

/// Converts to Eigen's index, which has 32 bits on 32-bit platforms.
inline Eigen::Index index_of(std::int64_t value) {
  return static_cast<Eigen::Index>(value);
}

/// True for families whose strategies are found by a search.
inline bool is_optimised(const StrategyInfo& info) {
  return info.parameters.find("objective") != std::string_view::npos;
}

/// Horizon of at most `steps` at which the family is quick to construct. Families of dense matrices
/// search among O(n^2) numbers and take O(n) operations per step.
inline std::int64_t within_reach(const StrategyInfo& info, std::int64_t steps) {
  constexpr std::int64_t kLongestMatrix = 2048, kQuick = 64;
  return info.max_steps <= kLongestMatrix ? std::min(steps, kQuick) : steps;
}

/// Parameters with which the family is quick to construct. With its default number of buffers, the
/// search of `blt-scaled` takes up to a second, twenty under sanitizers, so only native tests run
/// it.
inline StrategyParameters quick_parameters(const StrategyInfo& info) {
  StrategyParameters parameters;
  if (info.name == "blt-scaled" && !is_full_size()) parameters.buffers = 1;
  return parameters;
}

/// Caches the result of `make` by title, so that no test repeats a search.
template <class Make>
std::shared_ptr<const Strategy> remembered(const std::string& title, Make&& make) {
  static std::map<std::string, std::shared_ptr<const Strategy>> all;
  std::shared_ptr<const Strategy>& found = all[title];
  if (found == nullptr) found = make();
  return found;
}

/// Makes a strategy of the catalogue.
inline std::shared_ptr<const Strategy> make_known(std::string_view name, std::int64_t steps) {
  StrategyOptions options{.name = std::string(name), .steps = steps};
  const auto make = [&] { return make_strategy(options); };
  for (const StrategyInfo& info : strategy_catalogue())
    if (info.name == name && is_optimised(info)) {
      options.parameters = quick_parameters(info);
      return remembered(options.name + " " + std::to_string(steps), make);
    }
  return make();
}

inline Participation fixed(std::int64_t epochs, std::int64_t epoch_length) {
  return Participation::fixed_epoch({.epochs = epochs, .epoch_length = epoch_length});
}

inline Participation separated(std::int64_t times, std::int64_t apart) {
  return Participation::min_separation({.times = times, .apart = apart});
}

/// Formats each byte as two hexadecimal digits.
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

/// True for "rates", "rates[3]", "matrix(1, 2)", "factors[0].encoder": a name in the code,
/// optionally followed by a position in it.
bool is_parameter(std::string_view text);

/// Reference to a call that a test makes. It lets the functions below be compiled once, not for
/// each of hundreds of calls.
class Action {
 public:
  template <class Call>
  Action(const Call& call)
      : call_(&call), run_([](const void* it) { (*static_cast<const Call*>(it))(); }) {}
  void operator()() const { run_(call_); }

 private:
  const void* call_;
  void (*run_)(const void*);
};

/// Code and text of the Error that `action` throws, which must be well-formed; empty text if it
/// throws none.
std::string error_text(Action action);

/// Message of the Error{invalid_argument} that `action` throws.
std::string message_of(Action action);

struct Place {
  const char* file;
  int line;
};

/// Reports a failure at `place` unless `action` throws the expected Error: see EXPECT_ERROR.
void expect_error(Action action, std::string_view code, std::string_view part, const Place& place);

}  // namespace dpftrl::testing

/// `action` must throw an Error whose code is `code` and whose message contains `part`.
#define EXPECT_ERROR(action, code, part) \
  ::dpftrl::testing::expect_error([&] { action; }, code, part, {__FILE__, __LINE__})
