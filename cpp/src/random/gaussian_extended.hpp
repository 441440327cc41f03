// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The normals of gaussian.hpp with more digits, from the same random bits (internal header).

#include <cstdint>
#include <span>

#include "base/double_double.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

/// Bound on |high + low - ideal| of every extended normal, two hundred times smaller than
/// kNormalErrorBound of doubles (docs/math/gaussian.md, theorem 6).
inline constexpr double kExtendedNormalErrorBound = 8e-18;

/// Fills in the normals of fill_normals and fill_normals_rows of gaussian.hpp, as unevaluated sums
/// of two doubles. Takes twice the time.
///
/// @exactness   |out[i].high + out[i].low - ideal| <= kExtendedNormalErrorBound,
///              |out[i].low| <= ulp(out[i].high) / 2.
/// @throws as fill_normals and fill_normals_rows.
/// @checked-by  gaussian_extended_test
void fill_normals(const Key& key, Stream stream, std::uint64_t row, std::uint64_t first_coordinate,
                  std::span<DoubleDouble> out);
void fill_normals_rows(const Key& key, Stream stream, std::uint64_t first_row,
                       std::uint64_t coordinate, std::span<DoubleDouble> out);

}  // namespace dpftrl
