// SPDX-License-Identifier: Apache-2.0
#pragma once

/// l2-sensitivity of an encoder C under a participation schema:
///
///     sens^2 = max over patterns pi of  sup over ||u_i|| <= 1 of
///                  || sum_{i in pi} C_{:,i} u_i^T ||_F^2
///           <= max over pi of sum_{i,j in pi} |X_ij|,        X = C^T C,
///
/// with equality where X_ij >= 0 on the pattern.
///
/// ```cpp
/// #include "dpftrl/strategy/catalogue.hpp"
/// const auto strategy = dpftrl::make_strategy({.name = "tree", .steps = 8});
/// const dpftrl::Sensitivity once =
///     dpftrl::sensitivity(*strategy, dpftrl::Participation::single());
/// assert(once.exactness == dpftrl::Exactness::exact);
/// assert(once.value == 2);  // a record is in nodes of four levels
/// ```

#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

enum class Exactness { exact, upper_bound };
std::string_view to_string(Exactness exactness);

struct Sensitivity {
  double value;  ///< in clip norms, for neighbours at distance 1
  Exactness exactness;
  std::string_view method;  ///< how it was computed, in words
};

/// l2-sensitivity of a strategy: how far C G moves when one user's rows of G change by norm 1 each.
/// It is the first of the following that is exact, else the smallest:
///
///     one participation          largest column norm
///     dyadic trees               exact search over the tree, else a bound level by level
///     Toeplitz C                 toeplitz_sensitivity
///     b-banded C, b <= distance  columns are orthogonal: largest_pattern_sum of their squares
///     other known structures     closed forms, sums over phases, restarts, scales, levels of trees
///     any C, up to 1024 steps    gram_sensitivity of the dense C^T C
///     any C                      k times the largest column norm (triangle inequality)
///
/// For active people, whose records are changes of -1, 0 and 1, it is the largest distance between
/// neighbouring streams, divided by neighbour_distance: in closed form, or from the dense C^T C up
/// to 1024 steps (docs/math/active.md).
///
/// @exactness      see `exactness` and `method` of the result.
/// @guarantee      never below the true value (to 2^-39 relative; Mechanism rounds the noise up by
///                 more, and by encoder_slack()).
/// @throws Error{invalid_argument} a fixed-epoch schema that does not fit the horizon;
///         Error{unsupported} active people with a workload other than prefix sums, or with more
///         than 1024 steps and no closed form.
/// @checked-by     sensitivity_test "never below brute force ...", active_sensitivity_test
Sensitivity sensitivity(const Strategy& strategy, const Participation& participation);

/// Sensitivity if the rows of one user are replaced by others at any steps that the participation
/// allows, where rows have norm at most 1 / sqrt(2) and no two of them have a negative inner
/// product:
///
///     sup over patterns pi, pi' of
///         || sum_{i in pi} C_{:,i} u_i^T - sum_{j in pi'} C_{:,j} v_j^T ||_F
///
/// It is `sensitivity` for every encoder without negative inner products of columns, and at most
/// sqrt(2) times as much for any.
///
/// @exactness   where no inner product is negative, that of `sensitivity`, attained by orthogonal
///              rows at the same steps; else exact for one participation up to 1024 steps, and
///              otherwise an upper bound.
/// @guarantee   as `sensitivity`. Includes the part of encoder_slack() that Mechanism, which
///              assumes one pattern of steps, does not cover.
/// @throws      as sensitivity.
/// @cost        for encoders with negative inner products, that of C^T C up to 1024 steps, else up
///              to 2^27 products.
/// @source      docs/math/sensitivity.md, "Records that move"
/// @checked-by  moving_sensitivity_test "is never below any two streams and equal where called
///              exact"
Sensitivity moving_sensitivity(const Strategy& strategy, const Participation& participation);

