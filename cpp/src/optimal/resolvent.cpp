// SPDX-License-Identifier: Apache-2.0
#include "optimal/resolvent.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace dpftrl::detail {
namespace {

/// Two doubles, a vector type on every target.
using Pair [[gnu::vector_size(16)]] = double;
constexpr std::size_t kPairs = static_cast<std::size_t>(kNodesAtOnce) / 2;
using Lanes = std::array<Pair, kPairs>;
constexpr Pair kOnes{1, 1};
constexpr std::size_t kMaxBlock = 64;

Pair larger_of(Pair a, Pair b) {
  return Pair{std::max(a[0], b[0]), std::max(a[1], b[1])};
}

Pair smaller_of(Pair a, Pair b) {
  return Pair{std::min(a[0], b[0]), std::min(a[1], b[1])};
}

/// Relative errors in units of rounding; see "Rounding" in docs/math/optimal.md.
class RoundingModel {
 public:
  explicit RoundingModel(bool has_decay)
      : plain_(has_decay ? 3 : 2), shared_(has_decay ? 5 : 3), inside_(has_decay ? 16 : 10) {}

  /// Error of a ratio after a block of `length` steps in which an error shrinks by `contraction`.
  Pair after(Pair error, Pair contraction, double length) const {
    const Pair most = kOnes * (shared_ * length);
    return contraction * error + smaller_of(most, plain_ * (kOnes / contraction - kOnes)) +
           (plain_ * length + 4);
  }
  /// Error of a product of two solutions inside a block, given the errors of the ratios at its
  /// ends.
  Pair inside(Pair below, Pair above, double length) const {
    return larger_of(below, above) + (inside_ * length + 8);
  }

 private:
  double plain_, shared_, inside_;
};

/// Ratios N / D at the beginning of a block, and their errors.
struct BlockStart {
  Lanes ratio, error;
};

struct NodeGroup {
  Lanes shifts, weights;
  Lanes ratio, error;  ///< ratio and error in the current sweep
};

/// Splits the nodes into groups. Copies of the last node, which share its weight, fill up the last
/// group.
std::vector<NodeGroup> groups_of(const InverseRoot& root) {
  const std::size_t used = root.shifts.size(), lanes = 2 * kPairs;
  std::vector<NodeGroup> groups((used + lanes - 1) / lanes);
  const std::size_t copies = groups.size() * lanes - used + 1;
  for (std::size_t lane = 0; lane < groups.size() * lanes; ++lane) {
    const std::size_t node = std::min(lane, used - 1);
    NodeGroup& group = groups[lane / lanes];
    group.shifts[lane % lanes / 2][lane % 2] = root.shifts[node];
    group.weights[lane % lanes / 2][lane % 2] =
        root.weights[node] / (node + 1 == used ? static_cast<double>(copies) : 1);
  }
  return groups;
}

/// Steps in which no solution can grow by more than 2^800.
std::size_t block_length(const InverseRoot& root, const Weights& weights) {
  const auto [least_row, greatest_row] = std::ranges::minmax(weights.rows);
  const double growth =
      (1 + std::ranges::max(root.shifts) * greatest_row * std::ranges::max(weights.columns) +
       greatest_row / least_row) /
      (weights.decay * weights.decay);
  const double length = 800 / std::log2(growth);
  return length >= 1 ? static_cast<std::size_t>(std::min<double>(length, kMaxBlock)) : 1;
}

/// The steps of a block with decay moved into the weights: u_i decay^(2i), v_i decay^(-2i), i
/// counted from its first step.
struct Block {
  const double* rows;
  const double* columns;
  std::size_t length;
  double decay;  ///< decay^(2 length)
};

class Sweeps {
 public:
  Sweeps(const InverseRoot& root, const Weights& weights)
      : weights_(weights),
        direct_(root.direct),
        groups_(groups_of(root)),
        rounding_(weights.decay != 1),
        block_(block_length(root, weights)),
        num_blocks_((weights.columns.size() + block_ - 1) / block_),
        starts_(num_blocks_ * groups_.size()) {
    for (std::size_t i = 1; i <= block_; ++i)
      powers_[i] = powers_[i - 1] * (weights.decay * weights.decay);
  }

  RootDiagonal run() {
    for (std::size_t b = 0; b < num_blocks_; ++b) {
      const Block block = block_at(b);
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        starts_[b * groups_.size() + g] = {groups_[g].ratio, groups_[g].error};
        pass_forward(block, groups_[g]);
      }
    }
    RootDiagonal result{std::vector<double>(weights_.columns.size()), 0};
    for (NodeGroup& group : groups_) group.ratio = group.error = {};
    for (std::size_t b = num_blocks_; b-- > 0;) {
      const Block block = block_at(b);
      sums_.fill(Pair{});
      errors_.fill(Pair{});
      for (std::size_t g = 0; g < groups_.size(); ++g)
        add_block(block, starts_[b * groups_.size() + g], b + 1 == num_blocks_, groups_[g]);
      for (std::size_t i = 0; i < block.length; ++i) {
        const double sum = sums_[i][0] + sums_[i][1];
        result.values[b * block_ + i] = direct_ + block.columns[i] * sum;
        result.rounding_error =
            std::max(result.rounding_error, (errors_[i][0] + errors_[i][1]) / sum);
      }
    }
    const double additions = static_cast<double>(groups_.size() + kPairs) + 4;
    result.rounding_error = 0x1p-53 * (result.rounding_error + additions) * (1 + 0x1p-20);
    return result;
  }

