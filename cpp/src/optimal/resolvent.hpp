// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Diagonals of functions of T = (W^T W)^-1 in linear time, without a subtraction and nearly
/// without divisions (docs/math/optimal.md).

#include <cstdint>
#include <vector>

#include "optimal/quadrature.hpp"
#include "optimal/weights.hpp"

namespace dpftrl::detail {

/// Nodes swept at a time; any other number of nodes costs as much as the next multiple.
constexpr std::int64_t kNodesAtOnce = 12;

/// [1 / tr W^T W, twice the largest diagonal entry of T] contains the spectrum of T (Gershgorin, as
/// off-diagonal entries are geometric means).
SpectralInterval spectrum(const Weights& weights);

struct RootDiagonal {
  std::vector<double> values;
  double rounding_error;  ///< bound on the relative error of each value, except for the quadrature
};

/// diag(direct I + sum_k w_k (T + s_k I)^-1): the diagonal of T^(-1/2) for inverse_root() nodes.
/// @guarantee  rounding_error comes from a recursion for the error itself, along the steps of each
///             node.
/// @cost       about 20 additions and multiplications per node and entry, seven divisions per node
///             and block; memory for about one number per node and 30 entries.
/// @checked-by optimum_test "rounding stays within its bound"
RootDiagonal root_diagonal(const InverseRoot& root, const Weights& weights);

}  // namespace dpftrl::detail
