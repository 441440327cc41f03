// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Convex sets of iterates, with projection, support function and regularised leader; penalties
/// that make weights sparse; and step sizes of gradient descent.
///
/// ```cpp
/// const auto ball = dpftrl::make_domain("ball", /*radius=*/1);
/// std::vector<double> point{3, 4};
/// ball->project(point);
/// assert(std::abs(point[0] - 0.6) < 1e-12 && std::abs(point[1] - 0.8) < 1e-12);
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

/// Strongly convex function R that keeps the leader near its start w_1.
enum class Regulariser {
  euclidean,  ///< ||w - w_1||^2 / 2
  entropic,   ///< r sum_i w_i ln(w_i / w_1i) on the simplex of sum r: 1-strongly convex in ||.||_1
};
std::string_view to_string(Regulariser regulariser);

/// Term psi of a composite loss: the learner minimises the mean loss of a step plus psi(w). The
/// weights of a feature are those for all scores.
struct Penalty {
  double strength = 0;  ///< alpha >= 0; 0: no penalty
  /// Sizes of groups of consecutive features, in order, which together make up all penalised
  /// features. With groups psi = alpha sum_g ||w_g||_2; without, psi = alpha sum_i |w_i|.
  std::vector<std::int64_t> groups = {};
  std::int64_t num_unpenalised = 0;  ///< trailing features left out of psi, such as an intercept
};

/// A model has a row of weights, one per feature, for each score.
struct ModelShape {
  std::int64_t num_features = 1;
  std::int64_t num_scores = 1;
};

/// psi(weights).
/// @throws Error{invalid_argument} the penalty is invalid for this shape; Error{wrong_length}
///         weights.
double penalty_value(const Penalty& penalty, const ModelShape& shape,
                     std::span<const double> weights);

/// Smallest G with |psi(v) - psi(w)| <= G ||v - w||_2: alpha times the square root of the number of
/// weights in psi, or of groups.
/// @throws Error{invalid_argument} the penalty is invalid for this shape, or the slope overflows.
double penalty_slope(const Penalty& penalty, const ModelShape& shape);

/// A closed convex set K with its regulariser R. A new set is one small class and one line in
/// `make_domain`. Functions that modify a point neither throw nor allocate.
class Domain {
 public:
  virtual ~Domain() = default;

  virtual std::string_view name() const = 0;
  /// Overwrites the point with the nearest point of K.
  /// @guarantee  points of K are unchanged; non-expansive; the result is in K (to rounding).
  /// @checked-by domain_test "projection is idempotent, non-expansive and the nearest point",
  ///             "points of the set are unchanged bit by bit"
  virtual void project(std::span<double> point) const = 0;
  /// Projects up to a factor by which every coordinate must still be multiplied, and returns that
  /// factor, so that a caller that reads the coordinates anyway can apply it. By default, projects
  /// completely and returns 1.
  /// @param sum_of_squares  of the point, to rounding; may be infinite or 0 if the exact value
  ///                        overflows or underflows.
  virtual double project_up_to_factor(std::span<double> point, double sum_of_squares) const;
  /// True if `factor_of` has a value for all points except those of extreme norm.
  virtual bool projects_by_factor() const { return false; }
  /// The factor that alone projects a point with this sum of squares, if it exists and is
  /// numerically safe: project_up_to_factor without reading the point.
  virtual std::optional<double> factor_of(double /*sum_of_squares*/) const { return std::nullopt; }
  /// max over K of <direction, w>, which certifies comparators; +infinity if unbounded.
  virtual double support(std::span<const double> direction) const = 0;
  /// max over K of ||w||, or empty if K is unbounded.
  virtual std::optional<double> max_norm(std::int64_t dimension) const = 0;
  /// The starting point w_1: the point of K nearest to the origin.
  virtual Vector start(std::int64_t dimension) const;
  /// D with R(w) <= D^2 / 2 for all w in K, with R centred at `start`; empty if K is unbounded.
  virtual std::optional<double> diameter(std::int64_t dimension) const = 0;

  virtual Regulariser regulariser() const { return Regulariser::euclidean; }
  /// True if, for every point v, shrinking and then projecting minimises ||w - v||^2 / 2 + psi(w)
  /// over K.
  /// @source      docs/math/learning.md, section 11.
  /// @checked-by  penalty_test "the leader minimises the composite sum over the domain"
  virtual bool projects_what_shrank(const Penalty& /*penalty*/) const { return false; }
  /// Overwrites `point`, a point w_1 of K, with the leader argmin_{w in K} <sums, w> + lambda R(w),
  /// with R centred at w_1, in two parts: `lead`, for all coordinates or for some at a time, then
  /// `finish_leader`. By default, these compute w_1 - sums / lambda and its projection.
  /// @param sums  must not overlap `point`; w_1 - sums / lambda must be finite.
  virtual void lead(std::span<const double> sums, double lambda, std::span<double> point) const;
  /// @return  as `project_up_to_factor`.
  virtual double finish_leader(std::span<const double> sums, double lambda, std::span<double> point,
                               double sum_of_squares) const;
};

