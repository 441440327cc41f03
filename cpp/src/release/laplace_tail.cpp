// SPDX-License-Identifier: Apache-2.0

/// Tail bounds on the noise of pure releases: docs/math/pure.md, section 4.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "random/laplace_sum.hpp"

namespace dpftrl {
namespace {

/// Least probability of one release; tails are accurate down to 1e-300.
constexpr double kLeastProbability = 1e-290;
/// Least probability of all releases; compared with it, 2^71 tails below 1e-300 are negligible.
constexpr double kLeastOfAll = 1e-200;
/// Beyond this many steps, every step counts as one with the most nodes.
constexpr std::int64_t kMaxListedSteps = std::int64_t{1} << 20;
/// Larger numbers of nodes are rounded up to their leading bits.
constexpr std::int64_t kMaxPlainNodes = 64;
/// Covers the rounding of a sum of a few hundred terms.
constexpr double kSumUp = 1 + 0x1p-40;

LaplaceNoise require_laplace(const std::optional<LaplaceNoise>& law) {
  if (!law)
    fail(ErrorCode::unsupported, "prefix_sum", "mechanism",
         "must be one without a delta: other noise has no tail here but its std");
  return *law;
}

/// Rounding up is safe: a sum of more symmetric unimodal variables is beyond any x with higher
/// probability (Wintner).
std::int64_t round_up_nodes(std::int64_t num_nodes) {
  std::int64_t unit = 1;
  while (num_nodes > kMaxPlainNodes * unit) unit *= 2;
  return (num_nodes + unit - 1) / unit * unit;
}

/// Counts steps by their number of nodes, rounded up.
std::map<std::int64_t, double> steps_by_nodes(const Strategy& tree) {
  const std::int64_t n = tree.num_steps();
  const auto nodes = [](double squared) {
    return round_up_nodes(static_cast<std::int64_t>(squared));
  };
  if (n > kMaxListedSteps) return {{nodes(tree.row_norms().max_squared), static_cast<double>(n)}};
  std::map<std::int64_t, double> steps;
  for (std::int64_t t = 0; t < n; ++t) ++steps[nodes(tree.row_norm_squared(t))];
  return steps;
}

}  // namespace

double PrefixSum::release_half_width(const StepProbability& wanted) const {
  const LaplaceNoise law = require_laplace(laplace());
  const double num_nodes = mechanism_->strategy().row_norm_squared(wanted.step);
  if (!(wanted.probability >= kLeastProbability && wanted.probability < 1))
    fail_argument("prefix_sum", "probability", "between 1e-290 and 1", to_text(wanted.probability));
  return grid_ * static_cast<double>(law.half_width(num_nodes, wanted.probability));
}

double PrefixSum::simultaneous_half_width(double probability) const {
  const LaplaceNoise law = require_laplace(laplace());
  if (!(probability >= kLeastOfAll && probability < 1))
    fail_argument("prefix_sum", "probability", "between 1e-200 and 1", to_text(probability));
  std::vector<std::pair<detail::LaplaceSum, double>> groups;
  for (const auto& [num_nodes, num_steps] : steps_by_nodes(mechanism_->strategy()))
    groups.emplace_back(detail::LaplaceSum(num_nodes, law.scale), num_steps);
  const double each = probability / static_cast<double>(dimension_);
  return grid_ * static_cast<double>(detail::least_that([&](std::int64_t x) {
           double sum = 0;
           for (const auto& [noise, num_steps] : groups) sum += num_steps * 2 * noise.tail(x + 1);
           return sum * kSumUp <= each;
         }));
}

}  // namespace dpftrl
