// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/penalty.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

/// Weights of consecutive features, score after score.
struct Range {
  const ModelShape& shape;
  std::int64_t first = 0;
  std::int64_t size = 0;
  /// Index of weight i of this range, of size * num_scores.
  std::size_t operator[](std::int64_t i) const {
    return static_cast<std::size_t>(i / size * shape.num_features + first + i % size);
  }
  std::int64_t num_weights() const { return size * shape.num_scores; }
};

/// l2-norm of a range, whatever the size of its weights.
double norm_of(std::span<const double> weights, const Range& range) {
  double largest = 0;
  for (std::int64_t i = 0; i < range.num_weights(); ++i)
    largest = std::max(largest, std::abs(weights[range[i]]));
  if (largest == 0) return 0;
  double sum = 0;
  for (std::int64_t i = 0; i < range.num_weights(); ++i) {
    const double share = weights[range[i]] / largest;
    sum += share * share;
  }
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
  Range range{.shape = shape};
  if (penalty.groups.empty()) {
    range.size = num_penalised(penalty, shape);
    for (std::int64_t i = 0; i < range.num_weights(); ++i) sum += std::abs(weights[range[i]]);
  }
  for (const std::int64_t size : penalty.groups) {
    range.size = size;
    sum += norm_of(weights, range);
    range.first += size;
  }
  return penalty.strength * sum;
}

double penalty_slope(const Penalty& penalty, const ModelShape& shape) {
  require_penalty("penalty_slope", penalty, shape);
  const std::int64_t num_terms = penalty.groups.empty()
                                     ? num_penalised(penalty, shape) * shape.num_scores
                                     : std::ssize(penalty.groups);
  return penalty.strength * std::sqrt(static_cast<double>(num_terms));
}

void shrink(const Penalty& penalty, double times, const ModelShape& shape,
            std::span<double> weights) {
  const double threshold = times * penalty.strength;
  Range range{.shape = shape};
  if (penalty.groups.empty()) {
    range.size = num_penalised(penalty, shape);
    for (std::int64_t i = 0; i < range.num_weights(); ++i) {
      double& w = weights[range[i]];
      w = std::abs(w) > threshold ? std::copysign(std::abs(w) - threshold, w) : 0;
    }
  }
  for (const std::int64_t size : penalty.groups) {
    range.size = size;
    const double norm = norm_of(weights, range);
    const double factor = norm > threshold ? (norm - threshold) / norm : 0;
    for (std::int64_t i = 0; i < range.num_weights(); ++i) {
      double& w = weights[range[i]];
      w = factor > 0 ? w * factor : 0;
    }
    range.first += size;
  }
}

}  // namespace dpftrl