 private:
  Block block_at(std::size_t b) {
    const std::size_t first = b * block_;
    const std::size_t length = std::min(block_, weights_.columns.size() - first);
    const double* rows = &weights_.rows[first];
    const double* columns = &weights_.columns[first];
    if (weights_.decay == 1) return {rows, columns, length, 1};
    for (std::size_t i = 0; i < length; ++i) {
      rows_[i] = rows[i] * powers_[i];
      columns_[i] = columns[i] / powers_[i];
    }
    return {rows_.data(), columns_.data(), length, powers_[length]};
  }

  /// Advances the ratio N / D from the block's start to its end, by N <- N + v D, D <- D + s u N.
  void pass_forward(const Block& block, NodeGroup& group) const {
    Lanes n = group.ratio, d;
    const Lanes s = group.shifts;
    d.fill(kOnes);
    for (std::size_t i = 0; i < block.length; ++i) {
      const double u = block.rows[i], v = block.columns[i];
      for (std::size_t p = 0; p < kPairs; ++p) {
        n[p] += v * d[p];
        d[p] += s[p] * u * n[p];
      }
    }
    for (std::size_t p = 0; p < kPairs; ++p) {
      group.error[p] = rounding_.after(group.error[p], group.ratio[p] / (n[p] * d[p]),
                                       static_cast<double>(block.length));
      group.ratio[p] = n[p] / d[p] * block.decay;
    }
  }

  /// Runs `pass_forward` again and keeps D; then D <- D + s u N, N <- N + v D from the block's end
  /// to its start. Products of the two D, divided by the Wronskian, are the resolvent's diagonal
  /// divided by v.
  void add_block(const Block& block, const BlockStart& start, bool is_last, NodeGroup& group) {
    Lanes n = start.ratio, d, error;
    const Lanes s = group.shifts;
    d.fill(kOnes);
    for (std::size_t i = 0; i < block.length; ++i) {
      const double u = block.rows[i], v = block.columns[i];
      for (std::size_t p = 0; p < kPairs; ++p) {
        below_[i][p] = d[p];
        n[p] += v * d[p];
        d[p] += s[p] * u * n[p];
      }
    }
    // Above the last step N / D is infinite.
    const double length = static_cast<double>(block.length), d_above = is_last ? 0 : block.decay;
    Lanes n_above = group.ratio, contraction;
    if (is_last) n_above.fill(kOnes);
    for (std::size_t p = 0; p < kPairs; ++p) {
      error[p] = rounding_.inside(start.error[p], group.error[p], length);
      const Pair scale = group.weights[p] / (s[p] * (n_above[p] * d[p] + n[p] * d_above));
      n[p] = n_above[p] * scale;
      d[p] = d_above * scale;
      contraction[p] = n[p] * d[p];
    }
    for (std::size_t i = block.length; i-- > 0;) {
      const double u = block.rows[i], v = block.columns[i];
      Pair sum{}, error_sum{};
      for (std::size_t p = 0; p < kPairs; ++p) {
        d[p] += s[p] * u * n[p];
        n[p] += v * d[p];
        const Pair product = below_[i][p] * d[p];
        sum += product;
        error_sum += product * error[p];
      }
      sums_[i] += sum;
      errors_[i] += error_sum;
    }
    for (std::size_t p = 0; p < kPairs; ++p) {
      group.error[p] = rounding_.after(group.error[p], contraction[p] / (n[p] * d[p]), length);
      group.ratio[p] = n[p] / d[p];
    }
  }

  const Weights& weights_;
  double direct_;
  std::vector<NodeGroup> groups_;
  RoundingModel rounding_;
  std::size_t block_, num_blocks_;
  std::vector<BlockStart> starts_;  ///< entry b * groups + g is for block b and group g
  std::array<double, kMaxBlock + 1> powers_{1.0};
  std::array<double, kMaxBlock> rows_, columns_;
  std::array<Lanes, kMaxBlock> below_;
  std::array<Pair, kMaxBlock> sums_, errors_;
};

}  // namespace

SpectralInterval spectrum(const Weights& weights) {
  const std::vector<double>&u = weights.rows, &v = weights.columns;
  const double decay_squared = weights.decay * weights.decay;
  double largest = 0, inner = 0, trace = 0, before = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double inverse = 1 / u[i];
    largest = std::max(largest, (inverse + before) / v[i]);
    before = decay_squared * inverse;
    inner = decay_squared * inner + v[i];
    trace += u[i] * inner;
  }
  constexpr double kSlack = 1 + 0x1p-26;
  return {1 / (trace * kSlack), 2 * largest * kSlack};
}

RootDiagonal root_diagonal(const InverseRoot& root, const Weights& weights) {
  return Sweeps(root, weights).run();
}

}  // namespace dpftrl::detail
