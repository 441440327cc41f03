// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/gaussian.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "dpftrl/error.hpp"
#include "gaussian_kernels.hpp"

#if defined(__SSE2__) && !defined(__wasm__)
#include <immintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

namespace dpftrl {
namespace {

using detail::kNumPlanes;
using detail::SinCos;

using Word = std::uint32_t;
using Long = std::uint64_t;
typedef Word Word4 __attribute__((vector_size(16)));
typedef std::int32_t Int4 __attribute__((vector_size(16)));

// Double lanes of one vector: two, or four with AVX2. `Half` selects lanes 2 Half, 2 Half + 1.
#if defined(__AVX2__)
typedef double Doubles __attribute__((vector_size(32)));
typedef Long Longs __attribute__((vector_size(32)));
typedef std::int64_t SignedLongs __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));
typedef Word Words __attribute__((vector_size(32)));
typedef std::int32_t Ints __attribute__((vector_size(32)));
constexpr int kHalves = 1;
#else
typedef double Doubles __attribute__((vector_size(16)));
typedef Long Longs __attribute__((vector_size(16)));
typedef float Floats __attribute__((vector_size(16)));
typedef Word Words __attribute__((vector_size(16)));
typedef std::int32_t Ints __attribute__((vector_size(16)));
constexpr int kHalves = 2;
#endif

#if defined(__AVX2__)
template <int Half>
Longs low_words(Word4 low, Word high) {
  return __builtin_convertvector(low, Longs) | (Long{high} << 32);
}
template <int Half>
Longs high_words(Word4 high) {
  return __builtin_convertvector(high, Longs) << 32;
}
template <int Half>
Longs widen_mask(Int4 mask) {
  return std::bit_cast<Longs>(__builtin_convertvector(mask, SignedLongs));
}
inline Doubles square_root(Doubles x) {
  return std::bit_cast<Doubles>(_mm256_sqrt_pd(x));
}
inline Floats square_root(Floats x) {
  return std::bit_cast<Floats>(_mm256_sqrt_ps(x));
}
#else
template <int Half>
inline Longs interleave(Word4 low, Word4 high) {
  return std::bit_cast<Longs>(
      __builtin_shufflevector(low, high, 2 * Half, 2 * Half + 4, 2 * Half + 1, 2 * Half + 5));
}
/// Lanes low + 2^32 high.
template <int Half>
inline Longs low_words(Word4 low, Word high) {
  return interleave<Half>(low, Word4{high, high, high, high});
}
template <int Half>
inline Longs high_words(Word4 high) {
  return interleave<Half>(Word4{}, high);
}
template <int Half>
inline Longs widen_mask(Int4 mask) {
  return interleave<Half>(std::bit_cast<Word4>(mask), std::bit_cast<Word4>(mask));
}
// IEEE square roots; a loop over std::sqrt does not vectorise while sqrt may set errno.
#if defined(__clang__)
inline Doubles square_root(Doubles x) {
  return __builtin_elementwise_sqrt(x);
}
inline Floats square_root(Floats x) {
  return __builtin_elementwise_sqrt(x);
}
#elif defined(__SSE2__)
inline Doubles square_root(Doubles x) {
  return std::bit_cast<Doubles>(_mm_sqrt_pd(x));
}
inline Floats square_root(Floats x) {
  return std::bit_cast<Floats>(_mm_sqrt_ps(x));
}
#else
inline Doubles square_root(Doubles x) {
  return Doubles{std::sqrt(x[0]), std::sqrt(x[1])};
}
inline Floats square_root(Floats x) {
  return Floats{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])};
}
#endif
#endif

// Numbers assembled from integers by their bit patterns: the double with high word H and low word
// b is 2^e + b 2^(e-52), so subtracting 2^e leaves b scaled, exactly.
constexpr Word kTwoTo20 = 0x41300000;       // 2^20 + b 2^-32
constexpr Word kTwoToMinus12 = 0x3f300000;  // 2^-12 + b 2^-64
constexpr Word kTwoTo22 = 0x41500000;       // 2^22 + b 2^-30
constexpr Word kTwoToMinus10 = 0x3f500000;  // 2^-10 + b 2^-62
constexpr Word kTwoTo52 = 0x43300000;       // 2^52 + b

