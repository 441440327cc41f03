// SPDX-License-Identifier: Apache-2.0
// Trees of arity k, and Haar coefficients.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/double_double.hpp"
#include "noise/programs/program.hpp"
#include "random/gaussian.hpp"

namespace dpftrl::noise {
namespace {

/// Bound of a row that is the sum of num_nodes normals after num_additions >= num_nodes additions.
Bound sum_bound(const ProgramOptions& options, double num_nodes, double num_additions) {
  const double rounding = step_error(options.precision) * 2 * kTail * std::sqrt(num_additions);
  return {num_nodes * normal_error(options.precision) + num_additions * rounding,
          kTail * std::sqrt(num_nodes)};
}

/// Counts steps in base k. partial_sums_[l] is the sum for the digits of levels l and above. A step
/// increments the lowest digit that is not at its maximum, which takes one node, and resets the
/// digits below it.
class KaryProgram final : public Program {
 public:
  KaryProgram(const ProgramOptions& options, const KaryDecoder& decoder, SlotAllocator& slots)
      : options_(options),
        decoder_(decoder),
        highest_(decoder.subtractive ? (decoder.arity - 1) / 2 : decoder.arity - 1),
        lowest_(decoder.subtractive ? -highest_ : 0),
        digits_(num_levels()),
        partial_sums_(slots.states(num_levels() + 1)),
        fresh_(slots.scratch()),
        num_additions_(num_levels() + 1) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    std::size_t level = 0;
    std::int64_t node = step;  // the count, in nodes of this level
    while (digits_[level] == highest_) node = (node - digits_[level++]) / decoder_.arity;
    take(level, node, operations);
    ++digits_[level];
    for (std::int64_t end = node + 1; level-- > 0;) end = reset(level, end, operations);
    return partial_sums_[0];
  }

  void resume(std::int64_t step, StepOperations& operations) override {
    std::int64_t count = step;
    for (std::int64_t& digit : digits_) {
      digit = (count - lowest_) % decoder_.arity + lowest_;
      count = (count - digit) / decoder_.arity;
    }
    std::int64_t end = 0;  // where the digits above end, in nodes of the level
    for (std::size_t level = num_levels(); level-- > 0;) {
      const std::int64_t digit = digits_[level];
      std::int64_t node = end * decoder_.arity;
      end = node + digit;
      if (node > 0) {
        node = reset(level, node / decoder_.arity, operations);
      } else {
        operations.copy(partial_sums_[level], partial_sums_[level + 1]);
        num_additions_[level] = num_additions_[level + 1];
      }
      for (; node < end; ++node) take(level, node, operations);
      digits_[level] = digit;
    }
  }

  Bound bound(std::int64_t) override {
    double num_nodes = 0;
    for (const std::int64_t digit : digits_) num_nodes += static_cast<double>(std::abs(digit));
    return sum_bound(options_, num_nodes, num_additions_[0]);
  }

 private:
  std::size_t num_levels() const { return static_cast<std::size_t>(decoder_.num_levels); }

  /// Adds a node for an incremented digit: the next node or, while the digit is negative, one that
  /// is no longer subtracted.
  void take(std::size_t level, std::int64_t node, StepOperations& operations) {
    operations.draw(fresh_, measurement_of(level, node));
    operations.add(partial_sums_[level], partial_sums_[level], fresh_);
    num_additions_[level] += 1;
  }

  /// Gives `level` its lowest digit; the digits above it end at node `end` of the level above.
  /// Returns the node of this level at which its digits end.
  std::int64_t reset(std::size_t level, std::int64_t end, StepOperations& operations) {
    end *= decoder_.arity;
    digits_[level] = lowest_;
    operations.copy(partial_sums_[level], partial_sums_[level + 1]);
    for (std::int64_t node = end - 1; node >= end + lowest_; --node) {
      operations.draw(fresh_, measurement_of(level, node));
      operations.combine(partial_sums_[level],
                         {Term{{1, 0}, partial_sums_[level]}, Term{{-1, 0}, fresh_}});
    }
    num_additions_[level] = num_additions_[level + 1] - static_cast<double>(lowest_);
    return end + lowest_;
  }

