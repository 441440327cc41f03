// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/exponential_mechanism.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "queries/exponential_sampling.hpp"
#include "random/discrete_gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using Counts = std::vector<std::int64_t>;

constexpr std::int64_t kNumChoices = 20000;

/// Pearson's test. It rejects a correct sampler with probability at most e^-18, by P[chi^2_k > k +
/// 2 sqrt(k x) + 2 x] <= e^-x (Laurent, Massart 2000). Values expected fewer than 20 times are
/// pooled.
bool follows_choice_law(const Counts& counts, const std::vector<double>& law) {
  double statistic = 0, rest_count = 0, rest_expected = 0, freedom = 0;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const double expected = law[i] * static_cast<double>(kNumChoices);
    const double count = static_cast<double>(counts[i]);
    if (expected < 20) {
      rest_count += count;
      rest_expected += expected;
      continue;
    }
    statistic += (count - expected) * (count - expected) / expected;
    ++freedom;
  }
  const double miss = rest_count - rest_expected;
  statistic += miss * miss / std::max(rest_expected, 1.0);
  constexpr double kX = 18;
  return statistic <= freedom + 2 * std::sqrt(freedom * kX) + 2 * kX;
}

Counts draws(const Counts& utilities, const ExponentialOptions& options) {
  Counts counts(utilities.size(), 0);
  for (std::int64_t i = 0; i < kNumChoices; ++i) {
    const Key key = Key::insecure_from_seed(static_cast<std::uint64_t>(i));
    ++counts[static_cast<std::size_t>(exponential_mechanism(utilities, options, key))];
  }
  return counts;
}

TEST(ExponentialMechanism, draws_have_the_exact_probabilities) {
  const Counts utilities = {0, 5, -3, 5, 12, 9, 11};
  for (const bool is_monotone : {false, true}) {
    const ExponentialOptions options{.epsilon = 0.7, .sensitivity = 3, .is_monotone = is_monotone};
    const Counts counts = draws(utilities, options);
    EXPECT_TRUE(follows_choice_law(counts, exponential_probabilities(utilities, options)));
    for (const double wrong : {0.6, 0.8}) {
      ExponentialOptions other = options;
      other.epsilon = wrong;
      EXPECT_FALSE(follows_choice_law(counts, exponential_probabilities(utilities, other)));
    }
  }
}

/// Answers false to every toss, and records the odds.
struct RecordingCoin {
  std::vector<double> odds = {};
  template <std::size_t N>
  bool toss(const detail::WideUnsigned<N>& a, const detail::WideUnsigned<N>& b) {
    odds.push_back(a.to_double_above() / b.to_double_above());
    return false;
  }
};

TEST(ExponentialMechanism, the_coin_has_the_odds_of_the_formula_over_all_ranges) {
  // If the exponent is below 1, the first toss of bernoulli_exp has the exponent as its odds.
  for (const double epsilon : {0x1p-30, 0.1, 1.0 / 3, 1.0, 7.7, 0x1p20}) {
    for (const std::uint64_t divisor : {1ULL, 2ULL, 6ULL, (1ULL << 32) - 2}) {
      const detail::UnitLoss loss(epsilon, divisor);
      const double unit = epsilon / static_cast<double>(divisor);
      EXPECT_NEAR(loss.digits.to_double_above() / loss.denominator.to_double_above() / unit, 1,
                  1e-13);
      if (unit >= 0.5) continue;
      const auto distance = static_cast<std::uint64_t>(std::min(0.75 / unit, 0x1p54));
      RecordingCoin coin;
      EXPECT_TRUE(detail::is_taken(coin, distance, loss));
      EXPECT_NEAR(coin.odds.at(0) / (static_cast<double>(distance) * unit), 1, 1e-12);
    }
  }
}

/// Largest absolute log ratio of the probabilities of any outcome.
double largest_choice_loss(const std::vector<double>& p, const std::vector<double>& q) {
  double loss = 0;
  for (std::size_t i = 0; i < p.size(); ++i) loss = std::max(loss, std::abs(std::log(p[i] / q[i])));
  return loss;
}

