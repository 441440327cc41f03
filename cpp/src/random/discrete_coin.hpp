// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Exact coin tosses from a sequence of random 32-bit words (internal header).

#include <array>
#include <bit>
#include <cstdint>

#include "base/wide_unsigned.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl::detail {

/// The words of one address: planes 0, 1, ... of its block, 16 words each.
class AddressedWords {
 public:
  AddressedWords(const Key& key, const BlockAddress& address) : key_(key), address_(address) {}

  std::uint32_t operator()() {
    if (next_ == words_.size()) refill();
    return words_[next_++];
  }

 private:
  void refill() {
    if (is_last_)
      fail(ErrorCode::resource_exhausted, "discrete_gaussian", "",
           "a sample ran out of random bits");
    words_ = random_block(key_, address_);
    next_ = 0;
    is_last_ = address_.plane == 0xffff;
    if (!is_last_) ++address_.plane;
  }

  const Key& key_;
  BlockAddress address_;
  bool is_last_ = false;
  std::array<std::uint32_t, kWordsPerBlock> words_{};
  std::size_t next_ = kWordsPerBlock;
};

/// See discrete_sampling.hpp. The words are the digits, base 2^32, of a uniform number U in [0, 1).
template <class Words>
class DigitCoin {
 public:
  explicit DigitCoin(Words& words) : words_(words) {}

  /// Decides U < a / b from as many digits as needed. With the first digit w of U, true
  /// is certain if (w + 1) b <= 2^32 a, and false if w b >= 2^32 a; otherwise the digits that
  /// follow are compared with the rest (2^32 a - w b) / b.
  template <std::size_t N>
  bool toss(WideUnsigned<N> a, const WideUnsigned<N>& b) {
    for (;;) {
      const WideUnsigned<N> target = a.shifted_left(32);
      const WideUnsigned<N> below = b.times(words_());
      if (!(below < target)) return false;
      a = target - below;
      if (!(a < b)) return true;
    }
  }

  /// Uniform number below the limit: the lowest bits of one or two words, redrawn until they are
  /// below it.
  std::uint64_t uniform(std::uint64_t limit) {
    const int num_bits = static_cast<int>(std::bit_width(limit - 1));
    const std::uint64_t mask = (std::uint64_t{1} << num_bits) - 1;
    for (;;) {
      std::uint64_t bits = num_bits > 0 ? words_() : 0;
      if (num_bits > 32) bits |= std::uint64_t{words_()} << 32;
      if ((bits & mask) < limit) return bits & mask;
    }
  }

  bool half() { return (words_() & 1) != 0; }

 private:
  Words& words_;
};

}  // namespace dpftrl::detail
