// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/random.hpp"

#include <unistd.h>

#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "dpftrl/error.hpp"

// Vectors of the compiler (GCC and Clang alike): SSE2, NEON and wasm SIMD have four lanes of 32
// bits, AVX2 has eight. Integer arithmetic only, so every width gives the same words.

namespace dpftrl {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored as they are");

using Word = std::uint32_t;
typedef Word Word4 __attribute__((vector_size(16)));
typedef std::uint8_t Byte16 __attribute__((vector_size(16)));
typedef std::uint16_t Half8 __attribute__((vector_size(16)));
#if defined(__AVX2__)
typedef Word Word8 __attribute__((vector_size(32)));
typedef std::uint8_t Byte32 __attribute__((vector_size(32)));
#endif

constexpr int kRounds = 20;
constexpr std::array<Word, 4> kConstants = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

template <int Shift, class V>
inline V rotate_left(V x) {
  return (x << Shift) | (x >> (32 - Shift));
}

// Rotations by whole bytes are one byte shuffle where the machine has one.
#if defined(__SSSE3__) || defined(__wasm_simd128__)
template <>
inline Word4 rotate_left<16, Word4>(Word4 x) {
  const Byte16 b = std::bit_cast<Byte16>(x);
  return std::bit_cast<Word4>(
      __builtin_shufflevector(b, b, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
}
template <>
inline Word4 rotate_left<8, Word4>(Word4 x) {
  const Byte16 b = std::bit_cast<Byte16>(x);
  return std::bit_cast<Word4>(
      __builtin_shufflevector(b, b, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14));
}
#elif defined(__SSE2__)
template <>
inline Word4 rotate_left<16, Word4>(Word4 x) {
  const Half8 h = std::bit_cast<Half8>(x);
  return std::bit_cast<Word4>(__builtin_shufflevector(h, h, 1, 0, 3, 2, 5, 4, 7, 6));
}
#endif

#if defined(__AVX2__)
template <>
inline Word8 rotate_left<16, Word8>(Word8 x) {
  const Byte32 b = std::bit_cast<Byte32>(x);
  return std::bit_cast<Word8>(__builtin_shufflevector(b, b, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9,
                                                      14, 15, 12, 13, 18, 19, 16, 17, 22, 23, 20,
                                                      21, 26, 27, 24, 25, 30, 31, 28, 29));
}
template <>
inline Word8 rotate_left<8, Word8>(Word8 x) {
  const Byte32 b = std::bit_cast<Byte32>(x);
  return std::bit_cast<Word8>(__builtin_shufflevector(b, b, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10,
                                                      15, 12, 13, 14, 19, 16, 17, 18, 23, 20, 21,
                                                      22, 27, 24, 25, 26, 31, 28, 29, 30));
}
#endif

template <class V>
inline void quarter_round(V& a, V& b, V& c, V& d) {
  a += b;
  d = rotate_left<16>(V(d ^ a));
  c += d;
  b = rotate_left<12>(V(b ^ c));
  a += b;
  d = rotate_left<8>(V(d ^ a));
  c += d;
  b = rotate_left<7>(V(b ^ c));
}

/// The block function on every lane of each state (V = Word: one block), in place.
///
/// Two independent states hide the latency of the vector units (measured on Zen 5: 10 to 20 %
/// faster than one state, although sixteen registers cannot hold them both).
template <int Rounds, class V, std::size_t N>
inline void permute_and_add(std::array<std::array<V, 16>, N>& states) {
  static_assert(Rounds % 2 == 0);
  std::array<std::array<V, 16>, N> x = states;
  const auto quarter_rounds = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    for (std::size_t n = 0; n < N; ++n) quarter_round(x[n][a], x[n][b], x[n][c], x[n][d]);
  };
  for (int i = 0; i < Rounds; i += 2) {
    quarter_rounds(0, 4, 8, 12);
    quarter_rounds(1, 5, 9, 13);
    quarter_rounds(2, 6, 10, 14);
    quarter_rounds(3, 7, 11, 15);
    quarter_rounds(0, 5, 10, 15);
    quarter_rounds(1, 6, 11, 12);
    quarter_rounds(2, 7, 8, 13);
    quarter_rounds(3, 4, 9, 14);
  }
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t i = 0; i < 16; ++i) states[n][i] += x[n][i];
}

/// The state without words 12..15, the same in every lane.
template <class V>
inline void set_key(std::array<V, 16>& state, const Key& key) {
  for (std::size_t i = 0; i < 4; ++i) state[i] = V{} + kConstants[i];
  for (std::size_t i = 0; i < 8; ++i) state[4 + i] = V{} + key.words()[i];
}

inline Word high_row_word(std::uint64_t row, std::uint16_t plane) {
  return static_cast<Word>(row >> 32) | static_cast<Word>(plane) << 16;
}

inline void store(const std::array<Word4, 16>& state, Word* out) {
  std::memcpy(out, state.data(), sizeof(state));
}

#if defined(__AVX2__)
/// Lanes 0..3 are one group, lanes 4..7 the next.
inline void store(const std::array<Word8, 16>& state, Word* out) {
  for (std::size_t w = 0; w < 16; ++w) {
    std::memcpy(out + 4 * w, &state[w], 16);
    std::memcpy(out + 64 + 4 * w, reinterpret_cast<const char*>(&state[w]) + 16, 16);
  }
}
#endif

template <class V>
constexpr std::size_t kLanesOf = sizeof(V) / sizeof(Word);

#if defined(__AVX2__)
using WidestWord = Word8;
#else
using WidestWord = Word4;
#endif
/// Two groups are one state of eight lanes, or two of four.
constexpr std::size_t kStatesOfTwoGroups = 8 / kLanesOf<WidestWord>;

template <class V>
inline V lane_numbers() {
  if constexpr (kLanesOf<V> == 4)
    return V{0, 1, 2, 3};
  else
    return V{0, 1, 2, 3, 4, 5, 6, 7};
}

/// N * lanes consecutive blocks of one row.
template <class V, std::size_t N>
inline void blocks_of_row(const Key& key, Stream stream, std::uint64_t row, Word first_block,
                          Word* out) {
  std::array<std::array<V, 16>, N> states;
  for (std::size_t n = 0; n < N; ++n) {
    std::array<V, 16>& state = states[n];
    set_key(state, key);
    const Word block = first_block + static_cast<Word>(n * kLanesOf<V>);
    state[12] = lane_numbers<V>() + block;
    state[13] = V{} + static_cast<Word>(row);
    state[14] = V{} + high_row_word(row, 0);
    state[15] = V{} + static_cast<Word>(stream);
  }
  permute_and_add<kRounds>(states);
  for (std::size_t n = 0; n < N; ++n) store(states[n], out + n * 16 * kLanesOf<V>);
}

/// One block of N * lanes consecutive rows.
template <class V, std::size_t N>
inline void block_of_rows(const Key& key, Stream stream, std::uint64_t first_row, Word block,
                          Word* out) {
  std::array<std::array<V, 16>, N> states;
  for (std::size_t n = 0; n < N; ++n) {
    std::array<V, 16>& state = states[n];
    set_key(state, key);
    state[12] = V{} + block;
    for (std::size_t lane = 0; lane < kLanesOf<V>; ++lane) {
      const std::uint64_t row = first_row + n * kLanesOf<V> + lane;
      state[13][lane] = static_cast<Word>(row);
      state[14][lane] = high_row_word(row, 0);
    }
    state[15] = V{} + static_cast<Word>(stream);
  }
  permute_and_add<kRounds>(states);
  for (std::size_t n = 0; n < N; ++n) store(states[n], out + n * 16 * kLanesOf<V>);
}

void require_whole_groups(const char* function, std::size_t length) {
  if (length % kWordsPerGroup == 0) return;
  fail_argument(function, "length of out", "a multiple of 64", std::to_string(length));
}

void require_row(const char* function, std::uint64_t row) {
  if (row < kMaxRows) return;
  fail_argument(function, "row", "below 2^48", std::to_string(row));
}

}  // namespace

