// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/rules/domain.hpp"

#include <limits>
#include <random>

#include "dpftrl/base/types.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

std::span<double> span_of(Vector& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

Vector projected(const Domain& domain, Vector point) {
  domain.project(span_of(point));
  return point;
}

Vector random_point(std::mt19937_64& generator, Eigen::Index dimension, double scale) {
  std::uniform_real_distribution<double> uniform(-scale, scale);
  return Vector::NullaryExpr(dimension, [&] { return uniform(generator); });
}

std::vector<std::shared_ptr<const Domain>> domains() {
  return {make_domain("whole-space", 1),
          make_domain("ball", 1),
          make_domain("ball", 0.01),
          make_domain("ball", 250),
          make_domain("box", 0.3),
          std::make_shared<const Box>(Box::Bounds{0.5, 7}),
          make_domain("simplex", 1),
          make_domain("simplex", 40),
          make_domain("simplex-entropic", 0.1)};
}

TEST(Domain, projection_is_idempotent_non_expansive_and_the_nearest_point) {
  std::mt19937_64 generator(1);
  for (const auto& domain : domains())
    for (const Eigen::Index dimension : {1, 2, 3, 7, 20})
      for (int repeat = 0; repeat < 50; ++repeat) {
        const double scale = domain->max_norm(dimension).value_or(1) * 3;
        const Vector a = random_point(generator, dimension, scale);
        const Vector b = random_point(generator, dimension, scale);
        const Vector pa = projected(*domain, a);
        const Vector pb = projected(*domain, b);
        EXPECT_LE((projected(*domain, pa) - pa).norm(), 1e-14 * scale);
        EXPECT_LE((pa - pb).norm(), (a - b).norm() * (1 + 1e-14));
        // The projection Pa is characterised by <a - Pa, v - Pa> <= 0 for every v in K.
        EXPECT_LE((a - pa).dot(pb - pa), 1e-13 * scale * scale);
        if (domain->max_norm(dimension)) {
          EXPECT_LE(pa.norm(), *domain->max_norm(dimension) * (1 + 1e-15));
        }
      }
}

TEST(Domain, points_of_the_set_are_unchanged_bit_by_bit) {
  std::mt19937_64 generator(2);
  for (const auto& domain : domains())
    for (int repeat = 0; repeat < 100; ++repeat) {
      Vector inside = random_point(generator, 3, domain->max_norm(3).value_or(5) / std::sqrt(3.0));
      const bool has_inside = domain->name() == "ball" || domain->name() == "whole-space";
      if (!has_inside) inside = projected(*domain, inside);
      EXPECT_EQ(projected(*domain, inside), inside) << domain->name();
    }
}

TEST(Domain, support_is_the_largest_product_with_a_point_of_the_set) {
  std::mt19937_64 generator(3);
  for (const auto& domain : domains())
    for (const Eigen::Index dimension : {1, 2, 5}) {
      if (!domain->max_norm(dimension)) continue;
      for (int repeat = 0; repeat < 30; ++repeat) {
        Vector direction = random_point(generator, dimension, 1);
        const double support = domain->support(span_of(direction));
        for (int other = 0; other < 10; ++other) {
          const Vector point = projected(
              *domain, random_point(generator, dimension, 3 * *domain->max_norm(dimension)));
          EXPECT_GE(support + 1e-13 * (1 + std::abs(support)), direction.dot(point))
              << domain->name();
        }
        // The projection of a far point in that direction attains the support.
        const Vector far = projected(*domain, 1e9 * *domain->max_norm(dimension) * direction);
        EXPECT_NEAR(support, direction.dot(far), 1e-6 * (1 + std::abs(support))) << domain->name();
      }
    }
  Vector zero = Vector::Zero(2);
  EXPECT_EQ(WholeSpace().support(span_of(zero)), 0);
  EXPECT_EQ(WholeSpace().support(std::vector<double>{0, 1}),
            std::numeric_limits<double>::infinity());
}

TEST(Domain, start_is_in_the_set_and_the_diameter_covers_the_regulariser) {
  std::mt19937_64 generator(4);
  for (const auto& domain : domains())
    for (const std::int64_t dimension : {1, 2, 5}) {
      const Vector start = domain->start(dimension);
      EXPECT_EQ(projected(*domain, start), start) << domain->name();
      const std::optional<double> diameter = domain->diameter(dimension);
      if (!diameter) continue;
      double most = 0;
      for (int repeat = 0; repeat < 200; ++repeat) {
        const double scale = *domain->max_norm(dimension) * (repeat < 100 ? 2 : 1e6);
        const Vector point = projected(
            *domain, random_point(generator, static_cast<Eigen::Index>(dimension), scale));
        double range = (point - start).squaredNorm() / 2;
        if (domain->regulariser() == Regulariser::entropic) {
          range = 0;
          for (Eigen::Index i = 0; i < point.size(); ++i)
            if (point(i) > 0) range += 0.1 * point(i) * std::log(point(i) / start(i));
        }
        EXPECT_LE(range, *diameter * *diameter / 2 * (1 + 1e-12) + 1e-12) << domain->name();
        most = std::max(most, range);
      }
      EXPECT_GE(most, 0.9 * *diameter * *diameter / 2) << domain->name();
    }
}

TEST(Domain, simplex_projection_matches_the_conditions_of_optimality) {
  std::mt19937_64 generator(5);
  for (const double radius : {1e-3, 1.0, 1e3})
    for (const Eigen::Index dimension : {1, 2, 7, 50})
      for (const double scale : {0.01, 1.0, 1e4}) {
        const Vector x = random_point(generator, dimension, scale * radius);
        const Vector w = projected(Simplex(radius), x);
        EXPECT_NEAR(w.sum(), radius, 1e-13 * radius * static_cast<double>(dimension));
        EXPECT_GE(w.minCoeff(), 0);
        // w_i = max(0, x_i - shift) for a common shift: x_i - w_i agrees wherever w_i > 0, and x_i
        // does not exceed it wherever w_i = 0.
        double shift = -std::numeric_limits<double>::infinity();
        for (Eigen::Index i = 0; i < dimension; ++i)
          if (w(i) > 0) shift = std::max(shift, x(i) - w(i));
        const double rounding = 1e-13 * radius * (1 + scale);
        for (Eigen::Index i = 0; i < dimension; ++i) {
          EXPECT_LE(x(i) - w(i), shift + rounding);
          if (w(i) > 0) {
            EXPECT_GE(x(i) - w(i), shift - rounding);
          }
        }
      }
}

TEST(Domain, simplex_projects_points_of_any_size) {
  const Simplex simplex(2);
  EXPECT_EQ(projected(simplex, (Vector(3) << 1e300, -1e300, 0).finished()),
            (Vector(3) << 2, 0, 0).finished());
  EXPECT_EQ(projected(simplex, Vector::Constant(4, -1e308)), Vector::Constant(4, 0.5));
}

TEST(Domain, ball_projects_points_of_any_size) {
  const L2Ball ball(2);
  const Vector huge = projected(ball, (Vector(2) << 1e300, -1e300).finished());
  EXPECT_NEAR(huge(0), std::sqrt(2.0), 1e-15);
  EXPECT_NEAR(huge(1), -std::sqrt(2.0), 1e-15);
  const Vector tiny = (Vector(2) << 1e-300, 0).finished();
  EXPECT_EQ(projected(ball, tiny), tiny);
  EXPECT_EQ(projected(ball, Vector::Zero(3)), Vector::Zero(3));
}

TEST(Domain, bad_radius_and_unknown_name_are_refused) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(testing::error_text([] { L2Ball(0); }),
            "invalid_argument | l2_ball: radius must be positive and finite, got 0");
  EXPECT_EQ(testing::error_text([&] { make_domain("whole-space", infinity); }),
            "invalid_argument | make_domain: radius must be positive and finite, got inf");
  EXPECT_EQ(
      testing::error_text([] { make_domain("cube", 1); }),
      "invalid_argument | make_domain: domain must be one of ball, whole-space, box, simplex, "
      "simplex-entropic, got \"cube\"");
  EXPECT_EQ(testing::error_text([] { Box({1, 1}); }),
            "invalid_argument | box: high must be above low = 1, got 1");
  EXPECT_EQ(testing::error_text([&] { Box({-infinity, 1}); }),
            "invalid_argument | box: low must be finite, got -inf");
  EXPECT_EQ(testing::error_text([] { Simplex(-1); }),
            "invalid_argument | simplex: radius must be positive and finite, got -1");
}

}  // namespace
}  // namespace dpftrl
