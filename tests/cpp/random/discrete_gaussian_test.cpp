// SPDX-License-Identifier: Apache-2.0
#include "random/discrete_gaussian.hpp"

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "random/discrete_coin.hpp"
#include "random/discrete_sampling.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::WideUnsigned;

// --- coins -----------------------------------------------------------------------------------

/// Gives out words in a fixed order; fails if more are requested.
struct ScriptedWords {
  std::vector<std::uint32_t> words;
  std::size_t next = 0;
  std::uint32_t operator()() { return words.at(next++); }
};

bool toss_of(std::uint64_t a, std::uint64_t b, std::vector<std::uint32_t> words) {
  ScriptedWords script{std::move(words)};
  detail::DigitCoin coin(script);
  return coin.toss(WideUnsigned<3>(a), WideUnsigned<3>(b));
}

TEST(DigitCoin, a_toss_compares_the_uniform_number_with_the_fraction) {
  // U has the digits w0 w1 0 0 ...: tested at the largest U below a/b, at a/b if that has two
  // digits, and one digit further. The comparison is monotone in U, so these cases decide all
  // others.
  constexpr std::uint64_t kBase = std::uint64_t{1} << 32;
  for (std::uint64_t b = 1; b <= 40; ++b) {
    for (std::uint64_t a = 0; a <= b; ++a) {
      if (a == b) {
        EXPECT_TRUE(toss_of(a, b, {0xffffffff}));
        continue;
      }
      const std::uint64_t w0 = a * kBase / b, rest = a * kBase % b;
      const std::uint64_t w1 = rest * kBase / b, last = rest * kBase % b;
      const auto uniform = [&](std::int64_t distance) {
        const std::uint64_t both = (w0 << 32 | w1) + static_cast<std::uint64_t>(distance);
        return std::vector<std::uint32_t>{static_cast<std::uint32_t>(both >> 32),
                                          static_cast<std::uint32_t>(both), 0, 0};
      };
      EXPECT_EQ(toss_of(a, b, uniform(0)), last > 0) << a << "/" << b;
      EXPECT_FALSE(toss_of(a, b, uniform(1))) << a << "/" << b;
      if (a > 0) {
        EXPECT_TRUE(toss_of(a, b, uniform(-1))) << a << "/" << b;
      }
    }
  }
}

TEST(DigitCoin, uniform_takes_every_value_once_among_the_low_bits) {
  for (const std::uint64_t limit : {1u, 2u, 3u, 5u, 8u, 13u}) {
    const std::uint32_t size = std::bit_ceil(static_cast<std::uint32_t>(limit));
    std::map<std::uint64_t, int> counts;
    for (std::uint32_t word = 0; word < size; ++word) {
      ScriptedWords script{{word | 0xffff0000, 0}};  // a rejected word is followed by 0
      detail::DigitCoin coin(script);
      const std::uint64_t value = coin.uniform(limit);
      if (script.next <= 1) ++counts[value];
    }
    EXPECT_EQ(counts.size(), limit);
    for (const auto& [value, count] : counts) EXPECT_EQ(count, 1) << value << " of " << limit;
  }
}

// --- every outcome ---------------------------------------------------------------------------

/// Answers by following a path through the tree of outcomes, and records the branches at its end.
class WalkingCoin {
 public:
  struct Fork {
    std::vector<double> probabilities;
  };
  struct Rejected {};

  explicit WalkingCoin(const std::vector<std::size_t>& path) : path_(path) {}

  template <std::size_t N>
  bool toss(const WideUnsigned<N>& a, const WideUnsigned<N>& b) {
    const double p = a.to_double_above() / b.to_double_above();
    return choose({1 - p, p}) == 1;
  }
  /// The samplers call this once per attempt. The second attempt ends the walk, since attempts are
  /// independent.
  std::uint64_t uniform(std::uint64_t limit) {
    if (++num_attempts_ == 2) throw Rejected{};
    return choose(
        std::vector<double>(static_cast<std::size_t>(limit), 1 / static_cast<double>(limit)));
  }
  bool half() { return choose({0.5, 0.5}) == 1; }

