// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Errors of factorizations at unit noise, and lower and upper bounds on them.
///
/// ```cpp
/// #include "dpftrl/strategy/catalogue.hpp"
/// const auto strategy = dpftrl::make_strategy({.name = "square-root", .steps = 1000});
/// const dpftrl::UnitError error =
///     dpftrl::unit_error(*strategy, dpftrl::Participation::single());
/// assert(dpftrl::schatten_lower_bound(1000) <= error.mean_error);
/// assert(error.mean_error <= dpftrl::square_root_mean_error_bound(1000));
/// ```

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Error of a factorization at noise multiplier 1, clip norm 1 and zero-out neighbours. Multiply by
/// noise_multiplier * clip * neighbour distance to get input units.
struct UnitError {
  Sensitivity sensitivity;
  double max_error;   ///< sensitivity * max_t ||B_t||
  double mean_error;  ///< sensitivity * ||B||_F / sqrt(steps), the root mean squared error
};

UnitError unit_error(const Strategy& strategy, const Participation& participation);

/// sensitivity * ||B_t|| for every step t.
/// @throws Error{unsupported} more than 2^26 steps.
std::vector<double> unit_error_per_step(const Strategy& strategy,
                                        const Participation& participation);

struct SimultaneousOptions {
  double beta;                 ///< probability of a larger error, 0 < beta < 1
  std::int64_t dimension = 1;  ///< entries of a record, 1..kMaxDimension
};

/// Levels that the errors of all steps together do not exceed with probability 1 - beta, at unit
/// noise. They are upper bounds, each of which holds with that probability individually.
struct SimultaneousError {
  double value;           ///< for every coordinate at every step: the least of the available bounds
  bool uses_correlation;  ///< `value` is the neighbours bound; else it is the product bound
  double union_bound;     ///< `value` by the union bound alone, for comparison
  double norm;            ///< for the l2-norm of the error of a step, largest over the steps
  double frobenius;       ///< for the Frobenius norm of all errors, steps x dimension
  double frobenius_rms;   ///< root of its expected square; not a probability bound
};

/// Bounds the largest error over all steps and coordinates. With N_t the error of a coordinate at
/// step t:
///
///     union      P(max |N_t| > x) <= sum_t P(|N_t| > x)
///     product    P(max |N_t| <= x) >= prod_t P(|N_t| <= x)
///     neighbours P(max |N_t| > x) <= P(|N_1| > x) + sum_t P(|N_t| > x, |N_(t-1)| <= x)
///
/// The neighbours bound is used up to 1024 steps, and up to 2^20 if B is a Toeplitz matrix whose
/// column the strategy keeps. Beyond 2^20 steps, every row is given the largest norm. The bound on
/// the Frobenius norm uses the sum of the eigenvalues of B B^T and, up to 1024 steps, bounds on the
/// largest one and on the sum of their squares; beyond that, a bound on the largest for a Toeplitz
/// matrix as above.
///
/// @exactness  upper bounds. Up to 4096 steps, if the rows of B are orthogonal, `value` is exact,
///             and `norm` for beta up to 1/2. They cover the noise only, not the rounding of a
///             release to its grid.
/// @guarantee  each holds with probability at least 1 - beta. Tails are rounded up, and the results
///             by 2^-34, which covers row norms that are accurate to 10 digits.
/// @throws Error{invalid_argument} beta or dimension outside its range.
/// @cost       a matrix product up to 1024 steps; beyond, O(n log n) up to 2^20 steps.
/// @source     Sidak, JASA 62 (1967); Royen, arXiv 1408.1028, for norms; Hunter, J. Appl. Prob. 13
///             (1976); Laurent, Massart, Ann. Statist. 28 (2000): docs/math/simultaneous.md.
/// @checked-by simultaneous_error_test
SimultaneousError simultaneous_error(const Strategy& strategy, const Participation& participation,
                                     const SimultaneousOptions& options);

/// Method that proved a lower bound.
enum class LowerBoundMethod {
  dual,        ///< dual variables of the optimum, in linear time
  dense_dual,  ///< the same from dense matrices
  schatten,    ///< Schatten-1 norm of the workload
};
std::string_view to_string(LowerBoundMethod method);

