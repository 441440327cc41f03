// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Random bits by address: ChaCha20 (RFC 8439) as a function, without a running state.
///
/// A random word is a pure function of (key, stream, row, coordinate block, draw plane). Any part
/// of the noise can therefore be regenerated, in any order and on any machine, with the same bits.
/// The map from an address to the last four words of the ChaCha20 state is frozen:
/// docs/math/addressing.md.
///
/// ```cpp
/// const dpftrl::Key key = dpftrl::Key::from_entropy();
/// std::array<std::uint32_t, 100> words{};
/// dpftrl::fill_bits(key, dpftrl::Stream::test, /*row=*/3, /*first_word=*/0, words);
/// std::array<std::uint32_t, 10> some{};
/// dpftrl::fill_bits(key, dpftrl::Stream::test, 3, 50, some);
/// assert(some[0] == words[50]);  // any part, in any order
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

/// Purpose of the random bits; streams of one key are independent of each other.
enum class Stream : std::uint32_t {
  noise = 0,           ///< noise of releases, double sampler
  noise_float = 1,     ///< noise of simulations, float sampler
  synthetic_data = 2,  ///< example data; separate from the noise even under the same key
  commitment = 5,      ///< public identifier of the key in checkpoints
  journal = 6,         ///< key of the codes of people and records (people.hpp)
  discrete_noise = 8,  ///< integer noise of lattice and pure releases, and of single-use keys
  query_keys = 9,      ///< single-use keys for queries, choices, second moments
  test = 0xFFFFFFFF,   ///< tests only
};

/// Number of addressable rows (0 .. 2^48 - 1), and of addressable blocks in a row (0 .. 2^32 - 1).
inline constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kMaxBlocks = std::uint64_t{1} << 32;

inline constexpr std::size_t kWordsPerBlock = 16;
/// Four consecutive blocks, the first a multiple of four, form a group; lane = block mod 4.
inline constexpr std::size_t kBlocksPerGroup = 4;
inline constexpr std::size_t kWordsPerGroup = kWordsPerBlock * kBlocksPerGroup;

/// 256 bits that determine every random bit of a run. Anyone who knows the key can remove the
/// noise.
///
/// The words are overwritten when a Key is destroyed (but not copies made by the compiler or the
/// operating system).
class Key {
 public:
  /// 256 bits from the operating system (getentropy; `crypto` in browsers and Node).
  ///
  /// @throws Error{entropy_unavailable} the platform provided no entropy. There is no fallback.
  static Key from_entropy();

  /// Reads the eight key words of RFC 8439 from 32 bytes, each word little-endian.
  static Key from_bytes(std::span<const std::byte, 32> bytes);

  /// A key that anyone can compute from `seed`, for tests and demonstrations ONLY. Its noise
  /// protects nobody.
  static Key insecure_from_seed(std::uint64_t seed);

  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

  const std::array<std::uint32_t, 8>& words() const { return words_; }

 private:
  explicit Key(const std::array<std::uint32_t, 8>& words) : words_(words) {}

  std::array<std::uint32_t, 8> words_;
};

/// The ChaCha20 block function of RFC 8439 section 2.3: 16 words of key stream.
///
/// @param counter_and_nonce  words 12..15 of the state, in this order.
/// @checked-by  random_test "matches the block vectors of rfc 8439"
std::array<std::uint32_t, kWordsPerBlock> chacha20_block(
    const Key& key, const std::array<std::uint32_t, 4>& counter_and_nonce);

/// Address of a block of 16 random words.
struct BlockAddress {
  Stream stream;
  std::uint64_t row;        ///< row of Z, below kMaxRows
  std::uint32_t block;      ///< which 16 words of the row
  std::uint16_t plane = 0;  ///< 0: the leading bits of each uniform; 1, 2, ...: the bits after them
};

/// Words 12..15 of the ChaCha20 state for an address:
///
///     word 12   block (32 bits)
///     word 13   row, low 32 bits
///     word 14   row, high 16 bits   | plane << 16
///     word 15   stream
///
/// One-to-one: two different addresses never share a block.
///
/// @throws Error{invalid_argument} row >= 2^48.
/// @checked-by  random_test "every bit of the address is one bit of the state"
std::array<std::uint32_t, 4> address_words(const BlockAddress& address);

/// The 16 random words at an address.
std::array<std::uint32_t, kWordsPerBlock> random_block(const Key& key, const BlockAddress& address);

/// Writes plane 0 of whole groups of one row, with the words of their four blocks interleaved:
/// out[64 i + 4 w + lane] is word w of block 4 (first_group + i) + lane.
///
/// @param out  length a multiple of 64; first_group + length / 64 at most 2^30.
/// @throws Error{invalid_argument} row or group out of range, or length not a multiple of 64.
/// @cost       ChaCha20, 4 blocks at a time (8 with AVX2).
/// @checked-by random_test "equal the block function word by word"
void fill_groups(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_group,
                 std::span<std::uint32_t> out);

/// Writes plane 0 of ONE block for many rows: out[64 i + 4 w + lane] is word w of `block` in row
/// first_row + 4 i + lane.
///
/// @param out  length a multiple of 64; first_row + length / 16 at most 2^48.
/// @throws Error{invalid_argument} rows out of range, or length not a multiple of 64.
/// @checked-by random_test "equals the block function word by word"
void fill_row_blocks(const Key& key, Stream stream, std::uint64_t first_row, std::uint32_t block,
                     std::span<std::uint32_t> out);

/// Writes random 32-bit words of a row: out[i] is word number first_word + i, where word number
/// 64 g + 4 w + lane is word w of block 4 g + lane. Any range equals the slice of a longer fill.
///
/// @throws Error{invalid_argument} row >= 2^48, or a word at or after 2^36.
/// @checked-by random_test "any range is the slice of a longer fill"
void fill_bits(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_word,
               std::span<std::uint32_t> out);

/// Midpoint of the cell of a 32-bit word: (bits + 1/2) / 2^32, in (0, 1), exact.
constexpr double unit_interval(std::uint32_t bits) {
  return (static_cast<double>(bits) + 0.5) * 0x1p-32;
}

}  // namespace dpftrl
