// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Numbers and codes in the bytes of a journal (internal header): docs/math/checkpoints.md.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "noise/checkpoint.hpp"

namespace dpftrl::detail {

[[noreturn]] inline void fail_state(std::string_view constraint) {
  fail(ErrorCode::bad_state, "stream", "checkpoint", constraint, "something else");
}

inline void append_number(std::vector<std::byte>& bytes, std::int64_t number) {
  append_word(bytes, static_cast<std::uint64_t>(number));
}
inline void append_bytes(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}
inline void append_doubles(std::vector<std::byte>& bytes, std::span<const double> numbers) {
  for (const double x : numbers) append_word(bytes, std::bit_cast<std::uint64_t>(x));
}
inline void append_integers(std::vector<std::byte>& bytes, std::span<const std::int64_t> numbers) {
  for (const std::int64_t x : numbers) append_number(bytes, x);
}

/// Reads from the front; refuses to read past the end.
class StoredNumbers {
 public:
  explicit StoredNumbers(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool is_empty() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

  std::span<const std::byte> bytes(std::uint64_t size) {
    if (size > rest_.size()) fail_state("must contain whole entries");
    const auto first = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(first.size());
    return first;
  }
  std::int64_t number() { return static_cast<std::int64_t>(word_at(bytes(8), 0)); }
  /// Reads a number that must not be negative.
  std::int64_t count() {
    const std::int64_t found = number();
    if (found < 0) fail_state("must have counts that are not negative");
    return found;
  }
  ShortDigest code() {
    ShortDigest code;
    std::ranges::copy(bytes(code.size()), code.begin());
    return code;
  }
  std::vector<double> doubles(std::int64_t count) {
    require_bytes_for(count);
    std::vector<double> all(static_cast<std::size_t>(count));
    for (double& x : all) x = std::bit_cast<double>(number());
    if (!std::ranges::all_of(all, [](double x) { return std::isfinite(x); }))
      fail_state("must have finite numbers");
    return all;
  }
  std::vector<std::int64_t> integers(std::int64_t count) {
    require_bytes_for(count);
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    for (std::int64_t& x : all) x = number();
    return all;
  }

 private:
  /// Damaged bytes may announce any length, so it is checked before memory is allocated.
  void require_bytes_for(std::int64_t count) const {
    if (static_cast<std::uint64_t>(count) > rest_.size() / 8)
      fail_state("must contain whole entries");
  }

  std::span<const std::byte> rest_;
};

}  // namespace dpftrl::detail
