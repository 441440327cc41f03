// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Roots of W^T W for fixed epochs, block by block, in O(b k^3) per node instead of O(n^3)
/// (docs/math/optimal.md, section 6).

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "optimal/quadrature.hpp"

namespace dpftrl::detail {

/// Dual variables of A_ij = decay^(i-j) over k epochs of b steps. Step s + e b is the step of phase
/// s in epoch e.
struct EpochWeights {
  std::vector<Matrix> columns;  ///< Lambda, k x k, symmetric, positive definite; one per phase
  Vector inverse_rows;          ///< 1 / u, one per step, positive
  double decay = 1;
};

/// The interval contains the spectrum of T = (W^T W)^-1: [1 / tr W^T W, twice the largest quotient
/// of a diagonal entry of A^-1 D_u^-1 A^-T and the least eigenvalue of Lambda in its phase].
/// @guarantee  holds despite rounding: the Cholesky factorization of Lambda - mu proves that it is
///             positive, with the error of the factorization allowed for. [0, 0] if nothing is
///             proved.
/// @checked-by epoch_resolvent_test "blocks are those of the dense matrix", "weights that are not
///             positive prove nothing"
struct EpochSpectrum {
  SpectralInterval interval;
  double least_column = 0;  ///< lower bound on the eigenvalues of Lambda
  double least_base = 0;    ///< lower bound on the eigenvalues of A^-1 D_u^-1 A^-T
};
EpochSpectrum epoch_spectrum(const EpochWeights& weights);

/// Parts of the approximations X_q = sum_k w_k (A^-1 D_u^-1 A^-T + s_k Lambda)^-1 of
/// X = M^-T (W^T W)^(1/2) M^-1, Lambda = M M^T, and of (W W^T)^(1/2).
struct EpochRoot {
  std::vector<Matrix> columns;  ///< diagonal blocks of X_q, k x k, one per phase
  Vector rows;                  ///< diagonal of the approximation of (W W^T)^(1/2), if requested
  double nuclear = 0;           ///< tr Lambda X_q, near ||W||_*
  /// Bounds on the rounding; infinite unless `is_proved`.
  double columns_error = 0;  ///< |error of X_ij| <= this (X_ii X_jj)^(1/2) in a block
  double rows_error = 0;     ///< bound on the absolute error of every entry of `rows`
  double nuclear_error = 0;  ///< bound on the absolute error of `nuclear`
};

struct EpochRootOptions {
  bool has_rows = false;
  /// Computes inverses in twice the precision of double, and bounds the remaining rounding error.
  bool is_proved = false;
};

/// @param root  for the interval of `spectrum`.
/// @param spectrum  `epoch_spectrum(weights)`.
/// @return  nothing if weights are too far apart for double precision.
/// @cost  three inverses of 2k x 2k matrices for b / 2 pairs of phases per node, in double or, if
///        `is_proved`, with residuals in twice the precision.
/// @checked-by  epoch_resolvent_test "blocks are those of the dense matrix", "rounding stays within
///              its bound"
std::optional<EpochRoot> epoch_root(const InverseRoot& root, const EpochSpectrum& spectrum,
                                    const EpochWeights& weights, const EpochRootOptions& options);

/// The whole matrix X_q, n x n, in time order.
/// @return  nothing if weights are too far apart for double precision.
/// @cost  O(n^2 k) per node; two n x n matrices.
/// @checked-by  epoch_resolvent_test "blocks are those of the dense matrix"
std::optional<Matrix> epoch_matrix(const InverseRoot& root, const EpochWeights& weights);

}  // namespace dpftrl::detail
