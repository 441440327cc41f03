// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/penalty.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/largest_magnitude.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

/// A range of consecutive features.
struct Range {
  std::int64_t first = 0;
  std::int64_t size = 0;
};

/// Weights of a range, for one score.
template <class Weight>
std::span<Weight> row_of(std::span<Weight> weights, const Range& range, const ModelShape& shape,
                         std::int64_t score) {
  return weights.subspan(static_cast<std::size_t>(score * shape.num_features + range.first),
                         static_cast<std::size_t>(range.size));
}

/// l2-norm of all weights of a range, without intermediate overflow or underflow.
double norm_of(std::span<const double> weights, const Range& range, const ModelShape& shape) {
  double largest = 0;
  for (std::int64_t score = 0; score < shape.num_scores; ++score)
    largest = std::max(largest, detail::largest_magnitude(row_of(weights, range, shape, score)));
  if (largest == 0) return 0;
  double sum = 0;
  for (std::int64_t score = 0; score < shape.num_scores; ++score)
    for (const double w : row_of(weights, range, shape, score))
      sum += (w / largest) * (w / largest);
  return largest * std::sqrt(sum);
}

std::int64_t num_penalised(const Penalty& penalty, const ModelShape& shape) {
  return shape.num_features - penalty.num_unpenalised;
}

}  // namespace

void require_penalty(std::string_view where, const Penalty& penalty, const ModelShape& shape) {
  if (!(penalty.strength >= 0 && std::isfinite(penalty.strength)))
    fail_argument(where, "penalty.strength", "at least 0 and finite", to_text(penalty.strength));
  require_between(where, "penalty.num_unpenalised", penalty.num_unpenalised, 0, shape.num_features);
  if (penalty.groups.empty()) return;
  std::int64_t sum = 0;
  for (const std::int64_t size : penalty.groups)
    sum += require_between(where, "penalty.groups", size, 1, shape.num_features);
  if (sum != num_penalised(penalty, shape))
    fail_argument(where, "penalty.groups",
                  "sizes of " + to_text(num_penalised(penalty, shape)) + " features together",
                  "sizes of " + to_text(sum));
}

void require_domain_for(std::string_view where, const Penalty& penalty, const Domain& domain) {
  if (penalty.strength == 0 || domain.projects_what_shrank(penalty)) return;
  fail(ErrorCode::unsupported, where, "domain",
       penalty.groups.empty() ? "must be whole-space, ball or box with a penalty"
                              : "must be whole-space or ball with a penalty of groups",
       std::string(domain.name()));
}

double penalty_value(const Penalty& penalty, const ModelShape& shape,
                     std::span<const double> weights) {
  require_penalty("penalty_value", penalty, shape);
  require_length("penalty_value", "weights", std::ssize(weights),
                 shape.num_features * shape.num_scores);
  double sum = 0;
  Range range;
  if (penalty.groups.empty()) {
    range.size = num_penalised(penalty, shape);
    for (std::int64_t score = 0; score < shape.num_scores; ++score)
      for (const double w : row_of(weights, range, shape, score)) sum += std::abs(w);
  }
  for (const std::int64_t size : penalty.groups) {
    range.size = size;
    sum += norm_of(weights, range, shape);
    range.first += size;
  }
  return penalty.strength * sum;
}

double penalty_slope(const Penalty& penalty, const ModelShape& shape) {
  require_penalty("penalty_slope", penalty, shape);
  const std::int64_t num_terms = penalty.groups.empty()
                                     ? num_penalised(penalty, shape) * shape.num_scores
                                     : std::ssize(penalty.groups);
  const double slope = penalty.strength * std::sqrt(static_cast<double>(num_terms));
  if (!std::isfinite(slope))
    fail_argument("penalty_slope", "penalty.strength",
                  "so small that the slope of the penalty is finite", to_text(penalty.strength));
  return slope;
}

void shrink(const Penalty& penalty, double times, const ModelShape& shape,
            std::span<double> weights) {
  const double threshold = times * penalty.strength;
  Range range;
  if (penalty.groups.empty()) {
    range.size = num_penalised(penalty, shape);
    for (std::int64_t score = 0; score < shape.num_scores; ++score)
      for (double& w : row_of(weights, range, shape, score))
        w = std::abs(w) > threshold ? std::copysign(std::abs(w) - threshold, w) : 0;
  }
  for (const std::int64_t size : penalty.groups) {
    range.size = size;
    const double norm = norm_of(weights, range, shape);
    const double factor = norm > threshold ? (norm - threshold) / norm : 0;
    for (std::int64_t score = 0; score < shape.num_scores; ++score)
      for (double& w : row_of(weights, range, shape, score)) w = factor > 0 ? w * factor : 0;
    range.first += size;
  }
}

}  // namespace dpftrl
