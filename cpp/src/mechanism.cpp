// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/mechanism.hpp"

#include <algorithm>
#include <cmath>

#include "dpftrl/error.hpp"
#include "dpftrl/unit_error.hpp"
#include "dpftrl/workload.hpp"

namespace dpftrl {
namespace {

/// The dense check covers this many leading steps: every strategy here is nested, its leading block
/// is the same family at a smaller horizon.
constexpr std::int64_t kResidualSteps = 256;

/// Makes the noise std an upper bound: covers the rounding of its factors, of the sensitivity, and
/// of the decoder's stored coefficients (docs/math/grid.md).
constexpr double kRoundUp = 1 + 0x1p-36;

double decoder_residual(const std::string& name, std::int64_t num_steps) {
  const std::shared_ptr<const Strategy> leading =
      make_strategy({.name = name, .num_steps = num_steps});
  const Matrix product = leading->decoder() * leading->encoder();
  return (product - Workload::prefix_sums(num_steps).matrix()).cwiseAbs().maxCoeff();
}

}  // namespace

Mechanism::Mechanism(std::shared_ptr<const Strategy> strategy, Certificate certificate)
    : strategy_(std::move(strategy)), certificate_(std::move(certificate)) {}

std::shared_ptr<const Mechanism> Mechanism::make(const MechanismOptions& options) {
  require_positive("mechanism", "clip_norm", options.clip_norm);
  std::shared_ptr<const Strategy> strategy =
      make_strategy({.name = options.strategy, .num_steps = options.num_steps});
  const Participation participation = Participation::single();
  const Sensitivity distance = sensitivity(*strategy, participation);
  const UnitError error = unit_error(*strategy, participation);
  const double multiplier = noise_multiplier(options.target);
  const double mu = mu_from_approximate_dp(options.target);
  const std::int64_t residual_steps = std::min(options.num_steps, kResidualSteps);

  Certificate certificate{
      .strategy = options.strategy,
      .workload = std::string(Workload::prefix_sums(options.num_steps).name()),
      .participation = std::string(participation.name()),
      .num_steps = options.num_steps,
      .neighbours = options.neighbours,
      .epsilon = options.target.epsilon,
      .delta = options.target.delta,
      .mu = mu,
      .rho = rho_from_mu(mu),
      .clip_norm = options.clip_norm,
      .sensitivity = distance.value,
      .exactness = distance.exactness,
      .noise_multiplier = multiplier,
      .noise_stddev = multiplier * distance.value * options.clip_norm *
                      neighbour_distance(options.neighbours) * kRoundUp,
      .max_error = error.max_error,
      .mean_error = error.mean_error,
      .decoder_residual = decoder_residual(options.strategy, residual_steps),
      .residual_steps = residual_steps,
  };
  require_positive("mechanism", "noise_stddev", certificate.noise_stddev);
  return std::shared_ptr<const Mechanism>(
      new Mechanism(std::move(strategy), std::move(certificate)));
}

double Mechanism::release_stddev(std::int64_t step) const {
  return noise_stddev() * std::sqrt(strategy_->row_norm_squared(step));
}

}  // namespace dpftrl
