// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/analysis/mechanism.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "strategy/endless_ar.hpp"

namespace dpftrl {
namespace {

/// The dense check covers this many leading steps.
constexpr std::int64_t kResidualSteps = 256;

/// Makes the noise std an upper bound: covers the rounding of its factors, of the sensitivity, and
/// of the decoder's stored coefficients (docs/math/grid.md).
constexpr double kMechanismRoundUp = 1 + 0x1p-36;

/// Sets the std of Z that the sensitivity, the multiplier and the clip norm require.
void set_noise_stddev(Certificate& certificate, const Strategy& strategy,
                      const Participation& participation) {
  // The slack is per column, and a user contributes to up to this many columns.
  const double slack =
      strategy.encoder_slack() * static_cast<double>(participation.times_within(certificate.steps));
  certificate.noise_stddev = certificate.noise_multiplier * certificate.sensitivity * (1 + slack) *
                             certificate.clip * neighbour_distance(certificate.neighbours) *
                             kMechanismRoundUp;
  require_positive("mechanism", "noise_stddev", certificate.noise_stddev);
}

/// Errors of a strategy at unit noise multiplier, for the neighbour relation in the options.
UnitError error_of(const MechanismOptions& options, const Strategy& strategy) {
  UnitError error = unit_error(strategy, options.participation);
  if (!options.moving_records) return error;
  const Sensitivity moving = moving_sensitivity(strategy, options.participation);
  const double ratio = moving.value / error.sensitivity.value;
  return {moving, ratio * error.max_error, ratio * error.mean_error};
}

DecoderResidual residual_of(const Strategy& strategy) {
  const Matrix product = strategy.decoder() * strategy.encoder();
  return {(product - strategy.workload().matrix()).cwiseAbs().maxCoeff(), strategy.steps()};
}

}  // namespace

std::vector<PlanNumbers> effective_parameters(const Strategy& strategy,
                                              const StrategyParameters& given) {
  std::vector<PlanNumbers> parameters = strategy.parameters();
  if (given.normalize_columns) parameters.push_back({"normalize_columns", {1}});
  if (given.complete_epochs) parameters.push_back({"complete_epochs", {1}});
  return parameters;
}

DecoderResidual decoder_residual(const StrategyOptions& options) {
  StrategyOptions leading = options;
  leading.steps = std::min(options.steps, kResidualSteps);
  // Epochs of the whole horizon do not fit a shorter horizon.
  if (leading.steps < options.steps) leading.participation = Participation::single();
  leading.workload = options.workload ? options.workload->leading(leading.steps)
                                      : Workload::prefix_sums(leading.steps);
  if (options.encoder_workload)
    leading.encoder_workload = options.encoder_workload->leading(leading.steps);
  if (options.parameters.epoch_length)
    leading.parameters.epoch_length = std::min(*options.parameters.epoch_length, leading.steps);
  if (options.parameters.plan)
    leading.parameters.plan = std::make_shared<const StrategyPlan>(
        options.parameters.plan->leading(leading.steps, options.steps));
  return residual_of(*make_strategy(leading));
}

DecoderResidual decoder_residual(const Strategy& strategy, const StrategyOptions& options) {
  return options.steps <= kResidualSteps ? residual_of(strategy) : decoder_residual(options);
}

Mechanism::Mechanism(std::shared_ptr<const Strategy> strategy, StrategyOptions options,
                     Certificate certificate)
    : strategy_(std::move(strategy)),
      options_(std::move(options)),
      certificate_(std::move(certificate)) {}

Certificate Mechanism::claim(const MechanismOptions& options, const Strategy& strategy,
                             const UnitError& error) {
  const double mu = mu_from_approximate_dp(options.target);
  Certificate certificate{
      .strategy = options.strategy,
      .workload = strategy.workload().name(),
      .participation = std::string(options.participation.name()),
      .max_participations = options.participation.times(),
      .separation = options.participation.apart(),
      .active = options.participation.pattern(),
      .steps = options.steps,
      .neighbours = options.neighbours,
      .epsilon = options.target.epsilon,
      .delta = options.target.delta,
      .mu = mu,
      .rho = rho_from_mu(mu),
      .clip = options.clip,
      .sensitivity = error.sensitivity.value,
      .exactness = error.sensitivity.exactness,
      .sensitivity_method = error.sensitivity.method,
      .noise_multiplier = noise_multiplier(options.target),
      .noise_stddev = 0,
      .max_error = error.max_error,
      .mean_error = error.mean_error,
      .objective = objective_of(options.parameters),
      .parameters = effective_parameters(strategy, options.parameters),
      .optimised_for = optimised_for(
          {.name = options.strategy,
           .steps = options.steps,
           .workload = options.encoder_workload ? options.encoder_workload : strategy.workload(),
           .parameters = options.parameters,
           .participation = options.participation}),
  };
  set_noise_stddev(certificate, strategy, options.participation);
  return certificate;
}

std::shared_ptr<const Mechanism> Mechanism::make(const MechanismOptions& options) {
  require_positive("mechanism", "clip", options.clip);
  if (options.moving_records && options.neighbours != Neighbours::zero_out)
    fail_argument("mechanism", "neighbours", "zero-out with {moving_records}",
                  std::string(to_string(options.neighbours)));
  if (const auto& pattern = options.participation.pattern();
      pattern && pattern->neighbours != options.neighbours)
    fail_argument("mechanism", "neighbours",
                  "those of the pattern, " + std::string(to_string(pattern->neighbours)),
                  std::string(to_string(options.neighbours)));
  StrategyOptions strategy_options{.name = options.strategy,
                                   .steps = options.steps,
                                   .workload = options.workload,
                                   .encoder_workload = options.encoder_workload,
                                   .parameters = options.parameters,
                                   .participation = options.participation};
  require_known_errors(strategy_options);
  std::shared_ptr<const Strategy> strategy = make_strategy(strategy_options);
  Certificate certificate = claim(options, *strategy, error_of(options, *strategy));
  return std::shared_ptr<const Mechanism>(
      new Mechanism(std::move(strategy), std::move(strategy_options), std::move(certificate)));
}

std::shared_ptr<const Mechanism> Mechanism::with_clip(double clip) const {
  Certificate certificate = certificate_;
  certificate.clip = require_positive("mechanism", "clip", clip);
  set_noise_stddev(certificate, *strategy_, participation());
  const std::shared_ptr<Mechanism> same(new Mechanism(strategy_, options_, std::move(certificate)));
  same->stack_ = stack_;
  for (const auto& part : parts_) same->parts_.push_back(part->with_clip(clip));
  return same;
}

Proof Mechanism::proof() const {
  // There is no bound for parts of a stream, and the catalogue does not name this strategy.
  if (certificate_.protected_steps) {
    const EndlessArStrategy leading(kResidualSteps, certificate_.active->window);
    return {.lower_bound = std::nullopt, .residual = residual_of(leading)};
  }
  return {.lower_bound = certified_lower_bound(*strategy_, participation(), certificate_.objective),
          .residual = decoder_residual(*strategy_, options_)};
}

double Mechanism::release_stddev(std::int64_t step) const {
  return noise_stddev() * std::sqrt(strategy_->row_norm_squared(step));
}

}  // namespace dpftrl
