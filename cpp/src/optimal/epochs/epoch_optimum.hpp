// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The optimum over fixed epochs of prefix sums and weight decay, without matrices of n x n
/// (docs/math/optimal.md, section 6).

#include <cstdint>
#include <memory>

#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

/// Largest n k^2, n steps in k epochs: an iteration takes some seconds there.
inline constexpr std::int64_t kMaxEpochOptimumSize = std::int64_t{1} << 23;
/// Most epochs, as matrices of 2k x 2k are inverted.
inline constexpr std::int64_t kMaxEpochOptimumEpochs = 64;

/// True if find_epoch_optimum takes the workload over so many epochs of so many steps.
bool has_epoch_optimum(const Workload& workload, std::int64_t num_epochs,
                       std::int64_t epoch_length);

/// A_ij = decay^(i-j) over num_epochs * epoch_length steps; steps s, s + epoch_length, ... belong
/// to one user.
struct EpochOptimumProblem {
  std::int64_t num_epochs = 1;    ///< k
  std::int64_t epoch_length = 1;  ///< b
  Objective objective = Objective::mean;
  double decay = 1;  ///< alpha, 0 < alpha <= 1
};

struct EpochOptimum {
  SolverStatus status;
  std::int64_t iterations;
  /// Certified: lower_bound <= least error of any factorization <= upper_bound, as those of
  /// DenseOptimum.
  /// @exactness   both allow for the quadrature, with its proved bound, and for rounding, which is
  ///              measured in twice the precision (docs/math/optimal.md).
  /// @checked-by  epoch_optimum_test "bounds hold for the dense optimum"
  double lower_bound;
  double every_dimension_bound;  ///< as that of DenseOptimum
  double upper_bound;
  DenseDuals duals;         ///< behind the lower bound
  DenseDuals primal_duals;  ///< behind the upper one
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
  /// @cost   with epochs of many steps that of about four iterations.
  EpochOptimumSolver(const EpochOptimumProblem& problem, const OptimumOptions& options);
  ~EpochOptimumSolver();
  EpochOptimumSolver(EpochOptimumSolver&&) noexcept;
  EpochOptimumSolver& operator=(EpochOptimumSolver&&) noexcept;

  /// One iteration. False when there is nothing left to do: converged, or the iterations used up.
  bool advance();
  /// The gap is that of the computed bounds.
  OptimumProgress progress() const;
  /// The best bounds so far. Status `stopped` before the end.
  EpochOptimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Searches until the gap, the last iteration, or options.progress says stop (status `stopped`).
/// Epochs of many steps start from the solution for fewer, which takes about as long as four
/// iterations. The gap that progress is told is that of the computed bounds; those of the result
/// also allow for rounding.
/// @throws Error{invalid_argument} a number out of range, a problem beyond kMaxEpochOptimumSize or
///         kMaxEpochOptimumEpochs.
/// @cost  O(b k^3) a node, 15 to 40 nodes an iteration; the bounds of the result take as long as
///        ten iterations, and as much again with the max objective.
[[nodiscard]] EpochOptimum find_epoch_optimum(const EpochOptimumProblem& problem,
                                              const OptimumOptions& options = {});

/// Returns the lower bounds that dual variables prove, however they were found; those of an
/// EpochOptimum give its lower bounds.
/// @param accuracy  what the quadrature may take away, relative.
/// @guarantee   at most the least errors, for any numbers; 0 where they prove nothing.
/// @throws Error{invalid_argument} a problem that the solver does not take, a number that is not
///         finite, row duals with the mean objective; Error{wrong_length}.
/// @checked-by  epoch_optimum_test "any duals give bounds"
DenseLowerBounds epoch_lower_bounds(const EpochOptimumProblem& problem, const DenseDuals& duals,
                                    double accuracy);

/// X = C^T C of the factorization that dual variables belong to, n x n in the order of time, up to
/// a factor.
///
/// @throws Error{invalid_argument, wrong_length} as epoch_lower_bounds; Error{unsupported} dual
///         variables too far apart for double precision.
/// @cost        O(n^2 k) a node, some 30 nodes; three matrices of n x n.
/// @checked-by  epoch_optimum_test "the Gram matrix has the error of the upper bound"
Matrix epoch_optimum_gram(const EpochOptimumProblem& problem, const DenseDuals& duals);

}  // namespace dpftrl
