// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Encoders of which a row of C^-1 Z is made of few normals (internal header).

#include <optional>
#include <variant>

#include "dpftrl/strategy/decoder_form.hpp"

namespace dpftrl::noise {

/// The decoder form B = C^-1 to the form B = A C^-1, where C^-1 has few bands.
inline std::optional<DecoderForm> increments_form(const DecoderForm& form) {
  if (std::holds_alternative<RunningSumDecoder>(form)) return IdentityDecoder{};
  if (const auto* inverse = std::get_if<BandedInverseDecoder>(&form))
    return MovingSumDecoder{inverse->coefficients};
  return std::nullopt;
}

}  // namespace dpftrl::noise
