// SPDX-License-Identifier: Apache-2.0
// ChaCha blocks, several at a time, in vector extensions that GCC and Clang share: SSE2, NEON and
// wasm SIMD have four lanes of 32 bits, AVX2 has eight. Integer arithmetic only, so every width
// gives the same words.
#pragma once

#include "simd/vectors.hpp"

namespace dpftrl::simd {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored as they are");

typedef std::uint8_t Byte16 __attribute__((vector_size(16)));
typedef std::uint16_t Half8 __attribute__((vector_size(16)));
#if defined(__AVX2__)
typedef Word Word8 __attribute__((vector_size(32)));
typedef std::uint8_t Byte32 __attribute__((vector_size(32)));
#endif

template <class V>
struct State {
  V word[16];
};
template <class V, std::size_t N>
struct States {
  State<V> state[N];
};

constexpr Word kConstants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

template <int Shift, class V>
inline V rotate_left(V x) {
  return (x << Shift) | (x >> (32 - Shift));
}

// Rotations by whole bytes are a single byte shuffle where the machine has that instruction.
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

/// The 20 rounds of RFC 8439.
inline constexpr int kRounds = 20;

/// Applies the block function to every lane of each state (one block if V = Word), in place.
///
/// Two independent states hide the latency of the vector units (measured on Zen 5: 10 to 20 %
/// faster than one state, although sixteen registers cannot hold them both).
template <class V, std::size_t N>
inline void permute_and_add(States<V, N>& states) {
  // Copied word by word: GCC copies a whole struct by `rep movs`, which costs a tenth of the time.
  States<V, N> x;
  for (std::size_t n = 0; n < N; ++n)
    for (std::size_t i = 0; i < 16; ++i) x.state[n].word[i] = states.state[n].word[i];
  const auto quarter_rounds = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    for (std::size_t n = 0; n < N; ++n)
      quarter_round(x.state[n].word[a], x.state[n].word[b], x.state[n].word[c], x.state[n].word[d]);
  };
  for (int i = 0; i < kRounds; i += 2) {
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
    for (std::size_t i = 0; i < 16; ++i) states.state[n].word[i] += x.state[n].word[i];
}

/// Fills words 0..11 of the state, which are the same in every lane.
template <class V>
inline void set_key(State<V>& state, const Word* key) {
  for (std::size_t i = 0; i < 4; ++i) state.word[i] = V{} + kConstants[i];
  for (std::size_t i = 0; i < 8; ++i) state.word[4 + i] = V{} + key[i];
}

inline Word high_row_word(std::uint64_t row, std::uint16_t plane) {
  return static_cast<Word>(row >> 32) | static_cast<Word>(plane) << 16;
}

inline void store_groups(const State<Word4>& state, Word* out) {
  std::memcpy(out, state.word, sizeof(state.word));
}

#if defined(__AVX2__)
/// Lanes 0..3 are one group, lanes 4..7 the next.
inline void store_groups(const State<Word8>& state, Word* out) {
  for (std::size_t w = 0; w < 16; ++w) {
    std::memcpy(out + 4 * w, &state.word[w], 16);
    std::memcpy(out + 64 + 4 * w, reinterpret_cast<const char*>(&state.word[w]) + 16, 16);
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

/// Generates N * lanes consecutive blocks of one row. Not inlined, so that compilers give its
/// rounds all registers.
template <class V, std::size_t N>
[[gnu::noinline]] void blocks_of_row_at_once(const Word* key, Word stream, std::uint64_t row,
                                             Word first_block, Word* out) {
  States<V, N> states;
  for (std::size_t n = 0; n < N; ++n) {
    State<V>& state = states.state[n];
    set_key(state, key);
    const Word block = first_block + static_cast<Word>(n * kLanesOf<V>);
    state.word[12] = lane_numbers<V>() + block;
    state.word[13] = V{} + static_cast<Word>(row);
    state.word[14] = V{} + high_row_word(row, 0);
    state.word[15] = V{} + stream;
  }
  permute_and_add(states);
  for (std::size_t n = 0; n < N; ++n) store_groups(states.state[n], out + n * 16 * kLanesOf<V>);
}

/// Generates one block of each of N * lanes consecutive rows.
template <class V, std::size_t N>
[[gnu::noinline]] void block_of_rows_at_once(const Word* key, Word stream, std::uint64_t first_row,
                                             Word block, Word* out) {
  States<V, N> states;
  for (std::size_t n = 0; n < N; ++n) {
    State<V>& state = states.state[n];
    set_key(state, key);
    state.word[12] = V{} + block;
    for (std::size_t lane = 0; lane < kLanesOf<V>; ++lane) {
      const std::uint64_t row = first_row + n * kLanesOf<V> + lane;
      state.word[13][lane] = static_cast<Word>(row);
      state.word[14][lane] = high_row_word(row, 0);
    }
    state.word[15] = V{} + stream;
  }
  permute_and_add(states);
  for (std::size_t n = 0; n < N; ++n) store_groups(states.state[n], out + n * 16 * kLanesOf<V>);
}

/// Makes groups of four blocks, as many at once as the registers hold.
/// @param make  makes the given number of groups with N states of vectors V.
template <class Make>
inline void make_groups(std::uint64_t num_groups, const Make& make) {
#if defined(__AVX2__)
  for (; num_groups >= 4; num_groups -= 4) make.template operator()<Word8, 2>(4);
#endif
  for (; num_groups >= 2; num_groups -= 2)
    make.template operator()<WidestWord, kStatesOfTwoGroups>(2);
  if (num_groups > 0) make.template operator()<Word4, 1>(1);
}

void blocks_of_row(const Word* key, Word stream, std::uint64_t row, Word first_block,
                   std::uint64_t num_groups, Word* out) {
  make_groups(num_groups, [&]<class V, std::size_t N>(std::uint64_t groups) {
    blocks_of_row_at_once<V, N>(key, stream, row, first_block, out);
    first_block += static_cast<Word>(groups * 4);
    out += groups * 64;
  });
}

void block_of_rows(const Word* key, Word stream, std::uint64_t first_row, Word block,
                   std::uint64_t num_groups, Word* out) {
  make_groups(num_groups, [&]<class V, std::size_t N>(std::uint64_t groups) {
    block_of_rows_at_once<V, N>(key, stream, first_row, block, out);
    first_row += groups * 4;
    out += groups * 64;
  });
}

/// Generates one block; `counter_and_nonce` is words 12..15 of the state.
void chacha_block(const Word* key, const Word* counter_and_nonce, Word* out) {
  States<Word, 1> states;
  set_key(states.state[0], key);
  for (std::size_t i = 0; i < 4; ++i) states.state[0].word[12 + i] = counter_and_nonce[i];
  permute_and_add(states);
  std::memcpy(out, states.state[0].word, sizeof(states.state[0].word));
}

}  // namespace
}  // namespace dpftrl::simd
