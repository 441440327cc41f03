// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/regret.hpp"

#include <limits>
#include <random>

#include "dense_algebra.hpp"
#include "dpftrl/learn/simulation.hpp"
#include "learn/random_data.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kNan;

using testing::Data;
using testing::random_data;

ComparatorSolver comparator_for_loss(const char* loss, const Data& data, double radius,
                                     double tolerance) {
  ComparatorSolver solver({.loss = make_loss(loss),
                           .dimension = data.features.cols(),
                           .radius = radius,
                           .gap_tolerance = tolerance});
  for (Eigen::Index i = 0; i < data.features.rows(); ++i)
    solver.append({data.features.row(i).data(), static_cast<std::size_t>(data.features.cols())},
                  data.labels(i));
  return solver;
}

/// Minimiser of the average squared loss over the ball: normal equations, with the multiplier of
/// the constraint found by bisection.
Vector least_squares(const Data& data, double radius) {
  const double n = static_cast<double>(data.features.rows());
  const Matrix gram = data.features.transpose() * data.features / n;
  const Vector target = data.features.transpose() * data.labels / n;
  const auto solve = [&](double nu) -> Vector {
    return testing::inverse(gram + nu * Matrix::Identity(gram.rows(), gram.cols())) * target;
  };
  if (solve(0).norm() <= radius) return solve(0);
  double low = 0;
  double high = target.norm() / radius;
  for (int i = 0; i < 200; ++i)
    (solve((low + high) / 2).norm() > radius ? low : high) = (low + high) / 2;
  return solve(high);
}

TEST(Comparator, squared_loss_matches_the_normal_equations_with_the_ball_active_and_not) {
  for (const Eigen::Index dimension : {1, 2, 3, 8})
    for (const double radius : {0.05, 0.9, 1.7, 30.0})
      for (const Eigen::Index rows : {20, 300}) {
        const Data data =
            random_data({.seed = 17, .rows = rows, .columns = dimension, .classes = false});
        ComparatorSolver solver = comparator_for_loss("squared", data, radius, 1e-11);
        const Comparator found = solver.solve();
        const Vector expected = least_squares(data, radius);
        Vector gradient(dimension);
        const double minimum = solver.average_loss(expected, gradient);
        EXPECT_EQ(found.status, ComparatorStatus::certified) << dimension << " " << radius;
        EXPECT_LE(found.point.norm(), radius * (1 + 1e-15));
        EXPECT_NEAR(found.value, minimum, 1e-11);
        EXPECT_GE(found.gap, found.value - minimum - 1e-14);
        EXPECT_LE(found.gap, 1e-11);
        EXPECT_LE((found.point - expected).norm(), 2e-5 * std::max(1.0, radius));
        if (radius > 20) {
          EXPECT_NEAR(found.multiplier, 0, 1e-7);
        }
        if (radius < 0.1) {
          EXPECT_NEAR(found.multiplier, gradient.norm() / radius, 1e-4 * found.multiplier);
        }
      }
}

TEST(Comparator, logistic_loss_matches_a_grid_in_two_dimensions) {
  for (const double radius : {0.2, 1.0, 8.0}) {
    const Data data = random_data({.seed = 5, .rows = 60, .columns = 2, .classes = true});
    ComparatorSolver solver = comparator_for_loss("logistic", data, radius, 1e-7);
    const Comparator found = solver.solve();
    EXPECT_EQ(found.status, ComparatorStatus::certified);
    // Every grid point is feasible, so none is better than the solution; the best is within one
    // cell.
    double best = std::numeric_limits<double>::infinity();
    Vector gradient(2);
    for (int i = 0; i <= 200; ++i)
      for (int j = 0; j <= 64; ++j) {
        const double angle = 2 * 3.14159265358979 * i / 200;
        const Vector point =
            radius * j / 64.0 * (Vector(2) << std::cos(angle), std::sin(angle)).finished();
        best = std::min(best, solver.average_loss(point, gradient));
      }
    EXPECT_LE(found.value, best + 1e-7);
    EXPECT_GE(found.value, best - 2e-3 * radius);
  }
}

