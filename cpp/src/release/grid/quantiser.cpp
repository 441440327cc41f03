// SPDX-License-Identifier: Apache-2.0
#include "release/grid/quantiser.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/double_double.hpp"
#include "base/largest_magnitude.hpp"
#include "base/sum_of_squares.hpp"
#include "dpftrl/base/error.hpp"
#include "simd/simd.hpp"

namespace dpftrl::detail {
namespace {

/// True if scale * power loses no digit of the scale.
bool is_exact(double scale, double power) {
  return scale == 0 || std::isnormal(scale * power);
}

template <class Use>
void for_each_entry(const ProductRecord& record, Use&& use) {
  for (const double scale : record.scales)
    for (const double x : record.features) use(scale * x);
}

/// Range of the norm of a record that one pass determines.
enum class NormRange {
  within,             ///< at most the clip norm, rounding included
  too_close_to_tell,  ///< within rounding errors of the clip norm
  unknown,            ///< longer, or not finite, or of magnitudes that cannot be squared
};

NormRange norm_range(const ProductRecord& record, double clip) {
  constexpr int kMaxExponent = 1000;
  int exponent = 0;
  std::frexp(clip, &exponent);
  if (std::abs(exponent) > kMaxExponent) return NormRange::unknown;
  // Scales by a power of two, so that squares that matter neither overflow nor vanish.
  const double to_one = std::ldexp(1.0, -exponent);
  double sum = 0;
  for (const double scale : record.scales) {
    if (!is_exact(scale, to_one)) return NormRange::unknown;
    sum += sum_of_squares(record.features, scale * to_one);
  }
  // A square is rounded at most features / 8 + 17 times and once for each scale, each time by a
  // relative 2^-53 at most.
  const double slack = (static_cast<double>(record.size()) + 16) * 0x1p-51;
  const double clip_squared = clip * to_one * clip * to_one;
  if (sum <= clip_squared * (1 - slack)) return NormRange::within;
  return sum <= clip_squared * (1 + slack) ? NormRange::too_close_to_tell : NormRange::unknown;
}

/// Largest integer at most x^2, exactly.
std::int64_t floor_of_square(double x) {
  const DoubleDouble square = two_product(x, x);
  const double whole = std::floor(square.high);
  // If the high part has a fraction, the low part is too small to reach an integer.
  const double rest = whole == square.high ? std::floor(square.low) : 0;
  return static_cast<std::int64_t>(whole) + static_cast<std::int64_t>(rest);
}

}  // namespace

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isnormal(value) && std::frexp(value, &exponent) == 0.5;
}

double power_of_two_at_most(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m 2^exponent, 1/2 <= m < 1
  return std::ldexp(1.0, exponent - 1);
}

Clip::Clip(const ProductRecord& record, double clip, RecordNorm norm)
    : clip_(require_positive("clip_to_norm", "clip", clip)) {
  require_all_finite("clip_to_norm", "scales", record.scales);
  const double largest_scale = largest_magnitude(record.scales);
  largest_ = largest_scale * largest_magnitude(record.features);
  if (!std::isfinite(largest_)) {
    require_all_finite("clip_to_norm", "record", record.features);
    require_finite("clip_to_norm", "record", largest_);
  }
  if (largest_ == 0) return;
  double sum = 0;
  for_each_entry(record, [&](double x) {
    const double part = std::abs(x / largest_);
    sum += norm == RecordNorm::l1 ? part : part * part;
  });
  const double ratio = norm == RecordNorm::l1 ? sum : std::sqrt(sum);  // the norm may overflow
  if (!(largest_ * ratio <= clip)) ratio_ = ratio;
}

std::int64_t max_norm_squared(double clip, double grid) {
  return floor_of_square(clip / grid);
}

GridRecord::GridRecord(const ProductRecord& record, double clip, double grid)
    : record_(record), per_grid_(1 / grid) {
  const NormRange norm = norm_range(record, clip);
  // Then integers of magnitude at most |x| / grid have a norm within the clip norm.
  if (norm == NormRange::within) return;
  const std::int64_t most = max_norm_squared(clip, grid);
  // The privacy proof rests on what follows: clipping involves rounding, the integers do not.
  if (norm == NormRange::too_close_to_tell && norm_squared() <= most) return;
  clip_ = Clip(record, clip);
  const std::int64_t clipped = norm_squared();
  if (clipped > most) shorten(clipped, most);
}

std::int64_t GridRecord::norm_squared() const {
  std::int64_t sum = 0;
  for_each_entry(record_, [&](double x) { sum += integer(x) * integer(x); });
  return sum;
}

void GridRecord::shorten(std::int64_t norm_squared, std::int64_t most) {
  integers_.reserve(static_cast<std::size_t>(record_.size()));
  for_each_entry(record_, [&](double x) { integers_.push_back(integer(x)); });
  while (norm_squared > most) {
    const auto largest =
        std::max_element(integers_.begin(), integers_.end(),
                         [](std::int64_t a, std::int64_t b) { return std::abs(a) < std::abs(b); });
    norm_squared -= 2 * std::abs(*largest) - 1;
    *largest += *largest > 0 ? -1 : 1;
  }
}

void GridRecord::add_to(std::span<std::int64_t> sums, std::size_t first) const {
  if (!integers_.empty()) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += integers_[first + i];
    return;
  }
  const std::size_t width = record_.features.size();
  if (width == 0) return;
  while (!sums.empty()) {
    const double scale = record_.scales[first / width];
    const std::size_t count = std::min(width - first % width, sums.size());
    const double* const features = record_.features.data() + first % width;
    // The kernel needs integers below 2^51: the norm bounds them by little more than 2^31, and
    // unclipped integers are at most 2^40.
    if (!clip_.changes() && is_exact(scale, per_grid_))
      simd::kernels().add_integers(scale * per_grid_, features, count, sums.data());
    else
      for (std::size_t i = 0; i < count; ++i) sums[i] += integer(scale * features[i]);
    sums = sums.subspan(count);
    first += count;
  }
}

}  // namespace dpftrl::detail

namespace dpftrl {

void clip_to_norm(std::span<double> record, double clip) {
  static constexpr std::array<double, 1> kOne = {1};
  const detail::Clip clipping({kOne, record}, clip);
  if (!clipping.changes()) return;
  for (double& x : record) x = clipping(x);
}

}  // namespace dpftrl
