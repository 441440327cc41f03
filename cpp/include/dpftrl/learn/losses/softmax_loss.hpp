// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Softmax regression: one score for each class.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dpftrl/learn/losses/loss.hpp"

namespace dpftrl {

/// ln sum_j exp(p_j) - p_y for classes y = 0 .. num_classes - 1. The slopes are softmax(p) - e_y:
/// non-negative but for one, with sum 0, hence of norm at most sqrt(2). Curvature at most 1/2.
class SoftmaxLoss final : public VectorLoss {
 public:
  /// @param num_classes  2 .. 65536.
  /// @throws Error{invalid_argument} num_classes.
  explicit SoftmaxLoss(std::int64_t num_classes);
  std::string_view name() const override { return "softmax"; }
  std::int64_t num_scores() const override { return num_classes_; }
  /// @guarantee  the largest score is subtracted first: nothing overflows.
  double evaluate(std::span<const double> scores, double label,
                  std::span<double> slopes) const override;
  std::optional<double> lipschitz() const override;
  std::optional<double> curvature() const override { return 0.5; }
  bool classifies() const override { return true; }
  double label(double raw) const override;
  /// The first of the largest scores is that of the label.
  bool says(std::span<const double> scores, double label) const override;

 private:
  std::int64_t num_classes_;
};

}  // namespace dpftrl
