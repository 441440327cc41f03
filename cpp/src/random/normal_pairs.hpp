// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Pairs of normals from random words (internal header): the fast transform, and the careful
/// transform for pairs whose u1 is close to 0 or 1. docs/math/gaussian.md.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/double_double.hpp"

namespace dpftrl::detail {

/// Fast transform: turns each 16 words (u1 low, u1 high, u2 low, u2 high; four lanes each) into 8
/// doubles (4 cosines, 4 sines). Returns whether a pair was exceptional; its output is then
/// invalid.
bool normals_from_words(std::span<const std::uint32_t> words, double* out);
/// Turns each 8 words (u1, u2; four lanes each) into 8 floats (4 cosines, 4 sines). The number of
/// words is a multiple of 16. Returns whether a pair was exceptional.
bool normals_from_words(std::span<const std::uint32_t> words, float* out);
/// normals_from_words with each normal as an unevaluated sum of two doubles.
bool normals_from_words(std::span<const std::uint32_t> words, DoubleDouble* out);

/// Maximum number of planes of u1 that are read.
inline constexpr std::size_t kNumPlanes = 4;

/// The two normals of one pair of uniforms.
struct NormalPair {
  DoubleDouble cos;
  DoubleDouble sin;
};

/// The pair of normals for the leading planes of u1 and plane 0 of u2, u1 not in [1/2, 3/4).
NormalPair careful_pair(const std::array<std::uint64_t, kNumPlanes>& u1, std::uint64_t u2);

}  // namespace dpftrl::detail
