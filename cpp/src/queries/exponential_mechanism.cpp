// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/exponential_mechanism.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

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

/// Checks an epsilon that is doubled for the exponential mechanism.
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
  // The report on a bit b is 1 with probability 1/2 + (b - 1/2) tanh(epsilon / 2).
  return {
      .count = reports / 2 + (static_cast<double>(num_ones) - reports / 2) / std::tanh(epsilon / 2),
      .stddev = std::sqrt(reports) / (2 * std::sinh(epsilon / 2))};
}

}  // namespace dpftrl
