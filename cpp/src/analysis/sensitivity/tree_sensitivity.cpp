// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/tree_sensitivity.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxTreeVisits = std::int64_t{1} << 29;
constexpr std::int64_t kMaxTreeOperations = std::int64_t{1} << 28;
/// Cost of looking up a sum, in entries of Gaps.
constexpr std::int64_t kOperationsPerSum = 64;
constexpr std::int64_t kMaxStoredGaps = std::int64_t{1} << 23;

int num_levels(std::int64_t steps) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(steps)));
}

/// Entry p is the largest number of steps that can be left free at the right end of a block if p
/// must be free at the left end, or kImpossible. Gaps of b - 1 and more constrain nothing beyond
/// the block and count as b - 1.
using Gaps = std::vector<std::int32_t>;
constexpr std::int32_t kImpossible = -1;

/// Ways in which one user can participate within a block of consecutive steps. ways[m - 1], for m
/// participations, maps a sum of squares to the gaps that reach at least that sum; dominated sums
/// are left out.
struct Block {
  std::int64_t steps = 0;
  std::vector<std::map<std::int64_t, Gaps>> ways = {};
};

class TreeSearch {
 public:
  TreeSearch(std::int64_t times, std::int64_t separation)
      : times_(times), separation_(separation) {}

  bool is_within_budget() const { return operations_ <= kMaxTreeOperations; }

  /// A whole subtree of at most `separation` steps: one participation in a node of every level.
  Block small_tree(int level) const {
    const std::int64_t size = std::int64_t{1} << level;
    Gaps gaps(static_cast<std::size_t>(separation_), kImpossible);
    for (std::int64_t p = 0; p < size; ++p)
      gaps[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(size - 1 - p);
    return {size, {{{level + 1, std::move(gaps)}}}};
  }

  /// Joins two neighbouring blocks; with `is_node` they are the children of a node, which adds m^2.
  Block join(const Block& left, const Block& right, bool is_node) {
    Block joined{left.steps + right.steps};
    const std::int64_t most =
        std::min<std::int64_t>(times_, std::ssize(left.ways) + std::ssize(right.ways));
    std::int64_t stored = 0;
    for (std::int64_t m = 1; m <= most && is_within_budget(); ++m) {
      joined.ways.push_back(undominated(joint_ways(left, right, m), is_node ? m * m : 0));
      stored += std::ssize(joined.ways.back()) * separation_;
      if (stored > kMaxStoredGaps) operations_ = kMaxTreeOperations + 1;
    }
    return joined;
  }

 private:
  using Ways = std::map<std::int64_t, Gaps>;

  Ways joint_ways(const Block& left, const Block& right, std::int64_t m) {
    Ways ways;
    for (std::int64_t in_left = 0; in_left <= m && is_within_budget(); ++in_left) {
      const std::int64_t in_right = m - in_left;
      if (in_left > std::ssize(left.ways) || in_right > std::ssize(right.ways)) continue;
      if (in_right == 0) {
        for (const auto& [sum, gaps] : left.ways[index(m - 1)])
          add(ways, sum, [&](std::size_t p) { return widened(gaps[p], right.steps); });
      } else if (in_left == 0) {
        for (const auto& [sum, gaps] : right.ways[index(m - 1)])
          add(ways, sum, [&](std::size_t p) {
            return gaps[index(std::max<std::int64_t>(0, std::int64_t(p) - left.steps))];
          });
      } else {
        for (const auto& [left_sum, left_gaps] : left.ways[index(in_left - 1)])
          for (const auto& [right_sum, right_gaps] : right.ways[index(in_right - 1)])
            add(ways, left_sum + right_sum, [&](std::size_t p) {
              if (left_gaps[p] == kImpossible) return kImpossible;
              return right_gaps[index(separation_ - 1 - left_gaps[p])];
            });
      }
    }
    return ways;
  }

  template <class GapAfter>
  void add(Ways& ways, std::int64_t sum, const GapAfter& gap_after) {
    Gaps& gaps = ways.try_emplace(sum, Gaps(index(separation_), kImpossible)).first->second;
    for (std::size_t p = 0; p < gaps.size(); ++p) gaps[p] = std::max(gaps[p], gap_after(p));
    operations_ += separation_ + kOperationsPerSum;
  }

  /// Keeps a sum only if, for some p, it leaves a larger gap than every larger sum.
  Ways undominated(const Ways& ways, std::int64_t added) const {
    Ways kept;
    Gaps best(index(separation_), kImpossible);
    for (auto way = ways.rbegin(); way != ways.rend(); ++way) {
      bool is_better = false;
      for (std::size_t p = 0; p < best.size(); ++p) {
        if (way->second[p] <= best[p]) continue;
        best[p] = way->second[p];
        is_better = true;
      }
      if (is_better) kept.emplace(way->first + added, best);
    }
    return kept;
  }

  std::int32_t widened(std::int32_t gap, std::int64_t steps) const {
    if (gap == kImpossible) return kImpossible;
    return static_cast<std::int32_t>(std::min(separation_ - 1, gap + steps));
  }

  static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

  std::int64_t times_;
  std::int64_t separation_;
  std::int64_t operations_ = 0;
};

/// Sum of squares of one pattern first, first + b, ... of k steps.
std::int64_t evenly_spaced_tree_sum(std::int64_t steps, const Participation& participation,
                                    std::int64_t first) {
  const std::int64_t k = participation.times(), b = participation.apart();
  std::int64_t sum = 0;
  for (int level = 0; level < num_levels(steps); ++level) {
    const std::int64_t completed = steps >> level;
    std::int64_t node = -1, count = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t next = (first + i * b) >> level;
      if (next >= completed) break;
      count = next == node ? count + 1 : 1;
      node = next;
      sum += 2 * count - 1;
    }
  }
  return sum;
}

}  // namespace

