// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Convex sets a learner may play from, and the Euclidean projection onto each.

#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace dpftrl {

/// One closed convex set K. A new set is one small class and one line in `make_domain`.
class Domain {
 public:
  virtual ~Domain() = default;

  virtual std::string_view name() const = 0;
  /// Overwrites the point by the nearest point of K.
  /// @guarantee  points of K are unchanged; non-expansive; the result is in K (to rounding).
  virtual void project(std::span<double> point) const = 0;
  /// max over K of ||w||, or nothing if K is unbounded.
  virtual std::optional<double> max_norm() const = 0;
};

/// K = R^d.
class WholeSpace final : public Domain {
 public:
  std::string_view name() const override { return "whole-space"; }
  void project(std::span<double> point) const override;
  std::optional<double> max_norm() const override { return std::nullopt; }
};

/// K = {w : ||w||_2 <= radius}.
class L2Ball final : public Domain {
 public:
  /// @throws Error{invalid_argument} radius not positive and finite.
  explicit L2Ball(double radius);
  std::string_view name() const override { return "ball"; }
  void project(std::span<double> point) const override;
  std::optional<double> max_norm() const override { return radius_; }

 private:
  double radius_;
};

/// "whole-space" (the radius is checked and then unused) or "ball".
/// @throws Error{invalid_argument} unknown name (the message lists the known ones), bad radius.
std::shared_ptr<const Domain> make_domain(std::string_view name, double radius);

}  // namespace dpftrl