/// Calls `visit(h, other)` for all neighbouring histograms over three values with counts up to 4.
template <class Visit>
void for_all_neighbours(Neighbours neighbours, const Visit& visit) {
  for (std::int64_t code = 0; code < 125; ++code) {
    const Counts h = {code % 5, code / 5 % 5, code / 25};
    for (std::size_t v = 0; v < 3; ++v) {
      if (h[v] == 0) continue;
      Counts other = h;
      --other[v];
      if (neighbours == Neighbours::zero_out) visit(h, other);
      for (std::size_t w = 0; w < 3 && neighbours == Neighbours::replace_one; ++w) {
        ++other[w];
        visit(h, other);
        --other[w];
      }
    }
  }
}

TEST(PrivateWinner, is_epsilon_dp_for_all_neighbouring_histograms) {
  constexpr double kEpsilon = 0.8;
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    const auto worst = [&](bool is_monotone) {
      const ExponentialOptions options{
          .epsilon = kEpsilon, .sensitivity = 1, .is_monotone = is_monotone};
      double loss = 0;
      for_all_neighbours(neighbours, [&](const Counts& h, const Counts& other) {
        loss = std::max(loss, largest_choice_loss(exponential_probabilities(h, options),
                                                  exponential_probabilities(other, options)));
      });
      return loss;
    };
    const bool adds = neighbours == Neighbours::zero_out;
    EXPECT_LE(worst(adds), kEpsilon * (1 + 1e-12));
    EXPECT_GE(worst(adds), kEpsilon * 0.7);
    // The factor of 2 is needed where counts move in both directions.
    if (!adds) {
      EXPECT_GT(worst(true), kEpsilon * 1.2);
    }
  }
}

TEST(PrivateWinner, draws_with_the_epsilon_and_the_factor_of_its_neighbours) {
  // Counts are close together, so that double or half the epsilon would draw other candidates.
  const std::vector<std::int64_t> h = {3, 5, 4, 4, 5, 3, 2, 5};
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    const bool is_monotone = neighbours == Neighbours::zero_out;
    int others = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Key key = Key::insecure_from_seed(seed);
      const std::int64_t winner = private_winner(h, {.epsilon = 1, .neighbours = neighbours}, key);
      EXPECT_EQ(winner, exponential_mechanism(
                            h, {.epsilon = 1, .sensitivity = 1, .is_monotone = is_monotone}, key));
      others +=
          winner != exponential_mechanism(
                        h, {.epsilon = 1, .sensitivity = 1, .is_monotone = !is_monotone}, key);
      const QuantileOptions median{
          .epsilon = 1, .numerator = 1, .denominator = 2, .neighbours = neighbours};
      const QuantileUtilities found = quantile_utilities(h, median);
      EXPECT_EQ(private_quantile(h, median, key),
                exponential_mechanism(found.utilities,
                                      {.epsilon = 1, .sensitivity = found.sensitivity}, key));
    }
    EXPECT_GT(others, 10) << "the check tells nothing apart";
  }
}

TEST(ExponentialMechanism, draws_are_frozen) {
  const std::vector<std::int64_t> h = {3, 5, 4, 4, 5, 3, 2, 5};
  std::vector<std::int64_t> drawn;
  for (std::uint64_t seed = 0; seed < 16; ++seed)
    drawn.push_back(
        exponential_mechanism(h, {.epsilon = 1, .sensitivity = 1}, Key::insecure_from_seed(seed)));
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{4, 7, 0, 1, 2, 1, 3, 4, 4, 5, 2, 0, 1, 4, 4, 2}));
}

TEST(PrivateQuantile, sensitivity_is_that_of_all_neighbouring_histograms) {
  for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one}) {
    for (const std::int64_t numerator : {0, 1, 2, 3}) {
      const QuantileOptions options{
          .epsilon = 1, .numerator = numerator, .denominator = 3, .neighbours = neighbours};
      std::int64_t largest = 0, claimed = 0;
      for_all_neighbours(neighbours, [&](const Counts& h, const Counts& other) {
        const QuantileUtilities a = quantile_utilities(h, options);
        const QuantileUtilities b = quantile_utilities(other, options);
        claimed = a.sensitivity;
        for (std::size_t v = 0; v < h.size(); ++v)
          largest = std::max(largest, std::abs(a.utilities[v] - b.utilities[v]));
      });
      EXPECT_EQ(claimed, largest) << numerator;
    }
  }
}

