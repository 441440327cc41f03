// SPDX-License-Identifier: Apache-2.0
#include "noise/joint_rows.hpp"

#include <bit>
#include <cmath>
#include <optional>

#include "noise/exact/exact_entry.hpp"

namespace dpftrl::detail {

std::int64_t round_jointly(const WideNumber& sum, const ApproximateNoise& noise) {
  constexpr double kUnitRoundoff = 0x1p-53;
  /// For |x| < 2^51, adding this rounds x to the nearest integer, which is then in the last bits.
  constexpr double kToInteger = 0x1.8p52;
  // First 53 bits of the fraction; the rest is below 2^-53.
  const double fraction = static_cast<double>(sum.digits[1] >> 11) * 0x1p-53;
  const double scaled = noise.scale * noise.value;
  const double total = scaled + fraction;
  const double shifted = total + kToInteger;
  const double offset = total - (shifted - kToInteger);
  const double error =
      noise.scale * (noise.bound.absolute + noise.bound.relative * std::abs(noise.value)) +
      2 * kUnitRoundoff * (std::abs(scaled) + std::abs(total)) + 2 * kUnitRoundoff;
  // Undecided for NaN, and from 2^51 on, where the error exceeds 1/2.
  if (!(0.5 - std::abs(offset) > error * (1 + 0x1p-30))) return kUndecided;
  return sum.floor() +
         (std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(kToInteger));
}

JointRows::JointRows(const Strategy& strategy, const NoiseStreamOptions& options, double scale,
                     double error_of_sums)
    : noise_(strategy, options),
      scale_(scale),
      error_of_sums_(error_of_sums),
      exact_only_(options.exact_only),
      row_(static_cast<std::size_t>(options.dimension)) {}

void JointRows::round(std::int64_t step, std::span<const WideNumber> sums,
                      std::span<std::int64_t> rounded) {
  if (step_of_row_ != step) {
    step_of_row_ = -1;
    noise_.seek(step);
    noise_.next(row_);
    step_of_row_ = step;
  }
  const RowErrorBound bound = noise_.row_error_bound();
  std::int64_t num_open = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    rounded[i] = exact_only_ ? kUndecided : round_jointly(sums[i], {row_[i], scale_, bound});
    if (rounded[i] != kUndecided) continue;
    rounded[i] = recomputed({step, static_cast<std::int64_t>(i)}, sums[i]);
    ++num_open;
  }
  num_recomputed_ += num_open;
}

std::int64_t JointRows::recomputed(const NoiseStream::Entry& entry, const WideNumber& sum) const {
  if (const auto refined = noise_.refined_entry(entry)) {
    const std::int64_t nearest = round_jointly(sum, {refined->value, scale_, refined->bound});
    if (nearest != kUndecided) return nearest;
  }
  return sum.floor() + exact_rounded_entry(*noise_.form_, noise_.options_, entry.step,
                                           entry.coordinate, scale_, {sum, error_of_sums_});
}

void JointRows::restore_state(std::int64_t state_step, std::span<const std::byte> state,
                              std::int64_t step) {
  step_of_row_ = -1;
  noise_.restore_state(state_step, state, step);
}

}  // namespace dpftrl::detail
