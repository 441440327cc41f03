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

/// The state of HMAC-SHA-256 after its secret, hashed once instead of for each message. Anyone who
/// has it can compute codes, so it is erased on destruction.
class HmacSecret {
 public:
  /// @param bytes  at most 64.
  explicit HmacSecret(std::span<const std::byte> bytes);
  HmacSecret(const HmacSecret&) = default;
  HmacSecret& operator=(const HmacSecret&) = default;
  ~HmacSecret();

  /// State after the secret with the inner padding, which precedes the message.
  const HashState& inner() const { return inner_; }
  /// State after the secret with the outer padding, which precedes the message's digest.
  const HashState& outer() const { return outer_; }

 private:
  HashState inner_;
  HashState outer_;
};

}  // namespace dpftrl::detail