/// Largest privacy losses between histograms that differ by a person with up to two records.
class LossesOfPersons {
 public:
  void compare(const Counts& h, const Counts& other, Neighbours neighbours) {
    const auto loss_of = [&](std::int64_t sensitivity) {
      const ExponentialOptions options{.epsilon = kEpsilon,
                                       .sensitivity = sensitivity,
                                       .is_monotone = neighbours == Neighbours::zero_out};
      return largest_choice_loss(exponential_probabilities(h, options),
                                 exponential_probabilities(other, options));
    };
    winner_ = std::max(winner_, loss_of(2));
    winner_of_rows_ = std::max(winner_of_rows_, loss_of(1));
    for (const std::int64_t numerator : {0, 1, 3}) {
      const QuantileOptions options{.epsilon = kEpsilon,
                                    .numerator = numerator,
                                    .denominator = 3,
                                    .neighbours = neighbours,
                                    .max_contributions = 2};
      const QuantileUtilities a = quantile_utilities(h, options);
      const QuantileUtilities b = quantile_utilities(other, options);
      for (std::size_t i = 0; i < h.size(); ++i)
        EXPECT_LE(std::abs(a.utilities[i] - b.utilities[i]), a.sensitivity);
    }
  }

  /// Two records count twice; counting them once would not protect them.
  void expect_protection() const {
    EXPECT_LE(winner_, kEpsilon * (1 + 1e-12));
    EXPECT_GT(winner_of_rows_, kEpsilon * 1.2);
  }

 private:
  static constexpr double kEpsilon = 0.8;
  double winner_ = 0, winner_of_rows_ = 0;
};

TEST(PrivateQuantile, persons_with_two_records_are_protected) {
  // Histograms that differ by two records of any values.
  LossesOfPersons losses;
  for (std::int64_t code = 0; code < 27; ++code) {
    const Counts h = {code % 3, code / 3 % 3, code / 9};
    for (std::size_t v = 0; v < 3; ++v)
      for (std::size_t w = v; w < 3; ++w) {
        Counts other = h;
        ++other[v];
        ++other[w];
        losses.compare(h, other, Neighbours::zero_out);
      }
  }
  losses.expect_protection();
  const Counts flat = {3, 5, 4, 4, 5, 3, 2, 5};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Key key = Key::insecure_from_seed(seed);
    EXPECT_EQ(
        private_winner(flat, {.epsilon = 1, .max_contributions = 2}, key),
        exponential_mechanism(flat, {.epsilon = 1, .sensitivity = 2, .is_monotone = true}, key));
  }
}

TEST(PrivateQuantile, replace_one_protects_persons_whatever_their_numbers_of_records) {
  // Replaces a person with up to two records by another with up to two. Nothing is public here, not
  // even the number of records.
  LossesOfPersons losses;
  std::vector<Counts> persons;
  for (std::int64_t code = 0; code < 27; ++code)
    if (Counts one = {code % 3, code / 3 % 3, code / 9}; one[0] + one[1] + one[2] <= 2)
      persons.push_back(std::move(one));
  ASSERT_EQ(persons.size(), 10U);
  for (std::int64_t code = 0; code < 27; ++code)
    for (const Counts& mine : persons)
      for (const Counts& theirs : persons) {
        Counts h = {code % 3, code / 3 % 3, code / 9}, other = h;
        for (std::size_t v = 0; v < 3; ++v) {
          h[v] += mine[v];
          other[v] += theirs[v];
        }
        losses.compare(h, other, Neighbours::replace_one);
      }
  losses.expect_protection();
  const Counts flat = {3, 5, 4, 4, 5, 3, 2, 5};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Key key = Key::insecure_from_seed(seed);
    EXPECT_EQ(
        private_winner(
            flat, {.epsilon = 1, .neighbours = Neighbours::replace_one, .max_contributions = 2},
            key),
        exponential_mechanism(flat, {.epsilon = 1, .sensitivity = 2}, key));
  }
}

