// SPDX-License-Identifier: Apache-2.0
// Mechanisms without a delta: sensitivity, error and the choice of the tree.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "golden/pure_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using testing::relatively_close;

/// Mean squared error of the releases with continuous noise, times epsilon^2.
double squared_error(const Mechanism& mechanism) {
  const Certificate& claim = mechanism.certificate();
  return std::pow(claim.mean_error * claim.noise_multiplier * claim.epsilon, 2);
}

std::shared_ptr<const Mechanism> tree(std::int64_t steps, std::int64_t arity, bool subtractive) {
  return Mechanism::make_pure(
      {.steps = steps, .epsilon = 1, .arity = arity, .subtractive = subtractive});
}

TEST(PureMechanism, errors_and_sensitivities_are_those_counted_node_by_node) {
  for (const auto& known : golden::pure::trees) {
    SCOPED_TRACE(std::to_string(known.num_steps) + " steps, arity " + std::to_string(known.arity) +
                 (known.subtractive ? " subtractive" : ""));
    const auto mechanism = tree(known.num_steps, known.arity, known.subtractive);
    EXPECT_EQ(mechanism->certificate().sensitivity, static_cast<double>(known.sensitivity));
    EXPECT_EQ(mechanism->certificate().exactness, Exactness::exact);
    EXPECT_TRUE(relatively_close(squared_error(*mechanism), known.squared_error, 1e-12));
    // No arity has a smaller error than the chosen one.
    const auto chosen = Mechanism::make_pure({.steps = known.num_steps, .epsilon = 1});
    EXPECT_LE(squared_error(*chosen), known.squared_error * (1 + 1e-12));
  }
}

TEST(PureMechanism, at_a_million_steps_subtraction_beats_other_trees) {
  constexpr std::int64_t kSteps = std::int64_t{1} << 20;
  EXPECT_NEAR(squared_error(*tree(kSteps, 2, false)), 8820.0, 0.05);
  EXPECT_NEAR(squared_error(*tree(kSteps, 17, false)), 1880.5, 0.05);
  const auto best = Mechanism::make_pure({.steps = kSteps, .epsilon = 1});
  EXPECT_NEAR(squared_error(*best), 1147.4, 0.05);
  const Certificate& claim = best->certificate();
  ASSERT_EQ(claim.parameters.size(), 2U);
  EXPECT_EQ(claim.parameters[0].values, std::vector<double>{19});
  EXPECT_EQ(claim.parameters[1].values, std::vector<double>{1});
}

TEST(PureMechanism, horizons_that_balanced_digits_fill_have_the_closed_form) {
  // For h levels of arity k: h (k^2 - 1) / (4 k) nodes, times k^h / (k^h - 1).
  for (const std::int64_t k : {3, 5, 7, 19})
    for (std::int64_t h = 1; h <= 4; ++h) {
      const double full = std::pow(static_cast<double>(k), static_cast<double>(h));
      const auto steps = static_cast<std::int64_t>((full - 1) / 2);
      const double arity = static_cast<double>(k), levels = static_cast<double>(h);
      const double nodes = levels * (arity * arity - 1) / (4 * arity) * full / (full - 1);
      EXPECT_TRUE(relatively_close(squared_error(*tree(steps, k, true)),
                                   2 * levels * levels * nodes, 1e-12));
    }
  // As the horizon grows, error / log(n)^3 tends to (k - 1 / k) / (2 ln(k)^3), which is least at k
  // = 19.
  const auto limit = [](double k) { return (k - 1 / k) / (2 * std::pow(std::log(k), 3)); };
  for (double k = 3; k < 101; k += 2) EXPECT_GE(limit(k), limit(19));
  EXPECT_NEAR(limit(19), 0.37112, 5e-6);
}

