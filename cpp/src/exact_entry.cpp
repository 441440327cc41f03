// SPDX-License-Identifier: Apache-2.0
#include "exact_entry.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "dpftrl/error.hpp"
#include "dpftrl/random.hpp"

namespace dpftrl {
namespace {

using detail::Digits;
using detail::Enclosure;
using detail::FixedPoint;

/// Leading bits of the two uniforms behind a normal (docs/math/addressing.md).
struct PairBits {
  Digits u1{};
  Digits u2{};
  bool is_sine;
};

PairBits draw(const Key& key, std::int64_t measurement, std::uint64_t coordinate,
              std::size_t num_planes) {
  const std::uint64_t group = coordinate / 32;
  const std::uint64_t lane = coordinate % kBlocksPerGroup;
  const std::uint64_t in_block = coordinate % 32 / kBlocksPerGroup;
  const std::size_t word = static_cast<std::size_t>(in_block / 2 * 4);
  BlockAddress address{.stream = Stream::noise,
                       .row = static_cast<std::uint64_t>(measurement),
                       .block = static_cast<std::uint32_t>(group * kBlocksPerGroup + lane)};
  PairBits bits{.is_sine = in_block % 2 == 1};
  for (std::size_t plane = 0; plane < num_planes; ++plane) {
    address.plane = static_cast<std::uint16_t>(plane);
    const std::array<std::uint32_t, kWordsPerBlock> block = random_block(key, address);
    bits.u1[plane + 1] = std::uint64_t{block[word + 1]} << 32 | block[word];
    bits.u2[plane + 1] = std::uint64_t{block[word + 3]} << 32 | block[word + 2];
  }
  return bits;
}

/// The normal, wherever its uniforms lie in the cells of their known bits, [u, u + 2^-64p].
Enclosure normal(const FixedPoint& fixed, const PairBits& bits) {
  const double u1 = fixed.to_double(bits.u1);
  if (u1 == 0) return {.error = std::numeric_limits<double>::infinity()};
  Enclosure log = fixed.minus_log(bits.u1);
  log.error += 1 / u1;  // -ln u - -ln(u + h) <= h / u
  const Enclosure radius =
      fixed.square_root({.digits = fixed.shift_left(log.digits, 1), .error = 2 * log.error});
  Digits turn = bits.u2;
  if (bits.is_sine) turn[1] -= std::uint64_t{1} << 62;  // sin(2 pi t) = cos(2 pi (t - 1/4))
  Enclosure cosine = fixed.cosine_of_turn(turn);
  cosine.error += 7;  // the cell of u2: 2 pi h
  return fixed.multiply(radius, cosine);
}

/// Adds up weighted normals of one coordinate.
class EntrySum {
 public:
  EntrySum(const NoiseStreamOptions& options, std::int64_t coordinate_in_row,
           std::size_t num_planes)
      : fixed_(num_planes),
        options_(options),
        coordinate_(static_cast<std::uint64_t>(options.first_coordinate + coordinate_in_row)) {}

  const FixedPoint& fixed() const { return fixed_; }

  Enclosure normal_of(std::int64_t measurement) const {
    return normal(fixed_, draw(options_.key, measurement, coordinate_, fixed_.num_digits()));
  }
  void add(const Enclosure& term) {
    sum_ = term.negative ? fixed_.subtract(sum_, term.digits) : fixed_.add(sum_, term.digits);
    error_ += term.error;
  }
  /// Twice the error covers the rounding of its own additions.
  Enclosure total() const {
    const bool negative = sum_[0] >> 63 != 0;
    return {negative ? fixed_.subtract({}, sum_) : sum_, 2 * error_, negative};
  }

 private:
  FixedPoint fixed_;
  const NoiseStreamOptions& options_;
  std::uint64_t coordinate_;
  Digits sum_{};
  double error_ = 0;
};

/// Adds row `step` of B Z, for each form of B.
struct AddRow {
  EntrySum& sum;
  std::int64_t step;

  void operator()(const IdentityDecoder&) const { sum.add(sum.normal_of(step)); }

