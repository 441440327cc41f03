// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/regret.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "dpftrl/base/error.hpp"
#include "learn/losses/average_loss.hpp"
#include "learn/projected_newton.hpp"
#include "math/optimize.hpp"

namespace dpftrl {
namespace {

constexpr int kMaxRegretTrials = 60;
/// After this many trials, every second one bisects instead of taking the secant.
constexpr int kPatience = 12;

/// Searches for nu with ||w_nu|| = radius, where w_nu minimises f(w) + nu ||w||^2 / 2, by a secant
/// method on phi(nu) = 1/||w_nu|| - 1/radius, which increases in nu; trials are kept inside the
/// bracket.
class MultiplierSearch {
 public:
  MultiplierSearch(double floor, double ceiling, double slope)
      : floor_(std::min(floor, ceiling)), high_(ceiling), slope_(slope) {}

  /// Clamps nu to [floor, ceiling], which contains all trials.
  double clamp(double nu) const { return std::clamp(nu, floor_, high_); }

  /// Next trial after w_nu was found to have norm `length`.
  double next(double nu, double length, double radius) {
    const double phi = 1 / length - 1 / radius;
    if (num_trials_ > 0 && nu != last_nu_ && phi != last_phi_) {
      const double slope = (phi - last_phi_) / (nu - last_nu_);
      if (slope > 0 && std::isfinite(slope)) slope_ = slope;
    }
    last_nu_ = nu;
    last_phi_ = phi;
    ++num_trials_;
    if (phi < 0) {
      low_ = std::max(low_, nu);
    } else {
      high_ = std::min(high_, nu);
    }
    const double guess = nu - phi / slope_;
    if (low_ == 0 && guess <= floor_) return floor_;
    const bool bisect = num_trials_ > kPatience && num_trials_ % 2 == 0;
    if (!bisect && guess > low_ && guess < high_) return guess;
    return std::sqrt(std::max(low_, floor_) * high_);
  }

  double slope() const { return slope_; }

