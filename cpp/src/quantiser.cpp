// SPDX-License-Identifier: Apache-2.0
#include "quantiser.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "double_double.hpp"
#include "dpftrl/error.hpp"
#include "largest_magnitude.hpp"

namespace dpftrl::detail {
namespace {

/// Where the norm of a record is, as far as one pass over it tells.
enum class NormRange {
  within,             ///< at most the clip norm, whatever the roundings were
  too_close_to_tell,  ///< within rounding of the clip norm
  unknown,            ///< longer, or not finite, or of magnitudes that cannot be squared
};

NormRange norm_range(std::span<const double> record, double clip_norm) {
  constexpr std::size_t kLanes = 8;
  constexpr int kMaxExponent = 1000;
  int exponent = 0;
  std::frexp(clip_norm, &exponent);
  if (std::abs(exponent) > kMaxExponent) return NormRange::unknown;
  // By a power of two, so that squares of what counts neither overflow nor vanish.
  const double scale = std::ldexp(1.0, -exponent);
  std::array<double, kLanes> sums{};
  const std::size_t whole = record.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = record[i + lane] * scale;
      sums[lane] += x * x;
    }
  double sum = 0;
  for (std::size_t i = whole; i < record.size(); ++i) sum += record[i] * scale * record[i] * scale;
  for (const double lane : sums) sum += lane;
  // Each entry is rounded at most size / 8 + 10 times, each time by at most 2^-53 of the sum.
  const double slack = (static_cast<double>(record.size()) + 16) * 0x1p-51;
  const double clip_squared = clip_norm * scale * clip_norm * scale;
  if (sum <= clip_squared * (1 - slack)) return NormRange::within;
  return sum <= clip_squared * (1 + slack) ? NormRange::too_close_to_tell : NormRange::unknown;
}

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
  largest_ = largest_magnitude(record);
  if (!std::isfinite(largest_)) require_all_finite("clip_to_norm", "record", record);
  if (largest_ == 0) return;
  double sum = 0;
  for (const double x : record) sum += (x / largest_) * (x / largest_);
  const double ratio = std::sqrt(sum);  // the norm itself may overflow
  if (!(largest_ * ratio <= clip_norm)) ratio_ = ratio;
}

std::int64_t max_norm_squared(double clip_norm, double grid) {
  return floor_of_square(clip_norm / grid);
}

GridRecord::GridRecord(std::span<const double> record, double clip_norm, double grid)
    : record_(record), per_grid_(1 / grid) {
  const NormRange norm = norm_range(record, clip_norm);
  // Integers of magnitude at most |x| / grid, then, are no longer than the clip norm.
  if (norm == NormRange::within) return;
  const std::int64_t most = max_norm_squared(clip_norm, grid);
  // What follows is what the privacy proof rests on: clipping rounds; the integers do not.
  if (norm == NormRange::too_close_to_tell && norm_squared() <= most) return;
  clip_ = Clip(record, clip_norm);
  const std::int64_t clipped = norm_squared();
  if (clipped > most) shorten(clipped, most);
}

std::int64_t GridRecord::norm_squared() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < record_.size(); ++i) sum += at(i) * at(i);
  return sum;
}

void GridRecord::shorten(std::int64_t norm_squared, std::int64_t most) {
  shortened_.resize(record_.size());
  for (std::size_t i = 0; i < record_.size(); ++i) shortened_[i] = at(i);
  while (norm_squared > most) {
    const auto largest =
        std::max_element(shortened_.begin(), shortened_.end(),
                         [](std::int64_t a, std::int64_t b) { return std::abs(a) < std::abs(b); });
    norm_squared -= 2 * std::abs(*largest) - 1;
    *largest += *largest > 0 ? -1 : 1;
  }
}

void GridRecord::add_to(std::span<std::int64_t> sums, std::size_t first) const {
  if (record_.empty()) return;
  if (shortened_.empty()) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += at(first + i);
  } else {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += shortened_[first + i];
  }
}

}  // namespace dpftrl::detail
