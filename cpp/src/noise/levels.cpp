// SPDX-License-Identifier: Apache-2.0
// Trees of arity k, the smooth binary mechanism and Haar coefficients: what the levels add up to is
// kept, and a step changes few of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "dpftrl/gaussian.hpp"
#include "noise/kernel.hpp"
#include "noise/rows.hpp"

namespace dpftrl::noise {
namespace {

/// A row of normals whose factors' magnitudes add up to `coefficients`, the last of num_additions
/// additions in double-double.
RowErrorBound sum_bound(double coefficients, double num_additions) {
  const double accumulation =
      4 * kUnitRoundoff * kUnitRoundoff * num_additions * num_additions * kNormalMax;
  return {(coefficients * kNormalErrorBound + accumulation) * kSlack, kUnitRoundoff};
}

/// Counts steps in base k. partial_sums_[l] belongs to the digits of levels l and above; counting
/// changes the lowest digit that has room, which takes one node, and resets those below it.
class KaryKernel final : public Kernel {
 public:
  KaryKernel(const KernelOptions& options, const KaryDecoder& decoder)
      : options_(options),
        decoder_(decoder),
        highest_(decoder.subtractive ? (decoder.arity - 1) / 2 : decoder.arity - 1),
        lowest_(decoder.subtractive ? -highest_ : 0),
        digits_(num_levels()),
        partial_sums_(num_levels() + 1, DoubleDoubles(width_of(options))),
        num_additions_(num_levels() + 1) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    std::size_t level = 0;
    std::int64_t node = step;  // the count, in nodes of this level
    while (digits_[level] == highest_) node = (node - digits_[level++]) / decoder_.arity;
    // A digit that rises takes the next node or, below zero, no longer subtracts it.
    fill_measurement(options_, measurement_of(level, node), row);
    add(partial_sums_[level], row);
    num_additions_[level] += 1;
    ++digits_[level];
    for (std::int64_t end = node + 1; level-- > 0;) end = reset(level, end, row);
    std::copy(partial_sums_[0].high.begin(), partial_sums_[0].high.end(), row.begin());
  }

  RowErrorBound error_bound() const override {
    double num_nodes = 0;
    for (const std::int64_t digit : digits_) num_nodes += static_cast<double>(std::abs(digit));
    return sum_bound(num_nodes, num_additions_[0]);
  }

 private:
  std::size_t num_levels() const { return static_cast<std::size_t>(decoder_.num_levels); }

  /// Gives `level` its lowest digit; the digits above it end at node `end` of the level above.
  /// Returns where the digits from this level on end, in nodes of this level.
  std::int64_t reset(std::size_t level, std::int64_t end, std::span<double> scratch) {
    end *= decoder_.arity;
    digits_[level] = lowest_;
    partial_sums_[level] = partial_sums_[level + 1];
    for (std::int64_t node = end - 1; node >= end + lowest_; --node) {
      fill_measurement(options_, measurement_of(level, node), scratch);
      subtract(partial_sums_[level], scratch);
    }
    num_additions_[level] = num_additions_[level + 1] - static_cast<double>(lowest_);
    return end + lowest_;
  }

  std::int64_t measurement_of(std::size_t level, std::int64_t node) const {
    std::int64_t end = node + 1;
    for (std::size_t l = 0; l < level; ++l) end *= decoder_.arity;
    std::int64_t measurement = static_cast<std::int64_t>(level);
    std::int64_t completed = end - 1;
    for (std::size_t l = 0; l < num_levels(); ++l, completed /= decoder_.arity)
      measurement += completed;
    return measurement;
  }

  KernelOptions options_;
  KaryDecoder decoder_;
  std::int64_t highest_;
  std::int64_t lowest_;
  std::vector<std::int64_t> digits_;
  std::vector<DoubleDoubles> partial_sums_;  ///< the last one stays 0
  std::vector<double> num_additions_;        ///< behind partial_sums_
};

/// partial_sums_[i] belongs to the leaf's i uppermost 1-bits. The next leaf moves one 1-bit up by
/// one and those below it to the bottom, where nothing is to the left of them but noise of the
/// row's own; what is now to the left of the moved bit ends at the previous leaf.
class SmoothKernel final : public Kernel {
 public:
  SmoothKernel(const KernelOptions& options, const SmoothDecoder& decoder)
      : options_(options),
        leaf_((std::uint64_t{1} << decoder.weight) - 1),
        partial_sums_(static_cast<std::size_t>(decoder.weight) + 1,
                      DoubleDoubles(width_of(options))),
        total_(width_of(options)) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    const std::uint64_t lowest_bit = leaf_ & (~leaf_ + 1);
    const std::uint64_t moved = leaf_ + lowest_bit;  // without the bits that go to the bottom
    leaf_ = moved | ((leaf_ ^ moved) >> 2) / lowest_bit;
    const auto rank = static_cast<std::size_t>(std::popcount(moved));
    fill_measurement(options_, 2 * step, row);
    partial_sums_[rank] = partial_sums_[rank - 1];
    add(partial_sums_[rank], row);
    num_nodes_ = static_cast<double>(rank);
    const std::size_t num_empty = partial_sums_.size() - 1 - rank;
    own_scale_ = std::sqrt(static_cast<double>(num_empty));
    const DoubleDoubles* sum = &partial_sums_[rank];
    if (num_empty > 0) {
      fill_measurement(options_, 2 * step + 1, row);
      total_ = *sum;
      add_product(total_, {own_scale_, 0}, row);
      normalize(total_);
      sum = &total_;
    }
    std::copy(sum->high.begin(), sum->high.end(), row.begin());
  }

