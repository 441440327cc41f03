// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The key of the noise.

#include <emscripten/val.h>

#include <array>
#include <cstddef>
#include <stdexcept>

#include "convert.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl::wasm {

/// Makes the key from the seed if one is given, else from 32 random bytes that the facade obtained
/// from the platform.
inline Key key_of(const emscripten::val& options) {
  if (const std::optional<std::uint64_t> seed = optional_seed(options, "insecureSeed"))
    return Key::insecure_from_seed(*seed);
  constexpr std::size_t kSize = 32;
  std::array<std::byte, kSize> bytes{};
  const emscripten::val given = options["key"];
  for (std::size_t i = 0; i < kSize; ++i) {
    if (given.isUndefined() || given[i].isUndefined()) throw std::logic_error("no key");
    bytes[i] = static_cast<std::byte>(given[i].as<unsigned>());
  }
  const Key key = Key::from_bytes(bytes);
  volatile std::byte* wiped = bytes.data();
  for (std::size_t i = 0; i < kSize; ++i) wiped[i] = std::byte{0};
  return key;
}

}  // namespace dpftrl::wasm
