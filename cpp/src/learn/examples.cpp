// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/examples.hpp"

#include <cmath>
#include <utility>

#include "base/sum_of_squares.hpp"
#include "dpftrl/base/error.hpp"
#include "learn/learner_options.hpp"
#include "learn/rules/update_rule.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kName = "learner";

}  // namespace

/// The weights after some steps.
struct Examples::Course {
  std::unique_ptr<UpdateRule> rule;
  std::int64_t steps = 0;
  bool has_left_doubles = false;

  void follow(std::span<const double> noisy) {
    ++steps;
    if (has_left_doubles) return;
    // The noise is spent: an error now would make the caller pass the same examples again, at
    // another step.
    try {
      rule->update(noisy);
    } catch (...) {
      has_left_doubles = true;
    }
  }
};

Examples::Examples(ExampleOptions options) : options_(std::move(options)) {
  detail::require_learner(kName, options_);
  scores_.resize(static_cast<std::size_t>(num_scores()));
  scales_.resize(scores_.size());
}

Examples::~Examples() = default;
Examples::Examples(Examples&&) noexcept = default;
Examples& Examples::operator=(Examples&&) noexcept = default;

std::int64_t Examples::dimension() const {
  return detail::model_size_of(options_);
}

std::int64_t Examples::record_size() const {
  return options_.dimension + 1 + (options_.has_slopes ? num_scores() : 0);
}

PrefixSumOptions Examples::release_options(PrefixSumOptions options) const {
  options.dimension = dimension();
  return options;
}

void Examples::begin(const PrefixSum& sums) {
  const Mechanism& mechanism = sums.mechanism();
  detail::require_learnable(kName, mechanism);
  lambda_ = detail::lambda_of(options_, sums);
  clip_ = mechanism.clip();
  auto course = std::make_unique<Course>();
  course->rule = detail::rule_of(options_, lambda_);
  detail::require_finite_iterates(kName, sums, course->rule->lambda());
  course_ = std::move(course);
  earlier_.reset();
}

void Examples::check(std::span<const double> record) {
  require_length(kName, "record", std::ssize(record), record_size());
  const auto width = static_cast<std::size_t>(options_.dimension);
  const auto features = record.first(width);
  const double length = std::sqrt(detail::sum_of_squares(features));
  if (!std::isfinite(length * course_->rule->iterate().norm())) predict(features, scores_);
  static_cast<void>(loss().label(record[width]));
  if (options_.has_slopes) require_all_finite(kName, "slopes", record.subspan(width + 1));
}

ProductRecord Examples::write(std::span<const double> record, std::span<double>) {
  const auto width = static_cast<std::size_t>(options_.dimension);
  const auto features = record.first(width);
  std::span<const double> slopes = record.subspan(width + 1);
  if (!options_.has_slopes) {
    predict(features, scores_);
    loss().evaluate(scores_, loss().label(record[width]), scales_);
    slopes = scales_;
  }
  scales_of_clipped_gradient(slopes, features, clip_, scales_);
  return {.scales = scales_, .features = features};
}

std::span<const double> Examples::identity(std::span<const double> record,
                                           const ProductRecord&) const {
  return record.first(static_cast<std::size_t>(options_.dimension) + 1);
}

void Examples::follow(std::span<const double> noisy) {
  course_->follow(noisy);
}

void Examples::require_going() const {
  if (course_->has_left_doubles)
    fail(ErrorCode::bad_state, kName, "",
         "the last iterate left the doubles; its examples were learned from, and there are no more "
         "steps");
}

void Examples::seek(std::int64_t step,
                    const std::function<std::span<const double>(std::int64_t)>& released) const {
  if (step + 1 == course_->steps) return;
  if (!earlier_ || earlier_->steps > step) {
    earlier_ = std::make_unique<Course>();
    earlier_->rule = detail::rule_of(options_, lambda_);
  }
  while (earlier_->steps < step) earlier_->follow(released(earlier_->steps));
}

Vector Examples::read(const NoisySums& sums) const {
  if (sums.step + 1 == course_->steps) return iterate();
  earlier_->follow(sums.values);
  return earlier_->rule->iterate();
}

void Examples::predict(std::span<const double> features, std::span<double> scores) const {
  require_length(kName, "features", std::ssize(features), options_.dimension);
  require_length(kName, "scores", std::ssize(scores), num_scores());
  for (std::size_t k = 0; k < scores.size(); ++k) {
    scores[k] = course_->rule->score(k * features.size(), features);
    if (std::isfinite(scores[k])) continue;
    require_all_finite(kName, "features", features);
    require_finite(kName, "prediction", scores[k]);
  }
}

const Vector& Examples::iterate() const {
  return course_->rule->iterate();
}

Vector Examples::average() const {
  return course_->rule->average();
}

double Examples::lambda() const {
  return course_->rule->lambda() / static_cast<double>(options_.batch_size);
}

}  // namespace dpftrl