Key Key::from_entropy() {
  std::array<std::byte, 32> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0)
    fail(ErrorCode::entropy_unavailable,
         std::string("Key::from_entropy: entropy must be available from the platform, got ") +
             std::strerror(errno));
  const bool all_zero =
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  if (all_zero)  // probability 2^-256 of a working source; certain of one that wrote nothing
    fail(ErrorCode::entropy_unavailable,
         "Key::from_entropy: entropy must be available from the platform, got 32 zero bytes");
  return from_bytes(bytes);
}

Key Key::from_bytes(std::span<const std::byte, 32> bytes) {
  std::array<Word, 8> words;
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return Key(words);
}

Key Key::insecure_from_seed(std::uint64_t seed) {
  // The seed, then 24 letters that say in a memory dump what this is.
  std::array<std::byte, 32> bytes;
  std::memcpy(bytes.data(), &seed, 8);
  std::memcpy(bytes.data() + 8, "dpftrl insecure seed key", 24);
  return from_bytes(bytes);
}

Key::~Key() {
  volatile Word* words = words_.data();
  for (std::size_t i = 0; i < words_.size(); ++i) words[i] = 0;
}

std::array<Word, kWordsPerBlock> chacha20_block(const Key& key,
                                                const std::array<Word, 4>& counter_and_nonce) {
  std::array<std::array<Word, 16>, 1> states;
  set_key(states[0], key);
  std::copy(counter_and_nonce.begin(), counter_and_nonce.end(), states[0].begin() + 12);
  permute_and_add<kRounds>(states);
  return states[0];
}

