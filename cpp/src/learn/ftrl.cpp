// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/ftrl.hpp"

#include <cmath>

#include "dpftrl/error.hpp"

namespace dpftrl {
namespace {

std::span<double> span_of(Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

void require_setting(std::string_view function, const RegretSetting& setting) {
  require_between(function, "num_steps", setting.num_steps, 1, kMaxNumSteps);
  require_positive(function, "gradient_bound", setting.gradient_bound);
  require_positive(function, "radius", setting.radius);
  require_between(function, "dimension", setting.dimension, 1, kMaxModelDimension);
  require_non_negative(function, "release_noise", setting.release_noise);
}

}  // namespace

Ftrl::Ftrl(const FtrlOptions& options)
    : lambda_(require_positive("ftrl", "lambda", options.lambda)), domain_(options.domain) {
  require_between("ftrl", "dimension", options.dimension, 1, kMaxModelDimension);
  if (!domain_) fail(ErrorCode::invalid_argument, "ftrl: domain must be given");
  const Eigen::Index dimension = static_cast<Eigen::Index>(options.dimension);
  start_ = options.start.size() == 0 ? Vector::Zero(dimension) : options.start;
  require_length("ftrl", "start", start_.size(), options.dimension);
  require_all_finite("ftrl", "start", span_of(start_));
  iterate_ = start_;
  domain_->project(span_of(iterate_));
  if (iterate_ != start_)
    fail_argument("ftrl", "start", "a point of the domain",
                  "one of norm " + to_text(start_.stableNorm()));
  next_ = iterate_;
  played_sum_ = Vector::Zero(dimension);
}

void Ftrl::update(std::span<const double> prefix_sum) {
  require_length("ftrl", "prefix_sum", static_cast<std::int64_t>(prefix_sum.size()), dimension());
  require_all_finite("ftrl", "prefix_sum", prefix_sum);
  for (std::size_t i = 0; i < prefix_sum.size(); ++i) {
    const Eigen::Index k = static_cast<Eigen::Index>(i);
    next_(k) = start_(k) - prefix_sum[i] / lambda_;
  }
  require_all_finite("ftrl", "prefix_sum / lambda", span_of(next_));
  domain_->project(span_of(next_));
  played_sum_ += iterate_;
  iterate_.swap(next_);
  ++num_updates_;
}

Vector Ftrl::average() const {
  if (num_updates_ == 0) return start_;
  return played_sum_ / static_cast<double>(num_updates_);
}

RegretSetting regret_setting(const Certificate& certificate, std::int64_t dimension,
                             double radius) {
  return {.num_steps = certificate.num_steps,
          .gradient_bound = certificate.clip_norm,
          .radius = radius,
          .dimension = dimension,
          .release_noise = neighbour_distance(certificate.neighbours) *
                           certificate.noise_multiplier * certificate.mean_error};
}

RegretBound regret_bound(const RegretSetting& setting, double lambda) {
  require_setting("regret_bound", setting);
  require_positive("regret_bound", "lambda", lambda);
  const double n = static_cast<double>(setting.num_steps);
  const double root_dimension = std::sqrt(static_cast<double>(setting.dimension));
  const double bound_squared = setting.gradient_bound * setting.gradient_bound;
  return {.regularisation = lambda * setting.radius * setting.radius / (2 * n),
          .stability = bound_squared / (2 * lambda),
          .noise = bound_squared / lambda * root_dimension * setting.release_noise};
}

double theorem_lambda(const RegretSetting& setting) {
  require_setting("theorem_lambda", setting);
  const double n = static_cast<double>(setting.num_steps);
  const double root_dimension = std::sqrt(static_cast<double>(setting.dimension));
  const double noise_factor = 1 + 2 * root_dimension * setting.release_noise;
  return setting.gradient_bound / setting.radius * std::sqrt(n * noise_factor);
}

}  // namespace dpftrl
