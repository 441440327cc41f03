// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The factorization of least error, with a certificate of its distance from the optimum.
///
/// ```cpp
/// const dpftrl::Optimum best =
///     dpftrl::find_optimum({.steps = 64, .objective = dpftrl::Objective::mean}, {});
/// assert(best.status == dpftrl::SolverStatus::converged);
/// assert(best.lower_bound <= best.upper_bound && best.upper_bound < 2.2);
/// ```

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

enum class Objective { max, mean };

/// Problem to solve: prefix sums with weight decay (A_ij = decay^(i-j)), momentum and learning
/// rates, as in Workload, with weights on the squared errors of the rows.
struct OptimumProblem {
  std::int64_t steps = 0;
  Objective objective = Objective::max;
  double decay = 1;                        ///< alpha, 0 < alpha <= 1
  double momentum = 0;                     ///< beta, 0 <= beta < 1; if > 0, up to kMaxMomentumSteps
  std::vector<double> rates = {};          ///< chi_t, positive; empty: all 1. Mean objective only
  std::vector<double> query_weights = {};  ///< rho_i, positive; empty: all 1. Mean objective only
};

/// Longest horizon with momentum, which makes an iteration take about a hundred times as long.
inline constexpr std::int64_t kMaxMomentumSteps = 1 << 16;

// Limits of the dense solver, see dense_optimum.hpp.
inline constexpr std::int64_t kMaxDenseOptimumColumns = 2048;
inline constexpr std::int64_t kMaxDenseOptimumRows = std::int64_t{1} << 16;
inline constexpr std::int64_t kMaxFixedEpochOptimumSteps = 1024;
/// Largest number of epochs for which all signs of a user's contributions are enumerated.
inline constexpr std::int64_t kMaxSignedEpochs = 8;

/// Gap at which the solver stops, with status `stopped`, even if a smaller one is requested, for
/// the max objective with momentum, or with decay over a horizon of many times its memory. Some
/// weights then tend to 0 and convergence is slow. Reaching this gap took 15 to 230 iterations for
/// momentum 0.5 to 0.99, with and without decay, up to 10^4 steps.
inline constexpr double kBarrierGap = 1e-4;

enum class SolverStatus {
  converged,
  stopped,        ///< ended early
  not_converged,  ///< ran out of iterations
  /// The request cannot be met: rounding errors prevent a proof of so small a gap, or the family
  /// cannot be optimised for the participation. The result is the best available.
  infeasible,
};

struct OptimumProgress {
  std::int64_t iteration;
  double gap;  ///< upper bound / lower bound - 1 of the error, so far
};

struct OptimumOptions {
  double gap = 1e-10;  ///< relative gap of the bounds at which to stop
  std::int64_t max_iterations = 500;
  /// Called once per iteration; return false to stop.
  std::function<bool(const OptimumProgress&)> progress = {};
};

struct Optimum {
  SolverStatus status;
  std::int64_t iterations;
  /// Certified: lower_bound <= least error of any factorization <= upper_bound. The error is the
  /// RMS error for the mean objective and the largest error for max, under single participation
  /// with unit noise. Both bounds allow for proved bounds on the errors of rounding and of the
  /// quadrature (docs/math/optimal.md).
  /// @checked-by  optimum_test "its certificates hold for the dense matrices"
  double lower_bound;
  double upper_bound;
  /// v, the dual variables of the columns, with sum `steps`. They belong to the best lower bound
  /// or, for the max objective, to the best upper bound, because the max error of a mechanism
  /// depends on them to first order.
  std::vector<double> column_weights;
  std::vector<double> row_weights;  ///< u, the dual variables of the rows
};

/// Solver that runs one evaluation at a time, so that the caller can do other work in between.
class OptimumSolver {
 public:
  /// @throws Error{invalid_argument} a number out of range; Error{wrong_length};
  ///         Error{unsupported} rates or query weights with the max objective.
  OptimumSolver(OptimumProblem problem, const OptimumOptions& options);
  ~OptimumSolver();
  OptimumSolver(OptimumSolver&&) noexcept;
  OptimumSolver& operator=(OptimumSolver&&) noexcept;

  /// Runs one iteration. Returns false when the search has ended.
  bool advance();
  OptimumProgress progress() const;
  /// The best bounds so far, with status `stopped` before the end.
  Optimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Runs a solver to its end, or until options.progress returns false.
/// @cost  O(steps * nodes) per iteration, 24-60 nodes, 30-70 iterations: a second for 10^5 steps;
///        memory 13 doubles per step, or 33 below 2^17 steps.
[[nodiscard]] Optimum find_optimum(const OptimumProblem& problem, const OptimumOptions& options);

struct OptimumBounds {
  double lower;
  double upper;
};

/// Certified bounds on the least error of any factorization, proved from dual variables alone in
/// one evaluation. The bounds hold for any positive numbers; they are close if the numbers are
/// close to the optimal ones.
///
/// @param column_weights  v, one per step. For the max objective, the rows have the same weights in
///                        reverse order.
/// @param accuracy        relative amount that the quadrature may add to the gap between the
///                        bounds.
/// @guarantee   as for Optimum. Numbers too far apart for double precision give the interval from 0
///              to infinity.
/// @throws Error{wrong_length}; Error{invalid_argument} a number out of range.
/// @cost        one iteration of the solver.
/// @checked-by  optimum_test "any dual variables give bounds, perturbed ones worse bounds"
OptimumBounds optimum_bounds(const OptimumProblem& problem, std::span<const double> column_weights,
                             double accuracy);

namespace detail {
class PackedNumbers;
}

/// Coefficients of a buffered recursion that change from step to step; see VaryingBufferedDecoder.
struct VaryingBuffers {
  std::int64_t buffers;                ///< q
  std::vector<double> inverse_scales;  ///< 1 / c_t, one per step, positive
  std::vector<double> gains;           ///< g_t, q per step
  std::vector<double> factors;         ///< phi_t, q per step, in (0, 1]
  /// Upper bounds on the standard deviations of a row w_0 + ... + w_t and of a state. The error
  /// bounds of the noise are computed from them.
  double max_row_stddev;
  double max_state_stddev;
  /// Packed gains and factors of long recursions made by the library, in a sixth of the memory;
  /// `gains` and `factors` are then empty.
  std::shared_ptr<const detail::PackedNumbers> packed = nullptr;
};

/// A lower-triangular encoder with few bands whose entries change from step to step; see
/// VaryingBandedDecoder.
struct VaryingBands {
  std::int64_t bands;  ///< p, including the main diagonal
  /// C_{t,t} > 0, C_{t,t-1}, ..., C_{t,t-p+1}: p per step, 0 where the column would be negative.
  std::vector<double> entries;
  /// Upper bound on the standard deviation of a row w_0 + ... + w_t. The error bounds of the noise
  /// are computed from it.
  double max_row_stddev;
};

}  // namespace dpftrl