 private:
  std::size_t choose(const std::vector<double>& probabilities) {
    if (next_ == path_.size()) throw Fork{probabilities};
    return path_[next_++];
  }

  const std::vector<std::size_t>& path_;
  std::size_t next_ = 0;
  int num_attempts_ = 0;
};

struct Outcomes {
  std::map<std::int64_t, double> probabilities;
  double rejected = 0;
  double pruned = 0;
};

/// Collects all outcomes of one attempt, except branches of probability below `smallest`.
template <class Sampler>
void walk(const Sampler& sampler, double smallest, double probability,
          std::vector<std::size_t>& path, Outcomes& outcomes) {
  std::vector<double> fork;
  try {
    WalkingCoin coin(path);
    outcomes.probabilities[static_cast<std::int64_t>(sampler(coin))] += probability;
    return;
  } catch (const WalkingCoin::Rejected&) {
    outcomes.rejected += probability;
    return;
  } catch (const WalkingCoin::Fork& found) {
    fork = found.probabilities;
  }
  for (std::size_t i = 0; i < fork.size(); ++i) {
    const double branch = probability * fork[i];
    if (branch < smallest) {
      outcomes.pruned += branch;
      continue;
    }
    path.push_back(i);
    walk(sampler, smallest, branch, path, outcomes);
    path.pop_back();
  }
}

template <class Sampler>
Outcomes outcomes_of(const Sampler& sampler, double smallest) {
  Outcomes outcomes;
  std::vector<std::size_t> path;
  walk(sampler, smallest, 1, path, outcomes);
  return outcomes;
}

TEST(BernoulliExp, the_tree_of_outcomes_has_the_probability_of_the_exponential) {
  for (std::uint64_t b = 1; b <= 6; ++b) {
    for (std::uint64_t a = 0; a <= 3 * b; ++a) {
      const Outcomes outcomes = outcomes_of(
          [&](WalkingCoin& coin) {
            return detail::bernoulli_exp(coin, WideUnsigned<4>(a), WideUnsigned<4>(b));
          },
          1e-12);
      const double exact = std::exp(-static_cast<double>(a) / static_cast<double>(b));
      EXPECT_LE(outcomes.pruned, 1e-9);
      const auto found = outcomes.probabilities.find(1);
      const double actual = found == outcomes.probabilities.end() ? 0 : found->second;
      EXPECT_NEAR(actual, exact, outcomes.pruned + 1e-13) << a << "/" << b;
    }
  }
}

/// Probability of k under the distribution with weights weight(|i|), by sums in double.
template <class Weight>
double law(std::int64_t k, const Weight& weight) {
  double total = weight(0);
  for (std::int64_t i = 1; i < 2000; ++i) total += 2 * weight(i);
  return weight(std::abs(k)) / total;
}

double laplace_law(std::int64_t k, double scale) {
  return law(k, [&](std::int64_t i) { return std::exp(-static_cast<double>(i) / scale); });
}

double gaussian_law(std::int64_t k, double variance) {
  return law(k, [&](std::int64_t i) {
    return std::exp(-static_cast<double>(i) * static_cast<double>(i) / (2 * variance));
  });
}

