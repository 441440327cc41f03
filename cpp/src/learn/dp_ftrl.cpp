// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/dp_ftrl.hpp"

#include <cmath>

#include "dpftrl/error.hpp"

namespace dpftrl {
namespace {

const DpFtrlOptions& require_parts(const DpFtrlOptions& options) {
  if (!options.mechanism) fail(ErrorCode::invalid_argument, "dp_ftrl: mechanism must be given");
  if (!options.loss) fail(ErrorCode::invalid_argument, "dp_ftrl: loss must be given");
  if (!options.domain) fail(ErrorCode::invalid_argument, "dp_ftrl: domain must be given");
  require_between("dp_ftrl", "dimension", options.dimension, 1, kMaxModelDimension);
  require_positive("dp_ftrl", "radius", options.radius);
  if (options.lambda) require_positive("dp_ftrl", "lambda", *options.lambda);
  return options;
}

double lambda_for(const DpFtrlOptions& options, const PrefixSum& sums) {
  if (options.lambda) return *options.lambda;
  RegretSetting setting =
      regret_setting(options.mechanism->certificate(), options.dimension, options.radius);
  // 1 in mode grid; in mode lattice every step is noisier by the same factor.
  setting.release_noise *= sums.release_stddev(0) / options.mechanism->release_stddev(0);
  return theorem_lambda(setting);
}

}  // namespace

DpFtrl::DpFtrl(const DpFtrlOptions& options)
    : loss_(require_parts(options).loss),
      sums_(options.mechanism, {.key = options.key,
                                .dimension = options.dimension,
                                .mode = options.mode,
                                .grid = options.grid,
                                .lattice_noise = options.lattice_noise,
                                .precision_bits = options.precision_bits}),
      ftrl_({.dimension = options.dimension,
             .lambda = lambda_for(options, sums_),
             .domain = options.domain,
             .start = {}}),
      gradient_(static_cast<std::size_t>(options.dimension)),
      release_(gradient_.size()),
      next_release_(gradient_.size()) {
  // No release exceeds 2^63 grids; 2^40 iterates are added up for the average.
  if (!std::isfinite(0x1p103 * sums_.grid() / lambda()))
    fail_argument("dp_ftrl", "lambda", "large enough for finite iterates", to_text(lambda()));
}

double DpFtrl::step(std::span<const double> features, double label) {
  const double prediction = predict(features);
  const double known_label = loss_->label(label);
  clipped_gradient(loss_->slope(prediction, known_label), features, mechanism().clip_norm(),
                   gradient_);
  sums_.release(gradient_, next_release_);
  release_.swap(next_release_);
  ftrl_.update(release_);
  return prediction;
}

double DpFtrl::predict(std::span<const double> features) const {
  require_length("dp_ftrl", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_all_finite("dp_ftrl", "features", features);
  const Eigen::Map<const Vector> x(features.data(), static_cast<Eigen::Index>(features.size()));
  return require_finite("dp_ftrl", "prediction", iterate().dot(x));
}

}  // namespace dpftrl
