// SPDX-License-Identifier: Apache-2.0
#include "learn/projected_newton.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "base/span_of.hpp"

namespace dpftrl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Eigen::Index kMaxNewtonSize = 256;
constexpr int kMaxRounds = 400;
constexpr int kMaxTrials = 40;
/// Gradient steps between two checks of the certificate.
constexpr std::int64_t kStretch = 16;
constexpr std::int64_t kMaxGradientSteps = 2000;

/// max over v in K of <gradient, point - v>.
double linear_gap(const Domain& domain, const Vector& point, const Vector& gradient) {
  const Vector down = -gradient;
  const double gap = gradient.dot(point) + domain.support(detail::span_of(down));
  return std::isnan(gap) ? kInfinity : std::max(0.0, gap);
}

/// Minimises a convex function over the domain by accelerated projected gradient steps; resets the
/// momentum when a step would go uphill.
struct Acceleration {
  const Domain& domain;
  double curvature;  ///< upper bound on the curvature of the function
  std::function<void(const Vector& point, Vector& gradient)> gradient;
  /// Stopping test, called every few steps with the gradient at the point.
  std::function<bool(const Vector& point, const Vector& gradient)> is_good;
  std::int64_t max_steps;

  Vector run(const Vector& start) const {
    Vector point = start;
    Vector ahead = start;
    Vector slope(start.size());
    double momentum = 1;
    for (std::int64_t step = 0; step < max_steps; ++step) {
      if (step % kStretch == 0) {
        gradient(point, slope);
        if (is_good(point, slope)) break;
      }
      gradient(ahead, slope);
      Vector next = ahead - slope / curvature;
      domain.project(detail::span_of(next));
      if ((ahead - next).dot(next - point) > 0) {
        momentum = 1;
        ahead = point;
        gradient(ahead, slope);
        next = ahead - slope / curvature;
        domain.project(detail::span_of(next));
      }
      const double grown = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
      ahead = next + (momentum - 1) / grown * (next - point);
      momentum = grown;
      point.swap(next);
    }
    return point;
  }
};

class ProjectedSearch {
 public:
  ProjectedSearch(const AverageLoss& loss, const Domain& domain, double tolerance)
      : loss_(loss),
        domain_(domain),
        tolerance_(tolerance),
        newton_(loss.is_scalar() && loss.model_size() <= kMaxNewtonSize) {}

  ProjectedMinimum run(ProjectedStart& start) {
    point_ = start.point;
    domain_.project(detail::span_of(point_));
    // Starts with a width that allows a smoothing error of about the initial gap, but not below the
    // last width of the search before.
    look(start.width > 0 ? start.width : 1);
    const double typical = std::max(here_.actual, tolerance_);
    width_ = std::clamp(8 * best_.gap, std::min(start.width, typical), typical);
    look(width_);
    for (int round = 0; round < kMaxRounds && !is_done(); ++round) {
      const bool smooth_enough = loss_.has_kinks() && here_.excess > gap_;
      if (smooth_enough || !(newton_ ? newton_step() : gradient_steps())) {
        if (!loss_.has_kinks() || !(width_ > kThinnest)) break;
        width_ /= 4;
        look(width_);
      }
    }
    start.point = best_.point;
    start.width = width_;
    return best_;
  }

 private:
  static constexpr double kThinnest = 1e-280;

  bool is_done() const { return best_.gap <= tolerance_ || !std::isfinite(here_.value); }

  /// Evaluates the envelope at point_ and adopts the bounds that it proves.
  void look(double width) { adopt(loss_.envelope(point_, {width, newton_})); }

  void adopt(AverageLoss::Envelope found) {
    ++best_.evaluations;
    here_ = std::move(found);
    gap_ = linear_gap(domain_, point_, here_.gradient);
    const double gap = gap_ + here_.excess;
    if (std::isfinite(here_.actual - gap)) lower_ = std::max(lower_, here_.actual - gap);
    if (best_.evaluations == 1 || here_.actual < best_.value ||
        (here_.actual == best_.value && gap < best_.gap)) {
      best_.point = point_;
      best_.value = here_.actual;
      best_.gap = gap;
    }
    // Lower bounds at other points remain valid, up to the rounding of two averages.
    const double rounding = 0x1p-48 * std::abs(best_.value);
    if (std::isfinite(lower_))
      best_.gap = std::min(best_.gap, std::max(0.0, best_.value - lower_) + rounding);
  }

