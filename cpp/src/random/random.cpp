// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/random/random.hpp"

#include <unistd.h>

#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/erase.hpp"
#include "dpftrl/base/error.hpp"
#include "simd/simd.hpp"

namespace dpftrl {
namespace {

using Word = std::uint32_t;

inline Word high_row_word(std::uint64_t row, std::uint16_t plane) {
  return static_cast<Word>(row >> 32) | static_cast<Word>(plane) << 16;
}

void require_whole_groups(const char* function, std::size_t length) {
  if (length % kWordsPerGroup == 0) return;
  fail_argument(function, "out", "of a length that is a multiple of 64", std::to_string(length));
}

void require_row(const char* function, std::uint64_t row) {
  if (row < kMaxRows) return;
  fail_argument(function, "row", "below 2^48", std::to_string(row));
}

}  // namespace

Key Key::from_entropy() {
  std::array<std::byte, 32> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0)
    fail(ErrorCode::entropy_unavailable, "Key::from_entropy", "",
         "entropy must be available from the platform", std::strerror(errno));
  const bool all_zero =
      std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  if (all_zero)  // probability 2^-256 for a working source, 1 for one that wrote nothing
    fail(ErrorCode::entropy_unavailable, "Key::from_entropy", "",
         "entropy must be available from the platform", "32 zero bytes");
  return from_bytes(bytes);
}

Key Key::from_bytes(std::span<const std::byte, 32> bytes) {
  std::array<Word, 8> words;
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return Key(words);
}

Key Key::insecure_from_seed(std::uint64_t seed) {
  // The seed, then 24 characters that identify the key in a memory dump.
  std::array<std::byte, 32> bytes;
  std::memcpy(bytes.data(), &seed, 8);
  std::memcpy(bytes.data() + 8, "dpftrl insecure seed key", 24);
  return from_bytes(bytes);
}

Key::~Key() {
  detail::erase(words_);
}

std::array<Word, kWordsPerBlock> chacha20_block(const Key& key,
                                                const std::array<Word, 4>& counter_and_nonce) {
  std::array<Word, kWordsPerBlock> words;
  simd::kernels().chacha_block(key.words().data(), counter_and_nonce.data(), words.data());
  return words;
}

std::array<Word, 4> address_words(const BlockAddress& address) {
  require_row("address_words", address.row);
  return {address.block, static_cast<Word>(address.row), high_row_word(address.row, address.plane),
          static_cast<Word>(address.stream)};
}

std::array<Word, kWordsPerBlock> random_block(const Key& key, const BlockAddress& address) {
  const std::array<Word, 4> place = address_words(address);
  std::array<Word, kWordsPerBlock> words;
  simd::kernels().chacha_block(key.words().data(), place.data(), words.data());
  return words;
}

void fill_groups(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_group,
                 std::span<Word> out) {
  constexpr std::uint64_t kMaxGroups = kMaxBlocks / kBlocksPerGroup;
  require_row("fill_groups", row);
  require_whole_groups("fill_groups", out.size());
  const std::uint64_t num_groups = out.size() / kWordsPerGroup;
  if (first_group > kMaxGroups || num_groups > kMaxGroups - first_group)
    fail_argument("fill_groups", "first_group", "below 2^30 at the last group",
                  std::to_string(first_group) + " + " + std::to_string(num_groups) + " groups");
  simd::kernels().blocks_of_row(key.words().data(), static_cast<Word>(stream), row,
                                static_cast<Word>(first_group * kBlocksPerGroup), num_groups,
                                out.data());
}

void fill_row_blocks(const Key& key, Stream stream, std::uint64_t first_row, Word block,
                     std::span<Word> out) {
  require_whole_groups("fill_row_blocks", out.size());
  const std::uint64_t num_rows = out.size() / kWordsPerBlock;
  if (first_row > kMaxRows || num_rows > kMaxRows - first_row)
    fail_argument("fill_row_blocks", "first_row", "below 2^48 at the last row",
                  std::to_string(first_row) + " + " + std::to_string(num_rows) + " rows");
  simd::kernels().block_of_rows(key.words().data(), static_cast<Word>(stream), first_row, block,
                                out.size() / kWordsPerGroup, out.data());
}

void fill_bits(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_word,
               std::span<Word> out) {
  constexpr std::uint64_t kMaxWords = kMaxBlocks * kWordsPerBlock;
  require_row("fill_bits", row);
  if (first_word > kMaxWords || out.size() > kMaxWords - first_word)
    fail_argument("fill_bits", "first_word", "below 2^36 at the last word",
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
