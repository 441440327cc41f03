// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <vector>

#include "noise/programs/program.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

/// Keeps, for each level, the estimate of the last completed node and its sum with the nodes to its
/// left that row t also uses: O(log n) slots, O(1) operations per step on average.
class DyadicProgram final : public Program {
 public:
  DyadicProgram(const ProgramOptions& options, const DyadicDecoder& decoder, SlotAllocator& slots)
      : first_measurement_(options.first_measurement),
        step_error_(step_error(options.precision)),
        weights_(levels_of(options, decoder)),
        estimates_(slots.states(weights_.size())),
        partial_sums_(slots.states(weights_.size())),
        fresh_(slots.scratch()),
        bounds_(weights_.size()) {
    const double fresh = normal_error(options.precision);
    bounds_[0] = {fresh, 1};
    const double combination = step_error_ + combine_error(options.precision, 2);
    for (std::size_t l = 1; l < weights_.size(); ++l) {
      const double weight = weights_[l];
      const double children = 2 * (1 - weight);
      const NodeBound& below = bounds_[l - 1];
      const double rounding = combination * kTail * (weight + children * std::sqrt(below.variance));
      bounds_[l] = {weight * fresh + children * below.error + rounding,
                    weight * weight + children * (1 - weight) * below.variance};
    }
  }

  Slot emit(std::int64_t step, StepOperations& operations) override {
    const std::uint64_t count = static_cast<std::uint64_t>(step) + 1;
    const std::size_t level = static_cast<std::size_t>(std::countr_zero(count));
    estimate_node(step, level, operations);
    const std::uint64_t higher = count & (count - 1);
    if (higher == 0) {
      operations.copy(partial_sums_[level], estimates_[level]);
    } else {
      const std::size_t left = static_cast<std::size_t>(std::countr_zero(higher));
      operations.add(partial_sums_[level], partial_sums_[left], estimates_[level]);
    }
    return partial_sums_[level];
  }

  /// Estimates the nodes of the binary expansion of `step`, which all have weight 1 (resume_point).
  void resume(std::int64_t step, StepOperations& operations) override {
    std::uint64_t end = 0;
    std::size_t left = 0;
    for (std::uint64_t rest = static_cast<std::uint64_t>(step); rest != 0;) {
      const std::size_t level = static_cast<std::size_t>(std::bit_width(rest)) - 1;
      const std::uint64_t length = std::uint64_t{1} << level;
      rest -= length;
      end += length;
      estimate_node(static_cast<std::int64_t>(end) - 1, level, operations);
      if (end == length)
        operations.copy(partial_sums_[level], estimates_[level]);
      else
        operations.add(partial_sums_[level], partial_sums_[left], estimates_[level]);
      left = level;
    }
  }

  /// Adds up from the largest node of the expansion of step + 1 to the smallest.
  Bound bound(std::int64_t step) override {
    double error = 0, variance = 0;
    std::uint64_t count = static_cast<std::uint64_t>(step) + 1;
    while (count != 0) {
      const std::size_t level = static_cast<std::size_t>(std::bit_width(count)) - 1;
      const NodeBound& node = bounds_[level];
      error += node.error;
      if (variance != 0)
        error += step_error_ * kTail * (std::sqrt(variance) + std::sqrt(node.variance));
      variance += node.variance;
      count ^= std::uint64_t{1} << level;
    }
    return {error, kTail * std::sqrt(variance)};
  }

 private:
  struct NodeBound {
    double error;
    double variance;
  };

  /// Weights of the levels that the requested rows reach.
  static std::vector<double> levels_of(const ProgramOptions& options,
                                       const DyadicDecoder& decoder) {
    std::vector<double> weights = decoder.node_weights;
    weights.resize(
        static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(options.num_rows))));
    return weights;
  }

  /// Estimates the nodes of levels 0 .. level that end at this step; nodes below a node of weight 1
  /// are neither needed nor drawn.
  void estimate_node(std::int64_t step, std::size_t level, StepOperations& operations) {
    const std::int64_t completed_before =
        first_measurement_ + 2 * step - std::popcount(static_cast<std::uint64_t>(step));
    std::size_t start = level;
    while (weights_[start] != 1) --start;
    const Slot estimate = estimates_[level];
    operations.draw(estimate, completed_before + static_cast<std::int64_t>(start));
    for (std::size_t l = start + 1; l <= level; ++l) {
      operations.draw(fresh_, completed_before + static_cast<std::int64_t>(l));
      const double own = weights_[l];
      const double children = 1 - own;
      operations.add(estimate, estimates_[l - 1], estimate);
      operations.combine(estimate, {Term{{own, 0}, fresh_}, Term{{children, 0}, estimate}});
    }
  }

  std::int64_t first_measurement_;
  double step_error_;
  std::vector<double> weights_;
  std::vector<Slot> estimates_;
  std::vector<Slot> partial_sums_;
  Slot fresh_;
  std::vector<NodeBound> bounds_;
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const DyadicDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<DyadicProgram>(options, decoder, slots);
}

}  // namespace dpftrl::noise
