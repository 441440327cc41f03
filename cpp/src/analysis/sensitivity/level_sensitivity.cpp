// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/level_sensitivity.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <variant>
#include <vector>

#include "strategy/trees/haar.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxLevelVisits = std::int64_t{1} << 29;
constexpr std::int64_t kMaxKeptLeaves = std::int64_t{1} << 23;
constexpr std::int64_t kNoNode = -1;
/// Covers the rounding of the weights and of a few hundred products and sums.
constexpr double kRoundUp = 1 + 0x1p-44;

struct Level {
  double weight;
  std::int64_t longest_node;  ///< in steps
};

/// Largest contribution of one participation to sum_v w_v m_v^2.
/// @param levels_per_step  largest number of levels on which a step has a node
double largest_share(std::span<const Level> levels, std::size_t levels_per_step,
                     std::int64_t num_steps, const Participation& participation) {
  std::vector<double> shares;
  for (const Level& level : levels) {
    const std::int64_t longest = std::min(level.longest_node, num_steps);
    shares.push_back(level.weight *
                     static_cast<double>(participation.max_participations_within(longest)));
  }
  std::ranges::sort(shares, std::ranges::greater());
  shares.resize(std::min(shares.size(), levels_per_step));
  double sum = 0;
  for (const double share : shares) sum += share;
  return sum * kRoundUp;
}

double bound_by_levels(std::span<const Level> levels, std::size_t levels_per_step,
                       std::int64_t num_steps, const Participation& participation) {
  return static_cast<double>(participation.max_participations_within(num_steps)) *
         largest_share(levels, levels_per_step, num_steps, participation);
}

/// Writes the node of a step on every level, kNoNode for none.
/// @return the weights of the levels; nodes with different weights are different nodes.
using NodesOf = std::function<std::span<const double>(std::int64_t, std::span<std::int64_t>)>;

/// Returns the maximum over phases of sum_v w_v m_v^2.
double largest_phase(const Participation& participation, std::size_t num_levels,
                     const NodesOf& nodes_of) {
  const std::int64_t k = participation.max_participations(), b = participation.separation();
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
         strategy.num_steps() <= kMaxLevelVisits / static_cast<std::int64_t>(num_levels);
}

/// Inner products of columns of a Haar basis whose smallest common support has 2^m steps, m = 0, 1,
/// ...: g_0 + sum_{l > m} g_l - g_m.
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

/// Returns weights whose sums over levels m and above are the products.
std::vector<double> differences(std::vector<double> products) {
  for (std::size_t m = 0; m + 1 < products.size(); ++m) products[m] -= products[m + 1];
  return products;
}

/// Returns levels that bound the sizes of the products: no weight is negative, and no product
/// exceeds its bound.
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
    return level_bound(bound_by_levels(levels, levels.size(), strategy.num_steps(), participation));
  }
  const std::vector<double> weights = differences(products);
  return exact_phases(largest_phase(participation, weights.size(),
                                    [&](std::int64_t step, std::span<std::int64_t> nodes) {
                                      for (std::size_t l = 0; l < nodes.size(); ++l)
                                        nodes[l] = step >> l;
                                      return std::span<const double>(weights);
                                    }));
}

/// Inner products within a block of a hybrid: half of Haar's products for 2^c steps plus half of a
/// total's.
std::vector<std::vector<double>> hybrid_products(std::int64_t num_steps) {
  const int num_blocks = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(num_steps)));
  std::vector<std::vector<double>> all;
  for (int block = 0; block < num_blocks; ++block) {
    all.push_back(haar_products(HaarStrategy(std::int64_t{1} << block)));
    for (double& product : all.back()) product = (product + 1) / 2;
  }
  return all;
}

/// Returns the sum of the k largest shares. Columns of different blocks are orthogonal, and a block
/// has room for a limited number of participations.
double hybrid_bound(const std::vector<std::vector<double>>& products, std::int64_t num_steps,
                    const Participation& participation) {
  struct Share {
    double value;
    std::int64_t most;
  };
  std::vector<Share> shares;
  for (std::size_t block = 0; block < products.size(); ++block) {
    const std::int64_t whole = std::int64_t{1} << block;
    const std::int64_t length = std::min(whole, num_steps - (whole - 1));
    const std::vector<Level> levels = binary_levels(products[block]);
    shares.push_back({largest_share(levels, levels.size(), length, participation),
                      participation.max_participations_within(length)});
  }
  std::ranges::sort(shares, std::ranges::greater(), &Share::value);
  double sum = 0;
  std::int64_t left = participation.max_participations_within(num_steps);
  for (const Share& share : shares) {
    const std::int64_t taken = std::min(left, share.most);
    sum += static_cast<double>(taken) * share.value;
    left -= taken;
  }
  return sum * kRoundUp;
}

