// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/domain.hpp"

#include <string>

#include "dpftrl/error.hpp"
#include "dpftrl/types.hpp"

namespace dpftrl {

void WholeSpace::project(std::span<double> /*point*/) const {}

L2Ball::L2Ball(double radius) : radius_(require_positive("l2_ball", "radius", radius)) {}

void L2Ball::project(std::span<double> point) const {
  Eigen::Map<Vector> w(point.data(), static_cast<Eigen::Index>(point.size()));
  const double norm = w.stableNorm();
  if (norm > radius_) w = w / norm * radius_;
}

std::shared_ptr<const Domain> make_domain(std::string_view name, double radius) {
  require_positive("make_domain", "radius", radius);
  if (name == "ball") return std::make_shared<const L2Ball>(radius);
  if (name == "whole-space") return std::make_shared<const WholeSpace>();
  fail_argument("make_domain", "domain", "one of ball, whole-space",
                "\"" + std::string(name) + "\"");
}

}  // namespace dpftrl
