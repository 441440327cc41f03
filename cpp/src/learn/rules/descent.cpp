// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/descent.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

Workload workload_of_descent(const DescentSchedule& schedule, std::int64_t steps) {
  require_between("descent", "steps", steps, 1, kMaxNumSteps);
  if (schedule.rates.empty())
    return schedule.momentum == 0
               ? Workload::prefix_sums(steps)
               : Workload::momentum({.steps = steps, .momentum = schedule.momentum});
  std::vector<double> rates = schedule.rates;
  rates.resize(static_cast<std::size_t>(steps), rates.back());
  return Workload::learning_rates({.rates = std::move(rates), .momentum = schedule.momentum});
}

Descent::Descent(const DescentOptions& options)
    : UpdateRule(
          "descent",
          {.dimension = options.dimension, .domain = options.domain, .start = options.start}),
      lambda_(require_positive("descent", "lambda", options.lambda)),
      schedule_(options.schedule),
      latest_sum_(Vector::Zero(static_cast<Eigen::Index>(options.dimension))),
      velocity_(latest_sum_) {
  if (domain().regulariser() != Regulariser::euclidean)
    fail_argument("descent", "domain", "one with the Euclidean regulariser",
                  std::string(domain().name()));
  for (const double each : schedule_.rates) require_positive("descent", "rates", each);
  if (!(schedule_.momentum >= 0 && schedule_.momentum < 1))
    fail_argument("descent", "momentum", "at least 0 and below 1", to_text(schedule_.momentum));
}

double Descent::rate() const {
  if (schedule_.rates.empty()) return 1;
  const std::int64_t last = std::ssize(schedule_.rates) - 1;
  return schedule_.rates[static_cast<std::size_t>(std::min(last, num_updates()))];
}

void Descent::require_finite_step(std::span<const double> prefix_sum) const {
  const double size = rate() / lambda_;
  double extent = 0;
  for (Eigen::Index i = 0; i < velocity_.size(); ++i) {
    const double gradient = prefix_sum[static_cast<std::size_t>(i)] - latest_sum_(i);
    const double velocity = schedule_.momentum * velocity_(i) + gradient;
    extent += std::abs(velocity) + std::abs(size * velocity) + std::abs(iterate()(i));
  }
  if (std::isfinite(extent)) return;
  require_all_finite("descent", "prefix_sum", prefix_sum);
  require_finite("descent", "iterate", extent);
}

void Descent::next(std::size_t first, std::span<const double> sums, std::span<double> iterate) {
  const double size = rate() / lambda_;
  double* const velocity = velocity_.data() + first;
  double* const latest = latest_sum_.data() + first;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    velocity[i] = schedule_.momentum * velocity[i] + (sums[i] - latest[i]);
    latest[i] = sums[i];
    iterate[i] -= size * velocity[i];
  }
}

double Descent::finish_next(std::span<const double> /*prefix_sum*/, std::span<double> iterate,
                            double sum_of_squares) {
  return domain().project_up_to_factor(iterate, sum_of_squares);
}

}  // namespace dpftrl
