// SPDX-License-Identifier: Apache-2.0
#include "optimal/descent_search.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "math/linear_algebra.hpp"

namespace dpftrl::detail {
namespace {

/// Thrown through `minimize` when the caller of the library requests a stop.
struct StopRequested {};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Sharpness of the smooth maxima. With few parameters the largest rows are isolated peaks, and
/// Newton's method copes with any curvature; with more, L-BFGS needs a smoother function and more
/// rounds. With more than 1000 parameters these rounds would take too long, so their descents are
/// cut short and end at a larger gradient, and rounds that gain little end the search.
struct Schedule {
  double first;
  double growth;
  double most;
  std::int64_t num_rounds;
  std::int64_t max_line_searches;  ///< limit in one round
  /// Limit on consecutive rounds that each gain less than a tenth of the convergence gap; further
  /// rounds would not be worth their time.
  std::int64_t max_idle_rounds;
  /// The next multiplier of a row is at least this fraction of its first multiplier. A few rows can
  /// carry all the weight while the others have nearly none; without a floor, the others can rise
  /// above the largest, and their weights take tens of rounds to recover. The floor gives rows
  /// whose ln(error) is x below the largest a weight of at most floor * exp(-sharpness x), which
  /// adds less than floor / (e sharpness) to the gap.
  double multiplier_floor;
  double gradient_in_tolerances;  ///< gradient norm that counts as converged
  double gap_in_tolerances;       ///< duality gap that counts as converged
};
constexpr Schedule kFewParameters{.first = 100,
                                  .growth = 4,
                                  .most = 1e7,
                                  .num_rounds = 16,
                                  .max_line_searches = std::int64_t{1} << 20,
                                  .max_idle_rounds = 16,
                                  .multiplier_floor = 0,
                                  .gradient_in_tolerances = 1,
                                  .gap_in_tolerances = 10};
constexpr Schedule kSomeParameters{.first = 10,
                                   .growth = 2,
                                   .most = 400,
                                   .num_rounds = 80,
                                   .max_line_searches = std::int64_t{1} << 20,
                                   .max_idle_rounds = 80,
                                   .multiplier_floor = 1e-3,
                                   .gradient_in_tolerances = 1,
                                   .gap_in_tolerances = 100};
constexpr Schedule kManyParameters{.first = 10,
                                   .growth = 4,
                                   .most = 1000,
                                   .num_rounds = 80,
                                   .max_line_searches = 200,
                                   .max_idle_rounds = 16,
                                   .multiplier_floor = 0.01,
                                   .gradient_in_tolerances = 30,
                                   .gap_in_tolerances = 100};

/// ln of the mean or of the smooth maximum of rows, as a function of the parameters.
class Aggregate {
 public:
  Aggregate(RowErrors& rows, Objective objective, const Schedule& schedule)
      : rows_(rows), objective_(objective), schedule_(schedule), sharpness_(schedule.first) {
    for (const double m : rows.multiplicities()) num_rows_ += m;
  }

  double operator()(const Vector& point, Vector& gradient) {
    const std::vector<double>& values = rows_.values(point);
    if (values.empty()) return kInfinity;
    for (const double value : values)
      if (!(value > 0 && std::isfinite(value))) return kInfinity;
    const double log_error = objective_ == Objective::mean ? weigh_mean(values) : weigh_max(values);
    if (objective_ == Objective::max && largest_ < least_) {
      least_ = largest_;
      best_ = point;
    }
    for (std::size_t t = 0; t < values.size(); ++t) slopes_[t] = weights_[t] / (2 * values[t]);
    rows_.pull_back(slopes_, gradient);
    return log_error;
  }

  /// Takes the weights at the last point as multipliers of the next, sharper maximum.
  void sharpen() {
    const double floor = schedule_.multiplier_floor / num_rows_;
    for (std::size_t t = 0; t < weights_.size(); ++t)
      log_multipliers_[t] =
          std::log(std::max({weights_[t], floor * rows_.multiplicities()[t], 1e-300}));
    sharpness_ = std::min(schedule_.growth * sharpness_, schedule_.most);
  }

