// SPDX-License-Identifier: Apache-2.0
// Distribution of the private choice among candidate models, and its privacy cost.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/queries/exponential_mechanism.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::normal_cdf;

constexpr double kShare = 0.75;

Key tuning_key(std::int64_t seed) {
  return Key::insecure_from_seed(static_cast<std::uint64_t>(seed));
}

/// Distributions of a candidate's outcome in two neighbouring worlds: N(0, 1) and N(mu, 1),
/// discretised into cells and therefore mu-GDP.
struct Worlds {
  std::vector<double> here;
  std::vector<double> there;

  Worlds(double mu, const std::vector<double>& edges) {
    double low_here = 0, low_there = 0;
    for (std::size_t i = 0; i <= edges.size(); ++i) {
      const double high_here = i < edges.size() ? normal_cdf(edges[i]) : 1;
      const double high_there = i < edges.size() ? normal_cdf(edges[i] - mu) : 1;
      here.push_back(high_here - low_here);
      there.push_back(high_there - low_there);
      low_here = high_here;
      low_there = high_there;
    }
  }
};

/// Probability that some candidate is chosen with each outcome, computed by enumerating the other
/// candidates' coins and tie-breaking. `laws[i]` is the distribution of candidate i over ranks; a
/// higher rank wins.
std::vector<double> chosen_law(const std::vector<std::vector<double>>& laws) {
  const std::size_t num_candidates = laws.size(), num_ranks = laws[0].size();
  std::vector<double> chosen;
  for (std::size_t own = 0; own < num_candidates; ++own) {
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
      // chances[t] is the probability that t others tie and none is better.
      std::vector<double> chances{1};
      for (std::size_t other = 0; other < num_candidates; ++other) {
        if (other == own) continue;
        double below = 0;
        for (std::size_t i = 0; i < rank; ++i) below += laws[other][i];
        const double loses = 1 - kShare + kShare * below, ties = kShare * laws[other][rank];
        std::vector<double> next(chances.size() + 1, 0);
        for (std::size_t t = 0; t < chances.size(); ++t) {
          next[t] += chances[t] * loses;
          next[t + 1] += chances[t] * ties;
        }
        chances = next;
      }
      double chance = 0;
      for (std::size_t t = 0; t < chances.size(); ++t)
        chance += chances[t] / static_cast<double>(t + 1);
      chosen.push_back(kShare * laws[own][rank] * chance);
    }
  }
  const double total = std::accumulate(chosen.begin(), chosen.end(), 0.0);
  for (double& chance : chosen) chance /= total;
  return chosen;
}

double delta_between(const std::vector<double>& p, const std::vector<double>& q, double epsilon) {
  double delta = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    delta += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
  return delta;
}

/// Largest delta over all orders of the outcomes, with the two worlds in either role. All other
/// candidates share a second order, since their outcomes need not be ranked alike.
double worst_delta(const Worlds& worlds, double epsilon, std::size_t num_candidates) {
  const std::size_t num_cells = worlds.here.size();
  std::vector<std::size_t> order(num_cells), other(num_cells);
  std::iota(order.begin(), order.end(), 0);
  double worst = 0;
  do {
    std::iota(other.begin(), other.end(), 0);
    do {
      std::vector<std::vector<double>> here, there;
      for (std::size_t i = 0; i < num_candidates; ++i) {
        const auto& ranks = i % 2 == 0 ? order : other;
        std::vector<double> own_here, own_there;
        for (const std::size_t cell : ranks) {
          own_here.push_back(worlds.here[cell]);
          own_there.push_back(worlds.there[cell]);
        }
        here.push_back(own_here);
        there.push_back(own_there);
      }
      const auto p = chosen_law(here), q = chosen_law(there);
      worst = std::max({worst, delta_between(p, q, epsilon), delta_between(q, p, epsilon)});
    } while (std::next_permutation(other.begin(), other.end()));
  } while (std::next_permutation(order.begin(), order.end()));
  return worst;
}

TEST(Tuning, the_ratio_is_at_least_that_at_every_point_and_hardly_more) {
  for (const double mu : {1e-3, 0.1, 0.7, 2.0, 6.0}) {
    double largest = 1;
    for (int i = -1600; i <= 800; ++i) {
      const double x = i / 100.0;
      largest = std::max(largest, (1 - kShare * normal_cdf(x)) / (1 - kShare * normal_cdf(x + mu)));
    }
    EXPECT_GE(tuning_ratio(mu), largest);
    EXPECT_LE(tuning_ratio(mu), largest * (1 + 1e-4)) << mu;
  }
}