template <class V>
inline V load(const Word* p) {
  V v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

template <class V>
inline bool any(V mask) {
  std::int32_t all = 0;
  for (std::size_t lane = 0; lane < sizeof(V) / 4; ++lane) all |= mask[lane];
  return all != 0;
}

/// Two (four) of the four lanes of 16 words; see docs/math/gaussian.md for each line.
template <int Half>
inline void double_lanes(Word4 v_low, Word4 v_high, Int4 upper_half, Word4 j_low, Word4 j_high,
                         double* out) {
  // (W) w = (v + 1/2) 2^-64, one rounding.
  const Doubles w =
      (std::bit_cast<Doubles>(low_words<Half>(v_high, kTwoTo20)) - 0x1p20) +
      (std::bit_cast<Doubles>(low_words<Half>(v_low, kTwoToMinus12)) - (0x1p-12 - 0x1p-65));
  const Doubles minus_log_u1 =
      detail::minus_log<double>(w, widen_mask<Half>(upper_half), [](Longs biased) {
        return (0x1p52 + 1023) - std::bit_cast<Doubles>(Longs(biased | (Long{kTwoTo52} << 32)));
      });
  // (R)
  const Doubles radius = square_root(Doubles(minus_log_u1 + minus_log_u1));
  // (Y) y = (rest + 1/2) 2^-62 - 1/2, one rounding.
  const Doubles y =
      (std::bit_cast<Doubles>(low_words<Half>(j_high & 0x3fffffff, kTwoTo22)) - (0x1p22 + 0.5)) +
      (std::bit_cast<Doubles>(low_words<Half>(j_low, kTwoToMinus10)) - (0x1p-10 - 0x1p-63));
  const auto [c, s] = detail::cos_sin_quarter<double>(y);
  const Int4 odd = std::bit_cast<Int4>(j_high << 1) >> 31;
  const Word4 cos_sign = (j_high ^ (j_high << 1)) & 0x80000000;
  const Word4 sin_sign = j_high & 0x80000000;
  const auto [cosine, sine] = detail::turn_quarters(
      c, s, widen_mask<Half>(odd), high_words<Half>(cos_sign), high_words<Half>(sin_sign));
  // (Z)
  const Doubles z_cos = radius * cosine;
  const Doubles z_sin = radius * sine;
  std::memcpy(out + 2 * Half, &z_cos, sizeof(z_cos));
  std::memcpy(out + 4 + 2 * Half, &z_sin, sizeof(z_sin));
}

}  // namespace

namespace detail {

bool normals_from_words(std::span<const Word> words, double* out) {
  Int4 exceptional{};
  for (std::size_t i = 0; i < words.size(); i += 16, out += 8) {
    const Word* p = words.data() + i;
    const Word4 i_high = load<Word4>(p + 4);
    const Int4 upper_half = std::bit_cast<Int4>(i_high) >> 31;
    const Word4 mask = std::bit_cast<Word4>(upper_half);
    const Word4 v_low = load<Word4>(p) ^ mask;
    const Word4 v_high = i_high ^ mask;
    exceptional |= std::bit_cast<Int4>(v_high) < std::int32_t{kExceptionalHighWord};
    const Word4 j_low = load<Word4>(p + 8);
    const Word4 j_high = load<Word4>(p + 12) + 0x20000000;  // j + 2^61: quadrant = top two bits
    double_lanes<0>(v_low, v_high, upper_half, j_low, j_high, out);
    if constexpr (kHalves == 2) double_lanes<1>(v_low, v_high, upper_half, j_low, j_high, out);
  }
  return any(exceptional);
}

}  // namespace detail