/// K = R^d.
class WholeSpace final : public Domain {
 public:
  std::string_view name() const override { return "whole-space"; }
  void project(std::span<double> point) const override;
  bool projects_by_factor() const override { return true; }
  std::optional<double> factor_of(double /*sum_of_squares*/) const override { return 1; }
  double support(std::span<const double> direction) const override;
  std::optional<double> max_norm(std::int64_t /*dimension*/) const override { return std::nullopt; }
  std::optional<double> diameter(std::int64_t /*dimension*/) const override { return std::nullopt; }
  bool projects_what_shrank(const Penalty& /*penalty*/) const override { return true; }
};

/// K = {w : ||w||_2 <= radius}.
class L2Ball final : public Domain {
 public:
  /// @throws Error{invalid_argument} radius not positive and finite.
  explicit L2Ball(double radius);
  std::string_view name() const override { return "ball"; }
  void project(std::span<double> point) const override;
  double project_up_to_factor(std::span<double> point, double sum_of_squares) const override;
  bool projects_by_factor() const override { return true; }
  std::optional<double> factor_of(double sum_of_squares) const override;
  double support(std::span<const double> direction) const override;
  std::optional<double> max_norm(std::int64_t /*dimension*/) const override { return radius_; }
  std::optional<double> diameter(std::int64_t /*dimension*/) const override { return radius_; }
  bool projects_what_shrank(const Penalty& /*penalty*/) const override { return true; }
  double radius() const { return radius_; }

 private:
  double radius_;
};

/// K = {w : low <= w_i <= high}.
class Box final : public Domain {
 public:
  struct Bounds {
    double low = -1;
    double high = 1;
  };
  /// @throws Error{invalid_argument} a bound that is not finite, or low >= high.
  explicit Box(const Bounds& bounds);
  std::string_view name() const override { return "box"; }
  void project(std::span<double> point) const override;
  double support(std::span<const double> direction) const override;
  std::optional<double> max_norm(std::int64_t dimension) const override;
  Vector start(std::int64_t dimension) const override;
  std::optional<double> diameter(std::int64_t dimension) const override;
  bool projects_what_shrank(const Penalty& penalty) const override {
    return penalty.groups.empty();
  }

 private:
  Bounds bounds_;
};

/// K = {w : w_i >= 0, sum_i w_i = radius}, starting from the centre.
class Simplex final : public Domain {
 public:
  /// @throws Error{invalid_argument} radius not positive and finite.
  explicit Simplex(double radius, Regulariser regulariser = Regulariser::euclidean);
  std::string_view name() const override;
  /// @cost    O(d) for each of a few rounds, which skip the coordinates that have become 0.
  /// @source  Michelot, J. Optim. Theory Appl. 50 (1986).
  void project(std::span<double> point) const override;
  double support(std::span<const double> direction) const override;
  std::optional<double> max_norm(std::int64_t /*dimension*/) const override { return radius_; }
  Vector start(std::int64_t dimension) const override;
  std::optional<double> diameter(std::int64_t dimension) const override;
  Regulariser regulariser() const override { return regulariser_; }
  /// In the entropic case, `lead` does nothing and `finish_leader` sets `point` to
  /// radius * softmax(ln w_1 - sums / (lambda radius)), computed with largest exponent 0.
  void lead(std::span<const double> sums, double lambda, std::span<double> point) const override;
  double finish_leader(std::span<const double> sums, double lambda, std::span<double> point,
                       double sum_of_squares) const override;

 private:
  double radius_;
  Regulariser regulariser_;
};

/// Makes "whole-space" (the radius is checked but unused), "ball", "box" (from -radius to radius),
/// "simplex" or "simplex-entropic" (with sum radius).
/// @throws Error{invalid_argument} unknown name (the message lists the known ones), bad radius.
std::shared_ptr<const Domain> make_domain(std::string_view name, double radius);

/// Parameters of gradient descent besides its rate 1 / lambda.
struct DescentSchedule {
  /// chi_1, chi_2, ...: the rate of step t is chi_t / lambda. Positive and finite; all 1 if empty.
  /// The last one also applies to later steps.
  std::vector<double> rates = {};
  double momentum = 0;  ///< beta, 0 <= beta < 1
};

/// Workload A of the schedule: prefix sums, with momentum, or with rates and momentum.
/// @throws Error{invalid_argument} steps, rates or momentum out of range.
Workload workload_of_descent(const DescentSchedule& schedule, std::int64_t steps);

/// lambda for the point played at `step` (0-based): `first` without doubling, else `first` times
/// the square root of the least power of two that is at least step + 1, for unknown horizons.
double lambda_at(double first, bool doubling, std::int64_t step);

/// The `first` for which a doubling lambda is about `last` at the horizon.
double first_lambda(double last, std::int64_t steps);

}  // namespace dpftrl
