// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The factorization of least error when the number of records is public (internal header):
///
///     minimise ||R|| Delta,    Delta = max ||M_i - M_j||,    R (M_i - M_j) = F_i - F_j
///
/// over all i, j. The dual variables are weights w_ij of PAIRS of columns, which make a Laplacian:
///
///     ||D_u^(1/2) F L^(1/2)||_* <= ||D_u^(1/2) R||_F Delta sqrt(sum w),
///     L = sum w_ij (e_i - e_j)(e_i - e_j)^T,
///
/// and the largest left side is the optimum (docs/math/queries.md).

#include <memory>

#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"

namespace dpftrl::detail {

/// Largest number of columns for which the weights of all pairs are optimised.
inline constexpr std::int64_t kMaxPairedColumns = 512;

struct ReplaceOneOptimum {
  /// Lower bound on the root mean square or the largest of ||R_i||, depending on the objective,
  /// times Delta.
  /// @guarantee   never above the least value over all factorizations, rounding included.
  /// @checked-by  query_factorization_test "the optimum for replace_one ..."
  double lower_bound;
  /// M, with columns at most 1 apart, up to rounding; the last column is 0.
  Matrix encoder;
};

/// Iterates towards the fixed point w_ij ~ w_ij ||M_i - M_j||^2, u_i ~ u_i ||R_i||^2, one
/// evaluation at a time. Pairs closer than Delta have w = 0 at the optimum; a barrier keeps weights
/// away from 0.
class ReplaceOneSolver {
 public:
  /// @param queries  2 to kMaxPairedColumns columns, not all equal.
  /// @param options  a gap below kBarrierGap counts as kBarrierGap.
  /// @cost  one eigendecomposition per iteration, 15 to 70 in all; 17 vectors with one
  ///        number per pair.
  ReplaceOneSolver(const Matrix& queries, Objective objective, const OptimumOptions& options);
  ~ReplaceOneSolver();
  ReplaceOneSolver(ReplaceOneSolver&&) noexcept;
  ReplaceOneSolver& operator=(ReplaceOneSolver&&) noexcept;

  /// Runs one iteration. Returns false if nothing is left to do.
  bool advance();
  OptimumProgress progress() const;
  /// The best result so far.
  ReplaceOneOptimum result() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dpftrl::detail