TEST(PureMechanism, gaussian_noise_is_worse_below_the_delta_that_the_paper_names) {
  // Abstract of arXiv 2408.07021: with k = 19 the error is asymptotically below the bound of
  // Henzinger, Upadhyay and Upadhyay, (4 / epsilon^2) ln(1 / delta) (ln(n) / pi)^2 in its leading
  // term, for delta = O(n^-0.92). Both are ln(n)^3 / epsilon^2 times a constant at delta = n^-x,
  // and equal at one x.
  const auto crossing = [](double error, double steps) {
    return error / std::pow(std::log(steps), 3) * std::pow(std::numbers::pi, 2) / 4;
  };
  // Horizons filled by h digits of base 19. They are half of 19^h, which does not change the
  // limits.
  double last = std::numeric_limits<double>::infinity();
  for (std::int64_t h = 1, full = 19; h <= 5; ++h, full *= 19) {
    const std::int64_t steps = (full - 1) / 2;
    const double found = crossing(squared_error(*tree(steps, 19, true)), static_cast<double>(full));
    EXPECT_LE(found, last);
    last = found;
  }
  EXPECT_NEAR(last, 0.92, 0.005);
}

/// Stream of this number among those of `steps` records -1, 0 or 1.
Vector ternary_stream(std::int64_t number, std::int64_t steps) {
  Vector records(index_of(steps));
  for (std::int64_t t = 0; t < steps; ++t, number /= 3)
    records(index_of(t)) = static_cast<double>(number % 3 - 1);
  return records;
}

/// True if one user may participate in exactly the steps in which the streams differ.
bool is_allowed(const Vector& difference, const Participation& participation) {
  std::vector<std::int64_t> steps;
  for (std::int64_t t = 0; t < difference.size(); ++t)
    if (difference(index_of(t)) != 0) steps.push_back(t);
  if (std::ssize(steps) > participation.times_within(difference.size())) return false;
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i] - steps[i - 1] < participation.apart()) return false;
  return true;
}

TEST(PureMechanism, sensitivities_are_those_of_all_neighbouring_streams) {
  for (std::int64_t n = 1; n <= 8; ++n) {
    std::vector<Participation> participations = {Participation::single()};
    for (const std::int64_t separation : {1, 2, 3})
      if (n > separation)
        participations.push_back(Participation::min_separation({.times = 2, .apart = separation}));
    std::int64_t num_streams = 1;
    for (std::int64_t t = 0; t < n; ++t) num_streams *= 3;
    for (const Participation& participation : participations)
      for (const std::int64_t arity : {2, 3, 5, 7})
        for (const bool subtractive : {false, true}) {
          if (subtractive && arity % 2 == 0) continue;
          const auto mechanism = Mechanism::make_pure({.steps = n,
                                                       .epsilon = 1,
                                                       .participation = participation,
                                                       .arity = arity,
                                                       .subtractive = subtractive});
          const Matrix encoder = mechanism->strategy().encoder();
          // The nodes of neighbours differ by C u, where u are the user's records; the streams
          // cover every u.
          double largest = 0;
          for (std::int64_t i = 0; i < num_streams; ++i) {
            const Vector records = ternary_stream(i, n);
            if (is_allowed(records, participation))
              largest = std::max(largest, (encoder * records).cwiseAbs().sum());
          }
          EXPECT_EQ(mechanism->certificate().sensitivity, largest)
              << n << " steps, arity " << arity << (subtractive ? " subtractive, " : ", ")
              << participation.name();
        }
  }
}

TEST(PureMechanism, a_participation_moves_one_single_step) {
  for (const std::int64_t n : {2, 8, 5000}) {
    const Workload steps = Workload::sliding_window({.steps = n, .window = 1});
    for (const std::int64_t k : {1, 2, 3}) {
      const auto participation = Participation::min_separation({.times = k, .apart = 1});
      const auto mechanism = Mechanism::make_pure(
          {.steps = n, .epsilon = 1, .participation = participation, .workload = steps});
      const Certificate& claim = mechanism->certificate();
      EXPECT_EQ(claim.sensitivity, static_cast<double>(std::min(k, n)));
      EXPECT_EQ(claim.exactness, Exactness::exact);
      EXPECT_EQ(claim.max_error, claim.sensitivity);
      EXPECT_EQ(claim.mean_error, claim.sensitivity);
    }
  }
}

