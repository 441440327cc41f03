// SPDX-License-Identifier: Apache-2.0
#include "strategy/trees/tree.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "strategy/families.hpp"
#include "strategy/trees/digits.hpp"

namespace dpftrl {
namespace {

std::uint64_t unsigned_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

std::vector<double> honaker_weights(std::size_t num_levels) {
  std::vector<double> weights(num_levels);
  for (std::size_t l = 0; l < num_levels; ++l)
    weights[l] = 1 / (2 * (1 - std::ldexp(1.0, -static_cast<int>(l) - 1)));
  return weights;
}

}  // namespace

std::int64_t DyadicStrategy::num_levels(std::int64_t steps) {
  require_between("strategy", "steps", steps, 1, kMaxNumSteps);
  return static_cast<std::int64_t>(std::bit_width(unsigned_of(steps)));
}

DyadicStrategy::DyadicStrategy(std::int64_t steps, std::vector<double> node_weights)
    : Strategy(Workload::prefix_sums(steps)), node_weights_(std::move(node_weights)) {
  node_variances_.resize(node_weights_.size());
  double below = 0;
  for (std::size_t l = 0; l < node_weights_.size(); ++l) {
    const double weight = node_weights_[l];
    below = weight * weight + 2 * (1 - weight) * (1 - weight) * below;
    node_variances_[l] = below;
  }
}

std::int64_t DyadicStrategy::num_measurements() const {
  return 2 * steps() - std::popcount(unsigned_of(steps()));
}

double DyadicStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  std::int64_t completed = 0;
  for (std::size_t l = 0; l < node_weights_.size(); ++l) {
    const std::int64_t node_end = ((step >> l) + 1) << l;
    if (node_end <= steps()) ++completed;
  }
  return static_cast<double>(completed);
}

double DyadicStrategy::max_column_norm_squared() const {
  return static_cast<double>(node_weights_.size());
}

double DyadicStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  double variance = 0;
  for (std::size_t l = 0; l < node_weights_.size(); ++l)
    if (((step + 1) >> l & 1) != 0) variance += node_variances_[l];
  return variance;
}

RowNorms DyadicStrategy::row_norms() const {
  const std::int64_t n = steps();
  constexpr std::array<std::int64_t, 2> kBits = {0, 1};
  double total = 0;
  for (std::size_t l = 0; l < node_variances_.size(); ++l)
    total +=
        node_variances_[l] * static_cast<double>(digit_total(n + 1, std::int64_t{1} << l, kBits));
  // The largest row has t + 1 = n, or n with one set bit cleared and all lower bits set.
  double largest = row_norm_squared(n - 1);
  for (std::size_t l = 1; l < node_variances_.size(); ++l) {
    if ((n >> l & 1) == 0) continue;
    const std::int64_t candidate = (n >> l << l) - 1;
    if (candidate > 0) largest = std::max(largest, row_norm_squared(candidate - 1));
  }
  // The smallest row is a single node: t + 1 is a power of two.
  const double smallest = *std::min_element(node_variances_.begin(), node_variances_.end());
  return {smallest, largest, total / static_cast<double>(n)};
}

Eigen::Index DyadicStrategy::dense_measurements() const {
  return 2 * dense_size() - std::popcount(unsigned_of(steps()));
}

Matrix DyadicStrategy::encoder() const {
  Matrix encoder = Matrix::Zero(dense_measurements(), dense_size());
  Eigen::Index measurement = 0;
  for (Eigen::Index step = 0; step < dense_size(); ++step) {
    const int highest = std::countr_zero(unsigned_of(step + 1));
    for (int level = 0; level <= highest; ++level) {
      const Eigen::Index width = Eigen::Index{1} << level;
      encoder.row(measurement++).segment(step + 1 - width, width).setOnes();
    }
  }
  return encoder;
}

Matrix DyadicStrategy::decoder() const {
  Matrix decoder = Matrix::Zero(dense_size(), dense_measurements());
  // estimates[l] holds the weights of all measurements in the estimate of the last completed node
  // of level l.
  std::vector<Vector> estimates(node_weights_.size(), Vector::Zero(dense_measurements()));
  Eigen::Index measurement = 0;
  for (Eigen::Index step = 0; step < dense_size(); ++step) {
    const std::size_t highest = static_cast<std::size_t>(std::countr_zero(unsigned_of(step + 1)));
    Vector estimate = Vector::Zero(dense_measurements());
    for (std::size_t l = 0; l <= highest; ++l) {
      if (l > 0) estimate = (1 - node_weights_[l]) * (estimates[l - 1] + estimate);
      estimate(measurement++) += node_weights_[l];
    }
    estimates[highest] = estimate;
    for (std::size_t l = 0; l < estimates.size(); ++l)
      if (((step + 1) >> l & 1) != 0) decoder.row(step) += estimates[l].transpose();
  }
  return decoder;
}

TreeStrategy::TreeStrategy(std::int64_t steps)
    : DyadicStrategy(steps, std::vector<double>(static_cast<std::size_t>(num_levels(steps)), 1.0)) {
}

HonakerStrategy::HonakerStrategy(std::int64_t steps)
    : DyadicStrategy(steps, honaker_weights(static_cast<std::size_t>(num_levels(steps)))) {}

FamilyRow tree_family() {
  return row_of_tree<TreeStrategy>("binary tree of noisy interval sums", /*is_causal=*/true);
}

FamilyRow honaker_family() {
  return row_of_tree<HonakerStrategy>("binary tree, each node refined from its subtree",
                                      /*is_causal=*/true);
}

}  // namespace dpftrl
