// SPDX-License-Identifier: Apache-2.0
#include "learn/adversary.hpp"

#include <Eigen/Core>

#include "dpftrl/base/error.hpp"
#include "learn/rules/ftrl.hpp"

namespace dpftrl {
namespace {

/// Keeps rounding from making feature vectors longer than 1.
constexpr double kAdversaryNorm = 1 - 0x1p-30;
/// A point this far away, in units of the domain's largest norm, is projected to nearly the extreme
/// point in its direction.
constexpr double kFarAway = 1e6;

}  // namespace

Adversary::Adversary(const AdversaryOptions& options) : options_(options) {
  require_between("adversary", "dimension", options.dimension, 1, kMaxModelDimension);
  require_positive("adversary", "clip", options.clip);
  if (!options.loss) fail(ErrorCode::invalid_argument, "adversary", "loss", "must be given");
  if (!options.domain || !options.domain->max_norm(options.dimension))
    fail(ErrorCode::invalid_argument, "adversary", "domain", "must be given, and bounded");
  best_ = options.domain->start(options.dimension);
  sum_ = Vector::Zero(best_.size());
  gradient_.resize(static_cast<std::size_t>(options.dimension));
}

double Adversary::example(const Vector& iterate, std::span<double> features) {
  require_length("adversary", "iterate", iterate.size(), options_.dimension);
  require_length("adversary", "features", static_cast<std::int64_t>(features.size()),
                 options_.dimension);
  Eigen::Map<Vector> x(features.data(), sum_.size());
  x = iterate - best_;
  const double length = x.norm();
  if (length > 0) x *= kAdversaryNorm / length;
  if (length == 0) x = kAdversaryNorm * Vector::Unit(x.size(), 0);

  const double label = options_.loss->label(-1);
  const double slope = options_.loss->slope(iterate.dot(x), label);
  clipped_gradient(slope, features, options_.clip, gradient_);
  sum_ += Eigen::Map<const Vector>(gradient_.data(), sum_.size());
  const double steepness = sum_.norm();
  if (steepness > 0) {
    best_ = -kFarAway * *options_.domain->max_norm(options_.dimension) / steepness * sum_;
    options_.domain->project({best_.data(), gradient_.size()});
  }
  return label;
}

}  // namespace dpftrl
