// SPDX-License-Identifier: Apache-2.0

// Comparators for every loss and set; smooth losses on the ball are in regret_test.

#include <algorithm>
#include <limits>
#include <random>

#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/regret.hpp"
#include "learn/random_data.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::Data;
using testing::random_data;

void append_row(ComparatorSolver& solver, const Data& data, Eigen::Index row) {
  solver.append({data.features.row(row).data(), static_cast<std::size_t>(data.features.cols())},
                data.labels(row));
}

ComparatorSolver comparator_of_data(const ComparatorOptions& options, const Data& data) {
  ComparatorSolver solver(options);
  for (Eigen::Index i = 0; i < data.features.rows(); ++i) append_row(solver, data, i);
  return solver;
}

Vector random_point_of(const Domain& domain, std::mt19937_64& generator, Eigen::Index dimension) {
  std::normal_distribution<double> normal;
  const double scale = *domain.max_norm(dimension);
  Vector point = Vector::NullaryExpr(dimension, [&] { return scale * normal(generator); });
  domain.project({point.data(), static_cast<std::size_t>(dimension)});
  return point;
}

std::vector<std::shared_ptr<const Loss>> losses() {
  const auto user = [](double p, double y) {
    return LossAt{std::cosh((p - y) / 4) - 1, std::sinh((p - y) / 4) / 4};
  };
  return {make_loss("squared"),
          make_loss("huber", {.huber_threshold = 0.3}),
          make_loss("absolute"),
          make_loss("quantile", {.quantile = 0.85}),
          make_loss("logistic"),
          make_loss("hinge"),
          std::make_shared<const FunctionLoss<decltype(user)>>(user)};
}

TEST(Comparator, every_loss_over_every_set_is_certified_and_no_point_of_the_set_is_better) {
  std::mt19937_64 generator(1);
  for (const std::shared_ptr<const Loss>& loss : losses())
    for (const char* name : {"ball", "box", "simplex"})
      for (const double radius : {0.2, 5.0})
        for (const Eigen::Index rows : {1, 5, 80}) {
          const Eigen::Index dimension = 3;
          const Data data = random_data({.seed = 11,
                                         .rows = rows,
                                         .columns = dimension,
                                         .classes = loss->classifies(),
                                         .weight = 0.5});
          const std::shared_ptr<const Domain> domain = make_domain(name, radius);
          ComparatorSolver solver = comparator_of_data(
              {.loss = loss, .dimension = dimension, .domain = domain, .gap_tolerance = 1e-8},
              data);
          const Comparator found = solver.solve();
          const std::string label = std::string(loss->name()) + " " + name + " " +
                                    std::to_string(radius) + " t=" + std::to_string(rows);
          EXPECT_EQ(found.status, ComparatorStatus::certified) << label << " gap " << found.gap;
          EXPECT_LE(found.gap, 1e-8) << label;
          Vector gradient(dimension);
          EXPECT_NEAR(found.value, solver.average_loss(found.point, gradient), 1e-14) << label;
          Vector projected = found.point;
          domain->project({projected.data(), 3});
          EXPECT_LE((projected - found.point).norm(), 1e-13 * radius) << label;
          for (int i = 0; i < 60; ++i) {
            // Points all over the set and points close to the solution.
            Vector other = random_point_of(*domain, generator, dimension);
            if (i % 2 == 0) other = found.point + 1e-3 * (other - found.point);
            EXPECT_GE(solver.average_loss(other, gradient), found.value - found.gap - 1e-14)
                << label;
          }
        }
}

TEST(Comparator, quantile_loss_of_a_constant_feature_finds_the_quantile_of_the_labels) {
  for (const double level : {0.5, 0.9}) {
    ComparatorSolver solver({.loss = make_loss("quantile", {.quantile = level}),
                             .dimension = 1,
                             .radius = 100,
                             .gap_tolerance = 1e-10});
    std::vector<double> labels;
    std::mt19937_64 generator(6);
    std::exponential_distribution<double> exponential;
    for (int i = 0; i < 101; ++i) {
      labels.push_back(exponential(generator));
      solver.append(std::vector<double>{1}, labels.back());
    }
    std::ranges::sort(labels);
    const Comparator found = solver.solve();
    EXPECT_EQ(found.status, ComparatorStatus::certified);
    EXPECT_NEAR(found.point(0), labels[static_cast<std::size_t>(101 * level)], 1e-7);
  }
}

TEST(Comparator, squared_loss_over_a_simplex_solves_its_normal_equations) {
  // At the minimum the gradient is the same in every positive weight and larger elsewhere.
  Data data = random_data({.seed = 3, .rows = 60, .columns = 6, .classes = false, .weight = 0.5});
  data.labels = data.features.col(1) - 2 * data.features.col(0);  // weight 0 would be negative
  ComparatorSolver solver = comparator_of_data({.loss = make_loss("squared"),
                                                .dimension = 6,
                                                .domain = make_domain("simplex", 1),
                                                .gap_tolerance = 1e-13},
                                               data);
  const Comparator found = solver.solve();
  EXPECT_EQ(found.status, ComparatorStatus::certified) << found.gap;
  const Vector gradient =
      data.features.transpose() * (data.features * found.point - data.labels) / 60;
  int num_zeros = 0;
  for (Eigen::Index i = 0; i < 6; ++i) {
    if (found.point(i) > 1e-6) {
      EXPECT_NEAR(gradient(i), gradient.minCoeff(), 1e-6);
    }
    num_zeros += found.point(i) == 0;
  }
  EXPECT_GE(num_zeros, 1);
  EXPECT_EQ(found.point(0), 0);
}

