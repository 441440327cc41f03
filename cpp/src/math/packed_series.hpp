// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Long lists of doubles, bit for bit, in few bytes where neighbours are close to a line.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpftrl::detail {

/// Pieces of up to kLength doubles. The numbers of a piece are multiples of one power of two; kept
/// are the second differences of the multiples, 32 at a time in as many bits as the largest takes.
/// Numbers from a smooth function take what rounding makes of them, 7 to 20 bits and not 64.
///
/// @exactness   every double comes back with its bits: differences are taken modulo 2^64, and a
///              piece whose multiples need more than 63 bits, or that has a negative zero or a
///              number that is not finite, is kept as it is.
/// @cost        2 ns a number and way.
/// @checked-by  packed_series_test "every double comes back with its bits"
class PackedSeries {
 public:
  static constexpr std::size_t kLength = 1024;

  explicit PackedSeries(std::size_t num_pieces = 0) : pieces_(num_pieces) {}

  /// Replaces a piece by `count` numbers, `stride` apart.
  void pack(std::size_t piece, const double* numbers, std::size_t count, std::size_t stride = 1);

  /// Writes the numbers of a piece, `stride` apart.
  void unpack(std::size_t piece, double* numbers, std::size_t stride = 1) const;

  /// Memory of the numbers, in bytes.
  std::size_t num_bytes() const {
    std::size_t num_words = 0;
    for (const std::vector<std::uint32_t>& piece : pieces_) num_words += piece.size();
    return num_words * sizeof(std::uint32_t);
  }

 private:
  std::vector<std::vector<std::uint32_t>> pieces_;
};

}  // namespace dpftrl::detail
