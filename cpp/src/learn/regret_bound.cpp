// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/regret.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <variant>

#include "dpftrl/base/error.hpp"
#include "learn/rules/ftrl.hpp"
#include "learn/rules/penalty.hpp"
#include "strategy/toeplitz/identity.hpp"

namespace dpftrl {
namespace {

void require_setting(std::string_view function, const RegretSetting& setting) {
  require_between(function, "steps", setting.steps, 1, kMaxNumSteps);
  require_positive(function, "gradient_bound", setting.gradient_bound);
  require_positive(function, "radius", setting.radius);
  require_between(function, "dimension", setting.dimension, 1, kMaxModelDimension);
  require_non_negative(function, "release_noise", setting.release_noise);
  require_non_negative(function, "largest_noise", setting.largest_noise);
  require_positive(function, "deviation_share", setting.deviation_share);
  require_non_negative(function, "penalty_slope", setting.penalty_slope);
  if (setting.penalty_slope > 0 && setting.regulariser != Regulariser::euclidean)
    fail_argument(function, "penalty_slope", "0 for the entropic regulariser",
                  to_text(setting.penalty_slope));
}

/// release_noise times 1 + G / L, the factor by which a penalty raises the noise term.
double noise_felt(const RegretSetting& setting) {
  return setting.release_noise * (1 + setting.penalty_slope / setting.gradient_bound);
}

/// `stability` is in units of L^2 / lambda.
RegretBound bound_with(const RegretSetting& setting, double lambda, double stability,
                       double growth) {
  const double n = static_cast<double>(setting.steps);
  const double bound_squared = setting.gradient_bound * setting.gradient_bound;
  return {.regularisation = lambda * setting.radius * setting.radius / (2 * n),
          .stability = bound_squared * stability / lambda,
          .noise = bound_squared / lambda * growth * noise_felt(setting)};
}

/// `bound_with` for the lambda of `lambda_at` with doubling, which grows by a factor of sqrt 2 when
/// the number of points doubles.
RegretBound doubling_bound_with(const RegretSetting& setting, double first_lambda, double growth) {
  const double n = static_cast<double>(setting.steps);
  double inverse = 0;          // mean of first_lambda / lambda_t
  double inverse_squared = 0;  // mean of its square
  std::int64_t first = 1;      // first of the points that share a lambda, counted from 1
  for (std::int64_t last = 1; first <= setting.steps; last *= 2) {
    const double share = static_cast<double>(std::min(last, setting.steps) - first + 1) / n;
    inverse += share / std::sqrt(static_cast<double>(last));
    inverse_squared += share / static_cast<double>(last);
    first = last + 1;
  }
  const double final_lambda = lambda_at(first_lambda, true, setting.steps - 1);
  const RegretBound flat = bound_with(setting, first_lambda, 0.5, growth);
  return {.regularisation = flat.regularisation * (final_lambda / first_lambda),
          .stability = flat.stability * inverse,
          .noise = flat.noise * std::sqrt(inverse_squared)};
}

/// (L / D) sqrt(n * twice the factor of L^2 / lambda in the bound).
double best_lambda(const RegretSetting& setting, double stability) {
  const double n = static_cast<double>(setting.steps);
  const double factor = stability + noise_growth(setting) * noise_felt(setting);
  return setting.gradient_bound / setting.radius * std::sqrt(n * 2 * factor);
}

void require_no_penalty(std::string_view function, const RegretSetting& setting) {
  if (setting.penalty_slope > 0)
    fail_argument(function, "penalty_slope", "0 for descent", to_text(setting.penalty_slope));
}

/// d nu^2 / L^2, with nu the standard deviation of the noise of one gradient. With C = I, releases
/// have running totals of that noise, whose mean variance over n steps is (n + 1) / 2 times nu^2.
double step_noise_squared(const RegretSetting& setting) {
  const double n = static_cast<double>(setting.steps);
  return static_cast<double>(setting.dimension) * setting.release_noise * setting.release_noise *
         2 / (n + 1);
}

}  // namespace

RegretSetting regret_setting(const Certificate& certificate, std::int64_t dimension,
                             double radius) {
  return {.steps = certificate.steps,
          .gradient_bound = certificate.clip,
          .radius = radius,
          .dimension = dimension,
          .release_noise = neighbour_distance(certificate.neighbours) *
                           certificate.noise_multiplier * certificate.mean_error,
          .largest_noise = neighbour_distance(certificate.neighbours) *
                           certificate.noise_multiplier * certificate.max_error};
}

RegretSetting regret_setting(const Certificate& certificate, std::int64_t dimension,
                             const Domain& domain, double radius) {
  RegretSetting setting =
      regret_setting(certificate, dimension, domain.diameter(dimension).value_or(radius));
  setting.regulariser = domain.regulariser();
  return setting;
}

RegretSetting with_penalty(RegretSetting setting, const Penalty& penalty, const ModelShape& shape,
                           const Domain& domain) {
  setting.penalty_slope = penalty_slope(penalty, shape);
  require_domain_for("with_penalty", penalty, domain);
  return setting;
}

double deviation_share(const Strategy& strategy) {
  const DecoderForm form = strategy.decoder_form();
  const auto* toeplitz = std::get_if<ToeplitzDecoder>(&form);
  if (toeplitz == nullptr) return 1;
  const std::span coefficients(toeplitz->coefficients);
  double sum = 0;
  for (const double c : coefficients.first(static_cast<std::size_t>(strategy.steps())))
    sum += std::abs(c);
  const double squared_norm =
      strategy.row_norms().mean_squared * static_cast<double>(strategy.steps());
  return std::min(1.0, sum / std::sqrt(squared_norm) * (1 + 0x1p-20));
}

double noise_growth(const RegretSetting& setting) {
  const double d = static_cast<double>(setting.dimension);
  return std::sqrt(setting.regulariser == Regulariser::euclidean ? d : 2 * std::log(2 * d));
}

RegretBound regret_bound(const RegretSetting& setting, double lambda) {
  require_setting("regret_bound", setting);
  require_positive("regret_bound", "lambda", lambda);
  return bound_with(setting, lambda, 0.5, noise_growth(setting));
}

RegretBound doubling_regret_bound(const RegretSetting& setting, double first_lambda) {
  require_setting("doubling_regret_bound", setting);
  require_positive("doubling_regret_bound", "first_lambda", first_lambda);
  return doubling_bound_with(setting, first_lambda, noise_growth(setting));
}

RegretBound high_probability_regret_bound(const RegretSetting& setting,
                                          const HighProbabilityOptions& options) {
  require_setting("high_probability_regret_bound", setting);
  require_positive("high_probability_regret_bound", "lambda", options.lambda);
  const double beta = require_inside("high_probability_regret_bound", "failure_probability",
                                     options.failure_probability, 0, 1);
  const double growth =
      noise_growth(setting) + setting.deviation_share * std::sqrt(2 * std::log(1 / beta));
  return options.doubling ? doubling_bound_with(setting, options.lambda, growth)
                          : bound_with(setting, options.lambda, 0.5, growth);
}

RegretBound max_error_regret_bound(const RegretSetting& setting,
                                   const MaxErrorRegretOptions& options) {
  constexpr const char* kFunction = "max_error_regret_bound";
  require_setting(kFunction, setting);
  require_positive(kFunction, "lambda", options.lambda);
  double events = static_cast<double>(setting.steps);
  if (options.failure_probability)
    events /= require_inside(kFunction, "failure_probability", *options.failure_probability, 0, 1);
  const double growth = noise_growth(setting) + std::sqrt(2 * std::log(events));
  RegretSetting largest = setting;
  largest.release_noise = setting.largest_noise;
  return options.doubling ? doubling_bound_with(largest, options.lambda, growth)
                          : bound_with(largest, options.lambda, 0.5, growth);
}

RegretBound hazan_regret_bound(const RegretSetting& setting, double lambda) {
  require_setting("hazan_regret_bound", setting);
  require_positive("hazan_regret_bound", "lambda", lambda);
  return bound_with(setting, lambda, 2, noise_growth(setting));
}

double theorem_lambda(const RegretSetting& setting) {
  require_setting("theorem_lambda", setting);
  return best_lambda(setting, 0.5);
}

double hazan_lambda(const RegretSetting& setting) {
  require_setting("hazan_lambda", setting);
  return best_lambda(setting, 2);
}

std::optional<RegretBound> descent_regret_bound(const RegretSetting& setting,
                                                const Strategy& strategy, double lambda) {
  require_setting("descent_regret_bound", setting);
  require_no_penalty("descent_regret_bound", setting);
  require_positive("descent_regret_bound", "lambda", lambda);
  if (strategy.name() != IndependentStrategy::kName) return std::nullopt;
  RegretBound bound = bound_with(setting, lambda, 0.5, 0);
  bound.noise = bound.stability * step_noise_squared(setting);
  return bound;
}

double descent_lambda(const RegretSetting& setting, const Strategy& strategy) {
  require_setting("descent_lambda", setting);
  require_no_penalty("descent_lambda", setting);
  if (strategy.name() != IndependentStrategy::kName) return theorem_lambda(setting);
  return setting.gradient_bound / setting.radius *
         std::sqrt(static_cast<double>(setting.steps) * (1 + step_noise_squared(setting)));
}

}  // namespace dpftrl