  std::int64_t measurement_of(std::size_t level, std::int64_t node) const {
    std::int64_t end = node + 1;
    for (std::size_t l = 0; l < level; ++l) end *= decoder_.arity;
    std::int64_t measurement = options_.first_measurement + static_cast<std::int64_t>(level);
    std::int64_t completed = end - 1;
    for (std::size_t l = 0; l < num_levels(); ++l, completed /= decoder_.arity)
      measurement += completed;
    return measurement;
  }

  ProgramOptions options_;
  KaryDecoder decoder_;
  std::int64_t highest_;
  std::int64_t lowest_;
  std::vector<std::int64_t> digits_;
  std::vector<Slot> partial_sums_;  ///< the last one stays 0
  Slot fresh_;
  std::vector<double> num_additions_;  ///< additions made so far in each of partial_sums_
};

/// Keeps the normal of the current support on each level, and adds these normals up afresh at every
/// step.
class HaarProgram final : public Program {
 public:
  HaarProgram(const ProgramOptions& options, const HaarDecoder& decoder, SlotAllocator& slots)
      : options_(options),
        decoder_(decoder),
        mean_(slots.state()),
        levels_(slots.states(decoder.scales.size())),
        row_(slots.scratch()) {}

  Slot emit(std::int64_t step, StepOperations& operations) override {
    if (step == 0) operations.draw(mean_, options_.first_measurement);
    terms_.clear();
    terms_.push_back({two_product(decoder_.mean_scale, static_cast<double>(step + 1)), mean_});
    for (std::size_t level = levels_.size(); level > 0; --level) {
      const std::int64_t length = std::int64_t{1} << level;
      if (step % length == 0) draw_level(level, step / length, operations);
      const DoubleDouble factor = two_product(decoder_.scales[level - 1], height(level, step + 1));
      if (factor.high != 0) terms_.push_back({factor, levels_[level - 1]});
    }
    operations.combine(row_, terms_);
    return row_;
  }

  void resume(std::int64_t step, StepOperations& operations) override {
    operations.draw(mean_, options_.first_measurement);
    for (std::size_t level = levels_.size(); level > 0; --level)
      draw_level(level, step >> level, operations);
  }

  Bound bound(std::int64_t step) override {
    const double mean = std::abs(decoder_.mean_scale) * static_cast<double>(step + 1);
    double sum = mean, variance = mean * mean;
    for (std::size_t level = 1; level <= levels_.size(); ++level) {
      const double factor = std::abs(decoder_.scales[level - 1]) * height(level, step + 1);
      sum += factor;
      variance += factor * factor;
    }
    const double num_terms = static_cast<double>(levels_.size() + 1);
    const double rounding = combine_error(options_.precision, num_terms) * kNormalMax;
    return {sum * (normal_error(options_.precision) + rounding), kTail * std::sqrt(variance)};
  }

 private:
  void draw_level(std::size_t level, std::int64_t support, StepOperations& operations) {
    const std::int64_t first = std::int64_t{1} << (levels_.size() - level);
    operations.draw(levels_[level - 1], options_.first_measurement + first + support);
  }

  /// Height of the tent over the support that contains `count`.
  static double height(std::size_t level, std::int64_t count) {
    const std::int64_t length = std::int64_t{1} << level;
    const std::int64_t into = count % length;
    return static_cast<double>(std::min(into, length - into));
  }

  ProgramOptions options_;
  const HaarDecoder& decoder_;
  Slot mean_;
  std::vector<Slot> levels_;
  Slot row_;
  std::vector<Term> terms_;
};

}  // namespace

ProgramPointer make(const ProgramOptions& options, const KaryDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<KaryProgram>(options, decoder, slots);
}
ProgramPointer make(const ProgramOptions& options, const HaarDecoder& decoder,
                    SlotAllocator& slots) {
  return std::make_unique<HaarProgram>(options, decoder, slots);
}

}  // namespace dpftrl::noise
