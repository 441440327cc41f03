// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The families of dp-ftrl/learner: those of counters, and that of passes over a whole table.

#include <array>
#include <variant>

#include "dpftrl/strategy/decoder_form.hpp"
#include "strategy/families.hpp"

namespace dpftrl::wasm {

constexpr std::array kFamilies = {plain_independent_family, tree_family, honaker_family,
                                  given_blt_family, closed_form_optimal_family};

/// The forms of the decoders of these families, and of increments.
using Forms = std::variant<IdentityDecoder, RunningSumDecoder, DyadicDecoder, BufferedDecoder,
                           VaryingBufferedDecoder, FilteredDecoder>;

}  // namespace dpftrl::wasm
