// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "math/optimize.hpp"
#include "optimal/family_optimum.hpp"
#include "optimal/task.hpp"

namespace dpftrl::detail {

void require_family_options(const char* function, const FamilyOptions& options);

struct DescentResult {
  SolverStatus status;
  Vector point;
  double value;  ///< ln(error)
  double gradient_norm;
  double gap = 0;  ///< duality gap, if the largest row is minimised
};

/// Runs descents on ln(error), and counts line searches and evaluations over all of them. A descent
/// pauses after at most 100 line searches if a caller can resume it.
class Search {
 public:
  explicit Search(const FamilyOptions& options, Pieces* pieces = nullptr)
      : options_(options), pieces_(pieces) {}

  struct Limits {
    double tolerance = 0;       ///< 0: the options' tolerance
    double newton_step = 1e-5;  ///< step of the differences for the Hessian
    std::int64_t max_line_searches = std::int64_t{1} << 20;
    /// ln(error) to report, if the function is only close to it; null to report the function.
    const double* shown = nullptr;
  };
  /// Runs L-BFGS, and restarts it (which forgets the curvature) after a failed line search and
  /// after every 100, as long as the value falls. With few parameters, Newton's method follows.
  Task<DescentResult> descend(const SmoothFunction& log_error, Vector start, Limits limits);
  Task<DescentResult> descend(const SmoothFunction& log_error, const Vector& start) {
    return descend(log_error, start, Limits{});
  }

  /// True if the search was told to stop or has used up all its line searches.
  bool stopped() const { return stopped_ || is_exhausted_; }
  double tolerance() const { return options_.tolerance; }
  std::int64_t iterations() const { return iterations_; }
  std::int64_t evaluations() const { return evaluations_; }
  FamilySearch report(const DescentResult& best) const;

 private:
  struct Left {
    std::int64_t line_searches;
  };
  Task<Left> quasi_newton(const SmoothFunction& log_error, DescentResult& best, double tolerance,
                          Left left);
  Task<Left> polish(const SmoothFunction& log_error, DescentResult& best, Limits limits, Left left);
  Pieces::Pause pause();

  const FamilyOptions& options_;
  Pieces* pieces_;
  std::int64_t iterations_ = 0;
  std::int64_t evaluations_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  bool stopped_ = false;
  bool is_exhausted_ = false;
};

/// Squared errors of rows as functions of parameters, and their derivatives.
class RowErrors {
 public:
  virtual ~RowErrors() = default;
  /// Squared errors at `point`; empty outside the domain. Valid until the next call.
  virtual const std::vector<double>& values(const Vector& point) = 0;
  /// Number of rows that each value stands for.
  virtual const std::vector<double>& multiplicities() const = 0;
  /// Overwrites `gradient` with the gradient of sum_t weights[t] values[t] at the last point of
  /// `values`.
  virtual void pull_back(const std::vector<double>& weights, Vector& gradient) = 0;
};

/// Minimises the mean or the largest row error.
///
/// The largest row is minimised by the exponential method of multipliers: each round minimises (1 /
/// beta) ln sum_t mu_t exp(beta l_t) with l = ln(error), and its weights p_t = mu_t exp(beta l_t) /
/// sum become the next mu. At a stationary point of sum p_t l_t whose p is supported on the largest
/// rows, the gap max l - sum p_t l_t is zero; `converged` means that gradient and gap are within
/// fixed multiples of the tolerance. The result is the evaluated point whose largest row error is
/// least.
///
/// With `screen`, the largest row is minimised in the first two rounds only, and the result is
/// never `converged`.
enum class Effort { screen, full };
Task<DescentResult> descend_rows(RowErrors& rows, Objective objective, Vector start, Search& search,
                                 Effort effort = Effort::full);

}  // namespace dpftrl::detail
