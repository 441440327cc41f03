// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <variant>

namespace dpftrl {

/// Passes a list of alternatives as a value.
template <class Variant>
using Alternatives = std::type_identity<Variant>;

/// Position of `Alternative` in a variant.
template <class Alternative, class... All>
constexpr std::size_t index_in(Alternatives<std::variant<All...>>) {
  std::size_t index = 0;
  (void)((std::is_same_v<Alternative, All> || (++index, false)) || ...);
  return index;
}

}  // namespace dpftrl