TEST(DiscreteSampling, one_attempt_gives_values_in_proportion_to_their_law) {
  constexpr double kSmallest = 1e-7;
  const auto check = [&](const Outcomes& outcomes, const auto& exact) {
    const double accepted = 1 - outcomes.rejected - outcomes.pruned;
    // The pruned probability may belong to any value or to none.
    const double slack = 2 * outcomes.pruned / accepted + 1e-12;
    EXPECT_LE(outcomes.pruned, 2e-3);
    for (std::int64_t k = -6; k <= 6; ++k) {
      const auto found = outcomes.probabilities.find(k);
      const double actual = found == outcomes.probabilities.end() ? 0 : found->second / accepted;
      EXPECT_NEAR(actual, exact(k), slack) << k;
    }
  };
  for (const std::uint64_t scale : {1u, 2u, 3u})
    check(outcomes_of([&](WalkingCoin& coin) { return detail::discrete_laplace(coin, scale); },
                      kSmallest),
          [&](std::int64_t k) { return laplace_law(k, static_cast<double>(scale)); });
  for (const double variance : {0.25, 1.0, 2.5}) {
    const detail::GaussianParts parts(variance);
    check(outcomes_of([&](WalkingCoin& coin) { return detail::discrete_gaussian(coin, parts); },
                      kSmallest),
          [&](std::int64_t k) { return gaussian_law(k, variance); });
  }
}

// --- the samplers ----------------------------------------------------------------------------

const Key& discrete_key() {
  static const Key found = Key::insecure_from_seed(77);
  return found;
}

constexpr std::int64_t kNumSamples = 40000;

/// True if samples pass Pearson's test over the values expected at least 20 times and the rest
/// pooled. The threshold is from P[chi^2_k > k + 2 sqrt(k x) + 2 x] <= e^-x (Laurent, Massart 2000)
/// with x = 18, so one in 6 10^7 seeds gives a false alarm.
template <class Sample, class Law>
bool follows_integer_law(const Sample& sample, const Law& exact) {
  std::map<std::int64_t, std::int64_t> counts;
  for (std::int64_t i = 0; i < kNumSamples; ++i) ++counts[sample(static_cast<std::uint64_t>(i))];
  double statistic = 0, rest_expected = kNumSamples, rest_count = kNumSamples, freedom = 0;
  for (std::int64_t k = -100; k <= 100; ++k) {
    const double expected = exact(k) * kNumSamples;
    if (expected < 20) continue;
    const auto count = static_cast<double>(counts[k]);
    statistic += (count - expected) * (count - expected) / expected;
    rest_expected -= expected;
    rest_count -= count;
    ++freedom;
  }
  statistic +=
      (rest_count - rest_expected) * (rest_count - rest_expected) / std::max(rest_expected, 1.0);
  constexpr double kX = 18;
  return statistic <= freedom + 2 * std::sqrt(freedom * kX) + 2 * kX;
}

TEST(DiscreteLaplace, samples_have_the_exact_probabilities) {
  for (const std::int64_t scale : {1, 3, 10}) {
    const DiscreteLaplace laplace(scale);
    const auto sample = [&](std::uint64_t i) {
      return laplace.sample(discrete_key(),
                            {.row = static_cast<std::uint64_t>(scale), .coordinate = i});
    };
    const auto exact = [&](double s) { return [s](std::int64_t k) { return laplace_law(k, s); }; };
    EXPECT_TRUE(follows_integer_law(sample, exact(static_cast<double>(scale)))) << scale;
    EXPECT_FALSE(follows_integer_law(sample, exact(1.1 * static_cast<double>(scale)))) << scale;
  }
}

TEST(DiscreteGaussian, samples_have_the_exact_probabilities) {
  // 1/3 is rounded to a double.
  for (const double variance : {0.1, 1.0 / 3, 1.0, 2.5, 100.0}) {
    const DiscreteGaussian gaussian(variance);
    const auto sample = [&](std::uint64_t i) {
      return gaussian.sample(discrete_key(), {.row = 5, .coordinate = i});
    };
    const auto exact = [&](double v) { return [v](std::int64_t k) { return gaussian_law(k, v); }; };
    EXPECT_TRUE(follows_integer_law(sample, exact(variance))) << variance;
    EXPECT_FALSE(follows_integer_law(sample, exact(1.1 * variance))) << variance;
    EXPECT_FALSE(follows_integer_law(sample, exact(variance / 1.1))) << variance;
  }
}