/// Sensitivity of the lower-triangular Toeplitz encoder with the given first column,
/// steps = coefficients.size(). Exact for one participation, for non-negative coefficients in fixed
/// epochs (the first phase is the worst), and for non-negative non-increasing ones at a minimum
/// separation (the pattern 0, b, 2b, ... is the worst). For other coefficients in fixed epochs, the
/// result is the square root of the sum of |X_ij| over the first phase, X = C^T C: an upper bound,
/// exact if none of these X_ij is negative. If that takes more than 2^27 operations, it is the
/// bound for |c_j|. For other coefficients at a minimum separation, it is an upper bound: the
/// sensitivity for the non-increasing majorant max_{j >= i} |c_j|. Takes O(steps) time, and memory
/// for one pair of doubles per step of the separation; if a coefficient is negative, in fixed
/// epochs, p / b times O(p + k) time, where p counts the coefficients up to the last non-zero one.
/// @source  Kalinin, Lampert, arXiv 2405.13763, Theorem 2; docs/math/sensitivity.md.
Sensitivity toeplitz_sensitivity(std::span<const double> coefficients,
                                 const Participation& participation);

/// max_{j >= i} |c_j| for every i.
std::vector<double> non_increasing_majorant(std::span<const double> coefficients);

/// Largest sum of values over an allowed pattern. The values must not be negative. For squared
/// column norms, this is the squared sensitivity of an encoder whose columns are orthogonal at the
/// allowed distances (b-banded and square, b <= separation). O(n) for fixed epochs and for
/// non-increasing values, else a dynamic program in O(n k).
/// @throws Error{unsupported} a dynamic program with n k > 2^30.
/// @source  Choquette-Choo et al., arXiv 2306.08153, Algorithm 3.
double largest_pattern_sum(std::span<const double> values, const Participation& participation);

/// Sensitivity from the Gram matrix X = C^T C. Its square is the max over patterns of sum |X_ij|
/// for single participation and fixed epochs, exact if no X_ij involved is negative. For a minimum
/// separation, it is the same if a dynamic program finds the worst pattern in 2^20 operations, as
/// it does if few columns have non-zero inner products or k is small; it is then also exact if some
/// signs of the contributions attain it. Otherwise, it is the bound of Choquette-Choo et al., arXiv
/// 2306.08153: v_i = largest_pattern_sum(|X_i|), sens^2 <= largest_pattern_sum(v), which is exact
/// if X is non-negative and an evenly spaced pattern attains it. O(n^2 k).
Sensitivity gram_sensitivity(const Matrix& gram, const Participation& participation);

/// l1-sensitivity of a strategy: how far C G moves in l1-norm, over all entries of all
/// measurements, when one user's rows of G change by l1-norm 1 each. It is the largest sum of the
/// l1-norms of columns of C over a pattern. With independent Laplace noise of scale
/// l1_sensitivity / epsilon (twice that if records of l1-norm 1 are replaced rather than left out)
/// in the entries of Z, the releases are epsilon-differentially private, also for adaptively chosen
/// records and for encoders that read later steps.
///
/// @exactness   exact for one participation, for multiples of the identity, and for any C without
///              negative entries, except k-ary trees with many steps and participations; otherwise
///              an upper bound
/// @throws Error{unsupported} more than kMaxDenseSteps steps, except for k-ary trees and multiples
///         of the identity
/// @source      docs/math/pure.md, section 3
/// @checked-by  sensitivity_test "Laplace noise of this scale is purely private, against adaptive
///              adversaries, too"
Sensitivity l1_sensitivity(const Strategy& strategy, const Participation& participation);

/// Test oracle: the square root of the max over ALL patterns of sum_{i,j in pi} |X_ij|; exact in
/// every dimension if X is non-negative on the patterns, else an upper bound.
/// @throws Error{unsupported} more than 2^22 patterns.
Sensitivity brute_force_sensitivity(const Matrix& encoder, const Participation& participation);

/// The supremum for one-dimensional records: max over all patterns and signs of ||C u||. A lower
/// bound on the true value in every dimension.
/// @throws Error{unsupported} more than 2^22 patterns and signs.
double brute_force_scalar_sensitivity(const Matrix& encoder, const Participation& participation);

}  // namespace dpftrl
