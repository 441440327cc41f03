// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The families of dp-ftrl/counter.

#include <array>
#include <variant>

#include "dpftrl/strategy/decoder_form.hpp"
#include "strategy/families.hpp"

namespace dpftrl::wasm {

constexpr std::array kFamilies = {tree_family, honaker_family, given_blt_family,
                                  closed_form_optimal_family};

/// The forms of the decoders of these families.
using Forms = std::variant<DyadicDecoder, BufferedDecoder, VaryingBufferedDecoder, FilteredDecoder>;

}  // namespace dpftrl::wasm
