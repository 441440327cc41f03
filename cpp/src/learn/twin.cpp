// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/simulation.hpp"

#include <Eigen/Core>

#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/regret.hpp"
#include "learn/learner_options.hpp"

namespace dpftrl {
namespace {

const TwinOptions& require_parts(const TwinOptions& options) {
  detail::require_learner("twin", options);
  require_positive("twin", "clip", options.clip);
  return options;
}

double lambda_of(const TwinOptions& options) {
  if (options.lambda) return *options.lambda;
  const std::int64_t size = detail::model_size_of(options);
  const double last =
      theorem_lambda({.steps = options.steps,
                      .gradient_bound = options.clip,
                      .radius = options.domain->diameter(size).value_or(options.radius),
                      .dimension = size,
                      .release_noise = 0,
                      .regulariser = options.domain->regulariser()});
  return options.doubling ? first_lambda(last, options.steps) : last;
}

}  // namespace

TwinLearner::TwinLearner(const TwinOptions& options)
    : loss_(require_parts(options).loss),
      dimension_(options.dimension),
      batch_size_(options.batch_size),
      clip_(options.clip),
      rule_(detail::rule_of(options, lambda_of(options))),
      slopes_(static_cast<std::size_t>(options.loss->num_scores())),
      gradient_(static_cast<std::size_t>(detail::model_size_of(options))),
      sums_(gradient_.size()) {}

TwinLearner::~TwinLearner() = default;
TwinLearner::TwinLearner(TwinLearner&&) noexcept = default;
TwinLearner& TwinLearner::operator=(TwinLearner&&) noexcept = default;

void TwinLearner::step(std::span<const double> features, double label, std::span<double> scores) {
  require_length("twin", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_length("twin", "scores", static_cast<std::int64_t>(scores.size()), num_scores());
  require_all_finite("twin", "features", features);
  const Eigen::Map<const Vector> x(features.data(), static_cast<Eigen::Index>(features.size()));
  for (std::size_t k = 0; k < scores.size(); ++k)
    scores[k] = rule_->iterate().segment(static_cast<Eigen::Index>(k) * x.size(), x.size()).dot(x);
  loss_->evaluate(scores, loss_->label(label), slopes_);
  clipped_gradient(slopes_, features, clip_, gradient_);
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += gradient_[i];
  ++num_waiting_;
  if (num_waiting_ == batch_size_) end_batch();
}

const Vector& TwinLearner::iterate() const {
  return rule_->iterate();
}

void TwinLearner::end_batch() {
  rule_->update(sums_);
  num_waiting_ = 0;
}

}  // namespace dpftrl
