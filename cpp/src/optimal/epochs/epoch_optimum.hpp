// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The optimum over fixed epochs of prefix sums and weight decay, without n x n matrices
/// (docs/math/optimal.md, section 6).

#include <Eigen/Core>
#include <cstdint>
#include <memory>

#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

/// Largest n k^2 for n steps in k epochs; an iteration takes several seconds at this size.
inline constexpr std::int64_t kMaxEpochOptimumSize = std::int64_t{1} << 23;
/// Largest number of epochs, because 2k x 2k matrices are inverted.
inline constexpr std::int64_t kMaxEpochOptimumEpochs = 64;

/// True if find_epoch_optimum supports the workload over `epochs` epochs of `epoch_length` steps.
bool has_epoch_optimum(const Workload& workload, std::int64_t epochs, std::int64_t epoch_length);

/// A_ij = decay^(i-j) over epochs * epoch_length steps; steps s, s + epoch_length, ... belong
/// to one user.
struct EpochOptimumProblem {
  std::int64_t epochs = 1;        ///< k
  std::int64_t epoch_length = 1;  ///< b
  Objective objective = Objective::mean;
  double decay = 1;  ///< alpha, 0 < alpha <= 1
};

struct EpochOptimum {
  SolverStatus status;
  std::int64_t iterations;
  /// Certified: lower_bound <= least error of any factorization <= upper_bound, as in DenseOptimum.
  /// @exactness   both allow for the quadrature, with its proved bound, and for rounding, which is
  ///              measured in twice the precision (docs/math/optimal.md).
  /// @checked-by  epoch_optimum_test "bounds hold for the dense optimum"
  double lower_bound;
  double every_dimension_bound;  ///< see DenseOptimum
  double upper_bound;
  DenseDuals duals;         ///< duals that prove the lower bound
  DenseDuals primal_duals;  ///< duals that prove the upper bound
};

/// Input of find_epoch_optimum.
struct EpochSearch {
  EpochOptimumProblem problem;
  OptimumOptions solver;
};

/// The iteration, one evaluation at a time.
class EpochOptimumSolver {
 public:
  /// @throws as find_epoch_optimum.
  /// @cost   about four iterations if epochs have many steps.
  EpochOptimumSolver(const EpochOptimumProblem& problem, const OptimumOptions& options);
  ~EpochOptimumSolver();
  EpochOptimumSolver(EpochOptimumSolver&&) noexcept;
  EpochOptimumSolver& operator=(EpochOptimumSolver&&) noexcept;

  /// Runs one iteration. False when nothing is left to do: the search has converged or used up its
  /// iterations, or the weights are too far apart to evaluate.
  bool advance();
  /// The gap between the computed bounds.
  OptimumProgress progress() const;
  /// The best bounds so far. The status is `stopped` before the end.
  EpochOptimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Searches until the gap is reached, the iterations are used up, or options.progress returns false
/// (status `stopped`). Epochs of many steps start from the solution for fewer, which takes about as
/// long as four iterations. The gap passed to progress is the gap between the computed bounds; the
/// bounds of the result also allow for rounding.
/// @throws Error{invalid_argument} a number out of range, a problem beyond kMaxEpochOptimumSize or
///         kMaxEpochOptimumEpochs.
/// @cost  O(b k^3) per node, 15 to 40 nodes per iteration; the bounds of the result take as long as
///        ten iterations, and as much again with the max objective.
[[nodiscard]] EpochOptimum find_epoch_optimum(const EpochOptimumProblem& problem,
                                              const OptimumOptions& options = {});

/// Lower bounds that dual variables prove, however they were found; the duals of an EpochOptimum
/// give its lower bounds.
/// @param accuracy  relative amount by which the quadrature may lower the bounds.
/// @guarantee   at most the least errors, for any numbers; 0 if they prove nothing.
/// @throws Error{invalid_argument} a problem that the solver does not take, a number that is not
///         finite, row duals with the mean objective; Error{wrong_length}.
/// @checked-by  epoch_optimum_test "any duals give bounds"
DenseLowerBounds epoch_lower_bounds(const EpochOptimumProblem& problem, const DenseDuals& duals,
                                    double accuracy);

/// Gram matrix X = C^T C of the factorization that belongs to dual variables, n x n in time order,
/// up to a factor.
///
/// @throws Error{invalid_argument, wrong_length} as epoch_lower_bounds; Error{unsupported} dual
///         variables too far apart for double precision.
/// @cost        O(n^2 k) per node, about 30 nodes; two n x n matrices.
/// @checked-by  epoch_optimum_test "the Gram matrix has the error of the upper bound"
Matrix epoch_optimum_gram(const EpochOptimumProblem& problem, const DenseDuals& duals);

}  // namespace dpftrl
