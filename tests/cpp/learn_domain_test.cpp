// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/domain.hpp"

#include <limits>
#include <random>

#include "dpftrl/types.hpp"
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
  return {make_domain("whole-space", 1), make_domain("ball", 1), make_domain("ball", 0.01),
          make_domain("ball", 250)};
}

TEST(Domain, projection_is_idempotent_non_expansive_and_the_nearest_point) {
  std::mt19937_64 generator(1);
  for (const auto& domain : domains())
    for (const Eigen::Index dimension : {1, 2, 3, 7, 20})
      for (int repeat = 0; repeat < 50; ++repeat) {
        const double scale = domain->max_norm().value_or(1) * 3;
        const Vector a = random_point(generator, dimension, scale);
        const Vector b = random_point(generator, dimension, scale);
        const Vector pa = projected(*domain, a);
        const Vector pb = projected(*domain, b);
        EXPECT_LE((projected(*domain, pa) - pa).norm(), 1e-14 * scale);
        EXPECT_LE((pa - pb).norm(), (a - b).norm() * (1 + 1e-14));
        // <a - Pa, v - Pa> <= 0 for every v in K characterises the nearest point.
        EXPECT_LE((a - pa).dot(pb - pa), 1e-13 * scale * scale);
        if (domain->max_norm()) {
          EXPECT_LE(pa.norm(), *domain->max_norm() * (1 + 1e-15));
        }
      }
}

TEST(Domain, points_of_the_set_are_unchanged_bit_by_bit) {
  std::mt19937_64 generator(2);
  for (const auto& domain : domains())
    for (int repeat = 0; repeat < 100; ++repeat) {
      const Vector inside =
          random_point(generator, 3, domain->max_norm().value_or(5) / std::sqrt(3.0));
      EXPECT_EQ(projected(*domain, inside), inside);
    }
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
  EXPECT_EQ(testing::error_text([] { make_domain("box", 1); }),
            "invalid_argument | make_domain: domain must be one of ball, whole-space, got \"box\"");
}

}  // namespace
}  // namespace dpftrl
