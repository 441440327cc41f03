// SPDX-License-Identifier: Apache-2.0
#include "random/gaussian.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

#include "dpftrl/base/error.hpp"
#include "random/gaussian_extended.hpp"
#include "random/normal_pairs.hpp"
#include "simd/normal_arithmetic.hpp"
#include "simd/simd.hpp"

namespace dpftrl {
namespace {

using detail::kNumPlanes;
using detail::NormalPair;

using Word = std::uint32_t;
using Long = std::uint64_t;

}  // namespace

namespace detail {

bool normals_from_words(std::span<const Word> words, double* out) {
  return simd::kernels().normals_double(words.data(), words.size(), out);
}
bool normals_from_words(std::span<const Word> words, float* out) {
  return simd::kernels().normals_float(words.data(), words.size(), out);
}
bool normals_from_words(std::span<const Word> words, DoubleDouble* out) {
  static_assert(sizeof(DoubleDouble) == 2 * sizeof(double));
  return simd::kernels().normals_extended(words.data(), words.size(), &out->high);
}

}  // namespace detail

namespace {

constexpr std::size_t kGroupsPerChunk = 8;
constexpr std::size_t kWordsPerChunk = kGroupsPerChunk * kWordsPerGroup;

/// Words of a block that make one pair (cos and sin).
template <class T>
constexpr std::size_t kWordsPerPair = std::is_same_v<T, float> ? 2 : 4;

template <class T>
constexpr std::size_t kNormalsPerGroup = 2 * kWordsPerGroup / kWordsPerPair<T>;

/// Origin of the words of a pair: the block, and the first word in it.
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
bool is_exceptional(Lane w, DoubleDouble) {
  return is_below(w[1], detail::kExceptionalHighWordExtended);
}
bool is_exceptional(Lane w, float) {
  return is_below(w[0], detail::kExceptionalWordFloat);
}

/// Plane 1 follows plane 0; planes 2 and 3 are needed only after planes of zeros.
NormalPair redo(const Key& key, Source source, Lane w, DoubleDouble) {
  std::array<Long, kNumPlanes> u1{Long{w[1]} << 32 | w[0]};
  for (std::size_t plane = 1; plane < kNumPlanes; ++plane) {
    if (plane >= 2 && u1[plane - 2] != 0) break;
    source.address.plane = static_cast<std::uint16_t>(plane);
    const std::array<Word, kWordsPerBlock> block = random_block(key, source.address);
    u1[plane] = Long{block[source.first_word + 1]} << 32 | block[source.first_word];
  }
  return detail::careful_pair(u1, Long{w[3]} << 32 | w[2]);
}

NormalPair redo(const Key& key, const Source& source, Lane w, double) {
  return redo(key, source, w, DoubleDouble{});
}

/// For floats, takes 32 more bits of u1, and then the midpoints of the cells.
NormalPair redo(const Key& key, Source source, Lane w, float) {
  constexpr Long kMiddle = Long{1} << 63;
  source.address.plane = 1;
  const std::array<Word, kWordsPerBlock> block = random_block(key, source.address);
  return detail::careful_pair({Long{w[0]} << 32 | block[source.first_word], kMiddle},
                              Long{w[1]} << 32 | kMiddle >> 32);
}

template <class T>
T rounded_to(const DoubleDouble& x) {
  if constexpr (std::is_same_v<T, DoubleDouble>)
    return x;
  else
    return static_cast<T>(x.high);
}

/// Computes the normals of `words`, four pairs at a time; source_of(i, lane) is the source of pair
/// `lane` of the i-th group of four. Exceptional pairs are recomputed.
template <class T, class SourceOf>
void transform(const Key& key, std::span<const Word> words, T* out, SourceOf source_of) {
  if (!detail::normals_from_words(words, out)) return;
  constexpr std::size_t kFourPairs = kBlocksPerGroup * kWordsPerPair<T>;
  for (std::size_t i = 0; i < words.size() / kFourPairs; ++i) {
    for (std::size_t lane = 0; lane < kBlocksPerGroup; ++lane) {
      const Lane w{&words[kFourPairs * i + lane]};
      if (!is_exceptional(w, T{})) continue;
      const NormalPair pair = redo(key, source_of(i, lane), w, T{});
      out[8 * i + lane] = rounded_to<T>(pair.cos);
      out[8 * i + 4 + lane] = rounded_to<T>(pair.sin);
    }
  }
}

/// Computes the normals of `words`, which begin at word first_word of group first_group.
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
constexpr std::uint64_t kMaxCoordinates = std::is_same_v<T, float> ? kMaxNormalsFloat : kMaxNormals;

template <class T>
constexpr const char* kCoordinateLimit = std::is_same_v<T, float> ? "below 2^36" : "below 2^35";

template <class T>
void fill_row(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first,
              std::span<T> out) {
  constexpr std::size_t kPerGroup = kNormalsPerGroup<T>;
  if (row >= kMaxRows) fail_argument("fill_normals", "row", "below 2^48", std::to_string(row));
  if (first > kMaxCoordinates<T> || out.size() > kMaxCoordinates<T> - first)
    fail_argument("fill_normals", "first", kCoordinateLimit<T>,
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
      // Part of a group: transforms only the strips of 16 words that it needs.
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

constexpr std::size_t kRowsPerChunk = 32;

/// Coordinate c = per_group * group + 4 q + lane is number q of block 4 group + lane.
template <class T>
void fill_rows(const Key& key, Stream stream, std::uint64_t first_row, std::uint64_t coordinate,
               std::span<T> out) {
  if (coordinate >= kMaxCoordinates<T>)
    fail_argument("fill_normals_rows", "coordinate", kCoordinateLimit<T>,
                  std::to_string(coordinate));
  if (first_row > kMaxRows || out.size() > kMaxRows - first_row)
    fail_argument("fill_normals_rows", "first_row", "below 2^48",
                  std::to_string(first_row) + " + " + std::to_string(out.size()) + " rows");
  constexpr std::uint64_t kPerGroup = kNormalsPerGroup<T>;
  constexpr std::size_t kPairWords = 4 * kWordsPerPair<T>;  // four rows
  const Word block = static_cast<Word>(coordinate / kPerGroup * kBlocksPerGroup + coordinate % 4);
  const std::size_t q = static_cast<std::size_t>(coordinate % kPerGroup / 4);
  const std::size_t first_word = q / 2 * kWordsPerPair<T>;
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), kRowsPerChunk);
    const std::size_t num_fours = (count + 3) / 4;
    // Starts earlier near the last row, so that no row past it is needed.
    const std::uint64_t start = std::min(first_row, kMaxRows - 4 * num_fours);
    const std::size_t skip = static_cast<std::size_t>(first_row - start);
    alignas(64) std::array<Word, kRowsPerChunk * kWordsPerBlock> blocks;
    alignas(64) std::array<Word, kRowsPerChunk * kWordsPerPair<T>> words;
    words.fill(0x55555555);  // padding, read after an odd number of groups of four rows of floats
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

void fill_normals(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_coordinate,
                  std::span<DoubleDouble> out) {
  fill_row(key, stream, row, first_coordinate, out);
}

void fill_normals_rows(const Key& key, Stream stream, std::uint64_t first_row,
                       std::uint64_t coordinate, std::span<DoubleDouble> out) {
  fill_rows(key, stream, first_row, coordinate, out);
}

}  // namespace dpftrl
