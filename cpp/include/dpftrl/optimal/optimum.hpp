// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The factorization of least error, with a certificate of its distance from the optimum.
///
/// ```cpp
/// const dpftrl::Optimum best =
///     dpftrl::find_optimum({.steps = 64, .objective = dpftrl::Objective::mean}, {});
/// assert(best.status == dpftrl::SolverStatus::converged);
/// // Any workload, by dense matrices: here the same one.
/// const dpftrl::DenseOptimum dense = dpftrl::find_dense_optimum(
///     {.queries = dpftrl::Matrix::Ones(64, 64).triangularView<Eigen::Lower>(),
///      .objective = dpftrl::Objective::mean});
/// assert(dense.lower_bound <= best.upper_bound && best.lower_bound <= dense.upper_bound);
/// ```

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

enum class Objective { max, mean };

/// Problem to solve: prefix sums with weight decay (A_ij = decay^(i-j)) and momentum, times
/// learning rates on the columns, with weights on the rows.
struct OptimumProblem {
  std::int64_t steps = 0;
  Objective objective = Objective::max;
  double decay = 1;                        ///< alpha, 0 < alpha <= 1
  double momentum = 0;                     ///< beta, 0 <= beta < 1; the horizon is then limited
  std::vector<double> rates = {};          ///< chi_t, positive; empty: all 1. Mean objective only
  std::vector<double> query_weights = {};  ///< rho_i, positive; empty: all 1. Mean objective only
};

/// Longest horizon with momentum, which takes about a hundred times as long.
inline constexpr std::int64_t kMaxMomentumSteps = 1 << 16;

/// Gap at which the solver stops, with status `stopped`, even if a smaller one is requested, for
/// the max objective with momentum, or with decay over many times its memory. Some weights then
/// tend to 0 and convergence is slow. It took 15 to 230 iterations for momentum 0.5 to 0.99, with
/// and without decay, up to 10^4 steps.
inline constexpr double kBarrierGap = 1e-4;

enum class SolverStatus {
  converged,
  stopped,        ///< ended early
  not_converged,  ///< ran out of iterations
  /// The request cannot be met: the gap is below what rounding allows to prove, or the family
  /// cannot be optimised for the participation. The result is the best available, as close as can
  /// be proved.
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
  /// RMS error for the mean objective and the largest for max, under single participation with unit
  /// noise. Both bounds allow for rounding and for the quadrature's error, each with a proved bound
  /// (docs/math/optimal.md).
  /// @checked-by  optimum_test "its certificates hold for the dense matrices"
  double lower_bound;
  double upper_bound;
  /// v, the dual variables of the columns, with sum n = steps. They belong to the best lower bound
  /// or, for the max objective, to the best upper bound, on which the error of a mechanism depends
  /// to first order.
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

  /// Runs one iteration. Returns false at the end: converged, or out of iterations.
  bool advance();
  OptimumProgress progress() const;
  /// Returns the best bounds so far, with status `stopped` before the end.
  Optimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Runs a solver to its end, or until options.progress returns false.
/// @cost  O(steps * nodes) per iteration, 24-60 nodes, 30-70 iterations: a second for 10^5
///        steps; memory 13 doubles per step, below 2^17 steps 33.
[[nodiscard]] Optimum find_optimum(const OptimumProblem& problem, const OptimumOptions& options);

struct OptimumBounds {
  double lower;
  double upper;
};

/// Certified bounds on the least error of any factorization, proved from dual variables alone in
/// one evaluation. The bounds hold for any positive numbers; they are close if the numbers are
/// close to the optimal ones.
///
/// @param column_weights  v, one per step. For the max objective, the rows have the same in
///                        reverse.
/// @param accuracy        relative amount that the quadrature may add to the distance.
/// @guarantee   as for Optimum. Numbers too far apart for double precision give the interval from 0
///              to infinity.
/// @throws Error{wrong_length}; Error{invalid_argument} a number out of range.
/// @cost        that of one iteration of the solver.
/// @checked-by  optimum_test "any dual variables give bounds, perturbed ones worse bounds"
OptimumBounds optimum_bounds(const OptimumProblem& problem, std::span<const double> column_weights,
                             double accuracy);

// The factorization of least error of any matrix, with a certificate, by dense eigendecompositions.
// It covers the problems that the linear-time solver above does not.

inline constexpr std::int64_t kMaxDenseOptimumColumns = 2048;
inline constexpr std::int64_t kMaxDenseOptimumRows = std::int64_t{1} << 16;
inline constexpr std::int64_t kMaxFixedEpochOptimumSteps = 1024;

/// Positive dual variables to start from; they only affect how long the solver takes.
struct DenseOptimumStart {
  std::vector<double> column_weights = {};  ///< one per column; empty: all equal
  std::vector<double> row_weights = {};     ///< one per row; only with column_weights and max
};

/// Minimises over all factorizations F = B C the sensitivity of C times
///
///     mean    ||B||_F / sqrt(num rows)        (single participation: gamma_F / sqrt(num rows))
///     max     max_i ||B_i||                   (gamma_2)
struct DenseOptimumProblem {
  /// F: a workload, or one linear query per row. No row or column may be zero.
  Matrix queries;
  Objective objective = Objective::max;
  /// Single participation, or fixed epochs, where columns s, s + b, ... belong to one user.
  Participation participation = Participation::single();
  /// Only for one participation. Starting from the result of find_optimum leaves one iteration.
  DenseOptimumStart start = {};
};

/// Dual variables in the form from which a lower bound is proved, for k steps per user and n
/// columns.
struct DenseDuals {
  /// M, Lambda = M M^T: a k x k matrix for each phase s, s + b, ... of a user's steps, column after
  /// column, n k numbers; for one participation, the square roots of v.
  std::vector<double> columns = {};
  std::vector<double> rows = {};  ///< max objective: square roots of u, one per row; mean: empty
};

struct DenseOptimum {
  SolverStatus status;
  std::int64_t iterations;
  /// Certified: lower_bound <= least error of any factorization <= upper_bound, for records of
  /// dimension least_dimension_of_duals(k) or more; for smaller ones the least error can be
  /// smaller.
  /// @exactness   rounding included, no quadrature: the lower bound is an inner product with an
  ///              explicit matrix whose norm is bounded, the upper one the error of an explicit
  ///              factorization whose residual is factorized, too (docs/math/optimal.md).
  /// @checked-by  dense_optimum_test "certificates are verified by singular values"
  double lower_bound;
  /// Lower bound for records of every dimension, including scalars. Equals lower_bound up to 2
  /// epochs; 0 for more than kMaxSignedEpochs.
  double every_dimension_bound;
  double upper_bound;
  /// C, num columns x num columns, of sensitivity 1 to rounding; with zero rows if F does not have
  /// full column rank. Best together with B = F C^+. Only C^T C matters: C is not triangular.
  Matrix encoder;
  /// Dual variables that prove the lower bound: Lambda of the columns, square, positive, with
  /// entries only between steps of one user, and u of the rows (1 for the mean objective).
  Matrix column_weights;
  std::vector<double> row_weights;
  DenseDuals duals;  ///< the same in the form that dense_lower_bounds takes
};

/// Solver that runs one evaluation at a time.
class DenseOptimumSolver {
 public:
  /// @throws Error{invalid_argument} sizes or entries out of range, a zero row or column, a
  ///         fixed-epoch schema of another horizon, a start that is not positive;
  ///         Error{wrong_length} a start of another size; Error{unsupported} a minimum separation
  ///         with repeated participation, fixed epochs beyond kMaxFixedEpochOptimumSteps steps or
  ///         with a start.
  DenseOptimumSolver(const DenseOptimumProblem& problem, const OptimumOptions& options);
  ~DenseOptimumSolver();
  DenseOptimumSolver(DenseOptimumSolver&&) noexcept;
  DenseOptimumSolver& operator=(DenseOptimumSolver&&) noexcept;

