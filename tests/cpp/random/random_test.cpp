// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/random/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "simd/simd.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::message_of;
using Block = std::array<std::uint32_t, kWordsPerBlock>;

Key key_of_bytes(const std::array<std::uint8_t, 32>& values) {
  std::array<std::byte, 32> bytes;
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = std::byte{values[i]};
  return Key::from_bytes(bytes);
}

// Vectors: RFC 8439, section 2.3.2 and appendix A.1.
TEST(ChaCha20, matches_the_block_vectors_of_rfc_8439) {
  std::array<std::uint8_t, 32> counting;
  for (std::size_t i = 0; i < 32; ++i) counting[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(chacha20_block(key_of_bytes(counting), {1, 0x09000000, 0x4a000000, 0}),
            (Block{0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033,
                   0x9aaa2204, 0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                   0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2}));
  const Key zero = key_of_bytes({});
  EXPECT_EQ(chacha20_block(zero, {0, 0, 0, 0}),
            (Block{0xade0b876, 0x903df1a0, 0xe56a5d40, 0x28bd8653, 0xb819d2bd, 0x1aed8da0,
                   0xccef36a8, 0xc70d778b, 0x7c5941da, 0x8d485751, 0x3fe02477, 0x374ad8b8,
                   0xf4b8436a, 0x1ca11815, 0x69b687c3, 0x8665eeb2}));
  EXPECT_EQ(chacha20_block(zero, {1, 0, 0, 0}),
            (Block{0xbee7079f, 0x7a385155, 0x7c97ba98, 0x0d082d73, 0xa0290fcb, 0x6965e348,
                   0x3e53c612, 0xed7aee32, 0x7621b729, 0x434ee69c, 0xb03371d5, 0xd539d874,
                   0x281fed31, 0x45fb0a51, 0x1f0ae1ac, 0x6f4d794b}));
  std::array<std::uint8_t, 32> last_byte{};
  last_byte[31] = 1;
  EXPECT_EQ(chacha20_block(key_of_bytes(last_byte), {1, 0, 0, 0}),
            (Block{0x2452eb3a, 0x9249f8ec, 0x8d829d9b, 0xddd4ceb1, 0xe8252083, 0x60818b01,
                   0xf38422b8, 0x5aaa49c9, 0xbb00ca8e, 0xda3ba7b4, 0xc4b592d1, 0xfdf2732f,
                   0x4436274e, 0x2561b3c8, 0xebdd4aa6, 0xa0136c00}));
  std::array<std::uint8_t, 32> second_byte{};
  second_byte[1] = 0xff;
  EXPECT_EQ(chacha20_block(key_of_bytes(second_byte), {2, 0, 0, 0}),
            (Block{0xfb4dd572, 0x4bc42ef1, 0xdf922636, 0x327f1394, 0xa78dea8f, 0x5e269039,
                   0xa1bebbc1, 0xcaf09aae, 0xa25ab213, 0x48a6b46c, 0x1b9d9bcb, 0x092c5be6,
                   0x546ca624, 0x1bec45d5, 0x87f47473, 0x96f0992e}));
  EXPECT_EQ(chacha20_block(zero, {0, 0, 0, 0x02000000}),
            (Block{0x374dc6c2, 0x3736d58c, 0xb904e24a, 0xcd3f93ef, 0x88228b1a, 0x96a4dfb3,
                   0x5b76ab72, 0xc727ee54, 0x0e0e978a, 0xf3145c95, 0x1b748ea8, 0xf786c297,
                   0x99c28f5f, 0x628314e8, 0x398a19fa, 0x6ded1b53}));
}

TEST(Address, is_the_frozen_format) {
  const std::array<std::uint32_t, 4> words =
      address_words({Stream::synthetic_data, 0xabcd'8899'aabb, 0x01234567, 0x7f01});
  EXPECT_EQ(words, (std::array<std::uint32_t, 4>{0x01234567, 0x8899aabb, 0x7f01abcd, 2}));
  EXPECT_EQ(static_cast<std::uint32_t>(Stream::noise), 0u);
  EXPECT_EQ(static_cast<std::uint32_t>(Stream::noise_float), 1u);
}

TEST(Address, every_bit_of_the_address_is_one_bit_of_the_state) {
  const std::array<std::uint32_t, 4> origin = address_words({Stream{0}, 0, 0, 0});
  std::set<std::pair<int, int>> seen;
  const auto record = [&](const BlockAddress& address) {
    const std::array<std::uint32_t, 4> words = address_words(address);
    for (int w = 0; w < 4; ++w) {
      const std::uint32_t difference =
          words[static_cast<std::size_t>(w)] ^ origin[static_cast<std::size_t>(w)];
      if (difference == 0) continue;
      EXPECT_EQ(std::popcount(difference), 1);
      seen.insert({w, std::countr_zero(difference)});
    }
  };
  for (int b = 0; b < 32; ++b) record({Stream{std::uint32_t{1} << b}, 0, 0, 0});
  for (int b = 0; b < 48; ++b) record({Stream{0}, std::uint64_t{1} << b, 0, 0});
  for (int b = 0; b < 32; ++b) record({Stream{0}, 0, std::uint32_t{1} << b, 0});
  for (int b = 0; b < 16; ++b) record({Stream{0}, 0, 0, static_cast<std::uint16_t>(1 << b)});
  EXPECT_EQ(seen.size(), 128u);
}

TEST(Address, rejects_a_row_past_the_last) {
  EXPECT_EQ(message_of([] { address_words({Stream::test, kMaxRows, 0, 0}); }),
            "address_words: row must be below 2^48, got 281474976710656");
}

TEST(Groups, equal_the_block_function_word_by_word) {
  const Key key = Key::insecure_from_seed(7);
  const std::uint64_t row = 0x1234'5678'9abc;
  for (const Stream stream : {Stream::test, Stream::noise_float, Stream::synthetic_data}) {
    for (const std::uint64_t first_group : {0u, 5u, (1u << 30) - 9}) {
      for (std::size_t num_groups = 0; num_groups <= 9; ++num_groups) {
        std::vector<std::uint32_t> words(num_groups * kWordsPerGroup);
        fill_groups(key, stream, row, first_group, words);
        for (std::size_t i = 0; i < words.size(); ++i) {
          const std::uint64_t block = 4 * (first_group + i / 64) + i % 4;
          const Block expected =
              random_block(key, {stream, row, static_cast<std::uint32_t>(block)});
          ASSERT_EQ(words[i], expected[i % 64 / 4]) << first_group << " " << num_groups << " " << i;
        }
      }
    }
  }
}

TEST(RowBatch, equals_the_block_function_word_by_word) {
  const Key key = Key::insecure_from_seed(7);
  // Across a carry from the low to the high word of the row number, and up to the last row.
  for (const std::uint64_t first_row :
       {std::uint64_t{0}, std::uint64_t{0xffff'fffa}, kMaxRows - 36}) {
    for (std::size_t num_rows = 0; num_rows <= 36; num_rows += 4) {
      std::vector<std::uint32_t> words(num_rows * kWordsPerBlock);
      fill_row_blocks(key, Stream::test, first_row, 0xfedcba98, words);
      for (std::size_t i = 0; i < words.size(); ++i) {
        const Block expected =
            random_block(key, {Stream::test, first_row + 4 * (i / 64) + i % 4, 0xfedcba98});
        ASSERT_EQ(words[i], expected[i % 64 / 4]) << first_row << " " << num_rows << " " << i;
      }
    }
  }
}

TEST(Bits, any_range_is_the_slice_of_a_longer_fill) {
  const Key key = Key::insecure_from_seed(3);
  std::vector<std::uint32_t> all(700);
  fill_bits(key, Stream::synthetic_data, 11, 0, all);
  std::vector<std::uint32_t> groups(704);
  fill_groups(key, Stream::synthetic_data, 11, 0, groups);
  for (const std::size_t first : {0u, 1u, 63u, 64u, 65u, 200u}) {
    for (const std::size_t length : {0u, 1u, 2u, 63u, 64u, 65u, 128u, 300u}) {
      std::vector<std::uint32_t> some(length);
      fill_bits(key, Stream::synthetic_data, 11, first, some);
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_EQ(some[i], all[first + i]);
        ASSERT_EQ(some[i], groups[first + i]);
      }
    }
  }
}

TEST(Bits, last_word_of_a_row_is_reached_and_not_passed) {
  const Key key = Key::insecure_from_seed(3);
  const std::uint64_t end = kMaxBlocks * kWordsPerBlock;
  std::vector<std::uint32_t> last(3);
  fill_bits(key, Stream::test, kMaxRows - 1, end - 3, last);
  EXPECT_EQ(last[2], random_block(key, {Stream::test, kMaxRows - 1, 0xffffffff})[15]);
  EXPECT_EQ(message_of([&] { fill_bits(key, Stream::test, 0, end - 2, last); }),
            "fill_bits: first_word must be below 2^36 at the last word, got 68719476734 + 3 words");
  EXPECT_EQ(message_of([&] { fill_bits(key, Stream::test, 0, ~std::uint64_t{0}, last); }),
            "fill_bits: first_word must be below 2^36 at the last word, got 18446744073709551615 + "
            "3 words");
  EXPECT_EQ(message_of([&] { fill_bits(key, Stream::test, kMaxRows, 0, last); }),
            "fill_bits: row must be below 2^48, got 281474976710656");
}

TEST(Groups, reject_what_has_no_address) {
  const Key key = Key::insecure_from_seed(3);
  std::vector<std::uint32_t> words(128);
  EXPECT_EQ(
      message_of([&] { fill_groups(key, Stream::test, 0, (1u << 30) - 1, words); }),
      "fill_groups: first_group must be below 2^30 at the last group, got 1073741823 + 2 groups");
  EXPECT_EQ(message_of([&] { fill_groups(key, Stream::test, kMaxRows, 0, words); }),
            "fill_groups: row must be below 2^48, got 281474976710656");
  EXPECT_EQ(message_of([&] { fill_groups(key, Stream::test, 0, 0, std::span(words).first(65)); }),
            "fill_groups: out must be of a length that is a multiple of 64, got 65");
  EXPECT_EQ(message_of([&] { fill_row_blocks(key, Stream::test, kMaxRows - 7, 0, words); }),
            "fill_row_blocks: first_row must be below 2^48 at the last row, got 281474976710649 + "
            "8 rows");
}

// True if the share of ones in a million bits is within six standard deviations of one half; false
// alarm 2e-9.
bool balanced(const std::vector<std::uint32_t>& words) {
  double ones = 0;
  for (const std::uint32_t word : words) ones += std::popcount(word);
  const double bits = 32.0 * static_cast<double>(words.size());
  return std::abs(ones - bits / 2) < 6 * std::sqrt(bits) / 2;
}

TEST(Bits, neighbouring_addresses_differ_in_half_the_bits) {
  const Key key = Key::insecure_from_seed(1);
  const std::size_t n = 1 << 15;
  std::vector<std::uint32_t> base(n), other(n), difference(n);
  fill_bits(key, Stream::test, 5, 0, base);
  EXPECT_TRUE(balanced(base));
  EXPECT_FALSE(balanced(std::vector<std::uint32_t>(n, 0x55555557))) << "falsify";
  const auto differs = [&] {
    for (std::size_t i = 0; i < n; ++i) difference[i] = base[i] ^ other[i];
    return balanced(difference);
  };
  other = base;
  EXPECT_FALSE(differs()) << "falsify";
  fill_bits(key, Stream::test, 4, 0, other);
  EXPECT_TRUE(differs());
  fill_bits(key, Stream::noise, 5, 0, other);
  EXPECT_TRUE(differs());
  fill_bits(key, Stream::test, 5, 16, other);
  EXPECT_TRUE(differs());
  fill_bits(Key::insecure_from_seed(2), Stream::test, 5, 0, other);
  EXPECT_TRUE(differs());
}

TEST(Key, from_entropy_is_never_the_same_twice) {
  // Every word changes between keys; false alarms have total probability 2^-30.
  const Key a = Key::from_entropy(), b = Key::from_entropy(), c = Key::from_entropy();
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_FALSE(a.words()[i] == b.words()[i] && b.words()[i] == c.words()[i]) << i;
}

TEST(Key, from_bytes_is_little_endian_and_seeds_differ) {
  std::array<std::uint8_t, 32> counting;
  for (std::size_t i = 0; i < 32; ++i) counting[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(key_of_bytes(counting).words()[0], 0x03020100u);
  EXPECT_EQ(key_of_bytes(counting).words()[7], 0x1f1e1d1cu);
  EXPECT_NE(Key::insecure_from_seed(0).words(), Key::insecure_from_seed(1).words());
  EXPECT_NE(Key::insecure_from_seed(0).words(),
            Key::insecure_from_seed(std::uint64_t{1} << 63).words());
}

TEST(Key, leaves_no_word_in_memory) {
  alignas(Key) std::array<std::byte, sizeof(Key)> place{};
  auto* const key = new (place.data()) Key(Key::insecure_from_seed(0x0123456789abcdef));
  EXPECT_EQ(key->words()[0], 0x89abcdefu);
  std::destroy_at(key);
  for (const std::byte byte : place) EXPECT_EQ(byte, std::byte{0});
}

TEST(UnitInterval, is_the_midpoint_of_the_cell) {
  EXPECT_EQ(unit_interval(0), 0x1p-33);
  EXPECT_EQ(unit_interval(0xffffffff), 1 - 0x1p-33);
}

}  // namespace
}  // namespace dpftrl
