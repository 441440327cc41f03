// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/rules/domain.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/sum_of_squares.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

Eigen::Map<const Vector> mapped(std::span<const double> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

}  // namespace

std::string_view to_string(Regulariser regulariser) {
  return regulariser == Regulariser::euclidean ? "euclidean" : "entropic";
}

Vector Domain::start(std::int64_t dimension) const {
  return Vector::Zero(static_cast<Eigen::Index>(dimension));
}

void Domain::lead(std::span<const double> sums, double lambda, std::span<double> point) const {
  // Multiplying is several times as fast as dividing.
  const double rate = 1 / lambda;
  if (std::isnormal(rate))
    for (std::size_t i = 0; i < point.size(); ++i) point[i] -= rate * sums[i];
  else
    for (std::size_t i = 0; i < point.size(); ++i) point[i] -= sums[i] / lambda;
}

double Domain::project_up_to_factor(std::span<double> point, double /*sum_of_squares*/) const {
  project(point);
  return 1;
}

double Domain::finish_leader(std::span<const double> /*sums*/, double /*lambda*/,
                             std::span<double> point, double sum_of_squares) const {
  return project_up_to_factor(point, sum_of_squares);
}

void WholeSpace::project(std::span<double> /*point*/) const {}

double WholeSpace::support(std::span<const double> direction) const {
  const bool zero = std::ranges::all_of(direction, [](double x) { return x == 0; });
  return zero ? 0 : std::numeric_limits<double>::infinity();
}

L2Ball::L2Ball(double radius) : radius_(require_positive("l2_ball", "radius", radius)) {}

void L2Ball::project(std::span<double> point) const {
  const double factor = project_up_to_factor(point, detail::sum_of_squares(point));
  if (factor == 1) return;
  for (double& x : point) x *= factor;
}

double L2Ball::project_up_to_factor(std::span<double> point, double sum_of_squares) const {
  if (const auto factor = factor_of(sum_of_squares)) return *factor;
  const double norm = mapped(point).stableNorm();
  if (!(norm > radius_)) return 1;
  const double factor = radius_ / norm;
  if (std::isnormal(factor)) return factor;
  for (double& x : point) x = x / norm * radius_;
  return 1;
}

std::optional<double> L2Ball::factor_of(double sum_of_squares) const {
  if (!(sum_of_squares > 0x1p-900 && sum_of_squares < 0x1p1000)) return std::nullopt;
  const double norm = std::sqrt(sum_of_squares);
  if (!(norm > radius_)) return 1;
  const double factor = radius_ / norm;
  return std::isnormal(factor) ? std::optional(factor) : std::nullopt;
}

double L2Ball::support(std::span<const double> direction) const {
  return radius_ * mapped(direction).stableNorm();
}

Box::Box(const Bounds& bounds) : bounds_(bounds) {
  require_finite("box", "low", bounds.low);
  require_finite("box", "high", bounds.high);
  if (!(bounds.low < bounds.high))
    fail_argument("box", "high", "above {low} = " + to_text(bounds.low), to_text(bounds.high));
}

void Box::project(std::span<double> point) const {
  for (double& x : point) x = std::clamp(x, bounds_.low, bounds_.high);
}

double Box::support(std::span<const double> direction) const {
  double sum = 0;
  for (const double x : direction) sum += x * (x > 0 ? bounds_.high : bounds_.low);
  return sum;
}

std::optional<double> Box::max_norm(std::int64_t dimension) const {
  return std::sqrt(static_cast<double>(dimension)) *
         std::max(std::abs(bounds_.low), std::abs(bounds_.high));
}

Vector Box::start(std::int64_t dimension) const {
  return Vector::Constant(static_cast<Eigen::Index>(dimension),
                          std::clamp(0.0, bounds_.low, bounds_.high));
}