  /// Runs one iteration. Returns false at the end: converged, or out of iterations.
  bool advance();
  /// The gap is that of the computed bounds; the bounds of result() also allow for rounding.
  OptimumProgress progress() const;
  /// Returns the best bounds so far, with status `stopped` before the end.
  /// @cost  that of four iterations.
  DenseOptimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Runs a solver to its end, or until options.progress returns false.
///
/// @cost    one eigendecomposition of a matrix of num columns per iteration, 5 to 60 iterations to
///          a gap of 1e-10 (mean), up to 250 with fixed epochs; 0.02 s per iteration at 256 columns
///          and 2 s at 1024. The max objective of workloads with inactive rows (momentum) takes 15
///          to 100 iterations to a gap of 1e-4; smaller ones take long.
/// @source  docs/math/optimal.md; the problem: Denisov et al., arXiv 2202.08312, and
///          Choquette-Choo et al., arXiv 2211.06530.
[[nodiscard]] DenseOptimum find_dense_optimum(const DenseOptimumProblem& problem,
                                              const OptimumOptions& options = {});

/// Smallest dimension of records in which the worst contributions of a user to k steps can have any
/// inner products: the smallest d with (d + 1)(d + 2) / 2 > k (docs/math/optimal.md, section 5).
std::int64_t least_dimension_of_duals(std::int64_t num_participations);

/// Largest number of epochs for which all signs of a user's contributions are enumerated.
inline constexpr std::int64_t kMaxSignedEpochs = 8;

/// Lower bounds on the error of every factorization.
struct DenseLowerBounds {
  double value;            ///< for records of dimension least_dimension_of_duals(k) or more
  double every_dimension;  ///< for records of every dimension; 0 if unknown
};

/// Returns the lower bounds that dual variables prove, regardless of their origin. Those of a
/// DenseOptimum give its lower bounds, bit for bit.
///
/// @param problem  its `start` is ignored.
/// @guarantee   at most the least errors, for any numbers; 0 if they prove nothing.
/// @throws Error{invalid_argument} a problem that the solver does not accept, a number that is not
///         finite, row duals with the mean objective; Error{wrong_length}.
/// @cost        that of one iteration.
/// @checked-by  dense_optimum_test "any duals give bounds, its own the bound it stated", "a
///              factorization for numbers is below the bound for vectors"
DenseLowerBounds dense_lower_bounds(const DenseOptimumProblem& problem, const DenseDuals& duals);

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
  /// Packed gains and factors of long recursions made by the library, in a sixth of the memory; the
  /// two lists above are then empty.
  std::shared_ptr<const detail::PackedNumbers> packed = nullptr;
};

/// A lower-triangular encoder of few bands whose entries change from step to step; see
/// VaryingBandedDecoder.
struct VaryingBands {
  std::int64_t bands;  ///< p, with the main diagonal
  /// C_{t,t} > 0, C_{t,t-1}, ..., C_{t,t-p+1}: p per step, 0 left of the matrix.
  std::vector<double> entries;
  /// Upper bound on the standard deviation of a row w_0 + ... + w_t. The error bounds of the noise
  /// are computed from it.
  double max_row_stddev;
};

}  // namespace dpftrl
