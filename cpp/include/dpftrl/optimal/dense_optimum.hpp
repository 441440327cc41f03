// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The factorization of least error of any matrix, with a certificate, by dense
/// eigendecompositions. It covers the problems that the linear-time solver of optimum.hpp does not.
///
/// ```cpp
/// const dpftrl::DenseOptimum best = dpftrl::find_dense_optimum(
///     {.queries = dpftrl::Matrix::Ones(64, 64).triangularView<Eigen::Lower>(),
///      .objective = dpftrl::Objective::mean});
/// assert(best.status == dpftrl::SolverStatus::converged);
/// assert(best.upper_bound <= (1 + 1e-9) * best.lower_bound);
/// ```

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

/// Positive dual variables to start from; they only affect how long the solver takes.
struct DenseOptimumStart {
  std::vector<double> column_weights = {};  ///< one per column; empty: all equal
  std::vector<double> row_weights = {};     ///< one per row; for max, required with column_weights
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
  /// M, where M M^T is Lambda, the dual variables of the columns: a k x k block for each phase s,
  /// s + b, ... of a user's steps, one block after another, each row by row, n k numbers in total.
  /// For one participation, these are the square roots of v.
  std::vector<double> columns = {};
  std::vector<double> rows = {};  ///< max objective: square roots of u, one per row; mean: empty
};

struct DenseOptimum {
  SolverStatus status;
  std::int64_t iterations;
  /// Certified: lower_bound <= least error of any factorization <= upper_bound, for records of
  /// dimension least_dimension_of_duals(k) or more. Below that dimension the least error can be
  /// smaller.
  /// @exactness   rounding included, no quadrature: the lower bound is an inner product with an
  ///              explicit matrix whose norm is bounded, the upper bound is the error of an
  ///              explicit factorization whose residual is factorized, too (docs/math/optimal.md).
  /// @checked-by  dense_optimum_test "certificates are verified by singular values"
  double lower_bound;
  /// Lower bound for records of every dimension, including scalars. Equals lower_bound up to 2
  /// epochs; 0 for more than kMaxSignedEpochs.
  double every_dimension_bound;
  double upper_bound;
  /// C, num columns x num columns, of sensitivity 1 to rounding; with zero rows if F does not have
  /// full column rank. Its best decoder is B = F C^+. Only C^T C matters: C is not triangular.
  Matrix encoder;
  /// Dual variables that prove the lower bound: Lambda of the columns, a positive semidefinite
  /// matrix with entries only between steps of one user, and u of the rows (1 for the mean
  /// objective).
  Matrix column_weights;
  std::vector<double> row_weights;
  DenseDuals duals;  ///< the same dual variables in the form that dense_lower_bounds takes
};

/// Solver that runs one evaluation at a time.
class DenseOptimumSolver {
 public:
  /// @throws Error{invalid_argument} sizes or entries out of range, a zero row or column, a
  ///         fixed-epoch schema for another horizon, a start that is not positive;
  ///         Error{wrong_length} a start of another size; Error{unsupported} a minimum separation
  ///         with repeated participation, fixed epochs beyond kMaxFixedEpochOptimumSteps steps or
  ///         with a start.
  DenseOptimumSolver(const DenseOptimumProblem& problem, const OptimumOptions& options);
  ~DenseOptimumSolver();
  DenseOptimumSolver(DenseOptimumSolver&&) noexcept;
  DenseOptimumSolver& operator=(DenseOptimumSolver&&) noexcept;

  /// Runs one iteration. Returns false at the end: converged, or out of iterations.
  bool advance();
  /// The gap between the computed bounds; the bounds of result() also allow for rounding.
  OptimumProgress progress() const;
  /// The best bounds so far, with status `stopped` before the end.
  /// @cost  four iterations.
  DenseOptimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Runs a solver to its end, or until options.progress returns false.
///
/// @cost    one eigendecomposition of a num columns x num columns matrix per iteration, 5 to 60
///          iterations to a gap of 1e-10 (mean), up to 250 with fixed epochs; 0.02 s per iteration
///          at 256 columns and 2 s at 1024. The max objective takes 15 to 100 iterations to a gap
///          of 1e-4, and very many to smaller gaps, for workloads of which some row weights tend to
///          0 (momentum).
/// @source  docs/math/optimal.md; the problem: Denisov et al., arXiv 2202.08312, and
///          Choquette-Choo et al., arXiv 2211.06530.
[[nodiscard]] DenseOptimum find_dense_optimum(const DenseOptimumProblem& problem,
                                              const OptimumOptions& options = {});

/// Smallest dimension of records that is enough for the worst contributions of a user to k steps:
/// the smallest d with (d + 1)(d + 2) / 2 > k (docs/math/optimal.md, section 5).
std::int64_t least_dimension_of_duals(std::int64_t num_participations);

/// Lower bounds on the error of every factorization.
struct DenseLowerBounds {
  double value;            ///< for records of dimension least_dimension_of_duals(k) or more
  double every_dimension;  ///< for records of every dimension; 0 if unknown
};

/// Lower bounds that dual variables prove, regardless of their origin. The dual variables of a
/// DenseOptimum give its lower bounds, bit for bit.
///
/// @param problem  its `start` is ignored.
/// @guarantee   at most the least errors, for any dual variables; 0 if they prove nothing.
/// @throws Error{invalid_argument} a problem that the solver does not accept, a number that is not
///         finite, row duals with the mean objective; Error{wrong_length}.
/// @cost        one iteration.
/// @checked-by  dense_optimum_test "any duals give bounds, its own the bound it stated", "a
///              factorization for numbers is below the bound for vectors"
DenseLowerBounds dense_lower_bounds(const DenseOptimumProblem& problem, const DenseDuals& duals);

}  // namespace dpftrl