double level_by_level_bound(std::int64_t steps, const Participation& participation) {
  const std::int64_t k = participation.times_within(steps);
  double sum = 0;
  for (int level = 0; level < num_levels(steps); ++level) {
    const std::int64_t size = std::int64_t{1} << level;
    const std::int64_t in_node = participation.times_within(size);
    sum += static_cast<double>(k) * static_cast<double>(in_node);
  }
  return sum * (1 + 0x1p-45);  // covers the rounding of 41 products and sums
}

std::optional<std::int64_t> largest_tree_sum(std::int64_t steps,
                                             const Participation& participation) {
  const std::int64_t k = participation.times_within(steps);
  const std::int64_t b = participation.apart();
  if (b > kMaxStoredGaps) return std::nullopt;
  TreeSearch search(k, b);
  Block tree, all;
  // Nodes completed within the horizon belong to the whole trees in its binary expansion.
  for (int level = 0; level < num_levels(steps); ++level) {
    tree =
        (std::int64_t{1} << level) <= b ? search.small_tree(level) : search.join(tree, tree, true);
    if ((steps >> level & 1) != 0) all = search.join(tree, all, false);
    if (!search.is_within_budget()) return std::nullopt;
  }
  std::int64_t largest = 0;
  for (const auto& ways : all.ways)
    if (!ways.empty()) largest = std::max(largest, ways.rbegin()->first);
  return largest;
}

Sensitivity tree_sensitivity(std::int64_t steps, const Participation& participation) {
  participation.require_horizon(steps);
  if (participation.times_within(steps) == 1)
    return {std::sqrt(static_cast<double>(num_levels(steps))), Exactness::exact,
            "number of levels of the tree"};
  if (participation.kind() == Participation::Kind::fixed_epoch) {
    if (steps <= kMaxTreeVisits / num_levels(steps)) {
      std::int64_t largest = 0;
      for (std::int64_t first = 0; first < participation.apart(); ++first)
        largest = std::max(largest, evenly_spaced_tree_sum(steps, participation, first));
      return {std::sqrt(static_cast<double>(largest)), Exactness::exact,
              "every phase of the epochs, node by node"};
    }
  } else if (const auto largest = largest_tree_sum(steps, participation)) {
    return {std::sqrt(static_cast<double>(*largest)), Exactness::exact,
            "dynamic program over the levels of the tree"};
  }
  return {std::sqrt(level_by_level_bound(steps, participation)), Exactness::upper_bound,
          "largest counts, level by level of the tree"};
}

}  // namespace dpftrl
