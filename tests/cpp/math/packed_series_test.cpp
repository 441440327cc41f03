// SPDX-License-Identifier: Apache-2.0
#include "math/packed_series.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::PackedSeries;
using testing::kInfinity;

std::vector<std::uint64_t> bits_of(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> bits;
  for (const double number : numbers) bits.push_back(std::bit_cast<std::uint64_t>(number));
  return bits;
}

void expect_same_bits(const std::vector<double>& numbers) {
  PackedSeries series(3);
  for (const std::size_t piece : {std::size_t{0}, std::size_t{2}}) {
    series.pack(piece, numbers.data(), numbers.size());
    std::vector<double> again(numbers.size(), 7);
    series.unpack(piece, again.data());
    EXPECT_EQ(bits_of(again), bits_of(numbers)) << numbers.size();
  }
}

TEST(PackedSeries, every_double_comes_back_with_its_bits) {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> awkward{
      {},
      {0},
      {-0.0},
      {0, 0, -0.0, 1},
      {1, kInfinity, 2},
      {std::nan("3"), 1},
      {kLeast, -kLeast, 3 * kLeast},
      {kMost, -kMost},
      {kMost, kLeast},
      {0x1p963, 0x1p962},
      {0x1p-900, 0x1.8p-880},
      {0x1p-901, 0x1p-899},
      // Widest multiples that can be packed, and some that cannot.
      {0x1p62, 1, -0x1p62, 3, -0x1.fffffffffffffp62},
      {0x1p63, 1},
      {-0x1p62, 0x1p62, -0x1p62, 0x1p62, -0x1p62}};
  for (const std::vector<double>& numbers : awkward) expect_same_bits(numbers);
  // Pieces of many lengths, and widths from 0 to 64 bits.
  std::mt19937_64 random(20);
  for (std::size_t length = 1; length <= PackedSeries::kLength; length += length < 70 ? 1 : 53)
    for (const int width : {0, 1, 7, 31, 32, 33, 50, 62}) {
      std::vector<double> numbers;
      for (std::size_t i = 0; i < length; ++i) {
        const std::uint64_t digits = width == 0 ? 0 : random() >> (64 - width);
        const std::uint64_t kept = width > 53 ? digits >> (width - 53) << (width - 53) : digits;
        numbers.push_back((random() % 2 == 0 ? 1 : -1) * static_cast<double>(kept) * 0x1p-300);
        if (numbers.back() == 0) numbers.back() = 0;  // no negative zero
      }
      expect_same_bits(numbers);
    }
}

TEST(PackedSeries, pieces_of_anything_come_back) {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> numbers(PackedSeries::kLength);
    for (double& number : numbers) number = std::bit_cast<double>(random());
    expect_same_bits(numbers);
  }
}

TEST(PackedSeries, pieces_with_a_stride_are_those_of_a_column) {
  constexpr std::size_t kStride = 5, kCount = 100;
  std::vector<double> table(kStride * kCount);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::sqrt(static_cast<double>(i));
  PackedSeries series(kStride);
  for (std::size_t k = 0; k < kStride; ++k) series.pack(k, &table[k], kCount, kStride);
  std::vector<double> again(table.size()), column(kCount);
  for (std::size_t k = 0; k < kStride; ++k) series.unpack(k, &again[k], kStride);
  EXPECT_EQ(again, table);
  series.unpack(3, column.data());
  EXPECT_EQ(column[7], table[7 * kStride + 3]);
}

TEST(PackedSeries, smooth_numbers_take_few_bytes) {
  std::vector<double> numbers(PackedSeries::kLength);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1 / (1e5 + static_cast<double>(i));
  PackedSeries series(1);
  series.pack(0, numbers.data(), numbers.size());
  EXPECT_LT(static_cast<double>(series.num_bytes()), 3.0 * PackedSeries::kLength);
  // Other series take at most one percent more than their doubles.
  std::mt19937_64 random(22);
  for (double& number : numbers) number = std::bit_cast<double>(random() >> 2);
  series.pack(0, numbers.data(), numbers.size());
  EXPECT_LT(static_cast<double>(series.num_bytes()), 8.08 * PackedSeries::kLength);
}

}  // namespace
}  // namespace dpftrl
