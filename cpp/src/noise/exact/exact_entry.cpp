// SPDX-License-Identifier: Apache-2.0
#include "noise/exact/exact_entry.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

using detail::Enclosure;
using detail::FixedPoint;
using detail::WideFraction;

namespace {

/// The fraction in num_digits digits, truncated if it has more.
Enclosure enclosed(const WideFraction& fraction, std::size_t num_digits) {
  Enclosure value;
  const std::size_t num_kept = std::min(detail::kWideDigits, num_digits);
  std::copy_n(fraction.number.digits.begin() + 1, num_kept, value.digits.begin() + 1);
  const int shift = 64 * (static_cast<int>(num_digits) - static_cast<int>(detail::kWideDigits));
  value.error = std::ldexp(fraction.error, shift);
  if (shift < 0) value.error += 1;
  return value;
}

}  // namespace

Enclosure enclose_entry(const DecoderForm& form, const detail::NoiseShard& shard, std::int64_t step,
                        std::int64_t coordinate_in_row, std::size_t num_planes) {
  require_between("exact_rounded_entry", "step", step, 0, detail::num_exact_rows(form) - 1);
  require_between("exact_rounded_entry", "coordinate", coordinate_in_row, 0, shard.dimension - 1);
  detail::Normals normals(shard, coordinate_in_row, num_planes);
  Enclosure entry = detail::make_exact_rows(form, normals, 0)->row(step);
  entry.error *= 2;  // covers rounding in the errors themselves
  return entry;
}

std::int64_t exact_rounded_entry(const DecoderForm& form, const detail::NoiseShard& shard,
                                 std::int64_t step, std::int64_t coordinate_in_row, double scale,
                                 const WideFraction& offset) {
  if (!(scale >= 0 && scale <= 0x1p60))
    fail_argument("exact_rounded_entry", "scale", "between 0 and 2^60", to_text(scale));
  Enclosure entry;
  for (std::size_t num_planes = 2; num_planes <= detail::kMaxDigits; num_planes *= 2) {
    entry = enclose_entry(form, shard, step, coordinate_in_row, num_planes);
    const std::optional<std::int64_t> rounded =
        FixedPoint(num_planes).round_scaled(entry, scale, enclosed(offset, num_planes));
    if (rounded) return *rounded;
  }
  // Distinguishes an entry too close to a tie from one without a useful enclosure.
  const FixedPoint fixed(detail::kMaxDigits);
  const bool is_enclosed = entry.error * fixed.unit() <= 0x1p-100;
  entry.error = 0;
  const std::optional<std::int64_t> middle =
      fixed.round_scaled(entry, scale, enclosed({.number = offset.number}, detail::kMaxDigits));
  if (is_enclosed && middle) return *middle;
  fail(ErrorCode::unsupported, "exact_rounded_entry", "scale",
       "must be such that noise stays within 2^62 throughout its recursion, which this strategy's "
       "leaves at step " +
           to_text(step));
}

}  // namespace dpftrl
