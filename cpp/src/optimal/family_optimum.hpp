// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Least error for prefix sums within families: encoders with few bands, or with few buffers.

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

struct FamilyProgress {
  std::int64_t evaluation;  ///< evaluations of error and gradient so far, over all descents
  double error;             ///< least value of the objective so far, unit noise
};

struct FamilyOptions {
  std::int64_t max_iterations = 1000;  ///< line searches in one descent, 1 .. 2^20
  /// Line searches over all descents, starts and rounds, 1 .. 2^40.
  std::int64_t max_total_iterations = std::int64_t{1} << 40;
  /// Least relative accuracy that counts as converged: the gradient of ln(error) in the parameters
  /// of the descent has at most this norm (30 times this if the objective is the largest of many
  /// rows and has more than 1000 parameters), and if the objective is the largest of many rows, the
  /// duality gap of the row weights is at most 100 times this (10 times with up to 40 parameters).
  /// 1e-12 .. 1e-2; at least 1e-5 is used with more bands than an epoch has steps.
  double tolerance = 1e-7;
  /// Called after every evaluation; false stops, and the best point so far is returned.
  std::function<bool(const FamilyProgress&)> progress = {};
};

/// Status and result of a search. The families are not convex, so `converged` means that the point
/// is stationary, not that no better one exists. `find_optimum` bounds how much better one can be.
struct FamilySearch {
  SolverStatus status = SolverStatus::not_converged;
  double gradient_norm = 0;  ///< gradient norm of ln(error) where the search ended
  /// For objectives that minimise the largest of many rows: largest ln(error) minus its mean under
  /// the final weights of the rows; 0 if the largest row is known.
  double duality_gap = 0;
  std::int64_t iterations = 0;   ///< line searches, over all descents
  std::int64_t evaluations = 0;  ///< evaluations of error and gradient
};

/// Errors for unit noise, computed from the returned parameters.
struct FamilyErrors {
  double sensitivity = 0;
  double max_error = 0;   ///< sensitivity times the largest row norm of the decoder
  double mean_error = 0;  ///< sensitivity times the root mean square of the row norms
};

// Banded encoders of least error for prefix sums: Toeplitz, and general with columns of norm 1.

inline constexpr std::int64_t kMaxBandedToeplitzSteps = std::int64_t{1} << 22;
inline constexpr std::int64_t kMaxBandedSteps = std::int64_t{1} << 16;
/// Largest number of steps times bands.
inline constexpr std::int64_t kMaxBandedEntries = std::int64_t{1} << 24;

struct BandedProblem {
  std::int64_t steps = 0;
  std::int64_t bands = 0;  ///< p, with the main diagonal; 1 .. steps
  Objective objective = Objective::mean;
  Participation participation = Participation::single();
};

struct BandedToeplitzOptimum {
  FamilySearch search;
  std::vector<double> coefficients;  ///< p coefficients, the first is 1
  FamilyErrors errors;
};

/// Coefficients of least error: C_ij = c_{i-j} for i - j < p, else 0.
///
/// With single participation, or a separation of at least p, columns of C that a user can touch are
/// orthogonal and the coefficients are free. Over fixed epochs they are free as well, and turn
/// negative where an epoch has passed; inner products of columns then count by their absolute
/// values, which makes the sensitivity an upper bound if some are negative. With any other
/// participation of smaller separation they are kept positive and non-increasing, so that the
/// pattern 0, b, 2b, ... attains the sensitivity.
///
/// p = n is the optimal Toeplitz factorization.
///
/// @exactness    errors at the coefficients found, to a few rounding errors times sqrt(n)
/// @guarantee    none that they are the best; see FamilySearch.
/// @throws Error{invalid_argument} steps outside 1 .. 2^22, bands outside 1 .. steps, a
///         fixed-epoch schema of another horizon, an option out of range.
/// @cost         O(min(n p, n log n)) per evaluation; 100 to 1000 evaluations
/// @source       Kalinin, Lampert, arXiv 2405.13763, for the sensitivity
/// @checked-by   banded_optimum_test
[[nodiscard]] BandedToeplitzOptimum find_banded_toeplitz_optimum(const BandedProblem& problem,
                                                                 const FamilyOptions& options = {});

struct BandedOptimum {
  FamilySearch search;
  /// Row j holds column j of C: C_jj, C_{j+1,j}, ..., p entries, with 0 for entries below the
  /// matrix.
  Matrix columns;
  FamilyErrors errors;
};

