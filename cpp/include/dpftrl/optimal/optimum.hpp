// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The factorization of least error, with a proof of how close to least it is.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace dpftrl {

enum class Objective { max, mean };

/// Problem to solve: prefix sums with weight decay (A_ij = decay^(i-j)) and momentum, times
/// learning rates on the columns, with weights on the rows.
struct OptimumProblem {
  std::int64_t num_steps = 0;
  Objective objective = Objective::max;
  double decay = 1;                        ///< alpha, 0 < alpha <= 1
  double momentum = 0;                     ///< beta, 0 <= beta < 1; the horizon is then limited
  std::vector<double> rates = {};          ///< chi_t, positive; empty: all 1. Mean objective only
  std::vector<double> query_weights = {};  ///< rho_i, positive; empty: all 1. Mean objective only
};

/// Longest horizon with momentum, which takes a hundred times as long.
inline constexpr std::int64_t kMaxMomentumSteps = 1 << 16;

/// With momentum, or decay over many times its memory, and the max objective some weights tend to 0
/// and convergence is slow: the solver stops at this gap, with status `stopped`, when a smaller one
/// is asked for. It was reached in 15 to 230 iterations for momentum 0.5 to 0.99, with decay and
/// without, up to 10^4 steps.
inline constexpr double kBarrierGap = 1e-4;

enum class SolverStatus {
  converged,
  stopped,        ///< before the end
  not_converged,  ///< the iterations were used up
  /// The request cannot be met: a gap below what rounding lets be proved, or a family that cannot
  /// be optimised for the participation. The result is the best that can be had, as close as can be
  /// proved.
  infeasible,
};

struct OptimumProgress {
  std::int64_t iteration;
  double gap;  ///< upper bound / lower bound - 1 of the error, so far
};

struct OptimumOptions {
  double gap = 1e-10;  ///< stop when the bounds are this close, relative
  std::int64_t max_iterations = 500;
  /// Called once an iteration; false stops.
  std::function<bool(const OptimumProgress&)> progress = {};
};

struct Optimum {
  SolverStatus status;
  std::int64_t iterations;
  /// Certified: lower_bound <= least error of any factorization <= upper_bound. Mean objective:
  /// root mean square; max: largest. Single participation, unit noise.
  /// Both allow for rounding and for the quadrature's error, each with a proved bound
  /// (docs/math/optimal.md).
  /// @checked-by  optimum_test "its certificates hold for the dense matrices"
  double lower_bound;
  double upper_bound;
  /// v, the dual variables of the columns, sum num_steps: those with the best lower bound, or (max)
  /// with the best upper one, of which the error of a mechanism is a function of first order.
  std::vector<double> column_weights;
  std::vector<double> row_weights;  ///< u, those of the rows
};

/// The iteration, one evaluation at a time, so that the caller can do something else in between.
class OptimumSolver {
 public:
  /// @throws Error{invalid_argument} a number out of range; Error{wrong_length};
  ///         Error{unsupported} rates or query weights with the max objective.
  OptimumSolver(OptimumProblem problem, const OptimumOptions& options);
  ~OptimumSolver();
  OptimumSolver(OptimumSolver&&) noexcept;
  OptimumSolver& operator=(OptimumSolver&&) noexcept;

  /// One iteration. False when there is nothing left to do: converged, or the iterations used up.
  bool advance();
  OptimumProgress progress() const;
  /// The best bounds so far. Status `stopped` before the end.
  Optimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Runs a solver to its end, or until options.progress says stop.
/// @cost  O(num_steps * nodes) an iteration, 24-60 nodes, 30-70 iterations: a second for 10^5
/// steps;
///        memory 35 doubles a step.
[[nodiscard]] Optimum find_optimum(const OptimumProblem& problem, const OptimumOptions& options);

struct OptimumBounds {
  double lower;
  double upper;
};

/// Certified bounds on the least error of any factorization, proved by dual variables alone,
/// whatever their origin, from one evaluation. Any positive numbers give bounds that hold; the
/// better the numbers, the closer they are.
///
/// @param column_weights  v, one a step. Max objective: the rows have the same in reverse.
/// @param accuracy        what the quadrature may add to the distance, relative.
/// @guarantee   as those of Optimum. Numbers too far apart for double precision give the interval
///              from 0 to infinity.
/// @throws Error{wrong_length}; Error{invalid_argument} a number out of range.
/// @cost        that of one iteration of the solver.
/// @checked-by  optimum_test "any dual variables give bounds, perturbed ones worse bounds"
OptimumBounds optimum_bounds(const OptimumProblem& problem, std::span<const double> column_weights,
                             double accuracy);

}  // namespace dpftrl