namespace {

/// One vector of float pairs: u1 bits i, u2 bits j.
inline std::pair<Floats, Floats> float_lanes(Words i, Words j, Ints& exceptional) {
  const Ints upper_half = std::bit_cast<Ints>(i) >> 31;
  const Words mask = std::bit_cast<Words>(upper_half);
  const Ints v = std::bit_cast<Ints>(Words(i ^ mask));
  exceptional |= v < std::int32_t{detail::kExceptionalWordFloat};
  // (W) w = (v + 1/2) 2^-32
  const Floats w = __builtin_convertvector(v, Floats) * 0x1p-32f + 0x1p-33f;
  const Floats minus_log_u1 = detail::minus_log<float>(w, mask, [](Words biased) {
    return __builtin_convertvector(std::bit_cast<Ints>(Words(127 - biased)), Floats);
  });
  const Floats radius = square_root(Floats(minus_log_u1 + minus_log_u1));
  // (Y) y = rest 2^-30 - 1/2 with rest a signed 30-bit number: sign-extend the bits below the
  // quadrant after moving them by half a quadrant.
  const Words moved = j + 0x20000000;
  const Words rest = (moved & 0x3fffffff) - 0x20000000;
  const Floats y = __builtin_convertvector(std::bit_cast<Ints>(rest), Floats) * 0x1p-30f + 0x1p-31f;
  const auto [c, s] = detail::cos_sin_quarter<float>(y);
  const Words odd = std::bit_cast<Words>(Ints(std::bit_cast<Ints>(Words(moved << 1)) >> 31));
  const auto [cosine, sine] = detail::turn_quarters(
      c, s, odd, Words((moved ^ (moved << 1)) & 0x80000000), Words(moved & 0x80000000));
  return {radius * cosine, radius * sine};
}

}  // namespace

namespace detail {

bool normals_from_words(std::span<const Word> words, float* out) {
  Ints exceptional{};
#if defined(__AVX2__)
  // Pairs w and w + 2 of a group side by side: words come as [u1 | u2], normals go as [cos | sin].
  for (std::size_t i = 0; i < words.size(); i += 16) {
    const Words a = load<Words>(words.data() + i);
    const Words b = load<Words>(words.data() + i + 8);
    const auto [c, s] =
        float_lanes(__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11),
                    __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15), exceptional);
    const Floats first = __builtin_shufflevector(c, s, 0, 1, 2, 3, 8, 9, 10, 11);
    const Floats second = __builtin_shufflevector(c, s, 4, 5, 6, 7, 12, 13, 14, 15);
    std::memcpy(out + i, &first, sizeof(first));
    std::memcpy(out + i + 8, &second, sizeof(second));
  }
#else
  for (std::size_t i = 0; i < words.size(); i += 8) {
    const auto [c, s] =
        float_lanes(load<Words>(words.data() + i), load<Words>(words.data() + i + 4), exceptional);
    std::memcpy(out + i, &c, sizeof(c));
    std::memcpy(out + i + 4, &s, sizeof(s));
  }
#endif
  return any(exceptional);
}

SinCos sincos_2pi(std::uint64_t fraction) {
  const Long moved = fraction + (Long{1} << 61);
  const Long rest = moved & ((Long{1} << 62) - 1);
  const double y = (static_cast<double>(rest >> 32) * 0x1p-30 - 0.5) +
                   static_cast<double>(rest & 0xffffffff) * 0x1p-62;
  const auto [c, s] = cos_sin_quarter<double>(y);
  constexpr Long kSign = Long{1} << 63;
  const Long odd = Long{0} - (moved >> 62 & 1);
  const auto [cosine, sine] = turn_quarters(c, s, odd, (moved ^ moved << 1) & kSign, moved & kSign);
  return {cosine, sine};
}

}  // namespace detail