/// Least error over lower-triangular C with p bands and columns of norm 1.
///
/// With single participation or a separation of at least p the sensitivity is sqrt(k') exactly,
/// where k' counts the participations within the horizon. p = n spans all factorizations with equal
/// column norms, among which there is an optimal one.
///
/// The mean is minimised directly, the largest row by smooth maxima with multipliers, which end up
/// as the weights of the rows in the dual problem (docs/math/families.md).
///
/// @exactness    row norms by a recursion over n steps in double precision; sensitivity exact
/// @throws Error{invalid_argument} steps outside 1 .. 65536, bands outside 1 .. steps,
///         n p > 2^24; Error{unsupported} a separation below bands.
/// @cost         O(n p^2) per evaluation, 2 n p doubles of memory and 14 n p in the search
/// @source       Choquette-Choo et al., arXiv 2306.08153
/// @checked-by   banded_optimum_test
[[nodiscard]] BandedOptimum find_banded_optimum(const BandedProblem& problem,
                                                const FamilyOptions& options = {});

// Buffered linear Toeplitz strategies of least error for prefix sums.

inline constexpr std::int64_t kMaxBuffers = 8;

struct BltProblem {
  std::int64_t steps = 0;
  Objective objective = Objective::max;
  Participation participation = Participation::single();
  /// 1 .. kMaxBuffers. If unset, buffers are added one by one as long as each gains 0.1 %.
  std::optional<std::int64_t> buffers = {};
};

/// c_0 = 1, c_j = sum_i weights[i] decays[i]^(j-1).
struct BltOptimum {
  FamilySearch search;
  /// theta, decreasing. Fewer than requested if one more gains less than 1e-12 of the error.
  std::vector<double> decays;
  std::vector<double> weights;         ///< omega > 0
  std::vector<double> inverse_decays;  ///< theta^, decays of the inverse; interlacing with theta
  FamilyErrors errors;
};

/// Least error over encoders with interlacing roots 1 > theta_1 > theta^_1 > theta_2 > ... > 0.
///
///     C = [1           ]    c_j = sum_i omega_i theta_i^(j-1)
///         [c_1 1       ]
///         [c_2 c_1 1   ]    B = prefix sums * C^-1
///
/// These coefficients are positive and non-increasing, so the sensitivity of repeated participation
/// is attained by 0, b, 2b, ... and has a closed form.
///
/// @exactness    errors in closed form at the parameters found, up to a few rounding errors
/// @guarantee    none that the parameters are the best; see FamilySearch. More buffers are never
///               worse.
/// @throws Error{invalid_argument} steps outside 1 .. 2^40, buffers, a fixed-epoch schema
///         of another horizon, an option out of range.
/// @cost         milliseconds at any horizon; O(k d^2) per evaluation for k participations.
/// @source       Dvijotham et al., arXiv 2404.16706; McMahan, Pillutla, arXiv 2504.21413;
///               parametrisation in docs/math/families.md
/// @checked-by   blt_optimum_test
[[nodiscard]] BltOptimum find_blt_optimum(const BltProblem& problem,
                                          const FamilyOptions& options = {});

// Buffered linear Toeplitz strategies of least error whose columns are divided by their norms,
// optionally after scaling the rows.

inline constexpr std::int64_t kMaxNormalizedBltSteps = std::int64_t{1} << 24;
inline constexpr std::int64_t kNumRowScaleKnots = 9;

struct BltNormalizedProblem {
  std::int64_t steps = 0;
  Objective objective = Objective::max;
  /// 1 .. kMaxBuffers. If unset, buffers are added one by one as long as each gains 0.1 %.
  std::optional<std::int64_t> buffers = {};
  bool scale_rows = false;
};

struct BltNormalizedOptimum {
  FamilySearch search;
  std::vector<double> decays;          ///< theta, decreasing
  std::vector<double> weights;         ///< omega > 0
  std::vector<double> inverse_decays;  ///< theta^
  /// ln lambda at the knots, see `row_scale`; empty without scale_rows.
  std::vector<double> log_row_scales;
  /// Errors of C' itself, not of the search's approximation to it; the sensitivity is 1.
  FamilyErrors errors;
};

/// lambda_t: ln lambda is linear between kNumRowScaleKnots knots, evenly spaced in
/// ln((t + 1) / (n - t)) from -ln n to ln n.
double row_scale(std::span<const double> log_row_scales, std::int64_t steps, std::int64_t step);

/// Least error over C' = diag(lambda) T D^-1 with T a BLT of interlacing roots, D the column norms
/// of diag(lambda) T, so that every column of C' has norm 1, and lambda = 1 without scale_rows.
///
/// For single participation and prefix sums. The search treats D and lambda as constant over cells
/// whose length is a fraction of the distance to the nearer end: 1/24 to compare starts, 1/128 in
/// its last part, which up to 4096 steps uses single steps instead.
///
/// @exactness    `errors` come from the recursion over all steps, at the parameters found
/// @guarantee    none that the parameters are the best; see FamilySearch (which refers to the
///               cells, if there are cells).
/// @throws Error{invalid_argument} steps outside 1 .. 2^24, buffers, an option out of
///         range.
/// @cost         O(d^2) per step or cell and evaluation
/// @checked-by   blt_normalized_optimum_test
[[nodiscard]] BltNormalizedOptimum find_blt_normalized_optimum(const BltNormalizedProblem& problem,
                                                               const FamilyOptions& options = {});

}  // namespace dpftrl
