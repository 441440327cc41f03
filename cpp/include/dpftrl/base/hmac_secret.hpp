// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A secret for authentication codes (internal).
///
/// ```cpp
/// const std::array<std::byte, 32> bytes{};  // zeros are no secret
/// const dpftrl::detail::HmacSecret secret(bytes);
/// assert(secret.inner() != secret.outer());
/// ```

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dpftrl::detail {

/// State of SHA-256 after a whole number of blocks.
using HashState = std::array<std::uint32_t, 8>;

/// The states of the two hashes of HMAC-SHA-256 after the padded secret, computed once for all
/// messages. Anyone who has them can compute codes, so they are erased on destruction.
class HmacSecret {
 public:
  /// @param bytes  at most 64.
  explicit HmacSecret(std::span<const std::byte> bytes);
  HmacSecret(const HmacSecret&) = default;
  HmacSecret& operator=(const HmacSecret&) = default;
  ~HmacSecret();

  /// State after the secret with the inner padding; the message follows.
  const HashState& inner() const { return inner_; }
  /// State after the secret with the outer padding; the digest of the inner hash follows.
  const HashState& outer() const { return outer_; }

 private:
  HashState inner_;
  HashState outer_;
};

}  // namespace dpftrl::detail
