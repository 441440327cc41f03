// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/joint_activity.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "golden/active_windows_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

template <class Row>
std::vector<ActiveWindow> windows_of(const Row& row, const std::array<double, 3>& sensitivities) {
  std::vector<ActiveWindow> windows = {
      {row.window_0, {row.theta_0, row.offset_0}, sensitivities[0]},
      {row.window_1, {row.theta_1, row.offset_1}, sensitivities[1]},
      {row.window_2, {row.theta_2, row.offset_2}, sensitivities[2]}};
  if (row.window_2 == 0) windows.pop_back();
  return windows;
}

// The reference enumerates all sets of events in up to 11 steps, in fractions.
TEST(JointActivity, is_never_below_any_events) {
  for (const auto& row : golden::active_windows::events) {
    const auto windows = windows_of(
        row, {std::sqrt(row.squared_0), std::sqrt(row.squared_1), std::sqrt(row.squared_2)});
    const double found = joint_activity(row.n, row.is_open, windows);
    EXPECT_GE(found, row.joint * (1 - 1e-14))
        << row.n << ": " << row.window_0 << ", " << row.window_1 << ", " << row.window_2;
    EXPECT_LE(found, row.joint * 1.04);
  }
}

// The reference is an independent search for the bound, by another program.
TEST(JointActivity, is_that_of_another_program_for_a_year) {
  for (const auto& row : golden::active_windows::year) {
    const auto windows = windows_of(row, {row.sensitivity_0, row.sensitivity_1, row.sensitivity_2});
    const double found = joint_activity(row.n, row.is_open, windows);
    EXPECT_NEAR(found, row.upper, 2e-3);
  }
}

TEST(JointActivity, has_no_order_and_repeats_what_is_repeated) {
  const ActiveWindow week{7, {0.328125, 0.07421875}, 8.6}, month{30, {0.609375, 0.1064453125}, 6.4};
  const auto joint = [](const std::vector<ActiveWindow>& windows) {
    return joint_activity(365, true, windows);
  };
  EXPECT_EQ(joint({week, month}), joint({month, week}));
  EXPECT_NEAR(joint({week, week}), std::sqrt(2) * joint({week}), 1e-9);
  ActiveWindow louder = week;
  louder.sensitivity /= 2;
  EXPECT_NEAR(joint({louder}), 2 * joint({week}), 1e-9);
}

MechanismOptions options_for(std::int64_t steps, const ActivePattern& pattern) {
  return {.strategy = "offset-ar",
          .steps = steps,
          .target = {.epsilon = 1, .delta = 1e-6},
          .neighbours = pattern.neighbours,
          .participation = Participation::active(pattern)};
}

TEST(JointActivity, days_weeks_and_months_of_a_year_have_this_factor) {
  const std::vector<std::int64_t> windows = {1, 7, 30};
  const auto whole = Mechanism::make_active(options_for(365, {.window = 1}), windows);
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t window = windows[static_cast<std::size_t>(i)];
    const auto alone = Mechanism::make(options_for(365, {.window = window}));
    const double factor = whole->reader(i)->noise_stddev() / alone->noise_stddev();
    EXPECT_NEAR(factor, 1.566, 1e-3);
  }
}

TEST(JointActivity, nothing_is_saved_for_people_who_are_replaced_nor_with_other_encoders) {
  const auto expect_plain = [](const ActivePattern& pattern,
                               const std::vector<std::int64_t>& windows) {
    MechanismOptions options = options_for(60, pattern);
    const auto whole = Mechanism::make_active(options, windows);
    for (std::int64_t i = 0; i < 2; ++i) {
      ActivePattern own = pattern;
      own.window = windows[static_cast<std::size_t>(i)];
      options.participation = Participation::active(own);
      const auto alone = Mechanism::make_active(options);
      EXPECT_NEAR(whole->reader(i)->noise_stddev() / alone->noise_stddev(), std::sqrt(2), 1e-12);
    }
  };
  expect_plain({.window = 1, .neighbours = Neighbours::replace_one}, {1, 7});
  expect_plain({.window = 1, .has_open_start = false}, {50, 55});
}

}  // namespace
}  // namespace dpftrl