TEST(DiscreteGaussian, large_variances_have_the_moments_of_the_normal_law) {
  // Mean and variance are within six standard errors. Variances span decades, so that a wrong power
  // of two or a lost digit is detected.
  for (const double variance : {12345.678, 0x1p53 + 2, 3e20, kMaxDiscreteVariance}) {
    const DiscreteGaussian gaussian(variance);
    std::vector<std::int64_t> samples(20000);
    gaussian.fill(discrete_key(), {.row = 6, .coordinate = 0}, samples);
    double mean = 0, square = 0;
    for (const std::int64_t x : samples) {
      const double scaled = static_cast<double>(x) / std::sqrt(variance);
      mean += scaled / 20000;
      square += scaled * scaled / 20000;
    }
    EXPECT_NEAR(mean, 0, 6 / std::sqrt(20000.0)) << variance;
    EXPECT_NEAR(square, 1, 6 * std::sqrt(2 / 20000.0)) << variance;
  }
}

TEST(DiscreteGaussian, a_sample_is_a_function_of_its_address) {
  const DiscreteGaussian gaussian(1e6);
  std::vector<std::int64_t> row(50), part(7);
  gaussian.fill(discrete_key(), {.row = 9, .coordinate = 0}, row);
  gaussian.fill(discrete_key(), {.row = 9, .coordinate = 11}, part);
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], row[11 + i]);
  EXPECT_NE(gaussian.sample(discrete_key(), {.row = 10, .coordinate = 0}), row[0]);
  EXPECT_NE(gaussian.sample(Key::insecure_from_seed(78), {.row = 9, .coordinate = 0}), row[0]);
}

TEST(DiscreteGaussian, samples_are_the_same_integers_everywhere) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const double variance : {kMinDiscreteVariance, 0.7, 1e3, 1e15, kMaxDiscreteVariance}) {
    std::vector<std::int64_t> samples(500);
    DiscreteGaussian(variance).fill(discrete_key(), {.row = 1, .coordinate = 0}, samples);
    for (const std::int64_t x : samples)
      hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x100000001b3;
  }
  const DiscreteLaplace laplace(kMaxLaplaceScale);
  for (std::uint64_t i = 0; i < 100; ++i)
    hash = (hash ^ static_cast<std::uint64_t>(
                       laplace.sample(discrete_key(), {.row = 2, .coordinate = i}))) *
           0x100000001b3;
  EXPECT_EQ(hash, 16864790688708509530u);
}

TEST(DiscreteSampling, a_sample_beyond_its_limits_is_refused) {
  struct AlwaysFurther {
    int num_tosses = 0;
    bool toss(const WideUnsigned<4>&, const WideUnsigned<4>&) { return false; }
    // Tosses true, true, false, so that every trial with probability exp(-1) succeeds.
    bool toss(const WideUnsigned<3>&, const WideUnsigned<3>&) { return num_tosses++ % 3 < 2; }
    std::uint64_t uniform(std::uint64_t) { return 0; }
    bool half() { return false; }
  } coin;
  EXPECT_ERROR(detail::discrete_laplace(coin, 1), "resource_exhausted", "2^14 scales");
}

TEST(DiscreteSampling, refuses_bad_input) {
  EXPECT_ERROR(DiscreteLaplace(0), "invalid_argument", "scale must be");
  EXPECT_ERROR(DiscreteLaplace(kMaxLaplaceScale + 1), "invalid_argument", "scale must be");
  for (const double variance : {0.0, -1.0, std::nan(""), 0x1p93, 0x1p-11})
    EXPECT_ERROR(DiscreteGaussian{variance}, "invalid_argument", "variance must be between 2^-10");
  const DiscreteGaussian gaussian(1);
  EXPECT_ERROR(gaussian.sample(discrete_key(), {.row = 0, .coordinate = kMaxBlocks}),
               "invalid_argument", "coordinate must be below 2^32");
  EXPECT_ERROR(gaussian.sample(discrete_key(), {.row = kMaxRows, .coordinate = 0}),
               "invalid_argument", "row");
}

}  // namespace
}  // namespace dpftrl
