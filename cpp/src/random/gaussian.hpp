// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Standard normal variables from addressed random bits, identical on every platform.
///
/// Box-Muller: two uniforms give two normals,
///
///     z_cos = sqrt(-2 ln u1) cos(2 pi u2)        z_sin = sqrt(-2 ln u1) sin(2 pi u2),
///
/// without rejection, without a table, without libm: only IEEE + - * / sqrt and integer
/// operations, never contracted. A normal is a function of (key, stream, row, coordinate).
/// Layout, error analysis and proofs: docs/math/gaussian.md.

#include <cstdint>
#include <span>

#include "dpftrl/random/random.hpp"

namespace dpftrl {

/// Coordinates of a row that have an address.
inline constexpr std::uint64_t kMaxNormals = std::uint64_t{1} << 35;       // double
inline constexpr std::uint64_t kMaxNormalsFloat = std::uint64_t{1} << 36;  // float

/// Bound on |z - z*| for every double normal z, where z* is the exact Box-Muller transform of the
/// INFINITE uniforms whose leading bits were drawn (docs/math/gaussian.md, theorem 1). Holds for
/// every bit string except those with 192 leading zeros in u1 (probability 2^-192 per pair).
inline constexpr double kNormalErrorBound = 1.85e-15;

/// Bound on the error of arithmetic alone, for every bit string: against the exact transform of the
/// bits that were used, read as midpoints of their cells.
inline constexpr double kNormalArithmeticErrorBound = 1.82e-15;

/// |z| never exceeds this (double): four planes of bits, sqrt(2 * 257 ln 2) = 18.8754...
inline constexpr double kNormalMax = 18.88;

/// Bound for floats, against the exact transform of the bits that were used (32 of each uniform; 64
/// of u1 for one pair in 2^17), read as midpoints of their cells.
inline constexpr double kNormalFloatErrorBound = 1.15e-6;
/// |z| never exceeds this (float): sqrt(2 * 65 ln 2) = 9.4925...
inline constexpr double kNormalFloatMax = 9.5;

/// Normals first_coordinate .. first_coordinate + out.size() - 1 of row `row` of Z.
///
/// Any range equals the slice of a longer fill. Whole groups of 32 coordinates are the fast case; a
/// fill of length 1 costs one group of bits.
///
/// @exactness   |out[i] - ideal| <= kNormalErrorBound.
/// @guarantee   same bits from every compiler and machine with IEEE arithmetic; the time depends on
///              the random bits only (2^-13 of the pairs are computed with more bits), never on
///              data.
/// @throws Error{invalid_argument} row >= 2^48, or a coordinate at or after 2^35.
/// @checked-by  gaussian_test NormalDouble.*, Tails.*, "of doubles is the same everywhere"
void fill_normals(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_coordinate,
                  std::span<double> out);

/// Float normals, for `simulation` only, from 32 bits per uniform.
///
/// @exactness   |out[i] - transform of the finite bits| <= kNormalFloatErrorBound; tail
///              probabilities within 0.1 % of the true ones out to 6.5.
/// @throws Error{invalid_argument} row >= 2^48, or a coordinate at or after 2^36.
/// @checked-by  gaussian_test NormalFloat.*, Tails.*, "of floats is the same everywhere"
void fill_normals(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_coordinate,
                  std::span<float> out);

/// One coordinate of many rows: out[i] is what fill_normals gives for row first_row + i at
/// `coordinate`. Meant for streams with one coordinate (or few): uses a block of bits per row, four
/// rows at a time.
///
/// @throws Error{invalid_argument} a row at or after 2^48, or a coordinate out of range.
/// @checked-by  gaussian_test "a batch of rows equals row by row"
void fill_normals_rows(const Key& key, Stream stream, std::uint64_t first_row,
                       std::uint64_t coordinate, std::span<double> out);
void fill_normals_rows(const Key& key, Stream stream, std::uint64_t first_row,
                       std::uint64_t coordinate, std::span<float> out);

}  // namespace dpftrl