TEST(Comparator, softmax_over_ball_and_box_is_certified) {
  std::mt19937_64 generator(2);
  const auto loss = std::make_shared<const SoftmaxLoss>(3);
  Data data = random_data({.seed = 4, .rows = 60, .columns = 2, .classes = false, .weight = 0.5});
  for (Eigen::Index i = 0; i < 60; ++i)
    data.labels(i) = std::clamp(std::round(data.labels(i)), 0.0, 2.0);
  for (const char* name : {"ball", "box"}) {
    const std::shared_ptr<const Domain> domain = make_domain(name, 1);
    ComparatorSolver solver = comparator_of_data(
        {.loss = loss, .dimension = 2, .domain = domain, .gap_tolerance = 1e-7}, data);
    const Comparator found = solver.solve();
    EXPECT_EQ(found.status, ComparatorStatus::certified) << name << " gap " << found.gap;
    ASSERT_EQ(found.point.size(), 6);
    Vector gradient(6);
    solver.average_loss(found.point, gradient);
    for (Eigen::Index i = 0; i < 6; ++i) {
      Vector unused(6);
      const Vector h = 1e-5 * Vector::Unit(6, i);
      const double difference = (solver.average_loss(found.point + h, unused) -
                                 solver.average_loss(found.point - h, unused)) /
                                2e-5;
      EXPECT_NEAR(gradient(i), difference, 1e-8) << name;
    }
    for (int i = 0; i < 100; ++i) {
      const Vector other = random_point_of(*domain, generator, 6);
      EXPECT_GE(solver.average_loss(other, gradient), found.value - found.gap) << name;
    }
  }
}

TEST(Comparator, many_weights_go_by_gradient_steps_to_the_same_answer) {
  // Only the first three of 300 weights have non-zero features, so the problem reduces to the small
  // one.
  const Data data =
      random_data({.seed = 7, .rows = 40, .columns = 3, .classes = true, .weight = 0.5});
  ComparatorOptions options = {.loss = make_loss("hinge"),
                               .dimension = 3,
                               .domain = make_domain("box", 0.4),
                               .gap_tolerance = 1e-4};
  ComparatorSolver small = comparator_of_data(options, data);
  options.dimension = 300;
  Data wide = data;
  wide.features = Matrix::Zero(40, 300);
  wide.features.leftCols(3) = data.features;
  ComparatorSolver large = comparator_of_data(options, wide);
  const Comparator few = small.solve();
  const Comparator many = large.solve();
  EXPECT_EQ(many.status, ComparatorStatus::certified) << many.gap;
  EXPECT_NEAR(few.value, many.value, few.gap + many.gap);
}

TEST(Comparator, prefixes_with_kinks_are_certified_cheaply_with_warm_starts) {
  for (const char* loss : {"absolute", "quantile", "hinge"})
    for (const char* name : {"ball", "box", "simplex"}) {
      const std::shared_ptr<const Loss> made = make_loss(loss, {.quantile = 0.3});
      const Data data = random_data(
          {.seed = 9, .rows = 600, .columns = 4, .classes = made->classifies(), .weight = 0.5});
      ComparatorSolver solver({.loss = made, .dimension = 4, .domain = make_domain(name, 1)});
      const std::vector<std::int64_t> prefixes = regret_prefixes(600, 24);
      std::size_t next = 0;
      std::int64_t evaluations = 0;
      for (Eigen::Index t = 0; t < 600; ++t) {
        append_row(solver, data, t);
        if (t + 1 != prefixes[next]) continue;
        ++next;
        const Comparator found = solver.solve();
        EXPECT_EQ(found.status, ComparatorStatus::certified)
            << loss << " " << name << " t=" << t + 1 << " gap " << found.gap;
        evaluations += found.evaluations;
      }
      EXPECT_EQ(next, prefixes.size());
      EXPECT_LE(evaluations, 150 * 24) << loss << " " << name;
    }
}

TEST(Comparator, a_loss_that_cannot_be_evaluated_far_out_claims_nothing) {
  ComparatorSolver solver(
      {.loss = make_loss("squared"), .dimension = 1, .domain = make_domain("box", 1)});
  solver.append(std::vector<double>{1e200}, 1e200);
  const Comparator found = solver.solve();
  EXPECT_EQ(found.status, ComparatorStatus::gap_above_tolerance);
  EXPECT_GT(found.gap, 1);
}

}  // namespace
}  // namespace dpftrl
