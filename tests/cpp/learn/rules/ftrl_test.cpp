// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/ftrl.hpp"

#include <limits>
#include <random>

#include "learn/random_data.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;
using testing::random_unit;
using testing::span_of;

TEST(Ftrl, iterate_minimises_the_regularised_sum_over_the_domain) {
  std::mt19937_64 generator(1);
  for (const char* name : {"ball", "whole-space", "box", "simplex"})
    for (const Eigen::Index dimension : {1, 2, 3, 8}) {
      Vector start = 0.3 * random_unit(generator, dimension);
      make_domain(name, 1)->project({start.data(), static_cast<std::size_t>(dimension)});
      const double lambda = 2.5;
      Ftrl ftrl({.dimension = dimension,
                 .lambda = lambda,
                 .domain = make_domain(name, 1),
                 .start = start});
      EXPECT_EQ(ftrl.iterate(), start);
      for (int t = 0; t < 30; ++t) {
        const Vector sum = 0.3 * (t + 1) * random_unit(generator, dimension);
        ftrl.update(span_of(sum));
        const Vector w = ftrl.iterate();
        const auto objective = [&](const Vector& v) {
          return sum.dot(v) + lambda / 2 * (v - start).squaredNorm();
        };
        for (int repeat = 0; repeat < 20; ++repeat) {
          Vector other = w + 0.2 * repeat / 20.0 * random_unit(generator, dimension);
          make_domain(name, 1)->project({other.data(), static_cast<std::size_t>(dimension)});
          EXPECT_GE(objective(other), objective(w) - 1e-14);
        }
      }
    }
}

TEST(Ftrl, entropic_iterate_minimises_the_sum_plus_the_relative_entropy) {
  std::mt19937_64 generator(2);
  const double radius = 2.5;
  const double lambda = 0.7;
  const Simplex simplex(radius, Regulariser::entropic);
  for (const Eigen::Index dimension : {2, 3, 8}) {
    Ftrl ftrl({.dimension = dimension,
               .lambda = lambda,
               .domain = std::make_shared<const Simplex>(simplex)});
    const Vector start = ftrl.iterate();
    EXPECT_NEAR(start.sum(), radius, 1e-15);
    for (int t = 0; t < 20; ++t) {
      const Vector sum = 0.4 * t * random_unit(generator, dimension);
      ftrl.update(span_of(sum));
      const Vector w = ftrl.iterate();
      EXPECT_NEAR(w.sum(), radius, 1e-14);
      // When all weights are positive, all entries of the objective's gradient are equal.
      const Vector gradient =
          sum.array() + lambda * radius * ((w.array() / start.array()).log() + 1);
      EXPECT_LE(gradient.maxCoeff() - gradient.minCoeff(), 1e-12);
    }
  }
}

TEST(Ftrl, entropic_iterates_survive_sums_of_any_size) {
  Ftrl ftrl({.dimension = 3, .lambda = 1e-3, .domain = make_domain("simplex-entropic", 1)});
  ftrl.update(std::vector<double>{1e9, -1e9, 0});
  EXPECT_EQ(ftrl.iterate(), (Vector(3) << 0, 1, 0).finished());
}

TEST(Ftrl, doubling_lambda_grows_with_the_square_root_of_the_steps) {
  Ftrl ftrl(
      {.dimension = 1, .lambda = 3, .domain = make_domain("whole-space", 1), .doubling = true});
  const std::vector<double> powers = {1, 2, 4, 4, 8, 8, 8, 8, 16};
  for (const double power : powers) {
    EXPECT_EQ(ftrl.lambda(), 3 * std::sqrt(power));
    ftrl.update(std::vector<double>{6});
    EXPECT_EQ(ftrl.iterate()(0), -6 / ftrl.lambda());
  }
}

TEST(Ftrl, next_iterate_depends_on_the_latest_sum_alone) {
  const Vector a = (Vector(2) << 3, -1).finished();
  const Vector b = (Vector(2) << -0.5, 0.25).finished();
  Ftrl first({.dimension = 2, .lambda = 2, .domain = make_domain("ball", 1), .start = {}});
  Ftrl second = first;
  first.update(span_of(a));
  first.update(span_of(b));
  second.update(span_of(b));
  EXPECT_EQ(first.iterate(), second.iterate());
  EXPECT_EQ(first.iterate(), (Vector(2) << 0.25, -0.125).finished());
}

TEST(Ftrl, average_is_over_the_points_already_played) {
  Ftrl ftrl({.dimension = 1,
             .lambda = 1,
             .domain = make_domain("whole-space", 1),
             .start = Vector::Constant(1, 4.0)});
  EXPECT_EQ(ftrl.average()(0), 4);
  for (const double sum : {1.0, 2.0, 3.0}) ftrl.update(std::vector<double>{sum});
  EXPECT_EQ(ftrl.iterate()(0), 1);
  EXPECT_DOUBLE_EQ(ftrl.average()(0), (4.0 + 3.0 + 2.0) / 3);
  EXPECT_EQ(ftrl.num_updates(), 3);
}

TEST(Ftrl, refused_updates_change_nothing) {
  Ftrl ftrl({.dimension = 2, .lambda = 1, .domain = make_domain("ball", 1), .start = {}});
  ftrl.update(std::vector<double>{0.5, 0});
  const Vector before = ftrl.iterate();
  const Vector average = ftrl.average();
  const auto message = [&](const std::vector<double>& sum) {
    return testing::error_text([&] { ftrl.update(sum); });
  };
  EXPECT_EQ(message({1}), "wrong_length | ftrl: prefix_sum must have 2 entries, got 1");
  EXPECT_EQ(message({1, kNan}), "invalid_argument | ftrl: prefix_sum[1] must be finite, got NaN");
  EXPECT_EQ(ftrl.iterate(), before);
  EXPECT_EQ(ftrl.average(), average);
  EXPECT_EQ(ftrl.num_updates(), 1);
}

TEST(Ftrl, bad_options_are_refused_by_name) {
  const auto message = [](const FtrlOptions& options) {
    return testing::error_text([&] { Ftrl{options}; });
  };
  const std::shared_ptr<const Domain> ball = make_domain("ball", 1);
  EXPECT_EQ(message({.dimension = 1, .lambda = 0, .domain = ball, .start = {}}),
            "invalid_argument | ftrl: lambda must be positive and finite, got 0");
  EXPECT_EQ(message({.dimension = 0, .lambda = 1, .domain = ball, .start = {}}),
            "invalid_argument | ftrl: dimension must be between 1 and 1073741824, got 0");
  EXPECT_EQ(message({.dimension = 1, .lambda = 1, .domain = nullptr, .start = {}}),
            "invalid_argument | ftrl: domain must be given");
  EXPECT_EQ(message({.dimension = 1, .lambda = 1, .domain = ball, .start = Vector::Zero(2)}),
            "wrong_length | ftrl: start must have 1 entry, got 2");
  EXPECT_EQ(
      message({.dimension = 1, .lambda = 1, .domain = ball, .start = Vector::Constant(1, 2.0)}),
      "invalid_argument | ftrl: start must be a point of the domain, got one of norm 2");
}

}  // namespace
}  // namespace dpftrl
