// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Dual variables of fixed epochs, phase by phase (docs/math/optimal.md, section 5).

#include <span>

#include "dpftrl/base/types.hpp"
#include "math/linear_algebra.hpp"

namespace dpftrl::detail {

/// V f(lambda) V^T.
template <class Function>
Matrix apply_to_eigenvalues(const Eigensystem& system, Function f) {
  const Vector values = system.values.unaryExpr(f);
  return multiply(system.vectors * values.asDiagonal(), system.vectors.transpose());
}

/// ln x, with x raised to at least the smallest normal double.
double log_of(double x);

/// Lower limit of the square roots of dual variables, whose mean square is 1: roots of inactive
/// rows and columns tend to 0.
inline constexpr double kLeastRoot = 3e-7;
/// A step keeps the eigenvalues of a phase above this fraction of their least one before, and the
/// root of a row above this fraction of its value before.
inline constexpr double kLeastKept = 0.3;

/// One phase of the dual variable Lambda = M M^T, M = D_y^(-1/2) L^(1/2), y_i = L_ii / tr L.
struct DualBlock {
  DualBlock() = default;
  explicit DualBlock(const Matrix& root_of_l);
  Matrix root;          ///< M
  Matrix inverse_root;  ///< M^-1
  Matrix logarithm;     ///< ln L
  Matrix fourth_root;   ///< L^(1/4)
};

/// `proposed` with its eigenvalues raised to kLeastKept times the least one of L^(1/2), so that it
/// stays positive.
Matrix kept_positive(const Matrix& root_of_l, const Matrix& proposed);

/// ln ((root / level + barrier I) / (1 + barrier)) - ln L, as a change of L^(1/2).
/// @param root  block of (W^T W)^(1/2).
Matrix block_residual(const DualBlock& block, const Matrix& root, double level, double barrier);

/// Distance of an iterate from the optimum. With repeats, the solutions for a barrier have gaps of
/// several times its weight, and only the residual shows that one of them has been reached.
double distance_with_repeats(double gap, const Vector& residual);

/// Scales by a power of two, so that nothing is rounded and no square overflows; numbers below
/// 2^-200 become 0.
Vector levelled(std::span<const double> numbers);

}  // namespace dpftrl::detail
