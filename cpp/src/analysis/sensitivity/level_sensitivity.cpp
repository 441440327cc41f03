// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/level_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <variant>
#include <vector>

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxLevelVisits = std::int64_t{1} << 29;
constexpr std::int64_t kNoNode = -1;
/// Covers the rounding of the weights and of a few hundred products and sums.
constexpr double kRoundUp = 1 + 0x1p-44;

struct Level {
  double weight;
  std::int64_t longest_node;  ///< length of the longest node, in steps
};

/// Largest contribution of one participation to sum_v w_v m_v^2.
double largest_share(std::span<const Level> levels, std::int64_t steps,
                     const Participation& participation) {
  std::vector<double> shares;
  for (const Level& level : levels) {
    const std::int64_t longest = std::min(level.longest_node, steps);
    shares.push_back(level.weight * static_cast<double>(participation.times_within(longest)));
  }
  // The order fixes the rounding of the sum.
  std::ranges::sort(shares, std::ranges::greater());
  double sum = 0;
  for (const double share : shares) sum += share;
  return sum * kRoundUp;
}

double bound_by_levels(std::span<const Level> levels, std::int64_t steps,
                       const Participation& participation) {
  return static_cast<double>(participation.times_within(steps)) *
         largest_share(levels, steps, participation);
}

/// Writes the node of a step on every level, kNoNode for none.
/// @return the weights of the levels; nodes with different weights are different nodes.
using NodesOf = std::function<std::span<const double>(std::int64_t, std::span<std::int64_t>)>;

/// Maximum over phases of sum_v w_v m_v^2.
double largest_phase(const Participation& participation, std::size_t num_levels,
                     const NodesOf& nodes_of) {
  const std::int64_t k = participation.times(), b = participation.apart();
  std::vector<std::int64_t> nodes(num_levels), current(num_levels), counts(num_levels),
      sums(num_levels);
  double largest = 0;
  for (std::int64_t first = 0; first < b; ++first) {
    double total = 0;
    std::span<const double> weights;
    const auto close = [&] {
      for (std::size_t l = 0; l < weights.size(); ++l)
        total += weights[l] * static_cast<double>(sums[l]);
      std::ranges::fill(current, kNoNode);
      std::ranges::fill(sums, 0);
    };
    close();
    for (std::int64_t i = 0; i < k; ++i) {
      const std::span<const double> own = nodes_of(first + i * b, nodes);
      if (own.data() != weights.data()) close();
      weights = own;
      for (std::size_t l = 0; l < own.size(); ++l) {
        counts[l] = nodes[l] == current[l] ? counts[l] + 1 : 1;
        current[l] = nodes[l];
        if (nodes[l] != kNoNode) sums[l] += 2 * counts[l] - 1;
      }
    }
    close();
    largest = std::max(largest, total);
  }
  return largest * kRoundUp;
}

Sensitivity exact_phases(double squared) {
  return {std::sqrt(squared), Exactness::exact, "every phase of the epochs, node by node"};
}

Sensitivity level_bound(double squared) {
  return {std::sqrt(squared), Exactness::upper_bound,
          "largest counts, level by level of the encoder"};
}

bool visits_phases(const Strategy& strategy, const Participation& participation,
                   std::size_t num_levels) {
  return participation.kind() == Participation::Kind::fixed_epoch &&
         strategy.has_nonnegative_gram() &&
         strategy.steps() <= kMaxLevelVisits / static_cast<std::int64_t>(num_levels);
}

/// Inner products of columns of a Haar basis whose smallest common support has 2^m steps, m = 0, 1,
/// ...: g_0 + sum_{l > m} g_l, minus g_m if m > 0.
std::vector<double> haar_products(const Strategy& strategy) {
  const HaarDecoder form = std::get<HaarDecoder>(strategy.decoder_form());
  const std::size_t top = form.scales.size();
  const auto squared = [](double scale, std::size_t level) {
    const double entry = std::ldexp(1 / scale, -static_cast<int>(level));
    return entry * entry;
  };
  std::vector<double> products(top + 1);
  double shared = squared(form.mean_scale, top);
  for (std::size_t level = top; level > 0; --level) {
    const double weight = squared(form.scales[level - 1], level);
    products[level] = shared - weight;
    shared += weight;
  }
  products[0] = shared;
  return products;
}

/// Weights w with sum_{l >= m} w_l = products_m.
std::vector<double> differences(std::vector<double> products) {
  for (std::size_t m = 0; m + 1 < products.size(); ++m) products[m] -= products[m + 1];
  return products;
}

/// Levels with non-negative weights whose products bound the given ones in magnitude.
std::vector<Level> binary_levels(std::vector<double> products) {
  for (double& product : products) product = std::abs(product);
  for (std::size_t m = products.size() - 1; m-- > 0;)
    products[m] = std::max(products[m], products[m + 1]);
  std::vector<Level> levels;
  for (const double weight : differences(std::move(products)))
    levels.push_back({weight, std::int64_t{1} << levels.size()});
  return levels;
}

Sensitivity level_sensitivity_of(const HaarColumns&, const Strategy& strategy,
                                 const Participation& participation) {
  const std::vector<double> products = haar_products(strategy);
  if (!visits_phases(strategy, participation, products.size())) {
    const std::vector<Level> levels = binary_levels(products);
    return level_bound(bound_by_levels(levels, strategy.steps(), participation));
  }
  const std::vector<double> weights = differences(products);
  return exact_phases(largest_phase(participation, weights.size(),
                                    [&](std::int64_t step, std::span<std::int64_t> nodes) {
                                      for (std::size_t l = 0; l < nodes.size(); ++l)
                                        nodes[l] = step >> l;
                                      return std::span<const double>(weights);
                                    }));
}

Sensitivity level_sensitivity_of(const KaryColumns& columns, const Strategy& strategy,
                                 const Participation& participation) {
  std::vector<Level> levels;
  std::int64_t place = 1;
  for (std::int64_t l = 0; l < columns.num_levels; ++l, place *= columns.arity)
    levels.push_back({1, place});
  if (!visits_phases(strategy, participation, levels.size()))
    return level_bound(bound_by_levels(levels, strategy.steps(), participation));
  const std::vector<double> weights(levels.size(), 1.0);
  return exact_phases(largest_phase(participation, levels.size(),
                                    [&](std::int64_t step, std::span<std::int64_t> nodes) {
                                      for (std::size_t l = 0; l < nodes.size(); ++l) {
                                        const std::int64_t node = step / levels[l].longest_node;
                                        nodes[l] = columns.is_used(l, node) ? node : kNoNode;
                                      }
                                      return std::span<const double>(weights);
                                    }));
}

}  // namespace

std::optional<Sensitivity> level_sensitivity(const Strategy& strategy,
                                             const Participation& participation) {
  return std::visit(
      [&](const auto& columns) -> std::optional<Sensitivity> {
        if constexpr (requires { level_sensitivity_of(columns, strategy, participation); })
          return level_sensitivity_of(columns, strategy, participation);
        else
          return std::nullopt;
      },
      strategy.columns());
}

}  // namespace dpftrl
