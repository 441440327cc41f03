// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The functions of resolvent.hpp for workloads with momentum, whose inverse has three diagonals
/// (docs/math/optimal.md).

#include "optimal/quadrature.hpp"
#include "optimal/resolvent.hpp"
#include "optimal/weights.hpp"

namespace dpftrl::detail {

/// W = D_u^(1/2) A D_v^(1/2) with A^-1 = (I - momentum S) D_rates^-1 (I - decay S), S the shift by
/// a step.
struct MomentumWeights {
  Weights weights;
  double momentum = 0;
  std::vector<double> rates = {};  ///< chi, rates on the momentum of a step; empty: all 1
};

/// An interval that contains the spectrum of T = (W^T W)^-1: [1 / tr W^T W, max_i sum of T_jj, |j -
/// i| <= 2].
SpectralInterval momentum_spectrum(const MomentumWeights& weights);

/// diag(sum_k w_k (T + s_k I)^-1) by banded Cholesky factors and selected inversion, in twice the
/// precision of double, because the factors lose as many digits as the condition number of T + s I
/// has.
/// @param spectrum  contains the spectrum of T.
/// @guarantee  rounding_error covers the backward error of the factors, n 2^-96 times the condition
///             number: far more than was observed.
/// @cost       about 600 operations per node and entry; memory of 48 bytes per entry and node, for
///             8 nodes at a time.
/// @checked-by momentum_resolvent_test "diagonals are those of the dense matrix"
RootDiagonal momentum_root_diagonal(const InverseRoot& root, const SpectralInterval& spectrum,
                                    const MomentumWeights& weights);

}  // namespace dpftrl::detail
