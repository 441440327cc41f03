// SPDX-License-Identifier: Apache-2.0
#include "math/optimize.hpp"

#include <limits>
#include <stdexcept>

#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;
using testing::kNan;

/// sum_i c_i (x_i - i)^2 / 2 with curvatures from 1 to `condition`.
struct Quadratic {
  Vector curvature;
  Vector minimiser;

  Quadratic(Eigen::Index dimension, double condition) : curvature(dimension), minimiser(dimension) {
    for (Eigen::Index i = 0; i < dimension; ++i) {
      const double share = dimension == 1 ? 0 : static_cast<double>(i) / double(dimension - 1);
      curvature(i) = std::pow(condition, share);
      minimiser(i) = static_cast<double>(i) - 1;
    }
  }
  double operator()(const Vector& point, Vector& gradient) const {
    gradient = curvature.cwiseProduct(point - minimiser);
    return gradient.dot(point - minimiser) / 2;
  }
};

double rosenbrock(const Vector& x, Vector& gradient) {
  const double a = x(1) - x(0) * x(0);
  const double b = 1 - x(0);
  gradient(0) = -400 * a * x(0) - 2 * b;
  gradient(1) = 200 * a;
  return 100 * a * a + b * b;
}

Vector vector_of(double x) {
  return Vector::Constant(1, x);
}

TEST(Optimize, quadratics_reach_their_known_minimiser) {
  for (const Eigen::Index dimension : {1, 2, 3, 7, 50}) {
    for (const double condition : {1.0, 1e4}) {
      const Quadratic f(dimension, condition);
      const OptimizeResult result = minimize(f, Vector::Constant(dimension, 5.0),
                                             {.max_iterations = 2000, .gradient_tolerance = 1e-7});
      EXPECT_EQ(result.status, OptimizeStatus::converged) << dimension << " " << condition;
      EXPECT_LE((result.point - f.minimiser).norm(), 1e-7) << dimension << " " << condition;
    }
  }
}

TEST(Optimize, rosenbrock_valley_is_followed_to_its_end) {
  const OptimizeResult result =
      minimize(rosenbrock, (Vector(2) << -1.2, 1).finished(), {.gradient_tolerance = 1e-8});
  EXPECT_EQ(result.status, OptimizeStatus::converged);
  EXPECT_NEAR(result.point(0), 1, 1e-7);
  EXPECT_NEAR(result.point(1), 1, 1e-7);
}

TEST(Optimize, result_describes_its_own_point) {
  for (const std::int64_t limit : {1, 2, 5, 200}) {
    const OptimizeResult result =
        minimize(rosenbrock, (Vector(2) << -1.2, 1).finished(), {.max_iterations = limit});
    Vector gradient(2);
    EXPECT_EQ(result.value, rosenbrock(result.point, gradient));
    EXPECT_EQ(result.gradient_norm, gradient.norm());
    EXPECT_LE(result.iterations, limit);
    EXPECT_GE(result.evaluations, result.iterations);
  }
}

TEST(Optimize, giving_up_never_looks_like_convergence) {
  const Vector start = (Vector(2) << -1.2, 1).finished();
  const OptimizeResult few = minimize(rosenbrock, start, {.max_iterations = 3});
  EXPECT_EQ(few.status, OptimizeStatus::iteration_limit);
  EXPECT_GT(few.gradient_norm, 1e-8);
  Vector gradient(2);
  EXPECT_LT(few.value, rosenbrock(start, gradient));

  // No line search can succeed below the rounding error of the value; the status must report this.
  const Quadratic f(7, 1e4);
  const auto shifted = [&f](const Vector& x, Vector& g) { return f(x, g) + 1e9; };
  const OptimizeResult fine =
      minimize(shifted, Vector::Constant(7, 5.0), {.gradient_tolerance = 1e-14});
  EXPECT_EQ(fine.status == OptimizeStatus::converged, fine.gradient_norm <= 1e-14);
}

TEST(Optimize, a_gradient_of_the_wrong_sign_is_not_reported_as_converged) {
  const auto wrong = [](const Vector& x, Vector& gradient) {
    gradient = -x;
    return x.squaredNorm() / 2;
  };
  const OptimizeResult result = minimize(wrong, Vector::Ones(3), {.max_iterations = 50});
  EXPECT_NE(result.status, OptimizeStatus::converged);
  EXPECT_GT(result.gradient_norm, 1e-8);
}

