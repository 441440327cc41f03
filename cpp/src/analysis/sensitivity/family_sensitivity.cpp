// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/family_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <variant>

#include "analysis/sensitivity/level_sensitivity.hpp"
#include "analysis/sensitivity/pair_sensitivity.hpp"
#include "analysis/sensitivity/scaled_sensitivity.hpp"

namespace dpftrl {
namespace {

/// Upper bound on max over m <= times of (sensitivity to m participations)^2 / m.
double largest_share(const Strategy& strategy, std::int64_t times, std::int64_t separation) {
  double largest = 0;
  for (std::int64_t fewest = 1; fewest <= times;) {
    // Counts rise one by one up to 4, then double.
    const std::int64_t most = std::min(times, fewest < 4 ? fewest : 2 * fewest - 1);
    const double value =
        sensitivity(strategy, Participation::min_separation({.times = most, .apart = separation}))
            .value;
    largest = std::max(largest, value * value / static_cast<double>(fewest));
    fewest = most + 1;
  }
  return largest;
}

/// Blocks are orthogonal, so squared sensitivities add up over them.
Sensitivity restart_sensitivity(std::int64_t steps, const RestartedColumns& columns,
                                const Participation& participation) {
  const std::int64_t n = steps, e = columns.epoch_length;
  const std::int64_t b = participation.apart();
  const Strategy& inside = *columns.epoch;
  const bool is_even = n % e == 0 && e % b == 0 && inside.steps() == e;
  if (participation.kind() == Participation::Kind::fixed_epoch && is_even) {
    const Sensitivity one =
        sensitivity(inside, Participation::fixed_epoch({.epochs = e / b, .epoch_length = b}));
    return {one.value * std::sqrt(static_cast<double>(n / e)) * (1 + 0x1p-50), one.exactness,
            "the same phase in every block"};
  }
  const std::int64_t k = participation.times_within(n);
  const std::int64_t most = participation.times_within(e);
  const double squared = static_cast<double>(k) * largest_share(inside, most, b);
  return {std::sqrt(squared) * (1 + 0x1p-50), Exactness::upper_bound,
          "block by block: participations times the largest share of one"};
}

Sensitivity scaled_sensitivity(const ScaledColumns& columns, const Participation& participation) {
  const std::span<const double> coefficients = columns.base->toeplitz_encoder();
  if (!coefficients.empty())
    return scaled_toeplitz_sensitivity(coefficients, columns.scales, participation);
  return {sensitivity(*columns.base, participation).value / std::ranges::min(columns.scales) *
              (1 + 0x1p-50),
          Exactness::upper_bound, "as if every column were scaled up as much as any"};
}

/// Uses the family's bounds on inner products of columns.
Sensitivity separated_sensitivity(const Strategy& strategy, const Participation& participation) {
  constexpr std::int64_t kMaxOperations = std::int64_t{1} << 24;
  const std::int64_t n = strategy.steps();
  if (strategy.later_products(std::min(n, participation.apart())).empty())
    return {std::numeric_limits<double>::infinity(), Exactness::upper_bound, ""};
  ColumnPairs columns{.norms_squared = {},
                      .products = [&](std::int64_t lag) { return strategy.later_products(lag); }};
  for (std::int64_t i = 0; i < n; ++i)
    columns.norms_squared.push_back(strategy.column_norm_squared(i));
  return {std::sqrt(largest_pair_sum(columns, participation, kMaxOperations)),
          Exactness::upper_bound, "bounds on the inner products of columns"};
}

}  // namespace

std::int64_t orthogonal_distance(const Strategy& strategy) {
  const ColumnStructure columns = strategy.columns();
  if (const auto* scaled = std::get_if<ScaledColumns>(&columns))
    return orthogonal_distance(*scaled->base);
  const auto* restarted = std::get_if<RestartedColumns>(&columns);
  if (restarted == nullptr) return strategy.bands();
  const std::int64_t inside = orthogonal_distance(*restarted->epoch);
  return inside == 0 ? restarted->epoch_length : std::min(inside, restarted->epoch_length);
}

Sensitivity family_sensitivity(const Strategy& strategy, const Participation& participation) {
  const ColumnStructure columns = strategy.columns();
  if (const auto* restarted = std::get_if<RestartedColumns>(&columns))
    return restart_sensitivity(strategy.steps(), *restarted, participation);
  if (const auto* scaled = std::get_if<ScaledColumns>(&columns))
    return scaled_sensitivity(*scaled, participation);
  if (const auto levels = level_sensitivity(strategy, participation)) return *levels;
  return separated_sensitivity(strategy, participation);
}

}  // namespace dpftrl
