// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Losses of a linear prediction p = <w, x> against a label y.

#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace dpftrl {

/// A loss and its derivative in the prediction.
struct LossAt {
  double value;
  double slope;
};

/// One convex loss l(p, y). A new loss is one small class and one line in `make_loss`.
class Loss {
 public:
  virtual ~Loss() = default;

  virtual std::string_view name() const = 0;

  /// l(p, y) and dl/dp, for a label as `label` returns it.
  /// @guarantee  never NaN for finite p and y; the slope is finite for |p| up to 1e300. A value
  ///             beyond the range of double is +infinity.
  virtual LossAt at(double prediction, double label) const = 0;
  double value(double prediction, double label) const { return at(prediction, label).value; }
  double slope(double prediction, double label) const { return at(prediction, label).slope; }

  /// sup over p and y of |dl/dp|, or nothing if there is none.
  virtual std::optional<double> lipschitz() const = 0;
  /// sup of |dl/dp| over |p| <= max_prediction and |y| <= max_label.
  virtual double max_slope(double max_prediction, double max_label) const = 0;

  /// Labels are classes: -1 or +1.
  virtual bool classifies() const = 0;
  /// The label in the form this loss works with. Classification takes 0 as -1.
  /// @throws Error{invalid_argument} a label this loss does not know, NaN and infinity included.
  virtual double label(double raw) const = 0;
  /// A prediction >= 0 says +1. False for losses that do not classify.
  bool correct(double prediction, double label) const {
    return classifies() && (prediction >= 0) == (label > 0);
  }
};

/// (p - y)^2 / 2, any finite y. Slope p - y, no global Lipschitz constant.
class SquaredLoss final : public Loss {
 public:
  std::string_view name() const override { return "squared"; }
  LossAt at(double prediction, double label) const override;
  std::optional<double> lipschitz() const override { return std::nullopt; }
  double max_slope(double max_prediction, double max_label) const override;
  bool classifies() const override { return false; }
  double label(double raw) const override;
};

/// ln(1 + exp(-y p)), y = -1 or +1. Slope -y / (1 + exp(y p)), 1-Lipschitz.
class LogisticLoss final : public Loss {
 public:
  std::string_view name() const override { return "logistic"; }
  LossAt at(double prediction, double label) const override;
  std::optional<double> lipschitz() const override { return 1.0; }
  double max_slope(double max_prediction, double max_label) const override;
  bool classifies() const override { return true; }
  double label(double raw) const override;
};

/// @throws Error{invalid_argument} unknown name (the message lists the known ones).
std::shared_ptr<const Loss> make_loss(std::string_view name);

/// Gradient of l(<w, x>, y) in w, clipped: slope * x * min(1, clip_norm / ||slope * x||).
///
/// @param slope      finite.
/// @param features   x, finite.
/// @param clip_norm  > 0.
/// @param out        as long as `features`.
/// @guarantee        finite, even where slope * x is not.
/// @throws Error{invalid_argument} ||x|| is not finite.
void clipped_gradient(double slope, std::span<const double> features, double clip_norm,
                      std::span<double> out);

}  // namespace dpftrl