TEST(Optimize, start_at_the_minimum_takes_one_evaluation) {
  const OptimizeResult result = minimize(Quadratic(2, 1), (Vector(2) << -1, 0).finished());
  EXPECT_EQ(result.status, OptimizeStatus::converged);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_EQ(result.evaluations, 1);
}

TEST(Optimize, infinity_at_a_trial_point_is_a_wall) {
  // Minimises x - ln x, infinite for x <= 0, from a start whose first step leaves the domain.
  const auto barrier = [](const Vector& x, Vector& gradient) {
    if (x(0) <= 0) return kInfinity;
    gradient(0) = 1 - 1 / x(0);
    return x(0) - std::log(x(0));
  };
  for (const double start : {1e-3, 0.5, 1.5, 40.0}) {
    const OptimizeResult result = minimize(barrier, vector_of(start));
    EXPECT_EQ(result.status, OptimizeStatus::converged) << start;
    EXPECT_NEAR(result.point(0), 1, 1e-7);
  }
}

TEST(Optimize, nan_and_an_infinite_start_are_reported) {
  const auto nan_value = [](const Vector&, Vector& gradient) { return gradient.setZero(), kNan; };
  const auto nan_gradient = [](const Vector&, Vector& gradient) {
    return gradient.setConstant(kNan), 1.0;
  };
  const auto infinite = [](const Vector&, Vector& gradient) {
    return gradient.setZero(), kInfinity;
  };
  const auto later = [](const Vector& x, Vector& gradient) {
    gradient = x;
    return x(0) < 2 ? kNan : x(0) * x(0) / 2;
  };
  EXPECT_EQ(minimize(nan_value, vector_of(1)).status, OptimizeStatus::not_finite);
  EXPECT_EQ(minimize(nan_gradient, vector_of(1)).status, OptimizeStatus::not_finite);
  EXPECT_EQ(minimize(infinite, vector_of(1)).status, OptimizeStatus::not_finite);
  const OptimizeResult result = minimize(later, vector_of(3));
  EXPECT_EQ(result.status, OptimizeStatus::not_finite);
  EXPECT_GE(result.point(0), 2);  // the last good point is kept
}

TEST(Optimize, an_exception_of_the_objective_passes_through) {
  const auto throws = [](const Vector&, Vector&) -> double { throw std::domain_error("mine"); };
  EXPECT_THROW((void)minimize(throws, vector_of(1)), std::domain_error);
  int calls = 0;
  const auto throws_later = [&calls](const Vector& x, Vector& gradient) -> double {
    if (++calls == 3) fail(ErrorCode::unsupported, "objective", "x", "is mine");
    return rosenbrock(x, gradient);
  };
  EXPECT_ERROR((void)minimize(throws_later, Vector::Zero(2)), "unsupported", "mine");
}

TEST(Optimize, bad_options_are_refused_by_name) {
  const Quadratic f(2, 1);
  const Vector start = Vector::Zero(2);
  const auto message = [&](const Vector& at, const OptimizeOptions& options) {
    return testing::error_text([&] { (void)minimize(f, at, options); });
  };
  EXPECT_EQ(message(start, {.max_iterations = 0}),
            "invalid_argument | minimize: max_iterations must be between 1 and 1073741824, got 0");
  EXPECT_EQ(message(start, {.gradient_tolerance = 0}),
            "invalid_argument | minimize: gradient_tolerance must be positive and finite, got 0");
  EXPECT_EQ(message(start, {.gradient_tolerance = kNan}),
            "invalid_argument | minimize: gradient_tolerance must be positive and finite, got NaN");
  EXPECT_EQ(message(Vector(), {}),
            "invalid_argument | minimize: dimension must be between 1 and 1073741824, got 0");
  EXPECT_EQ(message((Vector(2) << 0, kInfinity).finished(), {}),
            "invalid_argument | minimize: start[1] must be finite, got inf");
}

}  // namespace
}  // namespace dpftrl