TEST(PureMechanism, long_horizons_with_many_participations_have_a_bound) {
  const auto participation = Participation::min_separation({.times = 4, .apart = 10});
  const auto exact = Mechanism::make_pure(
      {.steps = 1000, .epsilon = 1, .participation = participation, .arity = 5});
  EXPECT_EQ(exact->certificate().exactness, Exactness::exact);
  EXPECT_EQ(exact->certificate().sensitivity, 4 * 5);
  const auto bound = Mechanism::make_pure(
      {.steps = std::int64_t{1} << 30, .epsilon = 1, .participation = participation, .arity = 5});
  EXPECT_EQ(bound->certificate().exactness, Exactness::upper_bound);
  EXPECT_EQ(bound->certificate().sensitivity,
            4 * tree(std::int64_t{1} << 30, 5, false)->certificate().sensitivity);
}

TEST(PureMechanism, the_certificate_states_the_norm_and_no_delta) {
  const auto mechanism = Mechanism::make_pure(
      {.steps = 100, .epsilon = 0.5, .clip = 3, .neighbours = Neighbours::replace_one});
  const Certificate& claim = mechanism->certificate();
  EXPECT_TRUE(mechanism->is_pure());
  EXPECT_EQ(claim.delta, 0);
  EXPECT_EQ(claim.record_norm, RecordNorm::l1);
  EXPECT_EQ(claim.strategy, "tree-k");
  EXPECT_EQ(claim.mu, mu_from_pure_dp(0.5));
  EXPECT_EQ(claim.rho, rho_from_pure_dp(0.5));
  EXPECT_LE(claim.rho, 0.5 * 0.5 / 2);
  const double scale = claim.sensitivity * 3 * 2 / 0.5;
  EXPECT_GE(claim.noise_stddev, std::numbers::sqrt2 * scale);
  EXPECT_TRUE(relatively_close(claim.noise_stddev, std::numbers::sqrt2 * scale, 1e-9));
  const auto other = Mechanism::make({.steps = 100, .target = {.epsilon = 0.5, .delta = 1e-6}});
  EXPECT_FALSE(other->is_pure());
  EXPECT_EQ(other->certificate().record_norm, RecordNorm::l2);
}

TEST(PureMechanism, refuses_bad_options_by_name) {
  const auto make = [](PureOptions options) { return Mechanism::make_pure(options); };
  EXPECT_ERROR(make({.steps = 0, .epsilon = 1}), "invalid_argument", "steps");
  EXPECT_ERROR(make({.steps = kMaxNumSteps + 1, .epsilon = 1}), "invalid_argument", "steps");
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_ERROR(make({.steps = 5, .epsilon = bad}), "invalid_argument", "epsilon");
    EXPECT_ERROR(make({.steps = 5, .epsilon = 1, .clip = bad}), "invalid_argument", "clip");
  }
  EXPECT_ERROR(make({.steps = 5, .epsilon = 1, .arity = 1}), "invalid_argument", "arity");
  EXPECT_ERROR(make({.steps = 5, .epsilon = 1, .arity = 4, .subtractive = true}),
               "invalid_argument", "arity");
  EXPECT_ERROR(make({.steps = 5,
                     .epsilon = 1,
                     .workload = Workload::sliding_window({.steps = 5, .window = 2})}),
               "unsupported", "workload");
  EXPECT_ERROR(make({.steps = 5,
                     .epsilon = 1,
                     .workload = Workload::sliding_window({.steps = 5, .window = 1}),
                     .arity = 2}),
               "invalid_argument", "arity");
  EXPECT_ERROR(make({.steps = 5, .epsilon = 1, .workload = Workload::prefix_sums(4)}),
               "wrong_length", "workload");
  EXPECT_ERROR(
      make({.steps = 5,
            .epsilon = 1,
            .participation = Participation::fixed_epoch({.epochs = 2, .epoch_length = 3})}),
      "invalid_argument", "epoch");
  EXPECT_ERROR(
      DpFtrl({.mechanism = make({.steps = 5, .epsilon = 1}), .key = Key::insecure_from_seed(1)}),
      "unsupported", "mechanism");
}

}  // namespace
}  // namespace dpftrl
