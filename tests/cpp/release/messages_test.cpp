// SPDX-License-Identifier: Apache-2.0
//
// Wrong calls of the library, and the message wanted for each. A row with `today` is open: it has
// the message that the library still gives. tests/messages/ has the tables of the other interfaces.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct MessageRow {
  const char* call;
  std::function<void()> make;
  std::string wanted;
  std::optional<std::string> today = {};
};

/// Message of the error that a call throws, without its code; "accepted" if it throws none.
std::string said_by(const std::function<void()>& make) {
  try {
    make();
    return "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

#define MESSAGE_CALL(...) #__VA_ARGS__, [] { static_cast<void>(__VA_ARGS__); }

const ApproximateDp kMessageTarget{.epsilon = 1, .delta = 1e-6};

TEST(Messages, the_library_says_what_its_table_says) {
  const std::vector<MessageRow> rows = {
      {MESSAGE_CALL(mu_from_approximate_dp({.epsilon = 0, .delta = 1e-6})),
       "mu_from_approximate_dp: epsilon must be positive and finite, got 0"},
      {MESSAGE_CALL(mu_from_approximate_dp({.epsilon = kNoNumber, .delta = 1e-6})),
       "mu_from_approximate_dp: epsilon must be positive and finite, got NaN"},
      {MESSAGE_CALL(mu_from_approximate_dp({.epsilon = 1, .delta = 0})),
       "mu_from_approximate_dp: delta must be strictly between 0 and 1, got 0"},
      {MESSAGE_CALL(rho_from_mu(1e155)),
       "rho_from_mu: mu must be small enough for a finite rho, got 1e+155"},
      {MESSAGE_CALL(compose_mu(std::vector<double>{1, -1})),
       "compose_mu: mus[1] must be positive and finite, got -1"},
      {MESSAGE_CALL(make_strategy({.name = "tree"})),
       "make_strategy: steps must be between 1 and 1099511627776, got 0",
       "prefix_sums: steps must be between 1 and 1099511627776, got 0"},
      {MESSAGE_CALL(make_strategy({.name = "tree", .steps = 8, .parameters = {.bands = 3}})),
       "make_strategy: bands is not a parameter of tree"},
      {MESSAGE_CALL(Mechanism::make({.strategy = "tree", .steps = 8})),
       "mechanism: target.epsilon must be positive and finite, got 0",
       "mu_from_approximate_dp: epsilon must be positive and finite, got 0"},
      {MESSAGE_CALL(Mechanism::make({.steps = 8, .target = kMessageTarget, .clip = -1})),
       "mechanism: clip must be positive and finite, got -1"},
      {MESSAGE_CALL(Mechanism::make({.steps = 8, .target = kMessageTarget, .clip = 1e308})),
       "mechanism: clip must be small enough for noise that a number can hold, got 1e+308",
       "mechanism: noise_stddev must be positive and finite, got inf"},
      {MESSAGE_CALL(Mechanism::make({.steps = 8, .target = {.epsilon = 1e308, .delta = 1e-6}})),
       "accepted"},
      {MESSAGE_CALL(Participation::min_separation({.times = 0, .apart = 1})),
       "min_separation: times must be between 1 and 1099511627776, got 0"},
      {MESSAGE_CALL(require_length("f", "values", 0, 1)), "f: values must have 1 entry, got 0"},
      {MESSAGE_CALL(require_length("f", "values", 1, 2)), "f: values must have 2 entries, got 1"},
  };
  for (const auto& [call, make, wanted, today] : rows) {
    EXPECT_NE(today, wanted) << call << " is not open";
    EXPECT_EQ(said_by(make), today.value_or(wanted))
        << call << (said_by(make) == wanted ? " is mended: drop `today`" : "");
  }
  // Open: JavaScript and the command default to 'optimal'.
  EXPECT_EQ(MechanismOptions{}.strategy, "square-root");
}

}  // namespace
}  // namespace dpftrl
