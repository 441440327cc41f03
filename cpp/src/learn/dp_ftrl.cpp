// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/dp_ftrl.hpp"

#include <cmath>

#include "dpftrl/error.hpp"
#include "dpftrl/learn/regret_bound.hpp"

namespace dpftrl {
namespace {

const DpFtrlOptions& require_parts(const DpFtrlOptions& options) {
  if (!options.mechanism) fail(ErrorCode::invalid_argument, "dp_ftrl: mechanism must be given");
  if (!options.loss) fail(ErrorCode::invalid_argument, "dp_ftrl: loss must be given");
  if (!options.domain) fail(ErrorCode::invalid_argument, "dp_ftrl: domain must be given");
  require_between("dp_ftrl", "dimension", options.dimension, 1,
                  kMaxModelDimension / options.loss->num_scores());
  require_between("dp_ftrl", "batch_size", options.batch_size, 1, std::int64_t{1} << 31);
  require_positive("dp_ftrl", "radius", options.radius);
  if (options.lambda) require_positive("dp_ftrl", "lambda", *options.lambda);
  return options;
}

std::int64_t model_size_of(const DpFtrlOptions& options) {
  return options.dimension * options.loss->num_scores();
}

class RuleSink final : public ReleaseSink {
 public:
  explicit RuleSink(UpdateRule& rule) : rule_(rule) {}
  void take(std::size_t first, std::span<const double> block) override {
    rule_.advance(first, block);
  }

 private:
  UpdateRule& rule_;
};

double lambda_of(const DpFtrlOptions& options, const PrefixSum& sums) {
  if (options.lambda) return *options.lambda;
  RegretSetting setting = regret_setting(options.mechanism->certificate(), model_size_of(options),
                                         *options.domain, options.radius);
  setting.release_noise /= static_cast<double>(options.batch_size);
  // 1 in mode grid; in mode lattice every step is noisier by the same factor.
  setting.release_noise *= sums.release_stddev(0) / options.mechanism->release_stddev(0);
  if (options.descent) return descent_lambda(setting, options.mechanism->strategy());
  const double last = theorem_lambda(setting);
  return options.doubling ? first_lambda(last, setting.num_steps) : last;
}

}  // namespace

DpFtrl::DpFtrl(const DpFtrlOptions& options)
    : loss_(require_parts(options).loss),
      dimension_(options.dimension),
      batch_size_(options.batch_size),
      sums_(options.mechanism, {.key = options.key,
                                .dimension = model_size_of(options),
                                .mode = options.mode,
                                .grid = options.grid,
                                .lattice_noise = options.lattice_noise,
                                .precision_bits = options.precision_bits}),
      lambda_(lambda_of(options, sums_)),
      rule_(make_rule({.dimension = model_size_of(options),
                       .lambda = lambda_ * static_cast<double>(options.batch_size),
                       .domain = options.domain,
                       .descent = options.descent,
                       .doubling = options.doubling})),
      follows_at_once_(options.mode == ReleaseMode::grid &&
                       rule_->is_finite_for(0x1p63 * sums_.grid())),
      slopes_(static_cast<std::size_t>(options.loss->num_scores())),
      row_(static_cast<std::size_t>(model_size_of(options))) {
  // No release exceeds 2^63 grids; 2^40 iterates are added up for the average.
  if (!std::isfinite(0x1p103 * sums_.grid() / rule_->lambda()))
    fail_argument("dp_ftrl", "lambda", "large enough for finite iterates", to_text(lambda_));
}

double DpFtrl::lambda() const {
  return rule_->lambda() / static_cast<double>(batch_size_);
}

void DpFtrl::step(std::span<const double> features, double label, std::span<double> scores) {
  require_going();
  predict(features, scores);
  const double known_label = loss_->label(label);
  loss_->evaluate(scores, known_label, slopes_);
  clip_gradient(slopes_, features);
  take_gradient();
}

void DpFtrl::step_along(std::span<const double> features, std::span<const double> slopes) {
  require_going();
  require_length("dp_ftrl", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_length("dp_ftrl", "slopes", static_cast<std::int64_t>(slopes.size()), num_scores());
  require_all_finite("dp_ftrl", "features", features);
  require_all_finite("dp_ftrl", "slopes", slopes);
  clip_gradient(slopes, features);
  take_gradient();
}

void DpFtrl::clip_gradient(std::span<const double> slopes, std::span<const double> features) {
  holds_release_ = false;
  clipped_gradient(slopes, features, mechanism().clip_norm(), row_);
}

std::span<const double> DpFtrl::release() const {
  if (!holds_release_)
    fail(ErrorCode::bad_state, "dp_ftrl: a release is shown when its batch ended");
  return row_;
}

template <class Release>
void DpFtrl::end_step(Release&& release) {
  RuleSink sink(*rule_);
  release(follows_at_once_ ? &sink : nullptr);
  holds_release_ = true;
  num_waiting_ = 0;
  // The noise is spent: an error now, whatever it is, would invite the same example for another
  // step.
  try {
    if (follows_at_once_)
      rule_->finish(row_);
    else
      rule_->update(row_);
  } catch (...) {
    has_left_doubles_ = true;
  }
}

void DpFtrl::take_gradient() {
  if (num_waiting_ + 1 < batch_size_) {
    sums_.contribute(row_);
    ++num_waiting_;
  } else {
    // In one piece: an example whose release failed was not learned from, and may come again.
    end_step([this](ReleaseSink* sink) { sums_.release(row_, row_, sink); });
  }
  ++num_examples_;
}

void DpFtrl::require_going() {
  if (has_left_doubles_)
    fail(ErrorCode::bad_state,
         "dp_ftrl: the last iterate left the doubles; its examples were learned from, and there "
         "are no more steps");
  // Refuses, before a gradient takes the place of the last release.
  if (sums_.step() == sums_.num_steps()) sums_.release(row_);
}

double DpFtrl::step(std::span<const double> features, double label) {
  double score = 0;
  step(features, label, {&score, 1});
  return score;
}

void DpFtrl::end_batch() {
  require_going();
  end_step([this](ReleaseSink* sink) { sums_.release(row_, sink); });
}

void DpFtrl::predict(std::span<const double> features, std::span<double> scores) const {
  require_length("dp_ftrl", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_length("dp_ftrl", "scores", static_cast<std::int64_t>(scores.size()), num_scores());
  require_all_finite("dp_ftrl", "features", features);
  const Eigen::Map<const Vector> x(features.data(), static_cast<Eigen::Index>(features.size()));
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const Eigen::Index first = static_cast<Eigen::Index>(k) * x.size();
    scores[k] = require_finite("dp_ftrl", "prediction", iterate().segment(first, x.size()).dot(x));
  }
}

double DpFtrl::predict(std::span<const double> features) const {
  double score = 0;
  predict(features, {&score, 1});
  return score;
}

}  // namespace dpftrl