/// Block c begins at step 2^c - 1.
Sensitivity level_sensitivity_of(const HybridColumns&, const Strategy& strategy,
                                 const Participation& participation) {
  const std::vector<std::vector<double>> products = hybrid_products(strategy.num_steps());
  if (!visits_phases(strategy, participation, products.size()))
    return level_bound(hybrid_bound(products, strategy.num_steps(), participation));
  std::vector<std::vector<double>> weights;
  for (const std::vector<double>& block : products) weights.push_back(differences(block));
  return exact_phases(largest_phase(
      participation, weights.size(), [&](std::int64_t step, std::span<std::int64_t> nodes) {
        const auto number = static_cast<std::uint64_t>(step + 1);
        const auto block = static_cast<std::size_t>(std::bit_width(number)) - 1;
        const std::int64_t inside = step + 1 - (std::int64_t{1} << block);
        for (std::size_t l = 0; l <= block; ++l) nodes[l] = inside >> l;
        return std::span<const double>(weights[block]);
      }));
}

Sensitivity level_sensitivity_of(const KaryColumns& columns, const Strategy& strategy,
                                 const Participation& participation) {
  std::vector<Level> levels;
  std::int64_t place = 1;
  for (std::int64_t l = 0; l < columns.num_levels; ++l, place *= columns.arity)
    levels.push_back({1, place});
  if (!visits_phases(strategy, participation, levels.size()))
    return level_bound(bound_by_levels(levels, levels.size(), strategy.num_steps(), participation));
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

/// Returns leaves 0 .. num_steps, each the next larger number with as many ones.
std::vector<std::uint64_t> smooth_leaves(std::int64_t num_steps, std::int64_t weight) {
  std::vector<std::uint64_t> leaves = {(std::uint64_t{1} << weight) - 1};
  for (std::int64_t step = 0; step < num_steps; ++step) {
    const std::uint64_t leaf = leaves.back(), lowest = leaf & (~leaf + 1), above = leaf + lowest;
    leaves.push_back((((above ^ leaf) >> 2) / lowest) | above);
  }
  return leaves;
}

/// A node of level q holds the leaves with the same bits above bit q, a 0 there, and r ones below
/// it, binomial(q, r) in all.
std::vector<Level> smooth_levels(const SmoothColumns& shape) {
  std::vector<double> binomials = {1};
  std::vector<Level> levels;
  for (std::int64_t q = 0; q < shape.height; ++q) {
    double longest = 0;
    for (std::int64_t r = 1; r <= std::min(q, shape.weight); ++r)
      if (shape.weight - r < shape.height - q)
        longest = std::max(longest, binomials[static_cast<std::size_t>(r)]);
    levels.push_back({1, std::max<std::int64_t>(1, static_cast<std::int64_t>(longest))});
    binomials.push_back(0);
    for (std::size_t r = binomials.size() - 1; r > 0; --r) binomials[r] += binomials[r - 1];
  }
  return levels;
}

Sensitivity level_sensitivity_of(const SmoothColumns& columns, const Strategy& strategy,
                                 const Participation& participation) {
  const std::vector<Level> levels = smooth_levels(columns);
  if (!visits_phases(strategy, participation, levels.size()) ||
      strategy.num_steps() > kMaxKeptLeaves)
    return level_bound(bound_by_levels(levels,
                                       static_cast<std::size_t>(strategy.max_column_norm_squared()),
                                       strategy.num_steps(), participation));
  const std::vector<std::uint64_t> leaves = smooth_leaves(strategy.num_steps(), columns.weight);
  const std::vector<double> weights(levels.size(), 1.0);
  return exact_phases(largest_phase(
      participation, levels.size(), [&](std::int64_t step, std::span<std::int64_t> nodes) {
        const std::uint64_t leaf = leaves[static_cast<std::size_t>(step)];
        const int differing = static_cast<int>(std::bit_width(leaf ^ leaves.back())) - 1;
        for (int q = 0; q < std::ssize(nodes); ++q) {
          const bool is_zero = (leaf >> q & 1) == 0;
          const bool splits = (leaf & ((std::uint64_t{1} << q) - 1)) != 0;
          const bool is_used = is_zero && (q == differing || (q < differing && splits));
          nodes[static_cast<std::size_t>(q)] =
              is_used ? static_cast<std::int64_t>(leaf >> q) : kNoNode;
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