TEST(Comparator, gradient_is_the_derivative_of_the_average_loss) {
  for (const char* loss : {"logistic", "squared"}) {
    const Data data = random_data({.seed = 9, .rows = 30, .columns = 4, .classes = true});
    const ComparatorSolver solver = comparator_for_loss(loss, data, 1, 1e-6);
    const Vector point = (Vector(4) << 0.3, -0.2, 0.7, 0.1).finished();
    Vector gradient(4), unused(4);
    solver.average_loss(point, gradient);
    for (Eigen::Index i = 0; i < 4; ++i) {
      const Vector h = 1e-5 * Vector::Unit(4, i);
      const double difference =
          (solver.average_loss(point + h, unused) - solver.average_loss(point - h, unused)) / 2e-5;
      EXPECT_NEAR(gradient(i), difference, 1e-8) << loss;
    }
  }
}

TEST(Comparator, gap_is_never_below_the_suboptimality_of_any_feasible_point) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  for (const char* loss : {"logistic", "squared"})
    for (const double radius : {0.3, 1.0, 20.0}) {
      const Data data = random_data({.seed = 21, .rows = 80, .columns = 3, .classes = true});
      ComparatorSolver solver = comparator_for_loss(loss, data, radius, 1e-7);
      const Comparator best = solver.solve();
      Vector gradient(3);
      for (int repeat = 0; repeat < 200; ++repeat) {
        // Perturbed solutions, from near to far: the certificate must not accept them.
        const double size = radius * std::pow(10, -3.0 * (repeat % 10) / 9);
        Vector point =
            best.point + size * Vector::NullaryExpr(3, [&] { return normal(generator); });
        if (point.norm() > radius) point *= radius / point.norm();
        const double value = solver.average_loss(point, gradient);
        const double gap = frank_wolfe_gap(point, gradient, radius);
        EXPECT_GE(gap, value - best.value - 1e-14);
        EXPECT_GE(best.value - best.gap, value - gap - best.gap - 1e-14);
        if (value - best.value > 1e-6) {
          EXPECT_GT(gap, 1e-6);
        }
      }
    }
}

TEST(Comparator, a_gap_with_the_wrong_radius_would_not_be_a_bound) {
  const Data data = random_data({.seed = 21, .rows = 80, .columns = 3, .classes = true});
  ComparatorSolver solver = comparator_for_loss("logistic", data, 1, 1e-7);
  const Comparator best = solver.solve();
  const Vector origin = Vector::Zero(3);
  Vector gradient(3);
  const double suboptimality = solver.average_loss(origin, gradient) - best.value;
  EXPECT_GE(frank_wolfe_gap(origin, gradient, 1), suboptimality);
  EXPECT_LT(frank_wolfe_gap(origin, gradient, 0.5), suboptimality);
}

TEST(Comparator, separable_data_and_single_examples_are_certified) {
  for (const double radius : {0.1, 1.0, 50.0}) {
    ComparatorSolver solver(
        {.loss = make_loss("logistic"), .dimension = 2, .radius = radius, .gap_tolerance = 1e-7});
    const std::vector<double> x = {0.6, 0.8};
    solver.append(x, 1);
    const Comparator found = solver.solve();
    EXPECT_EQ(found.status, ComparatorStatus::certified) << radius;
    EXPECT_NEAR(found.value, std::log1p(std::exp(-radius)), 1e-7);
  }
}

TEST(Comparator, examples_of_zeros_leave_nothing_to_improve) {
  ComparatorSolver solver({.loss = make_loss("logistic"), .dimension = 2});
  solver.append(std::vector<double>{0, 0}, 1);
  const Comparator found = solver.solve();
  EXPECT_EQ(found.status, ComparatorStatus::certified);
  EXPECT_EQ(found.gap, 0);
  EXPECT_EQ(found.point, Vector::Zero(2));
}

TEST(Comparator, every_prefix_of_every_stream_is_certified_with_warm_starts_and_cheaply) {
  for (const StreamKind kind :
       {StreamKind::stationary, StreamKind::drifting, StreamKind::switching})
    for (const char* loss : {"logistic", "squared"})
      for (const double radius : {0.1, 1.0, 10.0}) {
        const double tolerance = radius == 1 ? 1e-10 : 1e-6;
        const SyntheticStream stream(
            {.kind = kind,
             .model = std::string(loss) == "squared" ? LabelModel::linear : LabelModel::logistic,
             .period = 500});
        ComparatorSolver solver({.loss = make_loss(loss),
                                 .dimension = 4,
                                 .radius = radius,
                                 .gap_tolerance = tolerance});
        const std::vector<std::int64_t> prefixes = regret_prefixes(1000, 32);
        std::size_t next = 0;
        std::int64_t evaluations = 0;
        std::vector<double> x(4);
        for (std::int64_t t = 0; t < 1000; ++t) {
          const double y = stream.example(t, x);
          solver.append(x, y);
          if (t + 1 != prefixes[next]) continue;
          ++next;
          const Comparator found = solver.solve();
          EXPECT_EQ(found.status, ComparatorStatus::certified)
              << to_string(kind) << " " << loss << " D=" << radius << " t=" << t + 1 << " gap "
              << found.gap;
          evaluations += found.evaluations;
        }
        EXPECT_EQ(next, prefixes.size());
        EXPECT_LE(evaluations, (radius == 1 ? 250 : 40) * 32)
            << to_string(kind) << " " << loss << " D=" << radius;
      }
}

