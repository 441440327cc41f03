// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/loss.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "dpftrl/error.hpp"
#include "dpftrl/types.hpp"

namespace dpftrl {

LossAt SquaredLoss::at(double prediction, double label) const {
  const double residual = prediction - label;
  return {residual * residual / 2, residual};
}

double SquaredLoss::max_slope(double max_prediction, double max_label) const {
  return max_prediction + max_label;
}

double SquaredLoss::label(double raw) const {
  return require_finite(name(), "label", raw);
}

LossAt LogisticLoss::at(double prediction, double label) const {
  const double margin = label * prediction;
  const double small = std::exp(-std::abs(margin));  // in [0, 1]: never overflows
  const double value = std::max(0.0, -margin) + std::log1p(small);
  const double wrong = margin >= 0 ? small / (1 + small) : 1 / (1 + small);
  return {value, -label * wrong};
}

double LogisticLoss::max_slope(double max_prediction, double /*max_label*/) const {
  return 1 / (1 + std::exp(-max_prediction));
}

double LogisticLoss::label(double raw) const {
  if (raw == 1) return 1;
  if (raw == 0 || raw == -1) return -1;
  fail_argument(name(), "label", "-1, 0 or 1", to_text(raw));
}

std::shared_ptr<const Loss> make_loss(std::string_view name) {
  if (name == "logistic") return std::make_shared<const LogisticLoss>();
  if (name == "squared") return std::make_shared<const SquaredLoss>();
  fail_argument("make_loss", "loss", "one of logistic, squared", "\"" + std::string(name) + "\"");
}

void clipped_gradient(double slope, std::span<const double> features, double clip_norm,
                      std::span<double> out) {
  const Eigen::Map<const Vector> x(features.data(), static_cast<Eigen::Index>(features.size()));
  double norm = x.norm();
  const bool squares_are_safe = norm > 1e-140 && std::isfinite(norm);
  if (!squares_are_safe) norm = x.stableNorm();
  require_finite("clipped_gradient", "norm of features", norm);
  const double length = std::abs(slope) * norm;  // +infinity is just another length to clip
  const double scale = length <= clip_norm ? slope : std::copysign(clip_norm / norm, slope);
  for (std::size_t i = 0; i < features.size(); ++i) out[i] = scale * features[i];
}

}  // namespace dpftrl
