// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Banded encoders of least error for prefix sums: Toeplitz, and general with columns of norm 1.

#include <cstdint>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/family.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

inline constexpr std::int64_t kMaxBandedToeplitzSteps = std::int64_t{1} << 22;
inline constexpr std::int64_t kMaxBandedSteps = std::int64_t{1} << 16;
/// Steps times bands.
inline constexpr std::int64_t kMaxBandedEntries = std::int64_t{1} << 24;

struct BandedProblem {
  std::int64_t num_steps = 0;
  std::int64_t num_bands = 0;  ///< p, with the main diagonal; 1 .. num_steps
  Objective objective = Objective::mean;
  Participation participation = Participation::single();
};

struct BandedToeplitzOptimum {
  FamilySearch search;
  std::vector<double> coefficients;  ///< p of them, the first is 1
  FamilyErrors errors;
};

/// Coefficients of least error: C_ij = c_{i-j} for i - j < p, else 0.
///
/// With single participation, or a separation of at least p, columns of C that a user can touch are
/// orthogonal and the coefficients are free. With a smaller separation they are kept positive and
/// non-increasing, where the pattern 0, b, 2b, ... attains the sensitivity.
///
/// p = n is the optimal Toeplitz factorization.
///
/// @exactness    errors at the coefficients found, to a few rounding errors times sqrt(n)
/// @guarantee    none that they are the best: see FamilySearch.
/// @throws Error{invalid_argument} num_steps outside 1 .. 2^22, num_bands outside 1 .. num_steps, a
///         fixed-epoch schema of another horizon, an option out of range.
/// @cost         O(min(n p, n log n)) an evaluation; 100 to 1000 evaluations
/// @source       Kalinin, Lampert, arXiv 2405.13763, for the sensitivity
/// @checked-by   banded_optimum_test
[[nodiscard]] BandedToeplitzOptimum find_banded_toeplitz_optimum(const BandedProblem& problem,
                                                                 const FamilyOptions& options = {});

struct BandedOptimum {
  FamilySearch search;
  /// Row j holds the column of C: C_jj, C_{j+1,j}, ..., p entries, those below the matrix 0.
  Matrix columns;
  FamilyErrors errors;
};

/// Least error over lower-triangular C with p bands and columns of norm 1.
///
/// With single participation or a separation of at least p the sensitivity is sqrt(k') exactly, k'
/// the participations within the horizon. p = n spans all factorizations with equal column norms,
/// among which there is an optimal one.
///
/// The mean is minimised as it is, the largest row by smooth maxima with multipliers, which end as
/// the weights of the rows in the dual problem (docs/math/families.md).
///
/// @exactness    row norms by a recursion over n steps in double precision; sensitivity exact
/// @throws Error{invalid_argument} num_steps outside 1 .. 65536, num_bands outside 1 .. num_steps,
///         n p > 2^24; Error{unsupported} a separation below num_bands.
/// @cost         O(n p^2) an evaluation, 2 n p doubles of memory and 14 n p in the search
/// @source       Choquette-Choo et al., arXiv 2306.08153
/// @checked-by   banded_optimum_test
[[nodiscard]] BandedOptimum find_banded_optimum(const BandedProblem& problem,
                                                const FamilyOptions& options = {});

}  // namespace dpftrl
