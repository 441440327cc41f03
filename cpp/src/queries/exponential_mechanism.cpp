// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/exponential_mechanism.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "queries/exponential_sampling.hpp"
#include "random/derived_key.hpp"
#include "random/discrete_coin.hpp"

namespace dpftrl {
namespace {

constexpr const char* kExponentialFunction = "exponential_mechanism";
constexpr std::int64_t kMaxUtility = std::int64_t{1} << 53;
constexpr double kMinEpsilon = 0x1p-30;
constexpr double kMaxEpsilon = 0x1p20;

void require_options(std::span<const std::int64_t> utilities, const ExponentialOptions& options) {
  require_count(kExponentialFunction, "utilities", "entries", std::ssize(utilities), 1,
                std::int64_t{1} << 24);
  for (const std::int64_t utility : utilities)
    require_between(kExponentialFunction, "utility", utility, -kMaxUtility, kMaxUtility);
  if (!(options.epsilon >= kMinEpsilon && options.epsilon <= kMaxEpsilon))
    fail_argument(kExponentialFunction, "epsilon", "between 2^-30 and 2^20",
                  to_text(options.epsilon));
  require_between(kExponentialFunction, "sensitivity", options.sensitivity, 1,
                  (std::int64_t{1} << 31) - 1);
}

std::int64_t divisor_of(const ExponentialOptions& options) {
  return options.is_monotone ? options.sensitivity : 2 * options.sensitivity;
}

void require_contributions(const char* function, std::int64_t max_contributions) {
  require_between(function, "max_contributions", max_contributions, 1, std::int64_t{1} << 20);
}

/// Checks an epsilon that is half that of the exponential mechanism.
void require_response_epsilon(const char* function, double epsilon) {
  if (!(epsilon >= kMinEpsilon / 2 && epsilon <= kMaxEpsilon / 2))
    fail_argument(function, "epsilon", "between 2^-31 and 2^19", to_text(epsilon));
}

}  // namespace

std::int64_t exponential_mechanism(std::span<const std::int64_t> utilities,
                                   const ExponentialOptions& options, const Key& key) {
  require_options(utilities, options);
  const std::int64_t best = *std::max_element(utilities.begin(), utilities.end());
  const detail::UnitLoss loss(options.epsilon, static_cast<std::uint64_t>(divisor_of(options)));
  const Key own = detail::key_for(detail::KeyUse::choice, key);
  for (std::uint64_t attempt = 0;; ++attempt) {
    detail::AddressedWords words(own,
                                 {.stream = Stream::discrete_noise, .row = attempt, .block = 0});
    detail::DigitCoin coin(words);
    const auto candidate = static_cast<std::size_t>(coin.uniform(utilities.size()));
    const auto distance = static_cast<std::uint64_t>(best - utilities[candidate]);
    if (detail::is_taken(coin, distance, loss)) return static_cast<std::int64_t>(candidate);
  }
}

std::vector<double> exponential_probabilities(std::span<const std::int64_t> utilities,
                                              const ExponentialOptions& options) {
  require_options(utilities, options);
  const std::int64_t best = *std::max_element(utilities.begin(), utilities.end());
  const double unit = options.epsilon / static_cast<double>(divisor_of(options));
  std::vector<double> probabilities;
  for (const std::int64_t utility : utilities)
    probabilities.push_back(std::exp(-unit * static_cast<double>(best - utility)));
  const double total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  for (double& probability : probabilities) probability /= total;
  return probabilities;
}

std::int64_t private_winner(std::span<const std::int64_t> histogram, const WinnerOptions& options,
                            const Key& key) {
  for (const std::int64_t count : histogram)
    require_between("private_winner", "histogram", count, 0, kMaxUtility);
  require_contributions("private_winner", options.max_contributions);
  return exponential_mechanism(histogram,
                               {.epsilon = options.epsilon,
                                .sensitivity = options.max_contributions,
                                .is_monotone = options.neighbours == Neighbours::zero_out},
                               key);
}

QuantileUtilities quantile_utilities(std::span<const std::int64_t> histogram,
                                     const QuantileOptions& options) {
  constexpr const char* kName = "private_quantile";
  const std::int64_t whole =
      require_between(kName, "denominator", options.denominator, 1, std::int64_t{1} << 20);
  const std::int64_t part = require_between(kName, "numerator", options.numerator, 0, whole);
  require_contributions(kName, options.max_contributions);
  std::int64_t num_records = 0;
  for (const std::int64_t count : histogram) {
    require_between(kName, "histogram", count, 0, std::int64_t{1} << 32);
    require_count(kName, "histogram", "records", num_records += count, 0, std::int64_t{1} << 32);
  }
  const std::int64_t target = part * num_records;
  QuantileUtilities result{.utilities = {},
                           .sensitivity = options.neighbours == Neighbours::replace_one
                                              ? whole
                                              : std::max(part, whole - part)};
  result.sensitivity *= options.max_contributions;
  std::int64_t below = 0;
  for (const std::int64_t count : histogram) {
    const std::int64_t miss =
        std::max({whole * below - target, target - whole * (below + count), std::int64_t{0}});
    result.utilities.push_back(-miss);
    below += count;
  }
  return result;
}

std::int64_t private_quantile(std::span<const std::int64_t> histogram,
                              const QuantileOptions& options, const Key& key) {
  const QuantileUtilities found = quantile_utilities(histogram, options);
  return exponential_mechanism(found.utilities,
                               {.epsilon = options.epsilon, .sensitivity = found.sensitivity}, key);
}

bool randomized_response(bool bit, double epsilon, const Key& key) {
  require_response_epsilon("randomized_response", epsilon);
  const std::array<std::int64_t, 2> utilities = {bit ? 0 : 1, bit ? 1 : 0};
  return exponential_mechanism(utilities, {.epsilon = 2 * epsilon, .sensitivity = 1}, key) == 1;
}

EstimatedCount estimate_count(std::int64_t num_ones, std::int64_t num_reports, double epsilon) {
  constexpr const char* kName = "estimate_count";
  constexpr std::int64_t kMaxReports = std::int64_t{1} << 53;
  require_between(kName, "num_reports", num_reports, 0, kMaxReports);
  require_between(kName, "num_ones", num_ones, 0, num_reports);
  require_response_epsilon(kName, epsilon);
  const auto reports = static_cast<double>(num_reports);
  // Each report is 1 with probability 1/2 + (b - 1/2) tanh(epsilon / 2).
  return {
      .count = reports / 2 + (static_cast<double>(num_ones) - reports / 2) / std::tanh(epsilon / 2),
      .stddev = std::sqrt(reports) / (2 * std::sinh(epsilon / 2))};
}

namespace {

// Private selection among learners of one table: docs/math/learning.md, section 12.

/// Probability that a candidate takes part: 3 of 4.
constexpr std::uint64_t kHeads = 3;
constexpr std::uint64_t kSides = 4;
constexpr double kShare = static_cast<double>(kHeads) / static_cast<double>(kSides);
/// One of this many rows is held out.
constexpr std::int64_t kRowsForOneHeldOut = 10;
/// Beyond this, Phi is treated as 0 or 1.
constexpr double kFar = 10;
/// Relative excess of bounds over the bounded value; larger than the error of erfc.
constexpr double kTolerance = 1e-5;
constexpr double kRounding = 1 + 0x1p-40;

double normal_cdf(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

/// 1 - kShare P[another candidate is better], where that probability is Phi(x).
double unbeaten(double x) {
  return 1 - kShare * normal_cdf(x);
}

struct Interval {
  double low;
  double high;
};

void require_candidates(const char* where, std::int64_t num_candidates) {
  require_between(where, "num_candidates", num_candidates, 2, kMaxCandidates);
}

/// Returns the largest number in (0, high], to 2^-24 of `high`, that passes a test which small
/// numbers pass.
template <class Passes>
double largest(double high, const Passes& passes) {
  if (passes(high)) return high;
  double low = 0;
  for (int halving = 0; halving < 24; ++halving) {
    const double middle = (low + high) / 2;
    (passes(middle) ? low : high) = middle;
  }
  return low;
}

ExponentialOptions choice_options(const TunedChoice& options) {
  // Zeroing out a row can only lower the numbers of right rows.
  const bool is_monotone = options.neighbours == Neighbours::zero_out;
  return {.epsilon = options.selection_epsilon, .sensitivity = 1, .is_monotone = is_monotone};
}

}  // namespace

double tuning_ratio(double mu) {
  require_positive("tuning_ratio", "mu", mu);
  // Bound left of -kFar - mu, and right of kFar, where the larger probability is anything up to 1.
  double bound = std::max(1 / unbeaten(-kFar), unbeaten(kFar) / (1 - kShare));
  double best = 1;
  std::vector<Interval> open{{-kFar - mu, kFar}};
  while (!open.empty()) {
    const auto [low, high] = open.back();
    open.pop_back();
    const double above = unbeaten(low) / unbeaten(high + mu);
    const double middle = (low + high) / 2;
    best = std::max(best, unbeaten(middle) / unbeaten(middle + mu));
    if (above <= best * (1 + kTolerance)) {
      bound = std::max(bound, above);
    } else {
      open.push_back({low, middle});
      open.push_back({middle, high});
    }
  }
  return bound * kRounding;
}

double tuning_delta(const TuningLoss& loss) {
  require_candidates("tuning_delta", loss.num_candidates);
  const double others = static_cast<double>(loss.num_candidates - 1);
  const double left = (loss.epsilon - others * std::log(tuning_ratio(loss.mu))) - 0x1p-40;
  if (!(left >= 0)) return 1;
  const double empty = std::pow(1 - kShare, others + 1);
  const double mean = kShare * (others + 1) / (1 - empty);
  return std::min(1.0, mean * kRounding * delta_from_mu({.mu = loss.mu, .epsilon = left}));
}

TuningPlan plan_tuning(const TuningTarget& tuning) {
  const char* where = "plan_tuning";
  const auto [epsilon, delta] = tuning.target;
  const std::int64_t num_candidates = tuning.num_candidates;
  require_candidates(where, num_candidates);
  const double whole = mu_from_approximate_dp(tuning.target);
  const double learner_epsilon = largest(epsilon, [&](double each) {
    const double mu = mu_from_approximate_dp({.epsilon = each, .delta = delta});
    return tuning_delta({.mu = mu, .epsilon = epsilon, .num_candidates = num_candidates}) <= delta;
  });
  if (!(learner_epsilon > 0 && whole > 0))
    fail_argument(where, "epsilon", "large enough for so many candidates", to_text(epsilon));
  const double each = mu_from_approximate_dp({.epsilon = learner_epsilon, .delta = delta});
  // All candidates count as releases, whether they take part or not.
  const double mu = compose_mu(std::vector<double>(static_cast<std::size_t>(num_candidates), each));
  const double selection_epsilon =
      tuning.composes ? largest(epsilon, [&](double it) { return mu_from_pure_dp(it) <= mu; })
                      : epsilon;
  return {.learner_epsilon = learner_epsilon,
          .selection_epsilon = selection_epsilon,
          .mu = std::max(mu, mu_from_pure_dp(selection_epsilon)),
          .rho = std::max(rho_from_mu(mu), rho_from_pure_dp(selection_epsilon))};
}

std::vector<std::int64_t> draw_held_out(std::int64_t num_rows, const Key& key) {
  require_between("draw_held_out", "num_rows", num_rows, 2, std::int64_t{1} << 31);
  const Key own = detail::key_for(detail::KeyUse::held_out, key);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(num_rows));
  std::iota(rows.begin(), rows.end(), 0);
  const auto num_drawn = static_cast<std::size_t>((num_rows - 1) / kRowsForOneHeldOut + 1);
  for (std::size_t i = 0; i < num_drawn; ++i) {
    detail::AddressedWords words(own, {.stream = Stream::discrete_noise, .row = i, .block = 0});
    detail::DigitCoin coin(words);
    std::swap(rows[i], rows[i + static_cast<std::size_t>(coin.uniform(rows.size() - i))]);
  }
  rows.resize(num_drawn);
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::int64_t choose_tuned(std::span<const std::int64_t> num_right, const TunedChoice& options,
                          const Key& key) {
  require_candidates("choose_tuned", std::ssize(num_right));
  const Key own = detail::key_for(detail::KeyUse::candidates, key);
  std::vector<std::int64_t> places, utilities;
  for (std::uint64_t toss = 0; places.empty(); ++toss) {
    detail::AddressedWords words(own, {.stream = Stream::discrete_noise, .row = toss, .block = 0});
    detail::DigitCoin coin(words);
    for (std::size_t i = 0; i < num_right.size(); ++i) {
      if (coin.uniform(kSides) >= kHeads) continue;
      places.push_back(static_cast<std::int64_t>(i));
      utilities.push_back(num_right[i]);
    }
  }
  const std::int64_t chosen = exponential_mechanism(utilities, choice_options(options), key);
  return places[static_cast<std::size_t>(chosen)];
}

std::vector<double> tuned_probabilities(std::span<const std::int64_t> num_right,
                                        const TunedChoice& options) {
  constexpr const char* kName = "tuned_probabilities";
  const std::size_t num_candidates = num_right.size();
  require_between(kName, "num_candidates", std::ssize(num_right), 2, 16);
  std::vector<double> probabilities(num_candidates, 0);
  double total = 0;
  for (std::uint32_t set = 1; set < (1U << num_candidates); ++set) {
    double chance = 1;
    std::vector<std::size_t> places;
    std::vector<std::int64_t> utilities;
    for (std::size_t i = 0; i < num_candidates; ++i) {
      const bool takes_part = (set >> i & 1U) != 0;
      chance *= takes_part ? kShare : 1 - kShare;
      if (!takes_part) continue;
      places.push_back(i);
      utilities.push_back(num_right[i]);
    }
    const std::vector<double> law = exponential_probabilities(utilities, choice_options(options));
    for (std::size_t i = 0; i < places.size(); ++i) probabilities[places[i]] += chance * law[i];
    total += chance;
  }
  for (double& probability : probabilities) probability /= total;
  return probabilities;
}

}  // namespace dpftrl
