// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Losses of a linear prediction p = <w, x> against a label y, and their clipped gradients.
///
/// ```cpp
/// const auto logistic = dpftrl::make_loss("logistic");
/// assert(logistic->slope(/*prediction=*/0, /*label=*/1) == -0.5);
/// const dpftrl::FunctionLoss own(
///     [](double p, double y) { return dpftrl::LossAt{std::cosh(p - y), std::sinh(p - y)}; });
/// assert(own.at(1, 1).value == 1);
/// ```

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

/// A convex loss of a vector of scores (W x, one row of W for each) against a label. Learners and
/// comparators use losses through this interface.
class VectorLoss {
 public:
  virtual ~VectorLoss() = default;

  virtual std::string_view name() const = 0;
  virtual std::int64_t num_scores() const = 0;
  /// Returns the loss, for a label as `label` returns it, and overwrites `slopes` with its gradient
  /// in the scores.
  /// @guarantee  never NaN for finite scores; the slopes are finite for scores up to 1e300. A value
  ///             beyond the range of double is +infinity.
  /// @checked-by loss_test "safe at every margin", "two classes are logistic regression and large
  ///             scores are safe"
  virtual double evaluate(std::span<const double> scores, double label,
                          std::span<double> slopes) const = 0;
  /// sup of the norm of the slopes; empty if unbounded.
  virtual std::optional<double> lipschitz() const = 0;
  /// sup of the largest eigenvalue of the Hessian in the scores; empty if the loss has kinks.
  virtual std::optional<double> curvature() const = 0;
  /// True if labels are classes.
  virtual bool classifies() const = 0;
  /// Converts a label to the form this loss uses.
  /// @throws Error{invalid_argument} a label that this loss does not accept, NaN and infinity
  ///         included.
  virtual double label(double raw) const = 0;
  /// True if the scores predict the class `label`. False for losses that do not classify.
  virtual bool says(std::span<const double> scores, double label) const = 0;
};

/// A loss and its derivative in the prediction.
struct LossAt {
  double value;
  double slope;
};

/// A smooth lower approximation of l, with its derivatives.
struct SmoothedLossAt {
  double value;
  double slope;  ///< of the smoothed loss; also a slope of l at a nearby point
  double curvature;
  /// l(p) + l*(slope) - slope p >= 0, where l* is the conjugate; 0 if `slope` is a slope of l at p.
  double excess;
};

/// A convex loss l(p, y) of a single score. A new loss is one small class and one line in
/// `make_loss`.
class Loss : public VectorLoss {
 public:
  std::int64_t num_scores() const final { return 1; }
  double evaluate(std::span<const double> scores, double label,
                  std::span<double> slopes) const final;
  bool says(std::span<const double> scores, double label) const final;

  /// l(p, y) and dl/dp (0 at a kink whose slopes have both signs), for a label as `label` returns
  /// it.
  /// @guarantee  never NaN for finite p and y; the slope is finite for |p| up to 1e300. A value
  ///             beyond the range of double is +infinity.
  /// @checked-by loss_test "safe at every margin"
  virtual LossAt at(double prediction, double label) const = 0;
  double value(double prediction, double label) const { return at(prediction, label).value; }
  double slope(double prediction, double label) const { return at(prediction, label).slope; }

  /// The Moreau envelope min_q l(q, y) + (p - q)^2 / (2 width), with its derivatives. Losses
  /// without kinks ignore `width` and return the loss itself, with excess 0.
  ///
  /// @param width  > 0.
  /// @source  Rockafellar, Convex Analysis, section 31: with slope a and the minimising q, the
  ///          conjugate is l*(a) = a q - l(q) = a p - value - (width / 2) a^2.
  virtual SmoothedLossAt smoothed(double prediction, double label, double width) const = 0;

  /// sup of |dl/dp| over |p| <= max_prediction and |y| <= max_label.
  virtual double max_slope(double max_prediction, double max_label) const = 0;

  /// True if the prediction has the sign of the label, where a prediction >= 0 means +1. False for
  /// losses that do not classify.
  bool correct(double prediction, double label) const {
    return classifies() && (prediction >= 0) == (label > 0);
  }
};