  double sharpness() const { return sharpness_; }
  /// Least value so far of the largest row, and its point.
  const double& least() const { return least_; }
  const Vector& best() const { return best_; }
  /// Distance of least() from sum p l at the last point. At a stationary point it is zero if only
  /// the largest rows have weight, and no earlier point had a smaller largest row.
  double gap() const { return std::abs(least_ - mean_); }

 private:
  double weigh_mean(const std::vector<double>& values) {
    const std::vector<double>& multiplicities = rows_.multiplicities();
    double sum = 0;
    for (std::size_t t = 0; t < values.size(); ++t) sum += multiplicities[t] * values[t];
    weights_.resize(values.size());
    slopes_.resize(values.size());
    for (std::size_t t = 0; t < values.size(); ++t)
      weights_[t] = multiplicities[t] * values[t] / sum;
    return std::log(sum / num_rows_) / 2;
  }

  double weigh_max(const std::vector<double>& values) {
    const std::vector<double>& multiplicities = rows_.multiplicities();
    if (log_multipliers_.size() != values.size()) {
      log_multipliers_.resize(values.size());
      for (std::size_t t = 0; t < values.size(); ++t)
        log_multipliers_[t] = std::log(multiplicities[t] / num_rows_);
    }
    weights_.resize(values.size());
    slopes_.resize(values.size());
    double top = -kInfinity;
    largest_ = -kInfinity;
    for (std::size_t t = 0; t < values.size(); ++t) {
      const double l = std::log(values[t]) / 2;
      largest_ = std::max(largest_, l);
      weights_[t] = log_multipliers_[t] + sharpness_ * l;
      top = std::max(top, weights_[t]);
    }
    double sum = 0;
    for (double& weight : weights_) sum += weight = std::exp(weight - top);
    mean_ = 0;
    for (std::size_t t = 0; t < values.size(); ++t) {
      weights_[t] /= sum;
      mean_ += weights_[t] * std::log(values[t]) / 2;
    }
    return (top + std::log(sum)) / sharpness_;
  }

