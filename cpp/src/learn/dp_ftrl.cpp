// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/dp_ftrl.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/regret.hpp"
#include "learn/learner_options.hpp"
#include "learn/rules/update_rule.hpp"

namespace dpftrl {
namespace {

const DpFtrlOptions& require_parts(const DpFtrlOptions& options) {
  if (!options.mechanism)
    fail(ErrorCode::invalid_argument, "dp_ftrl", "mechanism", "must be given");
  detail::require_learnable("dp_ftrl", *options.mechanism);
  detail::require_learner("dp_ftrl", options);
  return options;
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

}  // namespace

DpFtrl::DpFtrl(const DpFtrlOptions& options)
    : loss_(require_parts(options).loss),
      dimension_(options.dimension),
      batch_size_(options.batch_size),
      sums_(options.mechanism, {.key = options.key,
                                .dimension = detail::model_size_of(options),
                                .mode = options.mode,
                                .grid = options.grid,
                                .lattice_noise = options.lattice_noise,
                                .precision_bits = options.precision_bits}),
      rule_(detail::rule_of(options, detail::lambda_of(options, sums_))),
      follows_at_once_(options.mode == ReleaseMode::grid &&
                       rule_->is_finite_for(0x1p63 * sums_.grid())),
      scales_(static_cast<std::size_t>(options.loss->num_scores())),
      release_(static_cast<std::size_t>(detail::model_size_of(options))) {
  detail::require_finite_iterates("dp_ftrl", sums_, rule_->lambda());
  if (follows_at_once_) rule_->follow(release_);
}

DpFtrl::~DpFtrl() = default;
DpFtrl::DpFtrl(DpFtrl&&) noexcept = default;
DpFtrl& DpFtrl::operator=(DpFtrl&&) noexcept = default;

const Vector& DpFtrl::iterate() const {
  return rule_->iterate();
}

Vector DpFtrl::average() const {
  return rule_->average();
}

double DpFtrl::lambda() const {
  return rule_->lambda() / static_cast<double>(batch_size_);
}

void DpFtrl::step(std::span<const double> features, double label, std::span<double> scores) {
  require_going();
  predict(features, scores);
  const double known_label = loss_->label(label);
  loss_->evaluate(scores, known_label, scales_);
  take_gradient(features);
}

void DpFtrl::step_along(std::span<const double> features, std::span<const double> slopes) {
  require_going();
  require_length("dp_ftrl", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_length("dp_ftrl", "slopes", static_cast<std::int64_t>(slopes.size()), num_scores());
  require_all_finite("dp_ftrl", "slopes", slopes);
  std::ranges::copy(slopes, scales_.begin());
  take_gradient(features);
}

void DpFtrl::take_gradient(std::span<const double> features) {
  // Features are read while the iterate is written.
  const std::less<> is_before;
  const double* const begin = rule_->place_of_iterate();
  if (is_before(features.data(), begin + model_size()) &&
      is_before(begin, features.data() + features.size()))
    fail_argument("dp_ftrl", "features", "disjoint from the iterate", "an overlap");
  scales_of_clipped_gradient(scales_, features, mechanism().clip(), scales_);
  const ProductRecord gradient{scales_, features};
  if (num_waiting_ + 1 < batch_size_) {
    sums_.contribute(gradient);
    ++num_waiting_;
  } else {
    // Adds and releases in one call: if the release fails, the learner has not used the example,
    // which may be passed again.
    end_step([&](ReleaseSink* sink) { sums_.release(gradient, release_, sink); });
  }
  ++num_examples_;
}

template <class Release>
void DpFtrl::end_step(Release&& release) {
  RuleSink sink(*rule_);
  release(follows_at_once_ ? &sink : nullptr);
  num_waiting_ = 0;
  // The noise is spent: an error now would make the caller pass the same example again, at another
  // step.
  try {
    if (follows_at_once_)
      rule_->finish();
    else
      rule_->update(release_);
  } catch (...) {
    has_left_doubles_ = true;
  }
}

void DpFtrl::require_going() {
  if (has_left_doubles_)
    fail(ErrorCode::bad_state, "dp_ftrl", "",
         "the last iterate left the doubles; its examples were learned from, and there are no more "
         "steps");
  // Throws past the horizon, before any example is read.
  if (sums_.step() == sums_.steps()) sums_.release(release_);
}

double DpFtrl::step(std::span<const double> features, double label) {
  double score = 0;
  step(features, label, {&score, 1});
  return score;
}

void DpFtrl::end_batch() {
  require_going();
  end_step([this](ReleaseSink* sink) { sums_.release(release_, sink); });
}

void DpFtrl::predict(std::span<const double> features, std::span<double> scores) const {
  require_length("dp_ftrl", "features", static_cast<std::int64_t>(features.size()), dimension());
  require_length("dp_ftrl", "scores", static_cast<std::int64_t>(scores.size()), num_scores());
  for (std::size_t k = 0; k < scores.size(); ++k) {
    scores[k] = rule_->score(k * features.size(), features);
    if (std::isfinite(scores[k])) continue;
    require_all_finite("dp_ftrl", "features", features);
    require_finite("dp_ftrl", "prediction", scores[k]);
  }
}

double DpFtrl::predict(std::span<const double> features) const {
  double score = 0;
  predict(features, {&score, 1});
  return score;
}

}  // namespace dpftrl