/// Losses for real labels, any finite y.
class RegressionLoss : public Loss {
 public:
  bool classifies() const final { return false; }
  double label(double raw) const final;
};

/// Losses for two classes, with labels -1 and +1; a label 0 is treated as -1.
class MarginLoss : public Loss {
 public:
  bool classifies() const final { return true; }
  double label(double raw) const final;
};

/// (p - y)^2 / 2. Slope p - y, no global Lipschitz constant.
class SquaredLoss final : public RegressionLoss {
 public:
  std::string_view name() const override { return "squared"; }
  LossAt at(double prediction, double label) const override;
  SmoothedLossAt smoothed(double prediction, double label, double width) const override;
  std::optional<double> lipschitz() const override { return std::nullopt; }
  std::optional<double> curvature() const override { return 1.0; }
  double max_slope(double max_prediction, double max_label) const override;
};

/// r^2 / 2 for |r| <= h and h (|r| - h/2) beyond, r = p - y. h-Lipschitz.
class HuberLoss final : public RegressionLoss {
 public:
  /// @param huber_threshold  h > 0, in units of the label.
  /// @throws Error{invalid_argument} huber_threshold.
  explicit HuberLoss(double huber_threshold);
  std::string_view name() const override { return "huber"; }
  LossAt at(double prediction, double label) const override;
  SmoothedLossAt smoothed(double prediction, double label, double width) const override;
  std::optional<double> lipschitz() const override { return threshold_; }
  std::optional<double> curvature() const override { return 1.0; }
  double max_slope(double max_prediction, double max_label) const override;

 private:
  double threshold_;
};

/// tau (y - p) below the label and (1 - tau) (p - y) above it: its mean is least at the
/// tau-quantile of the labels. The absolute loss |p - y| is twice this loss for tau = 1/2.
class QuantileLoss final : public RegressionLoss {
 public:
  /// @param quantile  tau, 0 < tau < 1.
  /// @throws Error{invalid_argument} quantile.
  explicit QuantileLoss(double quantile);
  static QuantileLoss absolute() { return {"absolute", -1, 1}; }
  std::string_view name() const override { return name_; }
  LossAt at(double prediction, double label) const override;
  SmoothedLossAt smoothed(double prediction, double label, double width) const override;
  std::optional<double> lipschitz() const override;
  std::optional<double> curvature() const override { return std::nullopt; }
  double max_slope(double max_prediction, double max_label) const override;

 private:
  QuantileLoss(std::string_view name, double below, double above)
      : name_(name), below_(below), above_(above) {}

  std::string_view name_;
  double below_;  ///< slope where p < y
  double above_;  ///< slope where p > y
};

/// ln(1 + exp(-y p)), y = -1 or +1. Slope -y / (1 + exp(y p)), 1-Lipschitz.
class LogisticLoss final : public MarginLoss {
 public:
  std::string_view name() const override { return "logistic"; }
  LossAt at(double prediction, double label) const override;
  SmoothedLossAt smoothed(double prediction, double label, double width) const override;
  std::optional<double> lipschitz() const override { return 1.0; }
  std::optional<double> curvature() const override { return 0.25; }
  double max_slope(double max_prediction, double max_label) const override;
};

/// max(0, 1 - y p), y = -1 or +1. 1-Lipschitz, with a kink at margin 1, where the slope is 0.
class HingeLoss final : public MarginLoss {
 public:
  std::string_view name() const override { return "hinge"; }
  LossAt at(double prediction, double label) const override;
  SmoothedLossAt smoothed(double prediction, double label, double width) const override;
  std::optional<double> lipschitz() const override { return 1.0; }
  std::optional<double> curvature() const override { return std::nullopt; }
  double max_slope(double max_prediction, double max_label) const override;
};

/// Parameters that some losses need besides their name.
struct LossParameters {
  double quantile = 0.5;         ///< level of "quantile", between 0 and 1
  double huber_threshold = 1.0;  ///< of "huber", > 0
};