std::array<Word, 4> address_words(const BlockAddress& address) {
  require_row("address_words", address.row);
  return {address.block, static_cast<Word>(address.row), high_row_word(address.row, address.plane),
          static_cast<Word>(address.stream)};
}

std::array<Word, kWordsPerBlock> random_block(const Key& key, const BlockAddress& address) {
  return chacha20_block(key, address_words(address));
}

void fill_groups(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_group,
                 std::span<Word> out) {
  constexpr std::uint64_t kMaxGroups = kMaxBlocks / kBlocksPerGroup;
  require_row("fill_groups", row);
  require_whole_groups("fill_groups", out.size());
  const std::uint64_t num_groups = out.size() / kWordsPerGroup;
  if (first_group > kMaxGroups || num_groups > kMaxGroups - first_group)
    fail_argument("fill_groups", "last group", "below 2^30",
                  std::to_string(first_group) + " + " + std::to_string(num_groups) + " groups");
  Word block = static_cast<Word>(first_group * kBlocksPerGroup);
  Word* position = out.data();
  std::uint64_t left = num_groups;
  const auto advance = [&](std::uint64_t groups) {
    left -= groups;
    block += static_cast<Word>(groups * kBlocksPerGroup);
    position += groups * kWordsPerGroup;
  };
#if defined(__AVX2__)
  while (left >= 4) {
    blocks_of_row<Word8, 2>(key, stream, row, block, position);
    advance(4);
  }
#endif
  while (left >= 2) {
    blocks_of_row<WidestWord, kStatesOfTwoGroups>(key, stream, row, block, position);
    advance(2);
  }
  if (left > 0) blocks_of_row<Word4, 1>(key, stream, row, block, position);
}

void fill_row_blocks(const Key& key, Stream stream, std::uint64_t first_row, Word block,
                     std::span<Word> out) {
  require_whole_groups("fill_row_blocks", out.size());
  const std::uint64_t num_rows = out.size() / kWordsPerBlock;
  if (first_row > kMaxRows || num_rows > kMaxRows - first_row)
    fail_argument("fill_row_blocks", "last row", "below 2^48",
                  std::to_string(first_row) + " + " + std::to_string(num_rows) + " rows");
  Word* position = out.data();
  std::uint64_t left = num_rows;
  std::uint64_t row = first_row;
  const auto advance = [&](std::uint64_t rows) {
    left -= rows;
    row += rows;
    position += rows * kWordsPerBlock;
  };
#if defined(__AVX2__)
  while (left >= 16) {
    block_of_rows<Word8, 2>(key, stream, row, block, position);
    advance(16);
  }
#endif
  while (left >= 8) {
    block_of_rows<WidestWord, kStatesOfTwoGroups>(key, stream, row, block, position);
    advance(8);
  }
  if (left > 0) block_of_rows<Word4, 1>(key, stream, row, block, position);
}

void fill_bits(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_word,
               std::span<Word> out) {
  constexpr std::uint64_t kMaxWords = kMaxBlocks * kWordsPerBlock;
  require_row("fill_bits", row);
  if (first_word > kMaxWords || out.size() > kMaxWords - first_word)
    fail_argument("fill_bits", "last word", "below 2^36",
                  std::to_string(first_word) + " + " + std::to_string(out.size()) + " words");
  while (!out.empty()) {
    const std::uint64_t group = first_word / kWordsPerGroup;
    const std::size_t skip = static_cast<std::size_t>(first_word % kWordsPerGroup);
    const std::size_t whole = out.size() - out.size() % kWordsPerGroup;
    if (skip == 0 && whole > 0) {
      fill_groups(key, stream, row, group, out.first(whole));
      first_word += whole;
      out = out.subspan(whole);
      continue;
    }
    std::array<Word, kWordsPerGroup> words;
    fill_groups(key, stream, row, group, words);
    const std::size_t count = std::min(out.size(), kWordsPerGroup - skip);
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(skip), count, out.begin());
    first_word += count;
    out = out.subspan(count);
  }
}

}  // namespace dpftrl
