// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A loss given by its user as a function.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/losses/loss.hpp"

namespace dpftrl {

/// Constants of a loss that the user knows. One that is too small makes bounds on regret wrong,
/// never privacy: gradients are clipped whatever the loss.
struct FunctionLossOptions {
  std::optional<double> lipschitz = {};  ///< sup of |dl/dp|; >= 0
  std::optional<double> curvature =
      {};  ///< sup of the second derivative; nothing: there may be kinks
};

/// l(p, y) from a callable `LossAt function(double prediction, double label)`, convex in p. Labels
/// are any finite numbers.
///
///     const auto loss = std::make_shared<const FunctionLoss>(
///         [](double p, double y) { return LossAt{std::cosh(p - y), std::sinh(p - y)}; });
///
/// @checked-by loss_test, regret_test
template <class Function>
  requires std::invocable<const Function&, double, double>
class FunctionLoss final : public RegressionLoss {
 public:
  /// @throws Error{invalid_argument} a constant that is negative or not finite.
  explicit FunctionLoss(Function function, const FunctionLossOptions& options = {})
      : function_(std::move(function)), options_(options) {
    if (options.lipschitz) require_non_negative("function_loss", "lipschitz", *options.lipschitz);
    if (options.curvature) require_non_negative("function_loss", "curvature", *options.curvature);
  }

  std::string_view name() const override { return "function"; }
  /// @throws Error{invalid_argument} the function gave NaN, or a slope that is not finite.
  LossAt at(double prediction, double label) const override {
    const LossAt found = function_(prediction, label);
    if (std::isnan(found.value)) fail_argument("function_loss", "value", "a number", "NaN");
    require_finite("function_loss", "slope", found.slope);
    return found;
  }
  std::optional<double> lipschitz() const override { return options_.lipschitz; }
  std::optional<double> curvature() const override { return options_.curvature; }
  double max_slope(double /*max_prediction*/, double /*max_label*/) const override {
    return options_.lipschitz.value_or(std::numeric_limits<double>::infinity());
  }

  /// Without kinks the second derivative is a difference of slopes. Otherwise the envelope comes
  /// from its minimising q, where slope(q) = (p - q) / width: the slopes increase, so that
  /// bisection finds it.
  SmoothedLossAt smoothed(double prediction, double label, double width) const override {
    const LossAt here = at(prediction, label);
    if (options_.curvature) return {here.value, here.slope, bend(prediction, label), 0};
    double near = prediction;
    double far = prediction - width * here.slope;  // at or beyond q, for slopes increase
    for (int i = 0; i < kBisections; ++i) {
      const double middle = near + (far - near) / 2;
      // Far out a slope may overflow, to the right side.
      const double pull = function_(middle, label).slope - (prediction - middle) / width;
      ((pull > 0) == (here.slope > 0) ? near : far) = middle;
    }
    // Between slopes of l on both sides of q: a slope of l at q, whatever the rounding.
    const double low = std::min(slope(near, label), slope(far, label));
    const double high = std::max(slope(near, label), slope(far, label));
    const double tilt = std::clamp((prediction - far) / width, low, high);
    const double lowest = at(far, label).value;
    const double second = bend(far, label);
    return {lowest + width / 2 * tilt * tilt, tilt, second / (1 + width * second),
            std::max(0.0, here.value - lowest - tilt * (prediction - far))};
  }

 private:
  static constexpr int kBisections = 60;

  double bend(double prediction, double label) const {
    const double h = 1e-5 * (1 + std::abs(prediction));
    return std::max(0.0, slope(prediction + h, label) - slope(prediction - h, label)) / (2 * h);
  }

  Function function_;
  FunctionLossOptions options_;
};

}  // namespace dpftrl
