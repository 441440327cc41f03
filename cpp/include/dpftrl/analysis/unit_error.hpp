// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

/// Error of a factorization at noise multiplier 1 and clip norm 1, zero-out neighbours: multiply by
/// noise_multiplier * clip_norm * neighbour distance for input units.
struct UnitError {
  Sensitivity sensitivity;
  double max_error;   ///< sensitivity * max_t ||B_t||
  double mean_error;  ///< sensitivity * ||B||_F / sqrt(num_steps), the root mean squared error
};

UnitError unit_error(const Strategy& strategy, const Participation& participation);

/// sensitivity * ||B_t|| for every step t.
/// @throws Error{unsupported} more than 2^26 steps.
std::vector<double> unit_error_per_step(const Strategy& strategy,
                                        const Participation& participation);

/// How a lower bound was found.
enum class LowerBoundMethod {
  dual,        ///< dual variables of the optimum, in linear time
  dense_dual,  ///< the same from dense matrices
  schatten,    ///< Schatten-1 norm of the workload
};
std::string_view to_string(LowerBoundMethod method);

/// Factorizations whose noise is Gaussian and scaled to their sensitivity. The sensitivity to k
/// participations depends on the dimension d of the records (three columns at 120 degrees are moved
/// by 2 by numbers, by 3 by vectors), and so does the least error: dual variables bound it where
/// (d + 1)(d + 2) / 2 > k, hence numbers up to k = 2 (docs/math/optimal.md, section 5).
struct LowerBound {
  double value;
  LowerBoundMethod method;
  /// The least dimension of records for which `value` is a bound, and so for all larger ones.
  std::int64_t min_dimension = 1;
  /// The best bound at hand for records of every dimension, numbers too; `value` where
  /// min_dimension is 1.
  double every_dimension = value;
};

/// The best certified lower bound that is cheaply had on the error of every factorization of a
/// workload under that participation, for records of min_dimension numbers or more: unit noise,
/// largest or root mean square error.
///
///     prefix sums, decay, rates   the dual of the optimum, to 10^-5: blocks of 2^18 steps
///     with momentum               the same: blocks of 2048 steps
///     windows, matrices           the dense dual: blocks of 128 steps
///     fixed epochs                the dense dual, up to 128 steps
///     all                         error_lower_bound
///
/// A block on the diagonal of A is factorized by rows of B and columns of C. Rates have the dual of
/// the mean error only, of blocks or first parts of the steps, and the dense one of the largest.
/// A user with a least separation may keep to fixed epochs, over the first steps if they do not fit
/// the horizon.
/// A bound for one participation, or for the mean error, holds for more and for the largest; it is
/// taken where there is none of its own, or a lower one.
///
/// @guarantee  `value` is at most the error of any factorization for records of min_dimension
///             numbers or more, `every_dimension` of any factorization, rounding included.
/// @cost       at most some tenths of a second in native code.
/// @checked-by dense_test "no strategy is below it and the optimum is close",
///             dense_optimum_test "a factorization for numbers is below the bound for vectors"
std::optional<LowerBound> certified_lower_bound(const Workload& workload,
                                                const Participation& participation,
                                                Objective objective);

/// The larger one, and the larger of what they say of every dimension; empty where both are.
std::optional<LowerBound> better_bound(const std::optional<LowerBound>& a,
                                       const std::optional<LowerBound>& b);

/// The same for the strategy's workload, or what the strategy itself knows better: the solver that
/// made it, or the dual variables it is made of.
std::optional<LowerBound> certified_lower_bound(const Strategy& strategy,
                                                const Participation& participation,
                                                Objective objective);

}  // namespace dpftrl