  RowErrors& rows_;
  Objective objective_;
  Schedule schedule_;
  double num_rows_ = 0;
  double sharpness_;
  double mean_ = 0;  ///< sum p l
  double largest_ = kInfinity;
  double least_ = kInfinity;
  Vector best_;
  std::vector<double> weights_;
  std::vector<double> slopes_;
  std::vector<double> log_multipliers_;
};

constexpr Eigen::Index kMaxNewtonDimension = 40;
constexpr Eigen::Index kMaxPatientDimension = 1000;

const Schedule& schedule_for(Eigen::Index num_parameters) {
  if (num_parameters <= kMaxNewtonDimension) return kFewParameters;
  return num_parameters <= kMaxPatientDimension ? kSomeParameters : kManyParameters;
}

/// Line searches of L-BFGS before Newton's method is tried.
constexpr std::int64_t kFirstIterations = 60;
/// Line searches in one piece; the next piece begins without curvature information.
constexpr std::int64_t kPieceIterations = 100;

/// Hessian by central differences of the gradient.
Matrix hessian_at(const SmoothFunction& log_error, const Vector& point, double step) {
  const Eigen::Index size = point.size();
  Matrix hessian(size, size);
  Vector forward(size), backward(size);
  for (Eigen::Index k = 0; k < size; ++k) {
    Vector at = point;
    at(k) += step;
    (void)log_error(at, forward);
    at(k) -= 2 * step;
    (void)log_error(at, backward);
    hessian.col(k) = (forward - backward) / (2 * step);
  }
  return (hessian + hessian.transpose()) / 2;
}

}  // namespace

void require_family_options(const char* function, const FamilyOptions& options) {
  require_between(function, "max_iterations", options.max_iterations, 1, std::int64_t{1} << 20);
  require_between(function, "max_total_iterations", options.max_total_iterations, 1,
                  std::int64_t{1} << 40);
  if (!(options.tolerance >= 1e-12 && options.tolerance <= 1e-2))
    fail_argument(function, "tolerance", "between 1e-12 and 0.01", to_text(options.tolerance));
}

Pieces::Pause Search::pause() {
  if (pieces_ != nullptr) pieces_->count(iterations_);
  return {pieces_};
}

Task<DescentResult> Search::descend(const SmoothFunction& log_error, Vector start, Limits limits) {
  DescentResult best{SolverStatus::not_converged, start, kInfinity, kInfinity};
  DescentResult seen = best;
  const SmoothFunction watched = [&](const Vector& point, Vector& gradient) {
    const double value = log_error(point, gradient);
    ++evaluations_;
    if (value < seen.value) seen = {SolverStatus::stopped, point, value, gradient.norm()};
    least_ = std::min(least_, limits.shown != nullptr ? *limits.shown : value);
    if (options_.progress && !options_.progress({evaluations_, std::exp(least_)})) {
      stopped_ = true;
      throw StopRequested{};
    }
    return value;
  };
  if (!(limits.tolerance > 0)) limits.tolerance = options_.tolerance;
  const double tolerance = limits.tolerance;
  const bool has_few = start.size() <= kMaxNewtonDimension;
  const std::int64_t left_in_all = options_.max_total_iterations - iterations_;
  const Left all{std::min({options_.max_iterations, limits.max_line_searches, left_in_all})};
  const Left first{has_few ? std::min(all.line_searches, kFirstIterations) : all.line_searches};
  Left left{all.line_searches - first.line_searches};
  try {
    (void)co_await quasi_newton(watched, best, tolerance, first);
    if (has_few && std::isfinite(best.value)) {
      left = co_await polish(watched, best, limits, left);
      if (!(best.gradient_norm <= tolerance))
        (void)co_await quasi_newton(watched, best, tolerance, left);
    }
  } catch (const StopRequested&) {
    best = seen;
  }
  if (stopped_)
    best.status = SolverStatus::stopped;
  else
    best.status =
        best.gradient_norm <= tolerance ? SolverStatus::converged : SolverStatus::not_converged;
  is_exhausted_ =
      best.status != SolverStatus::converged && iterations_ >= options_.max_total_iterations;
  co_return best;
}

Task<Search::Left> Search::quasi_newton(const SmoothFunction& log_error, DescentResult& best,
                                        double tolerance, Left left) {
  while (left.line_searches > 0) {
    const double before = best.value;
    const Vector from = best.point;
    const OptimizeOptions piece{.max_iterations = std::min(left.line_searches, kPieceIterations),
                                .gradient_tolerance = tolerance};
    const OptimizeResult result = minimize(log_error, from, piece);
    iterations_ += result.iterations;
    left.line_searches -= std::max<std::int64_t>(result.iterations, 1);
    best.point = result.point;
    best.value = result.value;
    best.gradient_norm = result.gradient_norm;
    co_await pause();
    const bool may_go_on = result.status == OptimizeStatus::line_search_failed ||
                           result.status == OptimizeStatus::iteration_limit;
    if (!may_go_on || !(result.value < before)) break;
  }
  co_return left;
}

/// Newton's method for few parameters, because near the minimum the line search of L-BFGS fails to
/// distinguish values long before the gradient is small, and valleys are long. Steps are damped
/// until they are short and lower the value, or lower the gradient without raising the value by
/// more than rounding.
Task<Search::Left> Search::polish(const SmoothFunction& log_error, DescentResult& best,
                                  Limits limits, Left left) {
  const Eigen::Index size = best.point.size();
  Vector gradient(size), trial_gradient(size);
  (void)log_error(best.point, gradient);
  for (int round = 0; round < 25 && left.line_searches > 0; ++round) {
    if (!(best.gradient_norm > limits.tolerance)) break;
    const Matrix hessian = hessian_at(log_error, best.point, limits.newton_step);
    if (!hessian.allFinite()) break;
    const Eigensystem eigen = symmetric_eigen(hessian);
    const Eigen::MatrixXd vectors = eigen.vectors;  // by columns: products add in that order
    const Vector curvature = eigen.values.cwiseAbs();
    const Vector slope = vectors.transpose() * gradient;
    bool moved = false;
    for (double damping = 1e-11; damping < 10 && !moved; damping *= 30) {
      const Vector direction =
          vectors *
          slope.cwiseQuotient((curvature.array() + damping * curvature.maxCoeff()).matrix());
      if (!(direction.lpNorm<Eigen::Infinity>() < 1)) continue;
      const Vector trial = best.point - direction;
      const double value = log_error(trial, trial_gradient);
      const double norm = trial_gradient.norm();
      if (!(value < best.value || (norm < best.gradient_norm && value <= best.value + 1e-14)))
        continue;
      best.point = trial;
      best.value = value;
      best.gradient_norm = norm;
      gradient = trial_gradient;
      moved = true;
    }
    if (!moved) break;
    --left.line_searches;
    ++iterations_;
    co_await pause();
  }
  co_return left;
}

FamilySearch Search::report(const DescentResult& best) const {
  return {.status = stopped_        ? SolverStatus::stopped
                    : is_exhausted_ ? SolverStatus::not_converged
                                    : best.status,
          .gradient_norm = best.gradient_norm,
          .duality_gap = best.gap,
          .iterations = iterations_,
          .evaluations = evaluations_};
}

Task<DescentResult> descend_rows(RowErrors& rows, Objective objective, Vector start, Search& search,
                                 Effort effort) {
  const Schedule& schedule = schedule_for(start.size());
  Aggregate aggregate(rows, objective, schedule);
  const SmoothFunction log_error = [&](const Vector& point, Vector& gradient) {
    return aggregate(point, gradient);
  };
  if (objective == Objective::mean) {
    DescentResult mean = co_await search.descend(log_error, start);
    co_return mean;
  }

  const bool is_full = effort == Effort::full;
  const double tolerance = is_full ? schedule.gradient_in_tolerances * search.tolerance()
                                   : std::max(search.tolerance(), 1e-4);
  const double wanted_gap = schedule.gap_in_tolerances * search.tolerance();
  const std::int64_t num_rounds = is_full ? schedule.num_rounds : 2;
  Vector gradient(start.size());
  DescentResult best{SolverStatus::not_converged, start, kInfinity, kInfinity};
  Vector from = start;
  std::int64_t num_idle = 0;
  for (std::int64_t round = 0;
       round < num_rounds && num_idle < schedule.max_idle_rounds && !search.stopped(); ++round) {
    const Search::Limits limits{.tolerance = tolerance,
                                .newton_step = std::min(1e-5, 1e-2 / aggregate.sharpness()),
                                .max_line_searches = schedule.max_line_searches,
                                .shown = &aggregate.least()};
    const DescentResult now = co_await search.descend(log_error, from, limits);
    if (!std::isfinite(aggregate(now.point, gradient))) break;
    const bool settled =
        is_full && now.status == SolverStatus::converged && aggregate.gap() <= wanted_gap;
    const double gain = best.value - aggregate.least();
    num_idle = gain < wanted_gap / 10 ? num_idle + 1 : 0;
    if (gain > 0 || settled)
      best = {settled ? SolverStatus::converged : SolverStatus::not_converged, aggregate.best(),
              aggregate.least(), now.gradient_norm, aggregate.gap()};
    if (settled) break;
    from = now.point;
    aggregate.sharpen();
  }
  co_return best;
}

}  // namespace dpftrl::detail
