// SPDX-License-Identifier: Apache-2.0
#pragma once

/// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), for fingerprints, checksums and authentication
/// codes of stored data. Never used to generate noise.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dpftrl/base/hmac_secret.hpp"

namespace dpftrl::detail {

using Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  /// Continues from the state after one block.
  explicit Sha256(const HashState& after_block);

  void append(std::span<const std::byte> bytes);
  /// Appends a number as 8 bytes, little-endian.
  void append(std::uint64_t number);
  void append(std::int64_t number) { append(static_cast<std::uint64_t>(number)); }
  void append(double number) { append(std::bit_cast<std::uint64_t>(number)); }
  void append(std::span<const double> numbers);

  /// Digest of everything appended; nothing may be appended afterwards.
  /// @checked-by checkpoint_test "gives the digests of its standard"
  Digest finish();

 private:
  void compress();

  HashState state_;
  std::array<std::byte, 64> block_{};
  std::size_t num_pending_ = 0;  ///< bytes in block_
  std::uint64_t num_bytes_ = 0;
};

/// Authenticates a message with a secret.
class HmacSha256 {
 public:
  explicit HmacSha256(const HmacSecret& secret) : inner_(secret.inner()), outer_(secret.outer()) {}

  Sha256& message() { return inner_; }
  Digest finish();

 private:
  Sha256 inner_;
  Sha256 outer_;
};

}  // namespace dpftrl::detail
