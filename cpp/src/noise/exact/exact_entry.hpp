// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Entries of B Z to any precision: the slow half of the rounding test (docs/math/grid.md).
///
/// The ideal: B is exactly the matrix that the stored doubles of a DecoderForm define, and Z the
/// Box-Muller transform of the infinite uniforms whose bits the addresses give, plane after plane.

#include <cstddef>
#include <cstdint>

#include "dpftrl/strategy/decoder_form.hpp"
#include "math/fixed_point.hpp"
#include "math/wide_number.hpp"
#include "noise/exact/exact_rows.hpp"

namespace dpftrl {

/// The ideal entry from the first `num_planes` planes (2, 4 or 8) of every uniform, as many digits.
///
/// @guarantee   encloses the entry for every continuation of the bits.
/// @checked-by  exact_entry_test "enclosures_contain_the_values_of_an_independent_program"
detail::Enclosure enclose_entry(const DecoderForm& form, const detail::NoiseShard& shard,
                                std::int64_t step, std::int64_t coordinate_in_row,
                                std::size_t num_planes);

/// floor(scale * (B Z)[step, coordinate_in_row] + offset + 1/2) of the ideal B Z.
///
/// Two planes are looked at, then four, then eight, until the rounding is decided.
///
/// @param form               one that NoiseStream accepts; coefficients, weights, scales and rates
///                           up to 2^20 in magnitude, and rows below 2^61.
/// @param step               0 <= step < num_steps.
/// @param coordinate_in_row  counted from shard.first_coordinate, below shard.dimension.
/// @param scale              0 <= scale <= 2^60.
/// @param offset             0 by default; that of a sum which is rounded with its noise.
/// @exactness   exact, unless 512 bits leave it open (probability below 2^-400 an entry, with an
///              offset as large as its error makes it, see docs/math/weights.md; then the
///              middle of the interval left is rounded) or its magnitude reaches 2^61 (throws).
/// @throws Error{unsupported} the recursion of the form leaves the range of 62 bits, so that
/// nothing
///         is known of the entry.
/// @throws Error{invalid_argument} step, coordinate or scale out of range; std::bad_alloc. Most
///         forms take a few numbers of memory; a filter over a Toeplitz matrix about 700 bytes a
///         step, one over trees or Haar coefficients 88 a measurement (up to 92 MB). Where it lacks
///         for these two, rows and normals are made one at a time.
/// @cost        1.5 us (WebAssembly: 5 us) for every normal that enters the row. With T = step + 1:
///              T normals for running sums, Toeplitz and recursive forms (with each of them 0.1 us
///              for every coefficient of a BandedDecoder, 0.3 us for every buffer); up to 2 T for
///              `honaker`; O(log T) for trees and Haar coefficients; for blocks the sum over their
///              forms. A filter takes those of rows 0 .. step of its base, each normal once, and
///              0.2 us a row (0.1 more for each coefficient of a BandedInverseDecoder); over a
///              Toeplitz matrix O(T^1.59) for a convolution: 8 ms, 0.2 s, 7.5 s for T = 10^3, 10^4,
///              10^5 at 128 bits.
/// @checked-by  exact_entry_test, exact_rows_test
std::int64_t exact_rounded_entry(const DecoderForm& form, const detail::NoiseShard& shard,
                                 std::int64_t step, std::int64_t coordinate_in_row, double scale,
                                 const detail::WideFraction& offset = {});

}  // namespace dpftrl