/// Lower bound on the error of factorizations whose noise is Gaussian and scaled to their
/// sensitivity. With k participations, the sensitivity, hence the least error, depends on the
/// dimension d of the records (for three unit columns at 120 degrees, the sensitivity is 2 for
/// scalars and 3 / sqrt(2) for vectors). Dual variables of the optimum bound that error if
/// (d + 1)(d + 2) / 2 > k, hence for scalars up to k = 2 (docs/math/optimal.md, section 5).
struct LowerBound {
  double value;
  LowerBoundMethod method;
  /// Smallest dimension of records for which `value` is a bound; it also holds in all larger ones.
  std::int64_t min_dimension = 1;
  /// Best available bound for records of every dimension, including scalars; equals `value` if
  /// min_dimension is 1.
  double every_dimension = value;
};

/// Best certified lower bound that is cheap to compute on the max or RMS error of every
/// factorization of a workload under a participation schema, at unit noise, for records of
/// dimension min_dimension or more.
///
///     prefix sums                 the dual of the optimum, to 10^-5: up to 2^18 steps
///     decay, rates                the same: blocks of 2^18 steps
///     with momentum               the dual of the optimum: blocks of 2^16 steps
///     windows, matrices           the dense dual: blocks of 128 steps
///     fixed epochs                the dense dual, up to 128 steps; for prefix sums and decay, the
///                                 dual of the optimum, to 10^-4, if steps * epochs^2 <= 2^22
///     all                         error_lower_bound
///
/// Blocks give valid bounds because rows of B and columns of C factorize a diagonal block of A.
/// For rates, the dual of the optimum bounds the mean error only, over blocks or leading steps, and
/// the dense dual of the first 128 steps bounds the max error. A user with a minimum separation may
/// keep to fixed epochs, so bounds for epochs apply, too; epochs that do not fit the horizon bound
/// the max error, over the first steps. A bound for one participation also holds for more, and a
/// bound on the mean error also holds for the max error; the largest bound that holds is returned.
///
/// @guarantee  no factorization has an error below `value` for records of dimension min_dimension
///             or more, nor below `every_dimension` for any records, rounding included.
/// @cost       at most a few tenths of a second in native code; a few seconds for fixed epochs if
///             steps * epochs^2 is near its limit.
/// @checked-by dense_test "no strategy is below it and the optimum is close",
///             dense_optimum_test "a factorization for numbers is below the bound for vectors"
std::optional<LowerBound> certified_lower_bound(const Workload& workload,
                                                const Participation& participation,
                                                Objective objective);

/// The bound with the larger `value`, with the larger `every_dimension` of the two; empty if both
/// are empty.
std::optional<LowerBound> better_bound(const std::optional<LowerBound>& a,
                                       const std::optional<LowerBound>& b);

/// The better of certified_lower_bound for the strategy's workload and the strategy's own bound,
/// from the solver that made it or from its dual variables. For one participation, only the second
/// is computed if it comes from a dense search or covers more than 2^14 steps. For active people,
/// it is the bound for one participation with zero_out; empty with replace_one.
std::optional<LowerBound> certified_lower_bound(const Strategy& strategy,
                                                const Participation& participation,
                                                Objective objective);

/// Certified bounds on the least RMS error of any factorization over fixed epochs, for records of
/// dimension min_dimension or more.
struct LeastError {
  double lower, upper;
  std::int64_t min_dimension;
};
/// @param gap  the search ends when upper / lower - 1 is at most this, or after 200 iterations.
/// @throws Error{unsupported} workloads other than prefix sums and decay, participations other than
///         fixed epochs, steps * epochs^2 above 2^23; Error{invalid_argument} more than 64 epochs,
///         epochs of another horizon.
/// @checked-by epoch_optimum_test "the least error over epochs is that of dense matrices"
LeastError least_error(const Workload& workload, const Participation& participation, double gap);

/// Variances of the step-to-step increments of the noise of prefix sums, for Z of variance 1. They
/// are the squared row norms of A^-1 B, which is C^-1 if C is square.
/// @exactness  to rounding; for a Toeplitz encoder of p bands with n p of 2^26 or more, to rounding
///             of the largest entry of C^-1.
/// @throws Error{unsupported} another workload; an encoder that is not Toeplitz, beyond
///         kMaxDenseSteps steps.
/// @cost       O(n min(p, log n)) for Toeplitz encoders; for all others, the dense decoder.
/// @checked-by increment_variances_test
std::vector<double> increment_variances(const Strategy& strategy);