TEST(PrivateQuantile, exact_quantiles_have_the_best_utility) {
  const Counts h = {2, 0, 5, 3};  // 0 0 2 2 2 2 2 3 3 3
  const auto utilities = [&](std::int64_t numerator) {
    return quantile_utilities(h, {.epsilon = 1, .numerator = numerator, .denominator = 10})
        .utilities;
  };
  EXPECT_EQ(utilities(5), (Counts{-30, -30, 0, -20}));
  EXPECT_EQ(utilities(2), (Counts{0, 0, 0, -50}));
  EXPECT_EQ(utilities(10), (Counts{-80, -80, -30, 0}));
  const Key key = Key::insecure_from_seed(1);
  EXPECT_EQ(private_quantile(h, {.epsilon = 1e5, .numerator = 5, .denominator = 10}, key), 2);
  EXPECT_EQ(private_winner(h, {.epsilon = 1e5}, key), 2);
}

TEST(ExponentialMechanism, laplace_noise_is_one_of_utility_distance) {
  // u(y) = -|y - f| with sensitivity 3 gives exp(-epsilon |y - f| / 6), the discrete Laplace
  // distribution of scale 2 sensitivity / epsilon = 6. Its normalisation does not depend on f, so
  // it spends half of epsilon.
  constexpr std::int64_t kSize = 401, kTruth = 200, kSensitivity = 3;
  const ExponentialOptions options{.epsilon = 1, .sensitivity = kSensitivity};
  const auto law_at = [&](std::int64_t truth) {
    Counts utilities(kSize);
    for (std::int64_t y = 0; y < kSize; ++y)
      utilities[static_cast<std::size_t>(y)] = -std::abs(y - truth);
    return exponential_probabilities(utilities, options);
  };
  const std::vector<double> law = law_at(kTruth);
  const double q = std::exp(-1.0 / 6);
  for (std::int64_t y = kTruth - 60; y <= kTruth + 60; ++y) {
    const double laplace =
        (1 - q) / (1 + q) * std::pow(q, static_cast<double>(std::abs(y - kTruth)));
    EXPECT_NEAR(law[static_cast<std::size_t>(y)] / laplace, 1, 1e-9);
  }
  EXPECT_NEAR(largest_choice_loss(law, law_at(kTruth + kSensitivity)), 0.5, 1e-9);
  // The discrete Laplace sampler follows the distribution of the exponential mechanism.
  const DiscreteLaplace sampler(6);
  Counts counts(kSize, 0);
  for (std::int64_t i = 0; i < kNumChoices; ++i) {
    const std::int64_t k = sampler.sample(Key::insecure_from_seed(9),
                                          {.row = 0, .coordinate = static_cast<std::uint64_t>(i)});
    ++counts.at(static_cast<std::size_t>(kTruth + k));
  }
  EXPECT_TRUE(follows_choice_law(counts, law));
  ExponentialOptions twice = options;
  twice.epsilon = 2;
  Counts utilities(kSize);
  for (std::int64_t y = 0; y < kSize; ++y)
    utilities[static_cast<std::size_t>(y)] = -std::abs(y - kTruth);
  EXPECT_FALSE(follows_choice_law(counts, exponential_probabilities(utilities, twice)));
}

TEST(RandomizedResponse, reports_lie_as_often_as_they_should) {
  for (const double epsilon : {0x1p-31, 0.5, 1.0, 3.0}) {
    const double truth = 1 / (1 + std::exp(-epsilon));
    for (const bool bit : {false, true}) {
      Counts counts(2, 0);
      for (std::int64_t i = 0; i < kNumChoices; ++i) {
        const Key key = Key::insecure_from_seed(static_cast<std::uint64_t>(2 * i + (bit ? 1 : 0)));
        ++counts[randomized_response(bit, epsilon, key) == bit ? 1 : 0];
      }
      EXPECT_TRUE(follows_choice_law(counts, {1 - truth, truth})) << epsilon;
      if (epsilon > 0.1) {
        const double less = 1 / (1 + std::exp(-epsilon / 2));
        EXPECT_FALSE(follows_choice_law(counts, {1 - less, less})) << epsilon;
      }
    }
  }
}

