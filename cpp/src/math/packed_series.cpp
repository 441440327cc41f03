// SPDX-License-Identifier: Apache-2.0
#include "math/packed_series.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace dpftrl::detail {
namespace {

/// Number of values that are packed with the same number of bits.
constexpr std::size_t kGroup = 32;
constexpr int kWordBits = 32;
/// Words at the start of a piece: its size, and the power of two or kWhole. If packed, one byte per
/// group with its width follows.
constexpr std::size_t kHeader = 2;
/// Replaces the power of two where doubles follow, in two words each.
constexpr std::uint32_t kWhole = std::numeric_limits<std::uint32_t>::max();
/// Exponent encoded as 0 in the header; smaller than any double's.
constexpr int kLeastPower = -1100;
/// Largest power that scales numbers without leaving the range of double precision.
constexpr int kMaxPower = 900;

using Group = std::array<std::uint64_t, kGroup>;

std::size_t num_groups(std::size_t count) {
  return (count + kGroup - 1) / kGroup;
}

std::size_t first_group(std::size_t count) {
  return kHeader + (num_groups(count) + 3) / 4;
}

/// Exponent of the largest power of two that divides all numbers, with quotients below 2^63;
/// nothing if there is none, or if a number cannot be restored from its quotient.
std::optional<int> common_power(std::span<const double> numbers) {
  constexpr int kFractionBits = 52, kBias = 1075;
  int power = kMaxPower;
  double largest = 0;
  for (const double number : numbers) {
    if (!std::isfinite(number)) return std::nullopt;
    if (number == 0) {
      if (std::signbit(number)) return std::nullopt;
      continue;
    }
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const int exponent = static_cast<int>(bits >> kFractionBits & 0x7ff);
    const std::uint64_t digits = (bits & ((std::uint64_t{1} << kFractionBits) - 1)) |
                                 (exponent == 0 ? 0 : std::uint64_t{1} << kFractionBits);
    power = std::min(power, std::max(exponent, 1) - kBias + std::countr_zero(digits));
    largest = std::max(largest, std::abs(number));
  }
  if (power < -kMaxPower || !(largest < std::ldexp(1.0, power + 63))) return std::nullopt;
  return power;
}

std::uint64_t folded(std::uint64_t difference) {
  return difference << 1 ^ (difference >> 63 == 0 ? 0 : ~std::uint64_t{0});
}

std::uint64_t unfolded(std::uint64_t number) {
  return number >> 1 ^ (~(number & 1) + 1);
}

/// Appends `width` bits of each of 32 numbers, in `width` words.
void append_bits(std::vector<std::uint32_t>& words, const Group& group, int width) {
  std::uint64_t pending = 0;
  int num_pending = 0;
  for (const std::uint64_t number : group) {
    pending |= number << num_pending;
    num_pending += width;
    if (num_pending < kWordBits) continue;
    words.push_back(static_cast<std::uint32_t>(pending));
    pending >>= kWordBits;
    num_pending -= kWordBits;
  }
}

/// Reads what append_bits wrote; may access one word more.
void read_bits(const std::uint32_t* words, int width, Group& group) {
  if (width == 0) {
    group.fill(0);
    return;
  }
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  std::size_t bit = 0;
  for (std::uint64_t& number : group) {
    const std::size_t word = bit / kWordBits;
    const std::uint64_t both = words[word] | std::uint64_t{words[word + 1]} << kWordBits;
    number = both >> (bit % kWordBits) & mask;
    bit += static_cast<std::size_t>(width);
  }
}

/// Stores the numbers unpacked.
std::vector<std::uint32_t> whole(std::span<const double> numbers) {
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(numbers.size()), kWhole};
  for (const double number : numbers) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> kWordBits));
  }
  return words;
}

std::vector<std::uint32_t> packed(std::span<const double> numbers, int power) {
  std::vector<std::uint32_t> words(first_group(numbers.size()), 0);
  words[0] = static_cast<std::uint32_t>(numbers.size());
  words[1] = static_cast<std::uint32_t>(power - kLeastPower);
  const double scale = std::ldexp(1.0, -power);
  std::uint64_t value = 0, slope = 0;
  for (std::size_t first = 0; first < numbers.size(); first += kGroup) {
    Group group{};
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < std::min(kGroup, numbers.size() - first); ++i) {
      const auto next =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(numbers[first + i] * scale));
      group[i] = folded(next - value - slope);
      slope = next - value;
      value = next;
      all |= group[i];
    }
    const int width = static_cast<int>(std::bit_width(all));
    const std::size_t index = first / kGroup;
    words[kHeader + index / 4] |= static_cast<std::uint32_t>(width) << index % 4 * 8;
    if (width > kWordBits) {
      for (std::uint64_t& number : group) {
        words.push_back(static_cast<std::uint32_t>(number));
        number >>= kWordBits;
      }
    }
    append_bits(words, group, width > kWordBits ? width - kWordBits : width);
  }
  words.push_back(0);  // extra word that read_bits may access after the last group
  return words;
}

}  // namespace

void PackedSeries::pack(std::size_t piece, const double* numbers, std::size_t count,
                        std::size_t stride) {
  std::array<double, kLength> line;
  for (std::size_t i = 0; i < count; ++i) line[i] = numbers[i * stride];
  const std::span<const double> given(line.data(), count);
  const std::optional<int> power = common_power(given);
  const std::vector<std::uint32_t> words = power ? packed(given, *power) : whole(given);
  pieces_[piece] = std::vector<std::uint32_t>(words.begin(), words.end());  // drops spare capacity
}

void PackedSeries::unpack(std::size_t piece, double* numbers, std::size_t stride) const {
  const std::uint32_t* const words = pieces_[piece].data();
  const std::size_t count = words[0];
  if (words[1] == kWhole) {
    const std::uint32_t* bits = words + kHeader;
    for (std::size_t i = 0; i < count; ++i, bits += 2)
      numbers[i * stride] = std::bit_cast<double>(bits[0] | std::uint64_t{bits[1]} << kWordBits);
    return;
  }
  const double scale = std::ldexp(1.0, static_cast<int>(words[1]) + kLeastPower);
  const std::uint32_t* next = words + first_group(count);
  std::uint64_t value = 0, slope = 0;
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t index = first / kGroup;
    const int width = static_cast<int>(words[kHeader + index / 4] >> index % 4 * 8 & 0xff);
    Group group;
    if (width <= kWordBits) {
      read_bits(next, width, group);
      next += width;
    } else {
      read_bits(next + kGroup, width - kWordBits, group);
      for (std::size_t i = 0; i < kGroup; ++i) group[i] = group[i] << kWordBits | next[i];
      next += width;
    }
    const std::size_t size = std::min(kGroup, count - first);
    for (std::size_t i = 0; i < size; ++i) {
      slope += unfolded(group[i]);
      value += slope;
      numbers[(first + i) * stride] = static_cast<double>(static_cast<std::int64_t>(value)) * scale;
    }
  }
}

}  // namespace dpftrl::detail
