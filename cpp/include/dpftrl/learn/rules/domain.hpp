// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Convex sets a learner may play from: projection, support function, and the leader of the
/// regularised past; penalties that make weights 0; and the sizes of the steps of one that
/// descends.
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

#include "dpftrl/base/types.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl {

/// Which strongly convex function R keeps the leader near its start w_1.
enum class Regulariser {
  euclidean,  ///< ||w - w_1||^2 / 2
  entropic,   ///< r sum_i w_i ln(w_i / w_1i) on the simplex of sum r: 1-strongly convex in ||.||_1
};
std::string_view to_string(Regulariser regulariser);

/// Term psi of a composite loss: the mean loss of a step plus psi(w) is what is to be small. The
/// weights of all scores of a feature belong to it.
struct Penalty {
  double strength = 0;  ///< alpha >= 0; 0: no penalty
  /// Without groups psi = alpha sum_i |w_i|. With them psi = alpha sum_g ||w_g||_2: sizes of groups
  /// of consecutive features, the first group first, which together are all that are penalised.
  std::vector<std::int64_t> groups = {};
  std::int64_t num_unpenalised = 0;  ///< last features that psi leaves out, such as an intercept
};

/// A model is a row of weights, one a feature, for each score.
struct ModelShape {
  std::int64_t num_features = 1;
  std::int64_t num_scores = 1;
};

/// psi(weights).
/// @throws Error{invalid_argument} the penalty, for this shape; Error{wrong_length} weights.
double penalty_value(const Penalty& penalty, const ModelShape& shape,
                     std::span<const double> weights);

/// Least G with |psi(v) - psi(w)| <= G ||v - w||_2: alpha times the square root of the number of
/// weights in psi, or of groups.
/// @throws Error{invalid_argument} the penalty, for this shape; a slope beyond the doubles.
double penalty_slope(const Penalty& penalty, const ModelShape& shape);

/// One closed convex set K with its regulariser R. A new set is one small class and one line in
/// `make_domain`. Functions that change a point neither throw nor allocate.
class Domain {
 public:
  virtual ~Domain() = default;

  virtual std::string_view name() const = 0;
  /// Parameters it was made with; they tell sets of one name apart.
  virtual std::vector<double> parameters() const { return {}; }
  /// Overwrites the point by the nearest point of K.
  /// @guarantee  points of K are unchanged; non-expansive; the result is in K (to rounding).
  virtual void project(std::span<double> point) const = 0;
  /// The same in part: returns the factor that is still missing from every coordinate, so that a
  /// caller that reads them anyway can apply it. Here 1.
  /// @param sum_of_squares  of the point, to rounding; may be infinite or 0 where that is not safe.
  virtual double project_up_to_factor(std::span<double> point, double sum_of_squares) const;
  /// Whether `factor_of` has an answer for all points but the extreme ones.
  virtual bool projects_by_factor() const { return false; }
  /// The factor that alone projects a point of this sum of squares, if there is one and it is safe
  /// to say so: project_up_to_factor without a look at the point.
  virtual std::optional<double> factor_of(double /*sum_of_squares*/) const { return std::nullopt; }
  /// max over K of <direction, w>, which certifies comparators; +infinity if there is none.
  virtual double support(std::span<const double> direction) const = 0;
  /// max over K of ||w||, or nothing if K is unbounded.
  virtual std::optional<double> max_norm(std::int64_t dimension) const = 0;
  /// The point to begin from: the origin if it is in K, else where R is smallest.
  virtual Vector start(std::int64_t dimension) const;
  /// D with R(w) <= D^2 / 2 for all w in K, R kept near `start`; nothing if K is unbounded.
  virtual std::optional<double> diameter(std::int64_t dimension) const = 0;

  virtual Regulariser regulariser() const { return Regulariser::euclidean; }
  /// Whether, for every point v, shrinking and then projecting minimises ||w - v||^2 / 2 + psi(w)
  /// over K.
  /// @source      docs/math/learning.md, section 11.
  /// @checked-by  penalty_test "the leader minimises the composite sum over the domain"
  virtual bool projects_what_shrank(const Penalty& /*penalty*/) const { return false; }
  /// Overwrites `point`, a point w_1 of K, by the leader argmin_{w in K} <sums, w> + lambda R(w),
  /// R kept near w_1, in two parts: `lead`, for all coordinates or for some at a time, then
  /// `finish_leader`. Here w_1 - sums / lambda, and its projection.
  /// @param sums  not `point`; w_1 - sums / lambda must be finite.
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
  std::vector<double> parameters() const override { return {radius_}; }
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
  std::vector<double> parameters() const override { return {bounds_.low, bounds_.high}; }
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

/// K = {w : w_i >= 0, sum_i w_i = radius}, from the centre.
class Simplex final : public Domain {
 public:
  /// @throws Error{invalid_argument} radius not positive and finite.
  explicit Simplex(double radius, Regulariser regulariser = Regulariser::euclidean);
  std::string_view name() const override;
  std::vector<double> parameters() const override { return {radius_}; }
  /// @cost    O(d) for each of a few rounds, which leave out the coordinates that become 0.
  /// @source  Michelot, J. Optim. Theory Appl. 50 (1986).
  void project(std::span<double> point) const override;
  double support(std::span<const double> direction) const override;
  std::optional<double> max_norm(std::int64_t /*dimension*/) const override { return radius_; }
  Vector start(std::int64_t dimension) const override;
  std::optional<double> diameter(std::int64_t dimension) const override;
  Regulariser regulariser() const override { return regulariser_; }
  /// Entropic: nothing, then radius * softmax(ln w_1 - sums / (lambda radius)), whose largest
  /// exponent is 0.
  void lead(std::span<const double> sums, double lambda, std::span<double> point) const override;
  double finish_leader(std::span<const double> sums, double lambda, std::span<double> point,
                       double sum_of_squares) const override;

 private:
  double radius_;
  Regulariser regulariser_;
};

/// "whole-space" (the radius is checked and then unused), "ball", "box" (from -radius to radius),
/// "simplex" or "simplex-entropic" (of sum radius).
/// @throws Error{invalid_argument} unknown name (the message lists the known ones), bad radius.
std::shared_ptr<const Domain> make_domain(std::string_view name, double radius);

/// Parameters of gradient descent beside its rate.
struct DescentSchedule {
  /// chi_1, chi_2, ...: the rate of step t is chi_t / lambda. Positive and finite; all 1 where
  /// there are none, and from their end on the last one.
  std::vector<double> rates = {};
  double momentum = 0;  ///< beta, 0 <= beta < 1
};

/// A of the schedule: prefix sums, with momentum, or with rates and momentum.
/// @throws Error{invalid_argument} num_steps, rates or momentum out of range.
Workload workload_of_descent(const DescentSchedule& schedule, std::int64_t num_steps);

/// lambda for the point played at `step` (0-based): `first` without doubling, else `first` times
/// the square root of the least power of two that is at least step + 1, for unknown horizons.
double lambda_at(double first, bool doubling, std::int64_t step);

/// The `first` of a doubling lambda that is about `last` at the horizon.
double first_lambda(double last, std::int64_t num_steps);

}  // namespace dpftrl