 private:
  double floor_;
  double low_ = 0;
  double high_;
  double slope_;
  double last_nu_ = 0;
  double last_phi_ = 0;
  int num_trials_ = 0;
};

}  // namespace

std::string_view to_string(ComparatorStatus status) {
  return status == ComparatorStatus::certified ? "certified" : "gap_above_tolerance";
}

double frank_wolfe_gap(const Vector& point, const Vector& gradient, double radius) {
  const double gap = gradient.dot(point) + radius * gradient.norm();
  return std::isnan(gap) ? std::numeric_limits<double>::infinity() : std::max(0.0, gap);
}

ComparatorSolver::ComparatorSolver(const ComparatorOptions& options)
    : options_(options), average_(std::make_unique<AverageLoss>(options.loss, options.dimension)) {
  require_positive("comparator", "radius", options.radius);
  require_positive("comparator", "gap_tolerance", options.gap_tolerance);
  set_ = options.domain && options.domain->max_norm(options.dimension)
             ? options.domain
             : std::make_shared<const L2Ball>(options.radius);
  const L2Ball* const ball = dynamic_cast<const L2Ball*>(set_.get());
  if (ball != nullptr) options_.radius = ball->radius();
  in_ball_ = ball != nullptr && !average_->has_kinks();
  warm_point_ = in_ball_ ? Vector::Zero(static_cast<Eigen::Index>(average_->model_size()))
                         : set_->start(average_->model_size());
}

ComparatorSolver::~ComparatorSolver() = default;
ComparatorSolver::ComparatorSolver(ComparatorSolver&&) noexcept = default;
ComparatorSolver& ComparatorSolver::operator=(ComparatorSolver&&) noexcept = default;

void ComparatorSolver::append(std::span<const double> features, double label) {
  average_->append(features, label);
}

std::int64_t ComparatorSolver::num_examples() const {
  return average_->num_examples();
}

double ComparatorSolver::average_loss(const Vector& point, Vector& gradient) const {
  return average_->at(point, gradient);
}

OptimizeResult ComparatorSolver::minimize_penalised(double multiplier, double gradient_tolerance,
                                                    const Vector& start) const {
  const OptimizeOptions limits{.max_iterations = 500, .gradient_tolerance = gradient_tolerance};
  const SmoothFunction objective = [this, multiplier](const Vector& point, Vector& gradient) {
    const double value = average_loss(point, gradient);
    gradient += multiplier * point;
    return value + multiplier / 2 * point.squaredNorm();
  };
  OptimizeResult coarse = minimize(objective, start, limits);
  if (coarse.status != OptimizeStatus::line_search_failed) return coarse;

  // The remaining steps change the value by less than its rounding error. The trapezoidal rule on
  // the gradients measures the change from here without cancellation.
  const Vector centre = coarse.point;
  Vector central_gradient(centre.size());
  objective(centre, central_gradient);
  const SmoothFunction change = [&](const Vector& point, Vector& gradient) {
    objective(point, gradient);
    return (central_gradient + gradient).dot(point - centre) / 2;
  };
  OptimizeResult fine = minimize(change, centre, limits);
  fine.evaluations += coarse.evaluations + 1;
  fine.iterations += coarse.iterations;
  if (!(fine.gradient_norm < coarse.gradient_norm)) fine.point = coarse.point;
  return fine;
}

Comparator ComparatorSolver::solve() {
  require_between("comparator", "num_examples", num_examples(), 1,
                  std::numeric_limits<std::int64_t>::max());
  return in_ball_ ? solve_in_ball() : solve_projected();
}

Comparator ComparatorSolver::solve_projected() {
  ProjectedStart start{.point = warm_point_, .width = warm_width_};
  const ProjectedMinimum found =
      minimize_projected(*average_, *set_, options_.gap_tolerance, start);
  warm_point_ = start.point;
  warm_width_ = start.width;
  return {.status = found.gap <= options_.gap_tolerance ? ComparatorStatus::certified
                                                        : ComparatorStatus::gap_above_tolerance,
          .point = found.point,
          .value = found.value,
          .gap = found.gap,
          .multiplier = 0,
          .evaluations = found.evaluations};
}

Comparator ComparatorSolver::solve_in_ball() {
  const double radius = options_.radius;
  const double tolerance = options_.gap_tolerance;
  Vector gradient(warm_point_.size());

  Comparator best{.status = ComparatorStatus::gap_above_tolerance,
                  .point = Vector::Zero(warm_point_.size()),
                  .value = 0,
                  .gap = 0,
                  .multiplier = 0,
                  .evaluations = 1};
  best.value = average_loss(best.point, gradient);
  best.gap = frank_wolfe_gap(best.point, gradient, radius);
  const double steepness = gradient.norm();
  // ||w_nu|| <= ||grad f(0)|| / nu, so the multiplier is at most steepness / radius. At or below
  // the floor, a point inside the ball has gap nu ||w|| (radius - ||w||) <= tolerance / 8.
  const double floor = tolerance / (2 * radius * radius);
  if (best.gap <= tolerance || !std::isfinite(steepness)) {
    if (best.gap <= tolerance) best.status = ComparatorStatus::certified;
    return best;
  }
  MultiplierSearch search(floor, steepness / radius, warm_slope_ > 0 ? warm_slope_ : 1 / steepness);
  double multiplier =
      search.clamp(warm_multiplier_ > 0 ? warm_multiplier_ : steepness / radius / 2);
  double gradient_tolerance = tolerance / (16 * radius);

  for (int trial = 0; trial < kMaxRegretTrials; ++trial) {
    const OptimizeResult inner = minimize_penalised(multiplier, gradient_tolerance, warm_point_);
    const double length = inner.point.norm();
    best.evaluations += inner.evaluations + 1;
    if (!std::isfinite(inner.value)) break;
    warm_point_ = inner.point;
    Vector feasible = inner.point;
    if (length > radius) feasible *= radius / length;
    const double value = average_loss(feasible, gradient);
    const double gap = frank_wolfe_gap(feasible, gradient, radius);
    if (gap < best.gap) {
      best.point = feasible;
      best.value = value;
      best.gap = gap;
      best.multiplier = std::max(0.0, -gradient.dot(feasible)) / (radius * radius);
    }
    warm_multiplier_ = multiplier;
    warm_slope_ = search.slope();
    if (gap <= tolerance) {
      best.status = ComparatorStatus::certified;
      break;
    }
    // Inside the ball the multiplier explains a gap of nu ||w|| (radius - ||w||); the rest comes
    // from the inner solver, so tighten it.
    if (length <= radius && multiplier * length * (radius - length) <= tolerance / 2) {
      if (inner.status != OptimizeStatus::converged) break;
      gradient_tolerance /= 16;
    } else {
      multiplier = search.next(multiplier, length, radius);
    }
  }
  return best;
}

std::vector<std::int64_t> regret_prefixes(std::int64_t steps, std::int64_t count) {
  require_between("regret_prefixes", "steps", steps, 1, kMaxNumSteps);
  require_between("regret_prefixes", "count", count, 0, 65536);
  const std::int64_t kept = std::min(steps, count);
  std::vector<std::int64_t> prefixes;
  prefixes.reserve(static_cast<std::size_t>(kept));
  std::int64_t last = 0;
  for (std::int64_t i = 1; i <= kept; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kept);
    const double cubic = std::ceil(static_cast<double>(steps) * (share * share * share));
    // Leaves room for the remaining prefixes.
    const std::int64_t latest = steps - (kept - i);
    last = std::min(latest, std::max(last + 1, static_cast<std::int64_t>(cubic)));
    prefixes.push_back(last);
  }
  return prefixes;
}

}  // namespace dpftrl