TEST(Comparator, a_tolerance_beyond_double_precision_is_not_claimed) {
  const Data data = random_data({.seed = 2, .rows = 200, .columns = 5, .classes = true});
  ComparatorSolver solver = comparator_for_loss("logistic", data, 1.5, 1e-18);
  const Comparator found = solver.solve();
  EXPECT_EQ(found.status == ComparatorStatus::certified, found.gap <= 1e-18);
  EXPECT_LE(found.gap, 1e-6);
}

TEST(Comparator, overflow_is_reported_as_an_infinite_gap) {
  ComparatorSolver solver({.loss = make_loss("squared"), .dimension = 1});
  solver.append(std::vector<double>{1}, 1e300);
  solver.append(std::vector<double>{1e300}, 1e300);
  const Comparator found = solver.solve();
  EXPECT_EQ(found.status, ComparatorStatus::gap_above_tolerance);
  EXPECT_EQ(found.gap, std::numeric_limits<double>::infinity());
}

TEST(Comparator, bad_input_is_refused_by_name_and_nothing_is_lost) {
  const auto message = [](const ComparatorOptions& options) {
    return testing::error_text([&] { ComparatorSolver{options}; });
  };
  const std::shared_ptr<const Loss> loss = make_loss("squared");
  EXPECT_EQ(message({}), "invalid_argument | comparator: loss must be given");
  EXPECT_EQ(message({.loss = loss, .dimension = 0}),
            "invalid_argument | comparator: dimension must be between 1 and 1073741824, got 0");
  EXPECT_EQ(message({.loss = loss, .radius = 0}),
            "invalid_argument | comparator: radius must be positive and finite, got 0");
  EXPECT_EQ(message({.loss = loss, .gap_tolerance = 0}),
            "invalid_argument | comparator: gap_tolerance must be positive and finite, got 0");
  ComparatorSolver solver({.loss = loss, .dimension = 2});
  EXPECT_ERROR((void)solver.solve(), "invalid_argument", "num_examples must be between 1");
  EXPECT_ERROR(solver.append(std::vector<double>{1}, 1), "wrong_length",
               "comparator: features must have 2 entries, got 1");
  EXPECT_ERROR(solver.append((std::vector<double>{1, kNan}), 1), "invalid_argument",
               "comparator: features[1] must be finite, got NaN");
  EXPECT_ERROR(solver.append((std::vector<double>{1, 1}), kNan), "invalid_argument",
               "comparator: label must be finite, got NaN");
  EXPECT_EQ(solver.num_examples(), 0);
}

TEST(RegretPrefixes, increase_to_the_horizon_and_resolve_its_beginning) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 63, 64, 65, 100, 1024, 1000000})
    for (const std::int64_t count : {0, 1, 2, 5, 64, 100}) {
      const std::vector<std::int64_t> prefixes = regret_prefixes(n, count);
      EXPECT_EQ(static_cast<std::int64_t>(prefixes.size()), std::min(n, count));
      std::int64_t previous = 0;
      for (const std::int64_t t : prefixes) {
        EXPECT_GT(t, previous);
        previous = t;
      }
      if (count > 0) {
        EXPECT_EQ(prefixes.back(), n);
      }
      if (count >= n) {
        EXPECT_EQ(prefixes.front(), 1);
      }
    }
  const std::vector<std::int64_t> many = regret_prefixes(100000, 64);
  EXPECT_EQ(many.front(), 1);
  EXPECT_LE(many[6], 150);               // a tenth of them in the first 0.15 %
  EXPECT_LE(many[63] - many[62], 5000);  // no gap above 5 %
  EXPECT_EQ(regret_prefixes(std::int64_t{1} << 40, 65536).back(), std::int64_t{1} << 40);
  EXPECT_ERROR(regret_prefixes(0, 1), "invalid_argument", "steps must be between 1");
  EXPECT_ERROR(regret_prefixes(5, -1), "invalid_argument", "count must be between 0 and 65536");
}

}  // namespace
}  // namespace dpftrl
