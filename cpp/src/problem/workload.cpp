// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/problem/workload.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxCoefficients = std::int64_t{1} << 26;

std::int64_t require_steps(std::string_view function, std::int64_t steps) {
  return require_between(function, "steps", steps, 1, kMaxNumSteps);
}

double require_momentum(std::string_view function, double momentum) {
  if (!(momentum >= 0 && momentum < 1))
    fail_argument(function, "momentum", "at least 0 and below 1", to_text(momentum));
  return momentum;
}

}  // namespace

Workload Workload::prefix_sums(std::int64_t steps) {
  return {Kind::prefix, require_steps("prefix_sums", steps)};
}

Workload Workload::momentum(const Momentum& options) {
  Workload workload(Kind::momentum, require_steps("momentum_workload", options.steps));
  workload.momentum_ = require_momentum("momentum_workload", options.momentum);
  if (!(options.decay > 0 && options.decay <= 1))
    fail_argument("momentum_workload", "decay", "above 0 and at most 1", to_text(options.decay));
  workload.decay_ = options.decay;
  if (workload.momentum_ == 0 && workload.decay_ == 1) workload.kind_ = Kind::prefix;
  return workload;
}

Workload Workload::sliding_window(const Window& options) {
  const std::int64_t steps = require_steps("sliding_window", options.steps);
  require_between("sliding_window", "window", options.window, 1, kMaxNumSteps);
  return window_of(steps, options.window);
}

Workload Workload::window_of(std::int64_t steps, std::int64_t width) {
  // Such a wide window drops no record, so its width stays out of fingerprints.
  if (width >= steps) return {Kind::prefix, steps};
  Workload workload(Kind::window, steps);
  workload.width_ = width;
  return workload;
}

Workload Workload::learning_rates(Rates options) {
  const std::int64_t steps = std::ssize(options.rates);
  if (steps < 1) fail_argument("learning_rates", "rates", "one number per step", "none");
  require_steps("learning_rates", steps);
  require_all_finite("learning_rates", "rates", options.rates);
  const auto zero = std::ranges::find(options.rates, 0.0);
  if (zero != options.rates.end())
    fail_argument("learning_rates", "rates[" + std::to_string(zero - options.rates.begin()) + "]",
                  "different from 0 (the total would repeat, and the workload have no inverse)",
                  "0");
  Workload workload(Kind::rates, steps);
  workload.momentum_ = require_momentum("learning_rates", options.momentum);
  workload.rates_ = std::move(options.rates);
  return workload;
}

std::string Workload::name() const {
  switch (kind_) {
    case Kind::prefix:
      return "prefix";
    case Kind::momentum:
      return "momentum=" + to_text(momentum_) + ",decay=" + to_text(decay_);
    case Kind::window:
      return "window=" + to_text(width_);
    case Kind::rates:
      return momentum_ == 0 ? "rates" : "rates,momentum=" + to_text(momentum_);
    case Kind::matrix:
      return "matrix";
  }
  return "unknown";
}

double Workload::entry(std::int64_t step, std::int64_t column) const {
  return (*matrix_)(static_cast<Eigen::Index>(step), static_cast<Eigen::Index>(column));
}

std::vector<double> Workload::coefficients() const {
  if (!is_toeplitz())
    fail(ErrorCode::unsupported, "workload", "workload", "must have Toeplitz coefficients", name());
  if (steps_ > kMaxCoefficients)
    fail(ErrorCode::unsupported, "workload", "steps",
         "must be at most " + to_text(kMaxCoefficients) + " for coefficients", to_text(steps_));
  std::vector<double> impulse(static_cast<std::size_t>(steps_));
  impulse[0] = 1;
  return apply(std::move(impulse));
}

Workload Workload::block(std::int64_t first, std::int64_t steps) const {
  require_between("workload", "first", first, 0, steps_ - 1);
  require_between("workload", "steps", steps, 1, steps_ - first);
  if (kind_ == Kind::window) return window_of(steps, width_);
  Workload block(kind_, steps);
  block.momentum_ = momentum_;
  block.decay_ = decay_;
  if (kind_ == Kind::rates) {
    const std::span kept =
        std::span(rates_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(steps));
    block.rates_.assign(kept.begin(), kept.end());
  }
  if (kind_ == Kind::matrix) {
    const auto from = static_cast<Eigen::Index>(first), size = static_cast<Eigen::Index>(steps);
    block.matrix_ = std::make_shared<const Matrix>(matrix_->block(from, from, size, size));
    block.has_toeplitz_matrix_ = has_toeplitz_matrix_;
  }
  return block;
}

}  // namespace dpftrl
