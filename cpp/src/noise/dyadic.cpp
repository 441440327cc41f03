// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <vector>

#include "dpftrl/gaussian.hpp"
#include "noise/kernel.hpp"

namespace dpftrl::noise {
namespace {

/// Keeps, for each level, the estimate of the last completed node and the sum of the estimates of
/// that node and of those to its left that row t uses together with it: O(log n) vectors, O(1)
/// additions a step on average.
class DyadicKernel final : public Kernel {
 public:
  DyadicKernel(const KernelOptions& options, const DyadicDecoder& decoder)
      : options_(options),
        weights_(decoder.node_weights),
        estimates_(weights_.size(), std::vector<double>(dimension())),
        partial_sums_(weights_.size(), std::vector<double>(dimension())),
        fresh_(dimension()),
        estimate_bounds_(weights_.size()),
        partial_bounds_(weights_.size()) {
    estimate_bounds_[0] = {kNormalErrorBound, kNormalMax};
    for (std::size_t l = 1; l < weights_.size(); ++l) {
      const double weight = weights_[l];
      const Bound below = estimate_bounds_[l - 1];
      const double children = 2 * (1 - weight) * below.magnitude;
      const double magnitude = weight * kNormalMax + children;
      const double rounding = kUnitRoundoff * (2 * children + weight * kNormalMax + magnitude);
      const double inherited = weight * kNormalErrorBound + 2 * (1 - weight) * below.error;
      estimate_bounds_[l] = {(inherited + rounding) * kSlack, magnitude * kSlack};
    }
  }

  void write_row(std::int64_t step, std::span<double> row) override {
    const std::uint64_t count = static_cast<std::uint64_t>(step) + 1;
    const std::size_t level = static_cast<std::size_t>(std::countr_zero(count));
    estimate_node(step, level);
    const std::uint64_t higher = count & (count - 1);
    std::vector<double>& partial = partial_sums_[level];
    if (higher == 0) {
      partial = estimates_[level];
      partial_bounds_[level] = estimate_bounds_[level];
    } else {
      const std::size_t left = static_cast<std::size_t>(std::countr_zero(higher));
      for (std::size_t i = 0; i < row.size(); ++i)
        partial[i] = partial_sums_[left][i] + estimates_[level][i];
      partial_bounds_[level] = sum_bound(partial_bounds_[left], estimate_bounds_[level]);
    }
    std::copy(partial.begin(), partial.end(), row.begin());
    row_bound_ = partial_bounds_[level].error;
  }

  RowErrorBound error_bound() const override { return {row_bound_, 0}; }

 private:
  struct Bound {
    double error;
    double magnitude;
  };

  static Bound sum_bound(const Bound& a, const Bound& b) {
    const double magnitude = (a.magnitude + b.magnitude) * kSlack;
    return {(a.error + b.error + kUnitRoundoff * magnitude) * kSlack, magnitude};
  }

  std::size_t dimension() const { return static_cast<std::size_t>(options_.dimension); }

  /// Estimates the nodes of levels 0 .. level that end at this step; those below a node of weight 1
  /// are not needed and not drawn.
  void estimate_node(std::int64_t step, std::size_t level) {
    const std::int64_t completed_before =
        2 * step - std::popcount(static_cast<std::uint64_t>(step));
    std::size_t start = level;
    while (weights_[start] != 1) --start;
    std::vector<double>& estimate = estimates_[level];
    fill_measurement(options_, completed_before + static_cast<std::int64_t>(start), estimate);
    for (std::size_t l = start + 1; l <= level; ++l) {
      fill_measurement(options_, completed_before + static_cast<std::int64_t>(l), fresh_);
      const double own = weights_[l];
      const double children = 1 - own;
      const std::vector<double>& left = estimates_[l - 1];
      for (std::size_t i = 0; i < fresh_.size(); ++i)
        estimate[i] = own * fresh_[i] + children * (left[i] + estimate[i]);
    }
  }

  KernelOptions options_;
  std::vector<double> weights_;
  std::vector<std::vector<double>> estimates_;
  std::vector<std::vector<double>> partial_sums_;
  std::vector<double> fresh_;
  std::vector<Bound> estimate_bounds_;
  std::vector<Bound> partial_bounds_;
  double row_bound_ = 0;
};

}  // namespace

KernelPointer make(const KernelOptions& options, const DyadicDecoder& decoder) {
  return std::make_unique<DyadicKernel>(options, decoder);
}

}  // namespace dpftrl::noise
