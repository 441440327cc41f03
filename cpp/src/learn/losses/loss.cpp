// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/losses/loss.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/sum_of_squares.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"

namespace dpftrl {
namespace {

/// max(below * r, above * r), below <= 0 <= above.
LossAt kinked(double residual, double below, double above) {
  if (residual < 0) return {below * residual, below};
  if (residual > 0) return {above * residual, above};
  return {0, 0};
}

/// Moreau envelope of `kinked`: a parabola of curvature 1 / width between the two lines.
SmoothedLossAt smoothed_kink(double residual, double below, double above, double width) {
  const double tilt = residual / width;
  const double slope = std::clamp(tilt, below, above);
  const bool round = slope == tilt;
  const double value = slope * residual - width / 2 * slope * slope;
  // On a line, l = slope * residual, so the excess is 0.
  const double excess = round ? kinked(residual, below, above).value - slope * residual : 0;
  return {value, slope, round ? 1 / width : 0, excess};
}

Eigen::Map<const Vector> mapped(std::span<const double> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

}  // namespace

double Loss::evaluate(std::span<const double> scores, double label,
                      std::span<double> slopes) const {
  const LossAt found = at(scores[0], label);
  slopes[0] = found.slope;
  return found.value;
}

bool Loss::says(std::span<const double> scores, double label) const {
  return correct(scores[0], label);
}

double RegressionLoss::label(double raw) const {
  return require_finite(name(), "label", raw);
}

double MarginLoss::label(double raw) const {
  if (raw == 1) return 1;
  if (raw == 0 || raw == -1) return -1;
  fail_argument(name(), "label", "-1, 0 or 1", to_text(raw));
}

LossAt SquaredLoss::at(double prediction, double label) const {
  const double residual = prediction - label;
  return {residual * residual / 2, residual};
}

SmoothedLossAt SquaredLoss::smoothed(double prediction, double label, double /*width*/) const {
  const LossAt found = at(prediction, label);
  return {found.value, found.slope, 1, 0};
}

double SquaredLoss::max_slope(double max_prediction, double max_label) const {
  return max_prediction + max_label;
}

HuberLoss::HuberLoss(double huber_threshold)
    : threshold_(require_positive("huber", "huber_threshold", huber_threshold)) {}

LossAt HuberLoss::at(double prediction, double label) const {
  const double residual = prediction - label;
  const double slope = std::clamp(residual, -threshold_, threshold_);
  return {slope * (residual - slope / 2), slope};
}

SmoothedLossAt HuberLoss::smoothed(double prediction, double label, double /*width*/) const {
  const LossAt found = at(prediction, label);
  return {found.value, found.slope, std::abs(found.slope) < threshold_ ? 1.0 : 0.0, 0};
}

double HuberLoss::max_slope(double max_prediction, double max_label) const {
  return std::min(threshold_, max_prediction + max_label);
}

QuantileLoss::QuantileLoss(double quantile)
    : name_("quantile"),
      below_(-require_inside("quantile", "quantile", quantile, 0, 1)),
      above_(1 - quantile) {}

LossAt QuantileLoss::at(double prediction, double label) const {
  return kinked(prediction - label, below_, above_);
}

SmoothedLossAt QuantileLoss::smoothed(double prediction, double label, double width) const {
  return smoothed_kink(prediction - label, below_, above_, width);
}

std::optional<double> QuantileLoss::lipschitz() const {
  return std::max(-below_, above_);
}

double QuantileLoss::max_slope(double /*max_prediction*/, double /*max_label*/) const {
  return std::max(-below_, above_);
}

LossAt LogisticLoss::at(double prediction, double label) const {
  const double margin = label * prediction;
  const double small = std::exp(-std::abs(margin));  // in [0, 1]: never overflows
  const double value = std::max(0.0, -margin) + std::log1p(small);
  const double wrong = margin >= 0 ? small / (1 + small) : 1 / (1 + small);
  return {value, -label * wrong};
}

SmoothedLossAt LogisticLoss::smoothed(double prediction, double label, double /*width*/) const {
  const LossAt found = at(prediction, label);
  const double small = std::exp(-std::abs(prediction));
  return {found.value, found.slope, small / ((1 + small) * (1 + small)), 0};
}

double LogisticLoss::max_slope(double max_prediction, double /*max_label*/) const {
  return 1 / (1 + std::exp(-max_prediction));
}

LossAt HingeLoss::at(double prediction, double label) const {
  return label > 0 ? kinked(prediction - 1, -1, 0) : kinked(prediction + 1, 0, 1);
}

SmoothedLossAt HingeLoss::smoothed(double prediction, double label, double width) const {
  return label > 0 ? smoothed_kink(prediction - 1, -1, 0, width)
                   : smoothed_kink(prediction + 1, 0, 1, width);
}

double HingeLoss::max_slope(double /*max_prediction*/, double /*max_label*/) const {
  return 1;
}

std::shared_ptr<const Loss> make_loss(std::string_view name, const LossParameters& parameters) {
  if (name == "logistic") return std::make_shared<const LogisticLoss>();
  if (name == "squared") return std::make_shared<const SquaredLoss>();
  if (name == "hinge") return std::make_shared<const HingeLoss>();
  if (name == "huber") return std::make_shared<const HuberLoss>(parameters.huber_threshold);
  if (name == "absolute") return std::make_shared<const QuantileLoss>(QuantileLoss::absolute());
  if (name == "quantile") return std::make_shared<const QuantileLoss>(parameters.quantile);
  fail_argument("make_loss", "loss", "one of logistic, squared, hinge, huber, absolute, quantile",
                "\"" + std::string(name) + "\"");
}

void clipped_gradient(double slope, std::span<const double> features, double clip,
                      std::span<double> out) {
  clipped_gradient({&slope, 1}, features, clip, out);
}

void clipped_gradient(std::span<const double> slopes, std::span<const double> features, double clip,
                      std::span<double> out) {
  std::vector<double> scales(slopes.size());
  scales_of_clipped_gradient(slopes, features, clip, scales);
  for (std::size_t k = 0; k < slopes.size(); ++k)
    for (std::size_t i = 0; i < features.size(); ++i)
      out[k * features.size() + i] = scales[k] * features[i];
}

namespace {

struct ClipLengths {
  double norm;     ///< norm of the features
  double clip;     ///< longest gradient that is not clipped
  double shorter;  ///< length of a clipped gradient
};

/// Scales for slopes of infinite norm: infinite slopes, or finite slopes whose norm overflows.
/// Beside infinite slopes, finite slopes become 0.
void scales_of_endless_slopes(std::span<const double> slopes, const ClipLengths& lengths,
                              std::span<double> scales) {
  const auto& [norm, clip, shorter] = lengths;
  double largest = 0;
  for (const double slope : slopes) {
    if (std::isnan(slope)) fail_argument("clipped_gradient", "slopes", "numbers", "NaN");
    largest = std::max(largest, std::abs(slope));
  }
  const auto unit = [largest](double slope) {
    if (std::isfinite(largest)) return slope / largest;
    return std::isinf(slope) ? std::copysign(1.0, slope) : 0.0;
  };
  double squares = 0;
  for (const double slope : slopes) squares += unit(slope) * unit(slope);
  const double steepness = std::sqrt(squares);
  const bool is_clipped = norm > 0 && !(largest * norm * steepness <= clip);
  // Subnormal features would need a scale beyond the range of doubles.
  const double scale = std::min(shorter / norm, std::numeric_limits<double>::max()) / steepness;
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    if (is_clipped)
      scales[k] = scale * unit(slopes[k]);
    else
      scales[k] = norm > 0 ? slopes[k] : 0;
  }
}

}  // namespace

void scales_of_clipped_gradient(std::span<const double> slopes, std::span<const double> features,
                                double clip, std::span<double> scales) {
  double norm = std::sqrt(detail::sum_of_squares(features));
  const bool squares_are_safe = norm > 1e-140 && std::isfinite(norm);
  if (!squares_are_safe) norm = mapped(features).stableNorm();
  if (!std::isfinite(norm)) {
    require_all_finite("clipped_gradient", "features", features);
    fail(ErrorCode::invalid_argument, "clipped_gradient", "features", "must have a finite norm",
         to_text(norm));
  }
  const double steepness = slopes.size() == 1 ? std::abs(slopes[0]) : mapped(slopes).stableNorm();
  const double num_entries =
      static_cast<double>(slopes.size()) * static_cast<double>(features.size());
  const double shorter = clip * (1 - (16 + num_entries) * 0x1p-51);
  if (!std::isfinite(steepness))
    return scales_of_endless_slopes(slopes, {.norm = norm, .clip = clip, .shorter = shorter},
                                    scales);
  const double length = steepness * norm;  // +infinity is clipped like any other length
  for (std::size_t k = 0; k < slopes.size(); ++k)
    scales[k] = length <= clip ? slopes[k] : shorter / norm * (slopes[k] / steepness);
}

}  // namespace dpftrl