// Bounds on the errors of factorizations at unit noise, for one participation unless another is
// given.

/// Schatten-1 lower bound on the mean and max error of EVERY factorization of the prefix sums,
///     (1/n) sum_{i=1..n} 1 / (2 sin((2i-1) pi / (4n+2))).
/// Beyond 2^22 steps, a lower bound on that sum, about 4 parts in 10^4 below it.
///
/// @guarantee  at most the error of any factorization, rounding included.
/// @cost       O(n) up to 2^22 steps, O(1) beyond.
/// @source     Henzinger, Upadhyay, Upadhyay, "Almost Tight Error Bounds on Differentially Private
///             Continual Counting", SODA 2023, Lemma 1 and Theorem 19.
/// @checked-by bounds_test "no strategy is below the lower bound"
double schatten_lower_bound(std::int64_t steps);

/// Lower bound on the mean error of every factorization of a workload, from any positive weights v
/// of the columns: ||A D_v^(1/2)||_* / sqrt(n sum v). v = 1 is the Schatten bound.
///
/// @param column_weights  one positive number per step.
/// @guarantee  at most the mean (hence the max) error of every factorization: evaluated as
///             <Q, A D_v^(1/2)> with an explicit Q, divided by an upper bound on ||Q||_op that
///             allows for rounding.
/// @throws Error{unsupported} more than kMaxCertificateSteps steps; Error{wrong_length};
///         Error{invalid_argument} a weight that is not positive and finite.
/// @cost       O(n^3): 30 products of matrices, 0.2 s at 256 steps and 1.2 s at 512 on one core.
/// @checked-by bounds_test "certificates hold for any weights", "is attained by the optimum",
///             "is the nuclear norm never above it and hardly below"
double mean_error_certificate(const Workload& workload, std::span<const double> column_weights);

/// Lower bound on the max error of every factorization, from any non-negative weights u of the rows
/// (not all 0) and positive v of the columns: ||D_u^(1/2) A D_v^(1/2)||_* / sqrt(sum u sum v).
/// Guarantee and exceptions as for mean_error_certificate.
double max_error_certificate(const Workload& workload, std::span<const double> row_weights,
                             std::span<const double> column_weights);

inline constexpr std::int64_t kMaxCertificateSteps = 1024;

/// Number of participation patterns that cover each step once: every b-th step, in patterns of k
/// steps as far as possible.
/// @throws Error{invalid_argument} a fixed-epoch schema whose k b is not steps.
std::int64_t num_patterns_to_cover(std::int64_t steps, const Participation& participation);

/// Certified lower bound on the mean and max error of every factorization. It is in closed form for
/// prefix sums; for other workloads it is mean_error_certificate with v = 1, applied beyond 256
/// steps to diagonal blocks (of one step for rates beyond 4096 steps). It is multiplied by sqrt(n /
/// T), where T patterns cover all steps, because orthogonal contributions of one user add up the
/// squared norms of their columns (docs/math/optimal.md, section 5).
///
/// @guarantee  at most the error of any factorization, rounding included.
/// @checked-by bounds_test "no strategy is below the lower bound", "blocks bound the whole",
///             catalogue_test
double error_lower_bound(const Workload& workload,
                         const Participation& participation = Participation::single());

/// Upper bound on the max error of the square-root factorization (its squared sensitivity):
/// 1 + ln((4n-1)/3) / pi. Replaces the published 1 + ln(4n/5)/pi, which is below the true value at
/// every n.
/// @checked-by bounds_test "square-root stays below its corrected bounds"
double square_root_max_error_bound(std::int64_t steps);

/// Upper bound on the mean error of the square-root factorization:
/// sqrt((1 + ln((4n-1)/3)/pi) (1 + ln((2n+1)/3)/pi)).
double square_root_mean_error_bound(std::int64_t steps);

/// Errors of the square-root factorization, with S_n = sum_{j<n} f_j^2 and f its coefficients.
struct SquareRootErrors {
  double max;           ///< largest error, which is also the squared column norm: S_n
  double mean_squared;  ///< mean squared error: S_n ((1 + 1/(4n)) S_n - n f_n^2)
};
/// @exactness  to rounding up to 2^22 steps; beyond, S_n is the expansion of Landau's constants, to
///             one part in 10^12.
/// @cost       O(n) up to 2^22 steps, O(1) beyond.
/// @checked-by bounds_test "errors of the square root in closed form are those of its matrices"
SquareRootErrors square_root_errors(std::int64_t steps);

