// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Options and results shared by the optimisers of parametrised families.

#include <cstdint>
#include <functional>

#include "dpftrl/optimal/optimum.hpp"

namespace dpftrl {

struct FamilyProgress {
  std::int64_t evaluation;  ///< evaluations of error and gradient so far, over all descents
  double error;             ///< least value of the objective so far, unit noise
};

struct FamilyOptions {
  std::int64_t max_iterations = 1000;  ///< line searches in one descent, 1 .. 2^20
  /// Line searches in all, over all descents, starts and rounds, 1 .. 2^40.
  std::int64_t max_total_iterations = std::int64_t{1} << 40;
  /// Least relative accuracy that counts as converged: the gradient of ln(error) in the parameters
  /// of the descent has at most this norm (30 times this for a largest of many rows with more than
  /// 1000 parameters), and for a largest of many rows the duality gap of the row weights is at most
  /// 100 times this. 1e-12 .. 1e-2.
  double tolerance = 1e-7;
  /// Called after every evaluation; false stops, and the best point so far is returned.
  std::function<bool(const FamilyProgress&)> progress = {};
};

/// How a search ended and what it reached. The families are not convex: `converged` says that the
/// point is stationary, not that no better one exists. `find_optimum` bounds how much better.
struct FamilySearch {
  SolverStatus status = SolverStatus::not_converged;
  double gradient_norm = 0;  ///< of ln(error), where the search ended
  /// For objectives that minimise the largest of many rows: largest ln(error) less its mean under
  /// the final weights of the rows; 0 where the largest row is known.
  double duality_gap = 0;
  std::int64_t iterations = 0;   ///< line searches, over all descents
  std::int64_t evaluations = 0;  ///< of error and gradient
};

/// Computed from the parameters that are returned, for unit noise.
struct FamilyErrors {
  double sensitivity = 0;
  double max_error = 0;   ///< sensitivity times the largest row norm of the decoder
  double mean_error = 0;  ///< sensitivity times their root mean square
};

}  // namespace dpftrl
