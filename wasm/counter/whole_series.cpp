// SPDX-License-Identifier: Apache-2.0
// Keeps long lists of doubles as they are: the code that packs them takes 2 KB after Brotli, and is
// worth it only beyond 2^17 steps, which are rare where a counter runs.

#include "math/packed_series.hpp"

#include <bit>

namespace dpftrl::detail {

void PackedSeries::pack(std::size_t piece, const double* numbers, std::size_t count,
                        std::size_t stride) {
  std::vector<std::uint32_t> words;
  words.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(numbers[i * stride]);
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> 32));
  }
  pieces_[piece] = std::move(words);
}

void PackedSeries::unpack(std::size_t piece, double* numbers, std::size_t stride) const {
  const std::vector<std::uint32_t>& words = pieces_[piece];
  for (std::size_t i = 0; i < words.size() / 2; ++i)
    numbers[i * stride] =
        std::bit_cast<double>(words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32);
}

}  // namespace dpftrl::detail
