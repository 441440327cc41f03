// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Smooth unconstrained minimisation; the only interface to L-BFGS.

#include <Eigen/Core>
#include <cstdint>
#include <functional>

#include "dpftrl/base/types.hpp"

namespace dpftrl {

enum class OptimizeStatus {
  converged,           ///< gradient_norm <= gradient_tolerance at `point`
  iteration_limit,     ///< max_iterations were reached first
  line_search_failed,  ///< no acceptable step was found (often at the limit of double precision)
  not_finite,          ///< value or gradient not finite; a value of +infinity, only at the start
};

struct OptimizeOptions {
  std::int64_t max_iterations = 200;  ///< 1 .. 2^30
  double gradient_tolerance = 1e-8;   ///< absolute, on the l2-norm of the gradient, > 0
};

struct [[nodiscard]] OptimizeResult {
  OptimizeStatus status;
  Vector point;              ///< the last iterate if converged, else the best point evaluated
  double value;              ///< objective there
  double gradient_norm;      ///< l2-norm of the gradient there
  std::int64_t iterations;   ///< line searches begun
  std::int64_t evaluations;  ///< calls of the objective
};

/// Returns the value at `point` and overwrites `gradient`, which has the right length already.
using SmoothFunction = std::function<double(const Vector& point, Vector& gradient)>;

/// Minimises a smooth function from `start` by L-BFGS (6 corrections, strong Wolfe line search).
///
/// The line search backs away from trial points with value +infinity. Check `status`, which never
/// reports a failure as convergence. An exception thrown by `objective` passes through unchanged,
/// and so does std::bad_alloc; the solver adds no other exception.
///
/// @param start  length >= 1, finite.
/// @throws Error{invalid_argument} start empty or not finite; an option out of range.
/// @source       [NW06] Nocedal and Wright, Numerical Optimization, algorithms 7.5, 3.5, 3.6;
///               implemented by the LBFGSpp library.
/// @checked-by   optimize_test
OptimizeResult minimize(const SmoothFunction& objective, const Vector& start,
                        const OptimizeOptions& options = {});

}  // namespace dpftrl
