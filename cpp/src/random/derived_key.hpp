// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dpftrl/random/random.hpp"

namespace dpftrl::detail {

enum class KeyUse : std::uint64_t {
  gaussian = 0,
  laplace = 1,
  choice = 2,
  second_moments = 5,
};

/// Derives a separate key for each use, so that no two uses, and no stream of releases, share
/// random bits for any keys of the caller.
inline Key key_for(KeyUse use, const Key& key) {
  const auto words = random_block(
      key, {.stream = Stream::query_keys, .row = static_cast<std::uint64_t>(use), .block = 0});
  std::array<std::byte, 32> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  return Key::from_bytes(bytes);
}

}  // namespace dpftrl::detail
