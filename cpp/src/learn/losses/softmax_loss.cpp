// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/losses/loss.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

SoftmaxLoss::SoftmaxLoss(std::int64_t num_classes)
    : num_classes_(require_between("softmax", "num_classes", num_classes, 2, 65536)) {}

double SoftmaxLoss::evaluate(std::span<const double> scores, double label,
                             std::span<double> slopes) const {
  const std::size_t known = static_cast<std::size_t>(label);
  const auto largest = std::ranges::max_element(scores);
  const std::size_t top = static_cast<std::size_t>(largest - scores.begin());
  // Sums all terms but the largest, which is 1, so that log1p and 1 - p stay accurate near 0.
  double others = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    slopes[j] = std::exp(scores[j] - *largest);
    if (j != top) others += slopes[j];
  }
  double wrong = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    slopes[j] /= 1 + others;
    if (j != known) wrong += slopes[j];
  }
  slopes[known] = -wrong;
  return *largest - scores[known] + std::log1p(others);
}

std::optional<double> SoftmaxLoss::lipschitz() const {
  return std::numbers::sqrt2;
}

double SoftmaxLoss::label(double raw) const {
  if (raw >= 0 && raw < static_cast<double>(num_classes_) && raw == std::floor(raw)) return raw;
  fail_argument("softmax", "label", "an integer from 0 to " + to_text(num_classes_ - 1),
                to_text(raw));
}

bool SoftmaxLoss::says(std::span<const double> scores, double label) const {
  return std::ranges::max_element(scores) - scores.begin() == static_cast<std::ptrdiff_t>(label);
}

}  // namespace dpftrl