  void operator()(const RunningSumDecoder&) const {
    for (std::int64_t t = 0; t <= step; ++t) sum.add(sum.normal_of(t));
  }

  void operator()(const ToeplitzDecoder& decoder) const {
    for (std::int64_t t = 0; t <= step; ++t) {
      const double coefficient = decoder.coefficients[static_cast<std::size_t>(step - t)];
      Enclosure weight = sum.fixed().from_double(std::abs(coefficient));
      weight.negative = coefficient < 0;
      sum.add(sum.fixed().multiply(weight, sum.normal_of(t)));
    }
  }

  void operator()(const DyadicDecoder& decoder) const {
    const std::uint64_t count = static_cast<std::uint64_t>(step) + 1;
    std::uint64_t begin = 0;
    for (std::size_t level = decoder.node_weights.size(); level-- > 0;) {
      if ((count >> level & 1) == 0) continue;
      add_estimate(decoder, level, begin);
      begin += std::uint64_t{1} << level;
    }
  }

  /// All measurements below the node of `top` levels that covers steps from `begin` on: those of
  /// one level have one weight.
  void add_estimate(const DyadicDecoder& decoder, std::size_t top, std::uint64_t begin) const {
    const FixedPoint& fixed = sum.fixed();
    Enclosure above{.digits = {1}};
    for (std::size_t level = top + 1; level-- > 0;) {
      const double own = decoder.node_weights[level];
      const Enclosure weight = fixed.multiply(above, fixed.from_double(own));
      for (std::uint64_t node = 1; node <= std::uint64_t{1} << (top - level); ++node) {
        const std::uint64_t last = begin + (node << level) - 1;
        const std::int64_t measurement =
            static_cast<std::int64_t>(2 * last + level) - std::popcount(last);
        sum.add(fixed.multiply(weight, sum.normal_of(measurement)));
      }
      if (own == 1) break;  // nothing below counts
      above = fixed.multiply(above, fixed.from_double(1 - own));
    }
  }
};

std::int64_t num_rows(const DecoderForm& form) {
  struct Visitor {
    std::int64_t operator()(const IdentityDecoder&) const { return kMaxNumSteps; }
    std::int64_t operator()(const RunningSumDecoder&) const { return kMaxNumSteps; }
    std::int64_t operator()(const DyadicDecoder& decoder) const {
      return (std::int64_t{1} << decoder.node_weights.size()) - 1;
    }
    std::int64_t operator()(const ToeplitzDecoder& decoder) const {
      return static_cast<std::int64_t>(decoder.coefficients.size());
    }
  };
  return std::visit(Visitor{}, form);
}

}  // namespace

Enclosure enclose_entry(const DecoderForm& form, const NoiseStreamOptions& options,
                        std::int64_t step, std::int64_t coordinate_in_row, std::size_t num_planes) {
  require_between("exact_rounded_entry", "step", step, 0, num_rows(form) - 1);
  require_between("exact_rounded_entry", "coordinate", coordinate_in_row, 0, options.dimension - 1);
  EntrySum sum(options, coordinate_in_row, num_planes);
  std::visit(AddRow{sum, step}, form);
  return sum.total();
}

std::int64_t exact_rounded_entry(const DecoderForm& form, const NoiseStreamOptions& options,
                                 std::int64_t step, std::int64_t coordinate_in_row, double scale) {
  if (!(scale >= 0 && scale <= 0x1p60))
    fail_argument("exact_rounded_entry", "scale", "between 0 and 2^60", to_text(scale));
  Enclosure entry;
  for (std::size_t num_planes = 2; num_planes <= detail::kMaxDigits; num_planes *= 2) {
    entry = enclose_entry(form, options, step, coordinate_in_row, num_planes);
    const std::optional<std::int64_t> rounded = FixedPoint(num_planes).round_scaled(entry, scale);
    if (rounded) return *rounded;
  }
  entry.error = 0;
  return FixedPoint(detail::kMaxDigits).round_scaled(entry, scale).value_or(0);
}

}  // namespace dpftrl
