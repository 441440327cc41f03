// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Entries of B Z to any precision: the slow half of the rounding test (docs/math/grid.md).
///
/// The ideal B is exactly the matrix that the stored doubles of a DecoderForm define, and the ideal
/// Z is the Box-Muller transform of infinitely long uniforms, whose bits are generated plane by
/// plane from their addresses.

#include <cstddef>
#include <cstdint>

#include "dpftrl/strategy/decoder_form.hpp"
#include "math/fixed_point.hpp"
#include "math/wide_number.hpp"
#include "noise/exact/exact_rows.hpp"

namespace dpftrl {

/// Encloses the ideal entry, given the first `num_planes` planes (2, 4 or 8) of every uniform, with
/// as many digits.
///
/// @guarantee   encloses the entry for every continuation of the bits.
/// @checked-by  exact_entry_test "enclosures_contain_the_values_of_an_independent_program"
detail::Enclosure enclose_entry(const DecoderForm& form, const detail::NoiseShard& shard,
                                std::int64_t step, std::int64_t coordinate_in_row,
                                std::size_t num_planes);

/// floor(scale * (B Z)[step, coordinate_in_row] + offset + 1/2) of the ideal B Z.
///
/// Reads two planes, then four, then eight, until the rounding is decided.
///
/// @param form               a form that NoiseStream accepts; coefficients, weights, scales and
///                           rates up to 2^20 in magnitude, and rows below 2^61.
/// @param step               0 <= step < steps.
/// @param coordinate_in_row  counted from shard.first_coordinate, below shard.dimension.
/// @param scale              0 <= scale <= 2^60.
/// @param offset             0 by default; the fraction of a sum that is rounded together with its
///                           noise.
/// @exactness   exact, unless the magnitude reaches 2^61 (throws), or 512 bits leave the rounding
///              open; then the middle of the remaining interval is rounded. The probability of this
///              is below 2^-400 per entry; with an offset, it depends on the error of the offset
///              (docs/math/weights.md).
/// @throws Error{unsupported} the recursion of the form leaves the range of 62 bits, so the entry
///         cannot be enclosed.
/// @throws Error{invalid_argument} step, coordinate or scale out of range; std::bad_alloc. Most
///         forms need memory for a few numbers; a filter over a Toeplitz matrix needs about 700
///         bytes per step, a filter over trees or Haar coefficients 88 bytes per measurement (at
///         most 92 MB). If memory for these two runs out, rows and normals are made one at a time.
/// @cost        1.5 us (WebAssembly: 5 us) for every normal that enters the row. With T = step + 1:
///              T normals for running sums, Toeplitz and recursive forms (each normal takes another
///              0.1 us for every coefficient of a BandedDecoder, 0.3 us for every buffer); up to 2
///              T for `honaker`; O(log T) for trees and Haar coefficients; for blocks the sum over
///              their forms. A filter takes the normals of rows 0 .. step of its base, each once,
///              and 0.2 us per row (0.1 more for each coefficient of a BandedInverseDecoder); over
///              a Toeplitz matrix O(T^1.59) for a convolution: 8 ms, 0.2 s, 7.5 s for T = 10^3,
///              10^4, 10^5 at 128 bits.
/// @checked-by  exact_entry_test, exact_rows_test
std::int64_t exact_rounded_entry(const DecoderForm& form, const detail::NoiseShard& shard,
                                 std::int64_t step, std::int64_t coordinate_in_row, double scale,
                                 const detail::WideFraction& offset = {});

}  // namespace dpftrl
