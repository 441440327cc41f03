// SPDX-License-Identifier: Apache-2.0
#pragma once

// Columns of statistics against the noise that is made for them, by listing.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/statistics/statistics.hpp"
#include "support.hpp"

namespace dpftrl::testing {

/// The integers that the record adds to the sums of the release, found from two streams with one
/// noise, in input units of the columns.
template <class Columns>
Vector added(const Columns& columns, typename Columns::Record record) {
  const auto mechanism = Mechanism::make({.strategy = "tree",
                                          .num_steps = 1,
                                          .target = {.epsilon = 1, .delta = 1e-6},
                                          .clip_norm = columns.distance()});
  const PrefixSumOptions options{
      .key = Key::insecure_from_seed(5), .dimension = columns.dimension(), .grid = columns.grid()};
  PrefixSum sums(mechanism, options), silent(mechanism, options);
  std::vector<double> with(static_cast<std::size_t>(columns.dimension())), without(with);
  columns.write(record, with);
  sums.release(with, with);
  silent.release(without);
  Vector difference(index_of(columns.dimension()));
  for (Eigen::Index i = 0; i < difference.size(); ++i)
    difference[i] = with[static_cast<std::size_t>(i)] - without[static_cast<std::size_t>(i)];
  return difference;
}

/// Largest distance of what the encoder makes of two neighbouring streams of three steps, each with
/// one of the records or none; the noise is made for noise_stddev * mu of the certificate.
template <class Columns>
double farthest_streams(const StatisticSum<Columns>& sum,
                        const std::vector<typename Columns::Record>& records) {
  constexpr std::int64_t kSteps = 3;
  const Columns& columns = sum.columns();
  const auto& mechanism = sum.sums().mechanism();
  const Matrix encoder = mechanism.strategy().encoder();
  // Sums of no record, and of each, once.
  std::vector<Vector> vectors = {Vector::Zero(index_of(columns.dimension()))};
  for (const auto& record : records) vectors.push_back(added(columns, record));
  double largest = 0;
  const auto num = static_cast<int>(vectors.size());
  for (int a = 0; a < num * num * num; ++a)
    for (int b = 0; b < num * num * num; ++b) {
      std::vector<std::int64_t> changed;
      bool allowed = true;
      Matrix difference(kSteps, columns.dimension());
      for (int t = 0, x = a, y = b; t < kSteps; ++t, x /= num, y /= num) {
        const int from = x % num, to = y % num;
        difference.row(t) =
            vectors[static_cast<std::size_t>(from)] - vectors[static_cast<std::size_t>(to)];
        if (from != to) changed.push_back(t);
        allowed &= from == to || columns.neighbours() == Neighbours::replace_one || to == 0;
      }
      if (allowed && mechanism.participation().allows(changed, kSteps))
        largest = std::max(largest, (encoder * difference).norm());
    }
  return largest;
}

/// The claim about records agrees with the noise that there is.
template <class Columns>
void expect_certified(const StatisticSum<Columns>& sum, Neighbours neighbours) {
  const Certificate claim = sum.certificate();
  EXPECT_EQ(claim.neighbours, neighbours);
  EXPECT_NEAR(
      claim.noise_stddev,
      claim.noise_multiplier * claim.sensitivity * claim.clip_norm * neighbour_distance(neighbours),
      1e-9);
}

inline void expect_refused(const std::function<void()>& act, ErrorCode code,
                           std::string_view parameter) {
  try {
    act();
    ADD_FAILURE() << "accepted " << parameter;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.parameter(), parameter);
  }
}

/// Counts for each estimate whether its interval misses what it is of.
inline void add_misses(std::span<const std::pair<Estimate, double>> all, std::span<int> missed) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [estimate, value] = all[i];
    EXPECT_LE(estimate.low, estimate.value);
    EXPECT_LE(estimate.value, estimate.high);
    if (value < estimate.low - 1e-9 || value > estimate.high + 1e-9) ++missed[i];
  }
}

/// A number of misses of confidence 0.9 exceeds its expectation by so much with probability below
/// 1e-5, if the claim is true: one of 144 with probability 1e-3.
inline double tolerance(int num_trials) {
  return 4.5 * std::sqrt(0.09 * num_trials);
}

}  // namespace dpftrl::testing