/// Makes a loss of one score by name.
/// @throws Error{invalid_argument} unknown name (the message lists the known ones), a parameter of
///         this loss out of range.
std::shared_ptr<const Loss> make_loss(std::string_view name, const LossParameters& parameters = {});

/// Gradient of l(<w, x>, y) in w, clipped: slope * x * min(1, clip / ||slope * x||), and if it is
/// clipped, also shortened by (16 + entries) 2^-51 of its length, so that rounding never makes it
/// longer than `clip`.
///
/// @param slope      not NaN. An infinite slope, of a loss that overflowed, is clipped like any
///                   other.
/// @param features   x, finite.
/// @param clip       > 0.
/// @param out        as long as `features`.
/// @guarantee        finite and no longer than `clip`, even where slope * x is not.
/// @throws Error{invalid_argument} ||x|| is not finite, the slope is NaN.
/// @checked-by       loss_test "is clipped whatever overflows"
void clipped_gradient(double slope, std::span<const double> features, double clip,
                      std::span<double> out);

/// clipped_gradient for several scores: slopes x^T, row by row, clipped by its Frobenius norm
/// ||slopes|| ||x||. If any slope is infinite, finite slopes count as 0.
/// @param out  slopes.size() * features.size() entries.
void clipped_gradient(std::span<const double> slopes, std::span<const double> features, double clip,
                      std::span<double> out);

/// clipped_gradient without materialising the gradient: its row k is scales[k] * x.
/// @param scales  as long as `slopes`, or `slopes` itself.
void scales_of_clipped_gradient(std::span<const double> slopes, std::span<const double> features,
                                double clip, std::span<double> scales);

// Softmax regression: one score for each class.

/// ln sum_j exp(p_j) - p_y for classes y = 0 .. num_classes - 1. The slopes are softmax(p) - e_y:
/// all but one non-negative, with sum 0, hence of norm at most sqrt(2). Curvature at most 1/2.
class SoftmaxLoss final : public VectorLoss {
 public:
  /// @param num_classes  2 .. 65536.
  /// @throws Error{invalid_argument} num_classes.
  explicit SoftmaxLoss(std::int64_t num_classes);
  std::string_view name() const override { return "softmax"; }
  std::int64_t num_scores() const override { return num_classes_; }
  /// @guarantee  the largest score is subtracted first, so nothing overflows.
  /// @checked-by loss_test "two classes are logistic regression and large scores are safe"
  double evaluate(std::span<const double> scores, double label,
                  std::span<double> slopes) const override;
  std::optional<double> lipschitz() const override;
  std::optional<double> curvature() const override { return 0.5; }
  bool classifies() const override { return true; }
  double label(double raw) const override;
  /// True if the label is the first class with the largest score.
  bool says(std::span<const double> scores, double label) const override;

 private:
  std::int64_t num_classes_;
};

// A loss given by the caller as a function.

/// Constants of a loss, stated by the caller. A constant that is too small invalidates bounds on
/// regret, but not privacy, because gradients of every loss are clipped.
struct FunctionLossOptions {
  std::optional<double> lipschitz = {};  ///< sup of |dl/dp|; >= 0
  std::optional<double> curvature = {};  ///< sup of the second derivative; unset: kinks allowed
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
  /// @throws Error{invalid_argument} the function returned NaN, or a slope that is not finite.
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
  /// from its minimising q, where slope(q) = (p - q) / width; bisection finds it, because the
  /// slopes increase.
  SmoothedLossAt smoothed(double prediction, double label, double width) const override {
    const LossAt here = at(prediction, label);
    if (options_.curvature) return {here.value, here.slope, bend(prediction, label), 0};
    double near = prediction;
    double far = prediction - width * here.slope;  // at or beyond q, because slopes increase
    for (int i = 0; i < kBisections; ++i) {
      const double middle = near + (far - near) / 2;
      // A slope far away may overflow, but its sign is still right.
      const double pull = function_(middle, label).slope - (prediction - middle) / width;
      ((pull > 0) == (here.slope > 0) ? near : far) = middle;
    }
    // Clamped between the slopes of l on both sides of q, it is a slope of l at q despite rounding.
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
