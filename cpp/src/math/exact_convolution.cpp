// SPDX-License-Identifier: Apache-2.0
#include "math/exact_convolution.hpp"

#include <cstdint>

#include "base/wide_product.hpp"

namespace dpftrl::detail {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kDirectLength = 32;

/// Multiplies polynomials with integer coefficients in two's complement, lowest word first: W =
/// `words` words in factors, 2 W in products.
class Karatsuba {
 public:
  explicit Karatsuba(std::size_t words) : words_(words) {}

  /// `out` has 2 length entries of 2 W words, which must be zero.
  void multiply(const Word* a, const Word* b, std::size_t length, Word* out) const {
    const std::size_t wide = 2 * words_;
    if (length <= kDirectLength) {
      for (std::size_t i = 0; i < length; ++i)
        for (std::size_t j = 0; j < length; ++j)
          add_product(a + i * words_, b + j * words_, out + (i + j) * wide);
      return;
    }
    const std::size_t half = length / 2;
    const Word *const a_high = a + half * words_, *const b_high = b + half * words_;
    Word* const out_high = out + length * wide;
    multiply(a, b, half, out);
    multiply(a_high, b_high, half, out_high);
    std::vector<Word> sums(length * words_), middle(length * wide);
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t at = i * words_;
      add(sums.data() + at, a + at, words_);
      add(sums.data() + at, a_high + at, words_);
      add(sums.data() + half * words_ + at, b + at, words_);
      add(sums.data() + half * words_ + at, b_high + at, words_);
    }
    multiply(sums.data(), sums.data() + half * words_, half, middle.data());
    for (std::size_t i = 0; i < length; ++i) {
      subtract(middle.data() + i * wide, out + i * wide, wide);
      subtract(middle.data() + i * wide, out_high + i * wide, wide);
    }
    for (std::size_t i = 0; i < length; ++i)
      add(out + (half + i) * wide, middle.data() + i * wide, wide);
  }

 private:
  static void add(Word* sum, const Word* x, std::size_t words) {
    Word carry = 0;
    for (std::size_t k = 0; k < words; ++k) {
      const Word partial = sum[k] + carry;
      carry = partial < carry;
      sum[k] = partial + x[k];
      carry += sum[k] < partial;
    }
  }
  static void subtract(Word* difference, const Word* x, std::size_t words) {
    Word borrow = 0;
    for (std::size_t k = 0; k < words; ++k) {
      const Word partial = difference[k] - borrow;
      borrow = difference[k] < borrow;
      difference[k] = partial - x[k];
      borrow += partial < x[k];
    }
  }

  void add_product(const Word* a, const Word* b, Word* out) const {
    for (std::size_t i = 0; i < words_; ++i) {
      Word carry = 0;
      for (std::size_t j = 0; j < words_; ++j) {
        const Wide sum = multiply_add(a[i], b[j], out[i + j], carry);
        out[i + j] = sum.low;
        carry = sum.high;
      }
      for (std::size_t k = i + words_; carry != 0 && k < 2 * words_; ++k) {
        out[k] += carry;
        carry = out[k] < carry;
      }
    }
    // A negative a was read as a + 2^(64 W).
    if (a[words_ - 1] >> 63 != 0) subtract(out + words_, b, words_);
    if (b[words_ - 1] >> 63 != 0) subtract(out + words_, a, words_);
  }

  std::size_t words_;
};

std::vector<Word> flattened(const std::vector<Digits>& numbers, std::size_t length,
                            std::size_t words) {
  std::vector<Word> flat(length * words);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t k = 0; k < words; ++k) flat[i * words + k] = numbers[i][words - 1 - k];
  return flat;
}

}  // namespace

std::vector<Digits> convolve(const std::vector<Digits>& a, const std::vector<Digits>& b,
                             std::size_t num_digits) {
  std::size_t pieces = 1;
  while (a.size() > pieces * kDirectLength) pieces *= 2;
  const std::size_t length = (a.size() + pieces - 1) / pieces * pieces;
  const std::size_t words = num_digits + 1;
  std::vector<Word> product(2 * length * 2 * words);
  Karatsuba(words).multiply(flattened(a, length, words).data(), flattened(b, length, words).data(),
                            length, product.data());
  // The product is in units of 2^-128p; its word p is the last digit.
  std::vector<Digits> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < words; ++k)
      result[i][k] = product[i * 2 * words + 2 * num_digits - k];
  return result;
}

}  // namespace dpftrl::detail
