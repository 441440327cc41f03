// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "math/fft.hpp"

namespace dpftrl {

/// Multiplies a block x of `length` numbers by pieces of a kernel k: computes the second half of
/// the product with `2 length` terms of k, by transforms of `length` points.
///
/// In real polynomials modulo z^(2 length) + 1, the terms that wrap around fall on the first half,
/// which is not needed. A polynomial there is determined by its remainder modulo z^length - i,
/// which is complex with half as many coefficients; with z = e^(i pi / (2 length)) w, the product
/// of remainders is cyclic.
class BlockProducts {
 public:
  struct Spectrum {
    std::vector<double> real, imaginary;
  };

  BlockProducts(int log2_length, std::size_t num_pieces, std::span<const double> kernel);

  /// Transform of x, padded with zeros.
  Spectrum transformed(std::span<const double> x) const;
  /// Transform of another kernel of up to 2 length terms, given by its halves.
  Spectrum transformed(std::span<const double> low, std::span<const double> high) const;
  /// Adds to `sum` the spectrum of x times the kernel's 2 length terms from `piece` * length on.
  void add_product(const Spectrum& x, std::size_t piece, Spectrum& sum) const;
  static void add_product(const Spectrum& x, const Spectrum& y, Spectrum& sum);
  /// Adds the second half of the product to `sums`, which may be shorter.
  void add_second_half(Spectrum spectrum, std::span<double> sums) const;
  /// Writes the first half, which is correct if the kernel has at most `length` terms.
  void write_first_half(Spectrum spectrum, std::span<double> terms) const;
  Spectrum zero() const;

 private:
  std::size_t length() const { return fft_.size(); }

  Fft fft_;
  std::vector<double> cosines_, sines_;  ///< e^(i pi m / (2 length))
  std::vector<Spectrum> pieces_;
};

/// Online product: calls finish(j, sum) for j = 0, 1, ..., which must set known[j], given sum =
/// sum_{k < j} known[k] kernel[j - k].
///
/// Blocks consist of kNumChildren blocks, recursively. Within a block, each child takes at most one
/// inverse transform, for the contribution of the children before it, and one forward transform.
/// @cost  O(n log^2 n / log kNumChildren) time, O(n) memory.
template <class Finish>
class OnlineProduct {
 public:
  OnlineProduct(std::span<double> known, std::span<const double> kernel, const Finish& finish)
      : known_(known), kernel_(kernel), finish_(finish), sums_(known.size()) {
    int log2_length = kLog2DirectTerms;
    for (; (std::size_t{1} << log2_length) < known.size(); log2_length += kLog2NumChildren)
      levels_.emplace_back(log2_length, kNumChildren - 1, kernel);
    fill(0, levels_.size());
  }

 private:
  /// Pieces of up to this length are multiplied term by term.
  static constexpr int kLog2DirectTerms = 6;
  static constexpr int kLog2NumChildren = 3;
  static constexpr std::size_t kNumChildren = std::size_t{1} << kLog2NumChildren;

  static std::size_t length_at(std::size_t level) {
    return std::size_t{1} << (kLog2DirectTerms + kLog2NumChildren * static_cast<int>(level));
  }

  void fill_directly(std::size_t first) {
    const std::size_t last = std::min(first + length_at(0), known_.size());
    for (std::size_t j = first; j < last; ++j) {
      finish_(j, sums_[j]);
      for (std::size_t i = j + 1; i < last; ++i) sums_[i] += known_[j] * kernel_[i - j];
    }
  }

  /// Fills the block of level `level` that begins at `first`.
  void fill(std::size_t first, std::size_t level) {
    if (level == 0) return fill_directly(first);
    const BlockProducts& products = levels_[level - 1];
    const std::size_t length = length_at(level - 1);
    std::vector<BlockProducts::Spectrum> finished;
    for (std::size_t child = 0; child < kNumChildren; ++child) {
      const std::size_t start = first + child * length;
      if (start >= known_.size()) return;
      const std::size_t size = std::min(length, known_.size() - start);
      if (child > 0) {
        BlockProducts::Spectrum sum = products.zero();
        for (std::size_t i = 0; i < child; ++i)
          products.add_product(finished[i], child - i - 1, sum);
        products.add_second_half(std::move(sum), std::span(sums_).subspan(start, size));
      }
      fill(start, level - 1);
      if (child + 1 < kNumChildren)
        finished.push_back(products.transformed(known_.subspan(start, size)));
    }
  }

  std::span<double> known_;
  std::span<const double> kernel_;
  const Finish& finish_;
  std::vector<double> sums_;
  std::vector<BlockProducts> levels_;  ///< entry i is for children of length_at(i)
};

}  // namespace dpftrl
