// SPDX-License-Identifier: Apache-2.0
#include "math/optimize.hpp"

#include <LBFGS.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "base/span_of.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

/// Thrown to unwind the solver; `EvaluationRecorder` holds the reason.
struct Stop {};

struct Evaluation {
  Vector point;
  Vector gradient;
  double value = std::numeric_limits<double>::infinity();
};

/// Objective in the form that LBFGSpp calls. Records the last and the best point and the reason for
/// stopping.
class EvaluationRecorder {
 public:
  explicit EvaluationRecorder(const SmoothFunction& objective) : objective_(objective) {}

  double operator()(const Vector& point, Vector& gradient) {
    if (!point.allFinite()) {
      breakdown_ = true;  // a search direction of NaN: the solver's fault, not the objective's
      throw Stop{};
    }
    ++evaluations;
    last.point = point;
    last.gradient = Vector::Zero(point.size());
    last.value = call(point);
    if (last.value == std::numeric_limits<double>::infinity() && evaluations > 1) {
      gradient.setZero(point.size());
      return wall();
    }
    if (!std::isfinite(last.value) || !last.gradient.allFinite()) {
      not_finite_ = true;
      if (evaluations == 1) best = last;
      throw Stop{};
    }
    if (evaluations == 1 || last.value < best.value) best = last;
    highest_ = evaluations == 1 ? last.value : std::max(highest_, last.value);
    gradient = last.gradient;
    return last.value;
  }

  void rethrow_if_objective_threw() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }
  OptimizeStatus reason_for_stop() const {
    return not_finite_ && !breakdown_ ? OptimizeStatus::not_finite
                                      : OptimizeStatus::line_search_failed;
  }

  Evaluation last;
  Evaluation best;
  std::int64_t iterations = 0;
  std::int64_t evaluations = 0;

 private:
  double call(const Vector& point) {
    try {
      return objective_(point, last.gradient);
    } catch (...) {
      thrown_ = std::current_exception();
      throw Stop{};
    }
  }

  /// Stand-in for +infinity at a trial point: above every value seen but of similar size, so that
  /// the interpolation of the line search remains meaningful.
  double wall() const {
    return std::min(std::numeric_limits<double>::max(), highest_ + 1 + std::abs(highest_));
  }

  const SmoothFunction& objective_;
  double highest_ = 0;
  std::exception_ptr thrown_;
  bool breakdown_ = false;
  bool not_finite_ = false;
};

/// Counts line searches, whichever arguments this version of LBFGSpp passes to them.
template <class Scalar>
struct CountingLineSearch {
  template <class... Arguments>
  static void LineSearch(EvaluationRecorder& objective, Arguments&&... arguments) {
    ++objective.iterations;
    LBFGSpp::LineSearchNocedalWright<Scalar>::LineSearch(objective,
                                                         std::forward<Arguments>(arguments)...);
  }
};

OptimizeResult result_at(const Evaluation& at, OptimizeStatus status,
                         const EvaluationRecorder& recorder) {
  return {.status = status,
          .point = at.point,
          .value = at.value,
          .gradient_norm = at.gradient.norm(),
          .iterations = recorder.iterations,
          .evaluations = recorder.evaluations};
}

OptimizeResult run(EvaluationRecorder& recorder, const Vector& start,
                   const OptimizeOptions& options) {
  LBFGSpp::LBFGSParam<double> parameters;
  parameters.epsilon = options.gradient_tolerance;
  parameters.epsilon_rel = 0;
  parameters.max_iterations = static_cast<int>(options.max_iterations);
  parameters.linesearch = LBFGSpp::LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE;
  parameters.max_linesearch = 40;
  Vector point = start;
  double value = 0;
  OptimizeStatus status = OptimizeStatus::iteration_limit;
  try {
    LBFGSpp::LBFGSSolver<double, CountingLineSearch> solver(parameters);
    solver.minimize(recorder, point, value);
    const bool small = recorder.last.gradient.norm() <= options.gradient_tolerance;
    if (small && std::isfinite(recorder.last.value) && recorder.last.point == point)
      return result_at(recorder.last, OptimizeStatus::converged, recorder);
  } catch (const Stop&) {
    recorder.rethrow_if_objective_threw();
    status = recorder.reason_for_stop();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    status = OptimizeStatus::line_search_failed;
  }
  const bool converged = std::isfinite(recorder.best.value) &&
                         recorder.best.gradient.norm() <= options.gradient_tolerance;
  return result_at(recorder.best, converged ? OptimizeStatus::converged : status, recorder);
}

}  // namespace

OptimizeResult minimize(const SmoothFunction& objective, const Vector& start,
                        const OptimizeOptions& options) {
  require_between("minimize", "max_iterations", options.max_iterations, 1, std::int64_t{1} << 30);
  require_positive("minimize", "gradient_tolerance", options.gradient_tolerance);
  require_between("minimize", "dimension", start.size(), 1, std::int64_t{1} << 30);
  require_all_finite("minimize", "start", detail::span_of(start));
  EvaluationRecorder recorder(objective);
  return run(recorder, start, options);
}

}  // namespace dpftrl