  /// Moves to the minimum of the quadratic model over the domain, or part of the way.
  bool newton_step() {
    const Vector origin = point_;
    const Vector slope = here_.gradient;
    const Matrix& bend = here_.hessian;
    const auto model_slope = [&](const Vector& point, Vector& out) {
      out.noalias() = slope + bend * (point - origin);
    };
    const auto is_good = [&](const Vector& point, const Vector& gradient) {
      const double gain = -(slope + gradient).dot(point - origin) / 2;
      const double left = linear_gap(domain_, point, gradient);
      return left <= 0.05 * gain || left <= tolerance_ / 16;
    };
    const double size = static_cast<double>(point_.size());
    const Acceleration inner{
        .domain = domain_,
        .curvature = std::max({bend.norm(), 1e-9 * slope.norm(), 1e-300}),
        .gradient = model_slope,
        .is_good = is_good,
        .max_steps = static_cast<std::int64_t>(std::clamp(4e7 / (size * size), 400.0, 2e4))};
    return search_along(inner.run(origin) - origin);
  }

  /// Backtracks by the secant method on the derivative. A derivative that is still negative proves
  /// descent even where values differ only by rounding.
  bool search_along(const Vector& direction) {
    const Vector origin = point_;
    const AverageLoss::Envelope before = here_;
    const double descent = before.gradient.dot(direction);
    if (!(descent < 0)) return false;
    double length = 1;
    for (int trial = 0; trial < kMaxTrials; ++trial) {
      point_ = origin + length * direction;
      domain_.project(detail::span_of(point_));
      look(width_);
      const double ahead = here_.gradient.dot(direction);
      if (here_.value <= before.value + 1e-4 * length * descent || ahead <= 0) return true;
      if (is_done()) return false;
      length *= std::clamp(descent / (descent - ahead), 0.1, 0.9);
    }
    point_ = origin;
    here_ = before;
    return false;
  }

  bool gradient_steps() {
    if (num_gradient_steps_ >= kMaxGradientSteps) return false;
    const double sharpness = loss_.loss().curvature().value_or(1 / width_);
    const auto slope_at = [&](const Vector& point, Vector& out) {
      ++best_.evaluations;
      ++num_gradient_steps_;
      out = loss_.envelope(point, {width_, false}).gradient;
    };
    const auto is_good = [&](const Vector& point, const Vector& /*gradient*/) {
      point_ = point;
      look(width_);
      return is_done() || (loss_.has_kinks() && here_.excess > gap_) ||
             num_gradient_steps_ >= kMaxGradientSteps;
    };
    const Acceleration steps{.domain = domain_,
                             .curvature = std::max(sharpness * loss_.mean_square(), 1e-300),
                             .gradient = slope_at,
                             .is_good = is_good,
                             .max_steps = kMaxGradientSteps};
    steps.run(point_);
    return true;
  }

  const AverageLoss& loss_;
  const Domain& domain_;
  double tolerance_;
  bool newton_;
  double width_ = 0;
  Vector point_;
  AverageLoss::Envelope here_;
  double gap_ = kInfinity;  ///< duality gap of the smoothed average over the domain
  double lower_ = -kInfinity;
  std::int64_t num_gradient_steps_ = 0;
  ProjectedMinimum best_{.point = {}, .value = kInfinity, .gap = kInfinity, .evaluations = 0};
};

}  // namespace

ProjectedMinimum minimize_projected(const AverageLoss& loss, const Domain& domain, double tolerance,
                                    ProjectedStart& start) {
  return ProjectedSearch(loss, domain, tolerance).run(start);
}

}  // namespace dpftrl
