// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Diagonals of functions of symmetric tridiagonal matrices given by their bidiagonal factors, in
/// linear time and without a subtraction (docs/math/optimal.md).

#include <span>
#include <vector>

#include "optimal/quadrature.hpp"

namespace dpftrl::detail {

/// T = L L^T, L lower bidiagonal: T_ii = q_i + e_{i-1}, T_{i,i+1}^2 = q_i e_i.
struct Bidiagonal {
  std::vector<double> diagonal_squared;     ///< q_i = L_ii^2 > 0, n entries
  std::vector<double> subdiagonal_squared;  ///< e_i = L_{i+1,i}^2 >= 0, n - 1 entries
};

/// [1 / tr T^-1, 2 max_i (q_i + e_{i-1})] contains the spectrum of T (Gershgorin, as off-diagonal
/// entries are geometric means). `trace_of_inverse` >= tr T^-1.
Interval spectrum(const Bidiagonal& factors, double trace_of_inverse);

/// diag(direct I + sum_k w_k (T + s_k I)^-1): the diagonal of T^(-1/2) for inverse_root() nodes.
/// @cost  three divisions a node and entry.
std::vector<double> diagonal_of(const InverseRoot& root, const Bidiagonal& factors);

/// Bound on the relative rounding error of every entry of diagonal_of(), from a recursion for the
/// error itself along each node's sweeps.
double rounding_error_of(const InverseRoot& root, const Bidiagonal& factors);

}  // namespace dpftrl::detail
