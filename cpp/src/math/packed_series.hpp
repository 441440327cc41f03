// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lossless compression of long lists of doubles, effective where neighbours are close to a line.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpftrl::detail {

/// Pieces of up to kLength doubles. The numbers of a piece are multiples of one power of two; the
/// second differences of the multiples are stored, 32 at a time in as many bits as the largest
/// needs. Values of a smooth function need only the bits that rounding causes, 7 to 20 instead of
/// 64.
///
/// @exactness   every double is restored bit for bit: differences are taken modulo 2^64, and a
///              piece whose multiples need more than 63 bits, or that has a negative zero, a
///              non-finite number or nonzero bits below 2^-900, is stored unpacked.
/// @cost        2 ns per number in each direction.
/// @checked-by  packed_series_test "every double comes back with its bits"
class PackedSeries {
 public:
  static constexpr std::size_t kLength = 1024;

  explicit PackedSeries(std::size_t num_pieces = 0) : pieces_(num_pieces) {}

  /// Replaces a piece with `count` numbers, `stride` apart.
  void pack(std::size_t piece, const double* numbers, std::size_t count, std::size_t stride = 1);

  /// Writes the numbers of a piece, `stride` apart.
  void unpack(std::size_t piece, double* numbers, std::size_t stride = 1) const;

  /// Memory that the numbers take, in bytes.
  std::size_t num_bytes() const {
    std::size_t num_words = 0;
    for (const std::vector<std::uint32_t>& piece : pieces_) num_words += piece.size();
    return num_words * sizeof(std::uint32_t);
  }

 private:
  std::vector<std::vector<std::uint32_t>> pieces_;
};

}  // namespace dpftrl::detail