std::optional<double> Box::diameter(std::int64_t dimension) const {
  const double from = std::clamp(0.0, bounds_.low, bounds_.high);
  return std::sqrt(static_cast<double>(dimension)) *
         std::max(from - bounds_.low, bounds_.high - from);
}

Simplex::Simplex(double radius, Regulariser regulariser)
    : radius_(require_positive("simplex", "radius", radius)), regulariser_(regulariser) {}

std::string_view Simplex::name() const {
  return regulariser_ == Regulariser::euclidean ? "simplex" : "simplex-entropic";
}

void Simplex::project(std::span<double> point) const {
  // Leaves a point unchanged if its sum is off only by rounding, so that projection is idempotent.
  double sum = 0;
  for (const double x : point) sum += x;
  const double slack = 0x1p-50 * radius_ * static_cast<double>(point.size());
  const bool inside = std::ranges::all_of(point, [](double x) { return x >= 0; });
  if (inside && std::abs(sum - radius_) <= slack) return;

  // w_i = max(0, x_i - shift) with the shift that makes the sum right: the average excess of the
  // entries that stay positive. Dropping entries only raises the average excess, so an entry that
  // was dropped stays dropped. Entries are taken relative to the largest, so that its size costs no
  // digits.
  const double largest = *std::ranges::max_element(point);
  for (double& x : point) x -= largest;
  double shift = -radius_;  // for the largest entry alone
  for (std::size_t num_left = point.size() + 1;;) {
    double above = 0;
    std::size_t count = 0;
    for (const double x : point) {
      if (!(x > shift)) continue;
      above += x;
      ++count;
    }
    if (count == num_left) break;
    num_left = count;
    shift = std::max(shift, (above - radius_) / static_cast<double>(count));
  }
  for (double& x : point) x = std::max(0.0, x - shift);
}

double Simplex::support(std::span<const double> direction) const {
  return radius_ * mapped(direction).maxCoeff();
}

Vector Simplex::start(std::int64_t dimension) const {
  return Vector::Constant(static_cast<Eigen::Index>(dimension),
                          radius_ / static_cast<double>(dimension));
}

std::optional<double> Simplex::diameter(std::int64_t dimension) const {
  const double d = static_cast<double>(dimension);
  return radius_ * std::sqrt(regulariser_ == Regulariser::euclidean ? 1 - 1 / d : 2 * std::log(d));
}

void Simplex::lead(std::span<const double> sums, double lambda, std::span<double> point) const {
  if (regulariser_ == Regulariser::euclidean) Domain::lead(sums, lambda, point);
}

double Simplex::finish_leader(std::span<const double> sums, double lambda, std::span<double> point,
                              double sum_of_squares) const {
  if (regulariser_ == Regulariser::euclidean)
    return Domain::finish_leader(sums, lambda, point, sum_of_squares);
  // Sums are relative to the least sum, so that an overflow can only result in a weight of 0.
  const double least = *std::ranges::min_element(sums);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < point.size(); ++i) {
    point[i] = std::log(point[i]) - (sums[i] - least) / lambda / radius_;
    largest = std::max(largest, point[i]);
  }
  double total = 0;
  for (double& x : point) total += x = std::exp(x - largest);
  for (double& x : point) x *= radius_ / total;
  return 1;
}

std::shared_ptr<const Domain> make_domain(std::string_view name, double radius) {
  require_positive("make_domain", "radius", radius);
  if (name == "ball") return std::make_shared<const L2Ball>(radius);
  if (name == "whole-space") return std::make_shared<const WholeSpace>();
  if (name == "box") return std::make_shared<const Box>(Box::Bounds{-radius, radius});
  if (name == "simplex") return std::make_shared<const Simplex>(radius);
  if (name == "simplex-entropic")
    return std::make_shared<const Simplex>(radius, Regulariser::entropic);
  fail_argument("make_domain", "domain", "one of ball, whole-space, box, simplex, simplex-entropic",
                "\"" + std::string(name) + "\"");
}

}  // namespace dpftrl
