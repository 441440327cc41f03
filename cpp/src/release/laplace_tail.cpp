// SPDX-License-Identifier: Apache-2.0

#include "release/laplace_tail.hpp"

#include <map>
#include <utility>
#include <vector>

#include "random/laplace_sum.hpp"

namespace dpftrl {
namespace {

/// Beyond this many steps, every step counts as a step with the most nodes.
constexpr std::int64_t kMaxListedSteps = std::int64_t{1} << 20;
/// Larger numbers of nodes are rounded up to a few leading bits.
constexpr std::int64_t kMaxPlainNodes = 64;
/// Covers the rounding of a sum of a few hundred terms.
constexpr double kSumUp = 1 + 0x1p-40;

/// Rounding up is safe: a sum of more symmetric unimodal variables exceeds any x in magnitude with
/// higher probability (Wintner).
std::int64_t round_up_nodes(std::int64_t num_nodes) {
  std::int64_t unit = 1;
  while (num_nodes > kMaxPlainNodes * unit) unit *= 2;
  return (num_nodes + unit - 1) / unit * unit;
}

/// Counts steps by their number of nodes, rounded up.
std::map<std::int64_t, double> steps_by_nodes(const Strategy& tree) {
  const std::int64_t n = tree.steps();
  const auto nodes = [](double squared) {
    return round_up_nodes(static_cast<std::int64_t>(squared));
  };
  if (n > kMaxListedSteps) return {{nodes(tree.row_norms().max_squared), static_cast<double>(n)}};
  std::map<std::int64_t, double> steps;
  for (std::int64_t t = 0; t < n; ++t) ++steps[nodes(tree.row_norm_squared(t))];
  return steps;
}

}  // namespace

std::int64_t detail::simultaneous_laplace_width(const Strategy& tree, const LaplaceNoise& law,
                                                double probability) {
  std::vector<std::pair<LaplaceSum, double>> groups;
  for (const auto& [num_nodes, steps] : steps_by_nodes(tree))
    groups.emplace_back(LaplaceSum(num_nodes, law.scale), steps);
  return least_that([&](std::int64_t x) {
    double sum = 0;
    for (const auto& [noise, steps] : groups) sum += steps * 2 * noise.tail(x + 1);
    return sum * kSumUp <= probability;
  });
}

}  // namespace dpftrl