/// A published bound, and the horizons at which it was found to hold.
struct PublishedBound {
  double value;
  bool holds;               ///< found to hold at this horizon; false if it fails or was not checked
  std::int64_t holds_from;  ///< the first horizon from which it was found to hold; 0: none
  std::int64_t checked_to;  ///< the largest horizon at which it was checked: 2^22
};

/// 1 + ln(4n/5)/pi (Henzinger, Upadhyay, Upadhyay 2023), as a bound on the max error (squared
/// sensitivity) of the square root: false for every n.
PublishedBound published_max_error_bound(std::int64_t steps);
/// 1 + ln(4n/5)/pi as a bound on the mean error of the square root: false for n <= 6, holds from 7.
PublishedBound published_mean_error_bound(std::int64_t steps);
/// (2 + ln((2n+1)/5) + ln(2n+1)/(2n)) / pi, a lower bound on the mean error of every factorization:
/// holds, and lies below schatten_lower_bound.
/// @checked-by bounds_test "published bounds hold exactly where they say so"
PublishedBound published_lower_bound(std::int64_t steps);

/// Notion of privacy that an arbitrary mechanism satisfies.
enum class PrivacyNotion { pure, concentrated };

struct MechanismBoundOptions {
  std::int64_t steps;
  PrivacyNotion notion;
  double parameter;  ///< epsilon of pure or rho of zero-concentrated differential privacy
};

/// Lower bounds on the RMS errors, over the mechanism's randomness, of mechanisms that need not be
/// factorizations, for prefix sums of one coordinate with records in [-1, 1], zero-out neighbours
/// and single participation. Each bound holds for some stream; for unbiased mechanisms, for the
/// stream of zeros.
struct MechanismBounds {
  double unbiased_max;   ///< largest error of every unbiased mechanism
  double unbiased_mean;  ///< RMS error over the steps, of every unbiased mechanism
  double every;          ///< RMS error over the steps, and hence largest error, of every mechanism
  std::int64_t block_length;  ///< length of the blocks of equal records that prove `every`
};

/// Unbiased: certified_lower_bound / sqrt(chi), chi = e^(2 rho) - 1 or e^epsilon + e^-epsilon - 2.
/// Every mechanism: from blocks of L equal records and a prior on them,
///
///     ||A D||_* / (sqrt(n n') (1 + sqrt(chi_L))),   n' blocks, chi_L for L^2 rho or L epsilon,
///
/// where the columns of D are the indicators of the blocks.
///
/// @guarantee  no larger than the error of any mechanism of that kind, rounding included.
/// @throws Error{invalid_argument} steps outside 1..kMaxNumSteps; the parameter, by its name
///         (epsilon or rho), not positive and finite.
/// @cost       as certified_lower_bound, and O(n).
/// @source     docs/math/mechanism-bounds.md.
/// @checked-by mechanism_bounds_test
MechanismBounds mechanism_bounds(const MechanismBoundOptions& options);

/// Proved lower bound on the variance of noise that makes a number (epsilon, delta)-private under
/// changes by 1. The noise may have any law, but the same law for every number.
/// @guarantee  no such law has less variance, rounding included. The bound is the larger of a dual
///             bound, by the pair of functions that is best for integers (for delta = 0,
///             2 e^-epsilon / (1 - e^-epsilon)^2), and one from the total variation distance; 0 if
///             neither proves anything.
/// @throws Error{invalid_argument} epsilon not positive and finite; delta outside [0, 1).
/// @source     docs/math/mechanism-bounds.md.
/// @checked-by added_noise_test "no law of integers that is private has less variance"
double least_added_variance(const ApproximateDp& target);

/// Lower bounds on the errors of A x + Z under (epsilon, delta), where Z is any noise that does not
/// depend on the stream x, for the streams of mechanism_bounds: certified_lower_bound times the
/// square root of `variance`. Throws as least_added_variance.
struct AddedNoiseBounds {
  double max;
  double mean;
  double variance;  ///< least_added_variance
};
AddedNoiseBounds added_noise_bounds(std::int64_t steps, const ApproximateDp& target);

}  // namespace dpftrl