TEST(Tuning, no_order_of_the_outcomes_has_more_delta_than_the_bound) {
  const std::vector<double> edges{-0.5, 1.2, 3};
  bool is_ratio_needed = false;
  for (const double mu : {0.3, 1.0, 2.5}) {
    const Worlds worlds(mu, edges);
    for (const double epsilon : {0.2 * mu, 0.8 * mu, 1.5 * mu}) {
      const double alone = std::max(delta_between(worlds.here, worlds.there, epsilon),
                                    delta_between(worlds.there, worlds.here, epsilon));
      for (const std::int64_t num_candidates : {2, 3, 4}) {
        const auto k = static_cast<std::size_t>(num_candidates);
        const double worst = worst_delta(worlds, epsilon, k);
        const TuningLoss loss{.mu = mu, .epsilon = epsilon, .num_candidates = num_candidates};
        EXPECT_LE(worst, tuning_delta(loss)) << mu << " " << epsilon << " " << k;
        // The choice costs privacy: the delta of a single learner is no bound.
        EXPECT_GT(worst, alone * 1.05) << mu << " " << epsilon << " " << k;
        // Nor is that delta times the mean number of participating candidates.
        const double mean = kShare * static_cast<double>(k) / (1 - std::pow(1 - kShare, k));
        is_ratio_needed = is_ratio_needed || worst > mean * alone;
      }
    }
  }
  EXPECT_TRUE(is_ratio_needed);
}

TEST(Tuning, the_plan_spends_the_target_and_no_more) {
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    double last = epsilon;
    for (const std::int64_t num_candidates : {2, 3, 8, 64}) {
      const ApproximateDp target{.epsilon = epsilon, .delta = 1e-6};
      const TuningPlan plan = plan_tuning({.target = target, .num_candidates = num_candidates});
      const auto delta_at = [&](double each) {
        const double mu = mu_from_approximate_dp({.epsilon = each, .delta = target.delta});
        return tuning_delta({.mu = mu, .epsilon = epsilon, .num_candidates = num_candidates});
      };
      EXPECT_LE(delta_at(plan.learner_epsilon), target.delta);
      EXPECT_GT(delta_at(plan.learner_epsilon * (1 + 1e-3)), target.delta);
      EXPECT_LT(plan.learner_epsilon, last);
      last = plan.learner_epsilon;
      EXPECT_EQ(plan.selection_epsilon, epsilon);
      const double each =
          mu_from_approximate_dp({.epsilon = plan.learner_epsilon, .delta = target.delta});
      const double all = each * std::sqrt(static_cast<double>(num_candidates));
      EXPECT_GE(plan.mu, all * (1 - 1e-12));
      EXPECT_GE(plan.mu, mu_from_pure_dp(epsilon));
      EXPECT_GE(plan.rho, rho_from_pure_dp(epsilon));
      const TuningPlan composed =
          plan_tuning({.target = target, .num_candidates = num_candidates, .composes = true});
      EXPECT_EQ(composed.learner_epsilon, plan.learner_epsilon);
      EXPECT_NEAR(composed.mu / all, 1, 1e-12);
      EXPECT_NEAR(composed.rho / (all * all / 2), 1, 1e-12);
      EXPECT_LE(mu_from_pure_dp(composed.selection_epsilon), composed.mu);
      EXPECT_LE(composed.selection_epsilon, epsilon);
    }
  }
  // Computed by tests/reference/tuning_oracle.py.
  const TuningTarget known{.target = {.epsilon = 1, .delta = 1e-6}, .num_candidates = 3};
  EXPECT_NEAR(plan_tuning(known).learner_epsilon, 0.7643329521, 1e-4);
  EXPECT_THROW(plan_tuning({.target = {.epsilon = 1, .delta = 1e-6}, .num_candidates = 1}), Error);
  EXPECT_THROW(plan_tuning({.target = {.epsilon = 1, .delta = 1e-6}, .num_candidates = 65}), Error);
  EXPECT_THROW(plan_tuning({.target = {.epsilon = 0, .delta = 1e-6}, .num_candidates = 2}), Error);
}