TEST(RandomizedResponse, the_estimate_is_unbiased_and_has_its_deviation) {
  // Enumerates all reports of all bits.
  constexpr int kNumReports = 5;
  for (const double epsilon : {0.1, 1.0, 4.0}) {
    const double truth = 1 / (1 + std::exp(-epsilon));
    for (unsigned bits = 0; bits < 1U << kNumReports; ++bits) {
      double mean = 0, square = 0;
      const EstimatedCount first = estimate_count(0, kNumReports, epsilon);
      for (unsigned reports = 0; reports < 1U << kNumReports; ++reports) {
        const int lies = std::popcount(bits ^ reports);
        const double probability = std::pow(1 - truth, lies) * std::pow(truth, kNumReports - lies);
        const EstimatedCount found = estimate_count(std::popcount(reports), kNumReports, epsilon);
        EXPECT_EQ(found.stddev, first.stddev);
        mean += probability * found.count;
        square += probability * found.count * found.count;
      }
      EXPECT_NEAR(mean, std::popcount(bits), 1e-10);
      EXPECT_NEAR(std::sqrt(square - mean * mean) / first.stddev, 1, 1e-9);
    }
  }
}

TEST(RandomizedResponse, refuses_bad_input) {
  const Key key = Key::insecure_from_seed(1);
  for (const double epsilon : {0.0, -1.0, std::nan(""), 0x1p20, 0x1p-32})
    EXPECT_ERROR(randomized_response(true, epsilon, key), "invalid_argument",
                 "randomized_response: epsilon must be between 2^-31 and 2^19");
  EXPECT_ERROR(estimate_count(3, 2, 1), "invalid_argument", "num_ones must be between 0 and 2");
  EXPECT_ERROR(estimate_count(-1, 2, 1), "invalid_argument", "num_ones");
  EXPECT_ERROR(estimate_count(0, -2, 1), "invalid_argument", "num_reports");
  for (const double epsilon : {0.0, -1.0, std::nan(""), 0x1p20, 5e-324})
    EXPECT_ERROR(estimate_count(1, 2, epsilon), "invalid_argument",
                 "estimate_count: epsilon must be between 2^-31 and 2^19");
}

TEST(ExponentialMechanism, refuses_bad_input) {
  const Key key = Key::insecure_from_seed(1);
  const Counts two = {1, 2};
  EXPECT_ERROR(exponential_mechanism({}, {.epsilon = 1, .sensitivity = 1}, key), "invalid_argument",
               "utilities must have between 1");
  for (const double epsilon : {0.0, -1.0, std::nan(""), 0x1p21, 0x1p-31})
    EXPECT_ERROR(exponential_mechanism(two, {.epsilon = epsilon, .sensitivity = 1}, key),
                 "invalid_argument", "epsilon must be between 2^-30");
  EXPECT_ERROR(exponential_mechanism(two, {.epsilon = 1, .sensitivity = 0}, key),
               "invalid_argument", "sensitivity");
  EXPECT_ERROR(
      exponential_mechanism(Counts{std::int64_t{1} << 54}, {.epsilon = 1, .sensitivity = 1}, key),
      "invalid_argument", "utility");
  EXPECT_ERROR(private_winner(Counts{-1}, {.epsilon = 1}, key), "invalid_argument", "histogram");
  EXPECT_ERROR(private_quantile(two, {.epsilon = 1, .numerator = 3, .denominator = 2}, key),
               "invalid_argument", "numerator");
  EXPECT_ERROR(private_quantile(two, {.epsilon = 1, .numerator = 0, .denominator = 0}, key),
               "invalid_argument", "denominator");
  EXPECT_ERROR(private_quantile(Counts{-1}, {.epsilon = 1, .numerator = 1, .denominator = 2}, key),
               "invalid_argument", "histogram");
}

}  // namespace
}  // namespace dpftrl