namespace {

constexpr std::size_t kGroupsPerChunk = 8;
constexpr std::size_t kWordsPerChunk = kGroupsPerChunk * kWordsPerGroup;

template <class T>
constexpr std::size_t kNormalsPerGroup = kWordsPerGroup * sizeof(Word) / sizeof(T);

/// Words of one pair (cos and sin) of a block: 4 for double, 2 for float.
template <class T>
constexpr std::size_t kWordsPerPair = sizeof(T) / 2;

/// Where the words of a pair came from: the block, and the first word in it.
struct Source {
  BlockAddress address;
  std::size_t first_word;
};

/// One lane of the words that make four pairs: [word w of the pair][lane].
struct Lane {
  const Word* words;
  Word operator[](std::size_t w) const { return words[kBlocksPerGroup * w]; }
};

bool is_below(Word high_word_of_u1, Word limit) {
  return (high_word_of_u1 >> 31 != 0 ? ~high_word_of_u1 : high_word_of_u1) < limit;
}

bool is_exceptional(Lane w, double) {
  return is_below(w[1], detail::kExceptionalHighWord);
}
bool is_exceptional(Lane w, float) {
  return is_below(w[0], detail::kExceptionalWordFloat);
}

/// Doubles: plane 1 follows plane 0; planes 2 and 3 are needed only after planes of zeros.
SinCos redo(const Key& key, Source source, Lane w, double) {
  std::array<Long, kNumPlanes> u1{Long{w[1]} << 32 | w[0]};
  for (std::size_t plane = 1; plane < kNumPlanes; ++plane) {
    if (plane >= 2 && u1[plane - 2] != 0) break;
    source.address.plane = static_cast<std::uint16_t>(plane);
    const std::array<Word, kWordsPerBlock> block = random_block(key, source.address);
    u1[plane] = Long{block[source.first_word + 1]} << 32 | block[source.first_word];
  }
  return detail::careful_pair(u1, Long{w[3]} << 32 | w[2]);
}

/// Floats: 32 more bits of u1, and then the midpoints of the cells.
SinCos redo(const Key& key, Source source, Lane w, float) {
  constexpr Long kMiddle = Long{1} << 63;
  source.address.plane = 1;
  const std::array<Word, kWordsPerBlock> block = random_block(key, source.address);
  return detail::careful_pair({Long{w[0]} << 32 | block[source.first_word], kMiddle},
                              Long{w[1]} << 32 | kMiddle >> 32);
}

/// Normals of `words`, each four pairs; source_of(i, lane) is the source of lane `lane` of the i-th
/// four pairs. Exceptional pairs are done again.
template <class T, class SourceOf>
void transform(const Key& key, std::span<const Word> words, T* out, SourceOf source_of) {
  if (!detail::normals_from_words(words, out)) return;
  constexpr std::size_t kFourPairs = kBlocksPerGroup * kWordsPerPair<T>;
  for (std::size_t i = 0; i < words.size() / kFourPairs; ++i) {
    for (std::size_t lane = 0; lane < kBlocksPerGroup; ++lane) {
      const Lane w{&words[kFourPairs * i + lane]};
      if (!is_exceptional(w, T{})) continue;
      const SinCos pair = redo(key, source_of(i, lane), w, T{});
      out[8 * i + lane] = static_cast<T>(pair.cos);
      out[8 * i + 4 + lane] = static_cast<T>(pair.sin);
    }
  }
}

/// Normals of words first_word .. of group first_group and the groups after it.
template <class T>
void transform_row(const Key& key, const BlockAddress& row, std::uint64_t first_group,
                   std::size_t first_word, std::span<const Word> words, T* out) {
  constexpr std::size_t kPerGroup = kWordsPerBlock / kWordsPerPair<T>;
  const std::size_t first = first_word / (kBlocksPerGroup * kWordsPerPair<T>);
  transform(key, words, out, [&](std::size_t i, std::size_t lane) {
    const std::uint64_t group = first_group + (first + i) / kPerGroup;
    const Word block = static_cast<Word>(group * kBlocksPerGroup + lane);
    return Source{{row.stream, row.row, block}, (first + i) % kPerGroup * kWordsPerPair<T>};
  });
}

template <class T>
constexpr std::uint64_t kMaxCoordinates = sizeof(T) == 8 ? kMaxNormals : kMaxNormalsFloat;

template <class T>
constexpr const char* kCoordinateLimit = sizeof(T) == 8 ? "below 2^35" : "below 2^36";

template <class T>
void fill_row(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first,
              std::span<T> out) {
  constexpr std::size_t kPerGroup = kNormalsPerGroup<T>;
  if (row >= kMaxRows) fail_argument("fill_normals", "row", "below 2^48", std::to_string(row));
  if (first > kMaxCoordinates<T> || out.size() > kMaxCoordinates<T> - first)
    fail_argument("fill_normals", "last coordinate", kCoordinateLimit<T>,
                  std::to_string(first) + " + " + std::to_string(out.size()) + " coordinates");
  alignas(64) std::array<Word, kWordsPerChunk> buffer;
  const BlockAddress address{stream, row, 0};
  while (!out.empty()) {
    const std::uint64_t group = first / kPerGroup;
    const std::size_t skip = static_cast<std::size_t>(first % kPerGroup);
    std::size_t count;
    if (skip == 0 && out.size() >= kPerGroup) {
      const std::size_t num_groups = std::min(out.size() / kPerGroup, kGroupsPerChunk);
      const std::span<Word> words(buffer.data(), num_groups * kWordsPerGroup);
      count = num_groups * kPerGroup;
      fill_groups(key, stream, row, group, words);
      transform_row(key, address, group, 0, words, out.data());
    } else {
      // Part of a group: only the strips of 16 words that are asked for are transformed.
      constexpr std::size_t kPerStrip = kPerGroup / 4;
      const std::span<Word> words(buffer.data(), kWordsPerGroup);
      std::array<T, kPerGroup> normals;
      count = std::min(out.size(), kPerGroup - skip);
      const std::size_t strip = skip / kPerStrip;
      const std::size_t num_strips = (skip + count - 1) / kPerStrip + 1 - strip;
      fill_groups(key, stream, row, group, words);
      transform_row(key, address, group, 16 * strip, words.subspan(16 * strip, 16 * num_strips),
                    normals.data());
      std::copy_n(&normals[skip - strip * kPerStrip], count, out.begin());
    }
    first += count;
    out = out.subspan(count);
  }
}

/// Rows of one batch.
constexpr std::size_t kRowsPerChunk = 32;

/// Coordinate c = per_group * group + 4 q + lane is number q of block 4 group + lane.
template <class T>
void fill_rows(const Key& key, Stream stream, std::uint64_t first_row, std::uint64_t coordinate,
               std::span<T> out) {
  if (coordinate >= kMaxCoordinates<T>)
    fail_argument("fill_normals_rows", "coordinate", kCoordinateLimit<T>,
                  std::to_string(coordinate));
  if (first_row > kMaxRows || out.size() > kMaxRows - first_row)
    fail_argument("fill_normals_rows", "last row", "below 2^48",
                  std::to_string(first_row) + " + " + std::to_string(out.size()) + " rows");
  constexpr std::uint64_t kPerGroup = kNormalsPerGroup<T>;
  constexpr std::size_t kPairWords = 4 * kWordsPerPair<T>;  // four rows
  const Word block = static_cast<Word>(coordinate / kPerGroup * kBlocksPerGroup + coordinate % 4);
  const std::size_t q = static_cast<std::size_t>(coordinate % kPerGroup / 4);
  const std::size_t first_word = q / 2 * kWordsPerPair<T>;
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), kRowsPerChunk);
    const std::size_t num_fours = (count + 3) / 4;
    // The last rows of all are reached from below, so that no row past them is asked for.
    const std::uint64_t start = std::min(first_row, kMaxRows - 4 * num_fours);
    const std::size_t skip = static_cast<std::size_t>(first_row - start);
    alignas(64) std::array<Word, kRowsPerChunk * kWordsPerBlock> blocks;
    alignas(64) std::array<Word, kRowsPerChunk * kWordsPerPair<T>> words;
    words.fill(0x55555555);  // an odd four of float rows is followed by these
    std::array<T, 2 * kRowsPerChunk> normals;
    fill_row_blocks(key, stream, start, block, std::span(blocks).first(64 * num_fours));
    for (std::size_t i = 0; i < num_fours; ++i)
      std::copy_n(&blocks[64 * i + 4 * first_word], kPairWords, &words[kPairWords * i]);
    const std::size_t num_words = (kPairWords * num_fours + 15) / 16 * 16;
    transform(key, std::span<const Word>(words).first(num_words), normals.data(),
              [&](std::size_t i, std::size_t lane) {
                return Source{{stream, start + 4 * i + lane, block}, first_word};
              });
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t r = skip + i;
      out[i] = normals[8 * (r / 4) + 4 * (q % 2) + r % 4];
    }
    first_row += count;
    out = out.subspan(count);
  }
}

}  // namespace

void fill_normals(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_coordinate,
                  std::span<double> out) {
  fill_row(key, stream, row, first_coordinate, out);
}

void fill_normals(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_coordinate,
                  std::span<float> out) {
  fill_row(key, stream, row, first_coordinate, out);
}

void fill_normals_rows(const Key& key, Stream stream, std::uint64_t first_row,
                       std::uint64_t coordinate, std::span<double> out) {
  fill_rows(key, stream, first_row, coordinate, out);
}

void fill_normals_rows(const Key& key, Stream stream, std::uint64_t first_row,
                       std::uint64_t coordinate, std::span<float> out) {
  fill_rows(key, stream, first_row, coordinate, out);
}

}  // namespace dpftrl