TEST(Tuning, a_tenth_of_the_rows_is_held_out_and_every_row_as_often) {
  constexpr std::int64_t kNumRows = 21, kNumDraws = 20000;
  std::vector<double> times(kNumRows, 0);
  double together = 0;
  for (std::int64_t seed = 0; seed < kNumDraws; ++seed) {
    const std::vector<std::int64_t> rows = draw_held_out(kNumRows, tuning_key(seed));
    ASSERT_EQ(rows.size(), 3U);
    ASSERT_TRUE(rows[0] < rows[1] && rows[1] < rows[2]);
    for (const std::int64_t row : rows) ++times[static_cast<std::size_t>(row)];
    together += std::count(rows.begin(), rows.end(), 4) == 1 &&
                std::count(rows.begin(), rows.end(), 5) == 1;
  }
  // Six standard deviations: a correct sampler fails with probability below 1e-7.
  for (const double each : times) EXPECT_NEAR(each / kNumDraws, 3.0 / 21, 6 * 0.0025);
  EXPECT_NEAR(together / kNumDraws, 3.0 * 2 / (21 * 20), 6 * 0.00085);
  EXPECT_EQ(draw_held_out(2, tuning_key(1)).size(), 1U);
  EXPECT_THROW(draw_held_out(1, tuning_key(1)), Error);
}

TEST(Tuning, a_choice_has_the_law_of_coins_and_the_exponential_mechanism) {
  const std::vector<std::int64_t> num_right{7, 9, 4};
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    const TunedChoice options{.selection_epsilon = 0.5, .neighbours = neighbours};
    const std::vector<double> law = tuned_probabilities(num_right, options);
    constexpr std::int64_t kNumDraws = 20000;
    std::vector<double> times(3, 0);
    for (std::int64_t seed = 0; seed < kNumDraws; ++seed)
      ++times[static_cast<std::size_t>(choose_tuned(num_right, options, tuning_key(seed)))];
    // Six standard deviations of a share are at most 0.0213.
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(times[i] / kNumDraws, law[i], 0.0213);
    // The coins have an effect: without them the best candidate is chosen more often.
    const double unit = neighbours == Neighbours::zero_out ? 0.5 : 0.25;
    const double weight = std::exp(2 * -unit), last = std::exp(5 * -unit);
    EXPECT_GT(1 / (1 + weight + last), law[1] + 0.03);
    // Computed for the sets {1}, {0, 1}, {1, 2} and all three.
    const double by_hand =
        (kShare / 16 + kShare * kShare / 4 * (1 / (1 + weight) + 1 / (1 + last)) +
         kShare * kShare * kShare / (1 + weight + last)) /
        (1 - 1.0 / 64);
    EXPECT_NEAR(law[1], by_hand, 1e-12);
  }
}

/// Counts the rows that each of three candidates predicts correctly, for all tables of three rows;
/// bit i of a row says whether candidate i predicts it correctly.
std::vector<std::int64_t> counted(const std::vector<std::uint32_t>& rows) {
  std::vector<std::int64_t> counts(3, 0);
  for (const std::uint32_t row : rows)
    for (std::size_t i = 0; i < 3; ++i) counts[i] += row >> i & 1U;
  return counts;
}

TEST(Tuning, a_row_that_is_held_out_changes_no_chance_by_more_than_epsilon) {
  constexpr double kEpsilon = 0.8;
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    const TunedChoice options{.selection_epsilon = kEpsilon, .neighbours = neighbours};
    double largest = 0;
    for (std::uint32_t table = 0; table < 8 * 8 * 8; ++table) {
      const std::vector<std::uint32_t> rows{table % 8, table / 8 % 8, table / 64};
      const std::vector<double> law = tuned_probabilities(counted(rows), options);
      // No candidate predicts a zeroed row correctly; any subset may predict a replaced row
      // correctly.
      const std::uint32_t num_others = neighbours == Neighbours::zero_out ? 1 : 8;
      for (std::uint32_t other = 0; other < num_others; ++other) {
        const std::vector<double> there =
            tuned_probabilities(counted({other, rows[1], rows[2]}), options);
        for (std::size_t i = 0; i < 3; ++i)
          largest = std::max(largest, std::abs(std::log(law[i] / there[i])));
      }
    }
    EXPECT_LE(largest, kEpsilon);
    EXPECT_GT(largest, kEpsilon / 2);  // half the epsilon would give a smaller loss
  }
}

}  // namespace
}  // namespace dpftrl
