// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Encoders for which a row of C^-1 Z depends on few normals (internal header).

#include <optional>
#include <variant>

#include "dpftrl/strategy/decoder_form.hpp"

namespace dpftrl::noise {

/// Form of C^-1 as a decoder, given the form of A C^-1, if C^-1 has few bands; else nullopt.
inline std::optional<DecoderForm> increments_form(const DecoderForm& form) {
  if (std::holds_alternative<RunningSumDecoder>(form)) return IdentityDecoder{};
  if (const auto* inverse = std::get_if<BandedInverseDecoder>(&form))
    return MovingSumDecoder{inverse->coefficients};
  return std::nullopt;
}

}  // namespace dpftrl::noise