  RowErrorBound error_bound() const override {
    const double coefficients = num_nodes_ + own_scale_;
    RowErrorBound bound = sum_bound(coefficients, num_nodes_);
    bound.absolute += product_sum_error(1) * coefficients * kNormalMax * kSlack;
    return bound;
  }

 private:
  KernelOptions options_;
  std::uint64_t leaf_;
  std::vector<DoubleDoubles> partial_sums_;
  DoubleDoubles total_;  ///< with the row's own noise
  double num_nodes_ = 0;
  double own_scale_ = 0;
};

/// Adds up the slopes: row t - row t-1 = mean_scale z_0 +- scales[0] z +- scales[1] z ..., a minus
/// in the second half of a support. slopes_[l] has the levels above l; the lowest change often.
class HaarKernel final : public Kernel {
 public:
  HaarKernel(const KernelOptions& options, const HaarDecoder& decoder)
      : options_(options),
        decoder_(decoder),
        slopes_(decoder.scales.size() + 1, DoubleDoubles(width_of(options))),
        total_(width_of(options)) {}

  void write_row(std::int64_t step, std::span<double> row) override {
    std::size_t num_changed = decoder_.scales.size();
    if (step == 0) {
      fill_measurement(options_, 0, row);
      add_product(slopes_[num_changed], {decoder_.mean_scale, 0}, row);
      normalize(slopes_[num_changed]);
    } else {
      const int num_flips = std::countr_zero(static_cast<std::uint64_t>(step)) + 1;
      num_changed = std::min(num_changed, static_cast<std::size_t>(num_flips));
    }
    for (std::size_t level = num_changed; level > 0; --level) update_slope(level, step, row);
    add(total_, slopes_[0]);
    std::copy(total_.high.begin(), total_.high.end(), row.begin());
    num_steps_ = step + 1;
  }

  RowErrorBound error_bound() const override {
    const double num_steps = static_cast<double>(num_steps_);
    double coefficients = std::abs(decoder_.mean_scale) * num_steps;
    double all_scales = std::abs(decoder_.mean_scale);
    for (std::size_t level = 1; level <= decoder_.scales.size(); ++level) {
      const std::int64_t length = std::int64_t{1} << level;
      const std::int64_t into = num_steps_ % length;
      const double scale = std::abs(decoder_.scales[level - 1]);
      coefficients += scale * static_cast<double>(std::min(into, length - into));
      all_scales += scale;
    }
    const double num_slopes = static_cast<double>(slopes_.size());
    const double accumulation = kUnitRoundoff * kUnitRoundoff * kNormalMax * all_scales *
                                num_steps * (128 * num_slopes + 10 * num_steps);
    return {(coefficients * kNormalErrorBound + accumulation) * kSlack, kUnitRoundoff};
  }

 private:
  void update_slope(std::size_t level, std::int64_t step, std::span<double> scratch) {
    const std::size_t support = decoder_.scales.size() - level;
    const std::int64_t measurement = (std::int64_t{1} << support) + (step >> level);
    const bool falls = (step >> (level - 1) & 1) != 0;
    const double scale = decoder_.scales[level - 1];
    fill_measurement(options_, measurement, scratch);
    slopes_[level - 1] = slopes_[level];
    add_product(slopes_[level - 1], {falls ? -scale : scale, 0}, scratch);
    normalize(slopes_[level - 1]);
  }

  KernelOptions options_;
  const HaarDecoder& decoder_;
  std::vector<DoubleDoubles> slopes_;
  DoubleDoubles total_;
  std::int64_t num_steps_ = 0;
};

}  // namespace

KernelPointer make(const KernelOptions& options, const KaryDecoder& decoder) {
  return std::make_unique<KaryKernel>(options, decoder);
}
KernelPointer make(const KernelOptions& options, const SmoothDecoder& decoder) {
  return std::make_unique<SmoothKernel>(options, decoder);
}
KernelPointer make(const KernelOptions& options, const HaarDecoder& decoder) {
  return std::make_unique<HaarKernel>(options, decoder);
}

}  // namespace dpftrl::noise
