// SPDX-License-Identifier: Apache-2.0
#include "quantiser.hpp"

#include <algorithm>
#include <cmath>

#include "double_double.hpp"
#include "dpftrl/error.hpp"

namespace dpftrl::detail {
namespace {

/// Largest integer at most x^2, exactly.
std::int64_t floor_of_square(double x) {
  const DoubleDouble square = two_product(x, x);
  const double whole = std::floor(square.high);
  // Where the high part has a fraction, the low part is too small to reach an integer.
  const double rest = whole == square.high ? std::floor(square.low) : 0;
  return static_cast<std::int64_t>(whole) + static_cast<std::int64_t>(rest);
}

}  // namespace

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isnormal(value) && std::frexp(value, &exponent) == 0.5;
}

Clip::Clip(std::span<const double> record, double clip_norm)
    : clip_norm_(require_positive("clip_to_norm", "clip_norm", clip_norm)) {
  require_all_finite("clip_to_norm", "record", record);
  for (const double x : record) largest_ = std::max(largest_, std::abs(x));
  if (largest_ == 0) return;
  double sum = 0;
  for (const double x : record) sum += (x / largest_) * (x / largest_);
  const double ratio = std::sqrt(sum);  // the norm itself may overflow
  if (!(largest_ * ratio <= clip_norm)) ratio_ = ratio;
}

Quantiser::Quantiser(double clip_norm, double grid, std::int64_t dimension)
    : clip_norm_(clip_norm),
      grid_(grid),
      max_norm_squared_(floor_of_square(clip_norm / grid)),
      quantised_(static_cast<std::size_t>(dimension)) {}

std::span<const std::int64_t> Quantiser::operator()(std::span<const double> record) {
  const Clip clip(record, clip_norm_);
  std::int64_t norm_squared = 0;
  for (std::size_t i = 0; i < record.size(); ++i) {
    quantised_[i] = static_cast<std::int64_t>(clip(record[i]) / grid_);  // toward zero
    norm_squared += quantised_[i] * quantised_[i];
  }
  // Clipping rounds; the integers do not. This loop is what the privacy proof rests on.
  while (norm_squared > max_norm_squared_) {
    const auto largest =
        std::max_element(quantised_.begin(), quantised_.end(),
                         [](std::int64_t a, std::int64_t b) { return std::abs(a) < std::abs(b); });
    norm_squared -= 2 * std::abs(*largest) - 1;
    *largest += *largest > 0 ? -1 : 1;
  }
  return quantised_;
}

}  // namespace dpftrl::detail
