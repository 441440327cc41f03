// SPDX-License-Identifier: Apache-2.0
// The certified optimum: quadrature, resolvents, bounds, and its noise stream as a recursion.
#include <algorithm>
#include <numeric>
#include <random>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "optimal/quadrature.hpp"
#include "optimal/realisation.hpp"
#include "optimal/resolvent.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::InverseRoot;
using detail::RootDiagonal;
using detail::SpectralInterval;
using detail::Weights;
using testing::relatively_close;

double root_at(const InverseRoot& root, double lambda) {
  double value = root.direct;
  for (std::size_t k = 0; k < root.shifts.size(); ++k)
    value += root.weights[k] / (lambda + root.shifts[k]);
  return value;
}

double worst_root_error(const InverseRoot& root, const SpectralInterval& interval) {
  double worst = 0;
  for (int i = 0; i <= 4000; ++i) {
    const double lambda = interval.low * std::pow(interval.high / interval.low, i / 4000.0);
    worst = std::max(worst, std::abs(root_at(root, lambda) * std::sqrt(lambda) - 1));
  }
  return worst;
}

TEST(Quadrature, the_error_stays_within_its_bound_all_over_the_interval) {
  constexpr double kRounding = 2e-15;
  for (const double ratio : {1.0, 2.0, 100.0, 1e4, 1e8, 1e12, 1e16, 1e24})
    for (const double accuracy : {1e-2, 1e-4, 1e-8, 1e-12}) {
      const SpectralInterval interval{0.3, 0.3 * ratio};
      const InverseRoot root = detail::inverse_root_within(interval, accuracy);
      EXPECT_LE(root.relative_error, accuracy);
      EXPECT_LE(worst_root_error(root, interval), root.relative_error + kRounding) << ratio;
      // The proven error hardly exceeds the actual one, because K'/K is near its bound.
      if (ratio >= 1e4 && accuracy >= 1e-8) {
        EXPECT_GE(worst_root_error(root, interval), 0.95 * root.relative_error) << ratio;
      }
      // The proof must fail with half of the nodes.
      const auto half = static_cast<std::int64_t>(root.shifts.size() / 2);
      if (half >= 1) {
        EXPECT_GT(worst_root_error(detail::inverse_root(interval, half), interval),
                  root.relative_error);
      }
    }
}

TEST(Quadrature, a_direct_term_acts_like_half_a_node) {
  const SpectralInterval interval{1, 1e9};
  for (const std::int64_t q : {2, 4, 8, 16}) {
    const InverseRoot root = detail::inverse_root_with_direct_term(interval, q);
    EXPECT_GT(root.direct, 0);
    EXPECT_LE(worst_root_error(root, interval), root.relative_error);
    EXPECT_LT(worst_root_error(root, interval),
              worst_root_error(detail::inverse_root(interval, q), interval));
  }
}

TEST(Quadrature, bad_intervals_are_refused) {
  EXPECT_ERROR(detail::inverse_root({0, 1}, 3), "invalid_argument", "got [0, 1]");
  EXPECT_ERROR(detail::inverse_root({2, 1}, 3), "invalid_argument", "interval must be positive");
  EXPECT_ERROR(detail::inverse_root({1, NAN}, 3), "invalid_argument", "got [1, NaN]");
  EXPECT_ERROR(detail::inverse_root({1, 2}, 0), "invalid_argument", "num_nodes must be between");
}

Matrix decay_matrix(std::int64_t n, double decay) {
  Matrix matrix = Matrix::Zero(testing::index_of(n), testing::index_of(n));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      matrix(i, j) = std::pow(decay, static_cast<double>(i - j));
  return matrix;
}

Weights decaying_random_weights(std::int64_t n, double decay, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-4, 4);
  Weights weights{.rows = {}, .columns = {}, .decay = decay};
  for (std::int64_t i = 0; i < n; ++i) {
    weights.rows.push_back(std::exp(uniform(random)));
    weights.columns.push_back(std::exp(uniform(random)));
  }
  return weights;
}

TEST(Resolvent, diagonals_are_those_of_the_dense_matrix) {
  // 12 or more nodes fill several groups, and 150 or more steps several blocks.
  for (const std::int64_t n : {1, 2, 3, 9, 40, 150})
    for (const double decay : {1.0, 0.9, 1e-3}) {
      const Weights weights = decaying_random_weights(n, decay, 1);
      const Eigen::Index size = testing::index_of(n);
      const Eigen::Map<const Vector> u(weights.rows.data(), size), v(weights.columns.data(), size);
      const Matrix w =
          u.cwiseSqrt().asDiagonal() * decay_matrix(n, decay) * v.cwiseSqrt().asDiagonal();
      const auto [inverses, vectors] = testing::symmetric_eigen(w.transpose() * w);
      const SpectralInterval interval = detail::spectrum(weights);
      EXPECT_LE(interval.low, 1 / inverses(size - 1));
      EXPECT_GE(interval.high, 1 / inverses(0) * (1 - 1e-9));
      for (const std::size_t num_nodes : {1U, 3U, 12U, 14U}) {
        InverseRoot root{.shifts = {}, .weights = {}, .direct = 0.25};
        Vector values = Vector::Constant(size, root.direct);
        for (std::size_t k = 0; k < num_nodes; ++k) {
          root.shifts.push_back(1e-2 * std::pow(3.0, static_cast<double>(k)));
          root.weights.push_back(1 + static_cast<double>(k));
          values.array() +=
              root.weights[k] * inverses.array() / (1 + root.shifts[k] * inverses.array());
        }
        const Vector dense = vectors.cwiseAbs2() * values;
        const RootDiagonal diagonal = detail::root_diagonal(root, weights);
        for (Eigen::Index i = 0; i < size; ++i)
          EXPECT_NEAR(diagonal.values[static_cast<std::size_t>(i)], dense(i),
                      1e-8 * dense(i) + 1e-13 * dense.maxCoeff())
              << n << " " << decay << " " << num_nodes << " " << i;
      }
    }
}

/// The textbook form of the sweeps in long double: with x_0 = s v_0, Y_{n-1} = s v_{n-1} + 1/u,
///     x_i = s v_i + z_i, z_{i+1} = decay^2 x_i / (1 + u_i x_i),    Y likewise from the other end,
/// the entry is v_i / (Y_i + z_i).
std::vector<long double> slow_root_diagonal(const InverseRoot& root, const Weights& weights) {
  const std::size_t n = weights.rows.size();
  const long double a = static_cast<long double>(weights.decay) * weights.decay;
  std::vector<long double> sum(n, root.direct), z(n);
  for (std::size_t k = 0; k < root.shifts.size(); ++k) {
    const long double s = root.shifts[k];
    long double next = 0;
    for (std::size_t i = 0; i < n; ++i) {
      z[i] = next;
      const long double x = s * weights.columns[i] + z[i];
      next = a * x / (1 + weights.rows[i] * x);
    }
    long double y = s * weights.columns[n - 1] + 1 / static_cast<long double>(weights.rows[n - 1]);
    for (std::size_t i = n; i-- > 0;) {
      if (i + 1 < n) y = s * weights.columns[i] + y / (a + weights.rows[i] * y);
      sum[i] += root.weights[k] * weights.columns[i] / (y + z[i]);
    }
  }
  return sum;
}

double worst_difference(const RootDiagonal& diagonal, const std::vector<long double>& exact) {
  double worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    worst = std::max(worst, static_cast<double>(std::abs(diagonal.values[i] / exact[i] - 1)));
  return worst;
}

TEST(Resolvent, rounding_stays_within_its_bound) {
  // Compared with the same sweeps in long double, at shifts from tiny to large and n = 20000.
  constexpr std::int64_t kSteps = 20000;
  const InverseRoot root{.shifts = {1e-9, 1e-5, 1e-2, 3}, .weights = {1e-6, 1e-3, 1, 1}};
  for (const double decay : {1.0, 0.999, 0.5}) {
    Weights weights = decaying_random_weights(kSteps, decay, 2);
    const RootDiagonal diagonal = detail::root_diagonal(root, weights);
    const std::vector<long double> exact = slow_root_diagonal(root, weights);
    EXPECT_LE(worst_difference(diagonal, exact), diagonal.rounding_error) << decay;
    EXPECT_LE(diagonal.rounding_error, 1e-11) << "it damps: 10 n u would be twice that";
    // Detects a weight whose error is a few times the bound.
    weights.columns[kSteps / 2] *= 1 + 8 * diagonal.rounding_error;
    EXPECT_GT(worst_difference(detail::root_diagonal(root, weights), exact),
              diagonal.rounding_error);
  }
}

TEST(Resolvent, steps_of_any_size_neither_overflow_nor_lose_digits) {
  // Ratios of neighbouring weights up to 10^120 reduce blocks to single steps.
  for (const double span : {1e10, 1e40, 1e120}) {
    Weights weights = decaying_random_weights(30, 1, 3);
    for (std::size_t i = 0; i < 30; i += 3) weights.columns[i] *= span;
    for (std::size_t i = 1; i < 30; i += 4) weights.rows[i] /= span;
    const InverseRoot root{.shifts = {1e-60, 1, 1e60}, .weights = {1, 1, 1}};
    const RootDiagonal diagonal = detail::root_diagonal(root, weights);
    EXPECT_LE(worst_difference(diagonal, slow_root_diagonal(root, weights)),
              diagonal.rounding_error);
    EXPECT_LE(diagonal.rounding_error, 1e-12);
  }
}

struct KnownPrefixOptimum {
  std::int64_t steps;
  double mean;
  double max;
};
/// Computed independently to a duality gap of 4e-13 (n <= 1024) or 1e-10 (n > 1024).
constexpr KnownPrefixOptimum kKnownOptima[] = {
    {2, 1.144122805635, 1.154700538379},     {8, 1.494413653108, 1.510484},
    {64, 2.099856472225, 2.111367},          {512, 2.739384656092, 2.746433332077},
    {1000, 2.948044562793, 2.954089594977},  {1024, 2.955451992328, 2.961464832637},
    {10000, 3.670451040961, 3.674193675003}, {100000, 4.396799974774, 4.399305909357}};

TEST(Optimum, known_answers_lie_between_the_bounds) {
  for (const KnownPrefixOptimum& known : kKnownOptima)
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const double gap = known.steps <= 10000 ? 1e-10 : 1e-9;
      const Optimum optimum =
          find_optimum({.steps = known.steps, .objective = objective}, {.gap = gap});
      const double value = objective == Objective::mean ? known.mean : known.max;
      EXPECT_EQ(optimum.status, SolverStatus::converged);
      EXPECT_LE(optimum.upper_bound / optimum.lower_bound, 1 + 1.0001 * gap);
      const double tolerance = known.steps <= 64 && objective == Objective::max ? 5e-7 : 2e-12;
      EXPECT_LE(optimum.lower_bound, value * (1 + tolerance)) << known.steps;
      EXPECT_GE(optimum.upper_bound, value * (1 - tolerance)) << known.steps;
    }
}

TEST(Optimum, the_largest_error_with_decay_is_solved_where_the_horizon_forgets) {
  struct Forgetful {
    double decay;
    std::int64_t steps;
  };
  for (const auto& [decay, n] : {Forgetful{0.5, 200}, {0.9, 1024}, {0.99, 10000}, {0.999, 70000}}) {
    const Optimum found =
        find_optimum({.steps = n, .objective = Objective::max, .decay = decay}, {});
    EXPECT_LE(found.upper_bound / found.lower_bound, 1 + kBarrierGap) << decay;
    EXPECT_GE(found.upper_bound, found.lower_bound);
    EXPECT_EQ(found.status, SolverStatus::stopped) << "short of the gap that was asked for";
    EXPECT_LE(found.iterations, 100) << decay;
  }
}

struct DenseBounds {
  double lower, upper;
};
/// Both bounds for given weights, from a dense singular value decomposition.
DenseBounds dense_bounds(const OptimumProblem& problem, const Optimum& optimum) {
  const Eigen::Index n = testing::index_of(problem.steps);
  Matrix a = decay_matrix(problem.steps, problem.decay);
  for (Eigen::Index j = 0; j < n; ++j) {
    if (!problem.rates.empty()) a.col(j) *= problem.rates[static_cast<std::size_t>(j)];
    if (!problem.query_weights.empty())
      a.row(j) *= std::sqrt(problem.query_weights[static_cast<std::size_t>(j)]);
  }
  const Eigen::Map<const Vector> v(optimum.column_weights.data(), n);
  Vector u = Vector::Ones(n);
  if (problem.objective == Objective::max)
    u = Eigen::Map<const Vector>(optimum.row_weights.data(), n);
  const Matrix w = u.cwiseSqrt().asDiagonal() * a * v.cwiseSqrt().asDiagonal();
  const testing::SingularSystem svd = testing::full_svd(w);
  const double nuclear = svd.values.sum();
  // Diagonals of V S V^T and U S U^T.
  const Vector columns = svd.v.cwiseAbs2() * svd.values, rows = svd.u.cwiseAbs2() * svd.values;
  const double columns_ratio = (columns.array() / v.array()).maxCoeff();
  const double rows_ratio = (rows.array() / u.array()).maxCoeff();
  const double steps = static_cast<double>(n);
  if (problem.objective == Objective::mean)
    return {nuclear / std::sqrt(v.sum() * steps), std::sqrt(nuclear * columns_ratio / steps)};
  return {nuclear / std::sqrt(u.sum() * v.sum()), std::sqrt(columns_ratio * rows_ratio)};
}

std::vector<OptimumProblem> optimum_problems(std::int64_t n) {
  std::vector<double> falling, weights;
  for (std::int64_t t = 0; t < n; ++t) {
    falling.push_back(1 - 0.9 * static_cast<double>(t) / static_cast<double>(n));
    weights.push_back(1 + static_cast<double>((7 * t) % 5));
  }
  return {{.steps = n, .objective = Objective::mean},
          {.steps = n, .objective = Objective::max},
          {.steps = n, .objective = Objective::mean, .decay = 0.9},
          {.steps = n, .objective = Objective::max, .decay = 0.99},
          {.steps = n, .objective = Objective::mean, .rates = falling},
          {.steps = n, .objective = Objective::mean, .query_weights = weights}};
}

TEST(Optimum, its_certificates_hold_for_the_dense_matrices) {
  for (const std::int64_t n : {1, 2, 3, 7, 16, 33, 64})
    for (const OptimumProblem& problem : optimum_problems(n)) {
      const Optimum optimum = find_optimum(problem, {});
      EXPECT_EQ(optimum.status, SolverStatus::converged) << n;
      const DenseBounds dense = dense_bounds(problem, optimum);
      EXPECT_LE(optimum.lower_bound, dense.lower * (1 + 1e-14)) << n;
      EXPECT_GE(optimum.lower_bound, dense.lower * (1 - 1e-11)) << n;
      EXPECT_GE(optimum.upper_bound, dense.lower);
      EXPECT_LE(dense.upper / dense.lower - 1, 1e-7);
    }
}

TEST(Optimum, a_coarse_evaluation_widens_the_interval_and_never_crosses_the_optimum) {
  for (const double gap : {1e-1, 1e-2, 1e-4, 1e-6})
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const OptimumProblem problem{.steps = 512, .objective = objective};
      const Optimum optimum = find_optimum(problem, {.gap = gap});
      const double value = objective == Objective::mean ? 2.739384656092 : 2.746433332077;
      EXPECT_LE(optimum.lower_bound, value);
      EXPECT_GE(optimum.upper_bound, value * (1 - 1e-12));
      EXPECT_LE(optimum.upper_bound / optimum.lower_bound, 1 + gap * 1.0001);
    }
}

TEST(Optimum, any_dual_variables_give_bounds_perturbed_ones_worse_bounds) {
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const OptimumProblem problem{.steps = 64, .objective = objective};
    const Optimum optimum = find_optimum(problem, {});
    const OptimumBounds own = optimum_bounds(problem, optimum.column_weights, 1e-12);
    EXPECT_LE(std::abs(own.lower / optimum.lower_bound - 1), 1e-11);
    EXPECT_LE(own.upper / own.lower, 1 + 1e-6);
    for (std::size_t j = 0; j < 64; j += 9)
      for (const double factor : {0.5, 0.99, 1.05, 1e3}) {
        std::vector<double> v = optimum.column_weights;
        v[j] *= factor;
        const OptimumBounds bounds = optimum_bounds(problem, v, 1e-12);
        EXPECT_LT(bounds.lower, optimum.lower_bound * (1 - 1e-8)) << "the certificate is lost";
        EXPECT_GE(bounds.upper, optimum.lower_bound);
        EXPECT_GT(bounds.upper / bounds.lower, 1 + 1e-5);
      }
    // A coarse quadrature loosens both bounds.
    const OptimumBounds coarse = optimum_bounds(problem, optimum.column_weights, 1e-3);
    EXPECT_LT(coarse.lower, own.lower);
    EXPECT_GT(coarse.upper, own.upper);
    std::vector<double> far(64, 1.0);
    far[7] = 1e-30;
    EXPECT_EQ(optimum_bounds(problem, far, 1e-6).lower, 0) << "beyond what was checked";
    EXPECT_ERROR((void)optimum_bounds(problem, {}, 1e-6), "wrong_length", "column_weights");
    far[7] = NAN;
    EXPECT_ERROR((void)optimum_bounds(problem, far, 1e-6), "invalid_argument", "column_weights");
  }
}

TEST(Optimum, a_gap_below_rounding_is_infeasible_after_all_that_can_be_proved) {
  for (const Objective objective : {Objective::max, Objective::mean})
    for (const std::int64_t n : {1, 2, 8, 100, 1000}) {
      const OptimumProblem problem{.steps = n, .objective = objective};
      const Optimum usual = find_optimum(problem, {.gap = 1e-11});
      const Optimum optimum = find_optimum(problem, {.gap = 1e-17});
      EXPECT_EQ(optimum.status, SolverStatus::infeasible) << n;
      EXPECT_LE(optimum.iterations, usual.iterations + 10) << n;
      EXPECT_LE(optimum.upper_bound, optimum.lower_bound * (1 + 2e-12)) << n;
      EXPECT_LE(optimum.lower_bound, usual.upper_bound) << n;
      EXPECT_GE(optimum.upper_bound, usual.lower_bound) << n;
    }
}

/// From the closed form alone, these take 9 and 13 iterations.
TEST(Optimum, a_long_horizon_begins_from_the_optimum_of_a_shorter_one) {
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const Optimum o = find_optimum({.steps = 1 << 18, .objective = objective}, {.gap = 1e-3});
    EXPECT_EQ(o.status, SolverStatus::converged);
    EXPECT_LE(o.iterations, 7);
  }
}

TEST(Optimum, giving_up_does_not_look_like_convergence) {
  const OptimumProblem problem{.steps = 256};
  const Optimum early = find_optimum(problem, {.max_iterations = 3});
  EXPECT_EQ(early.status, SolverStatus::not_converged);
  EXPECT_EQ(early.iterations, 3);
  std::int64_t calls = 0;
  double last_gap = 1;
  const auto progress = [&](const OptimumProgress& p) {
    EXPECT_LE(p.gap, last_gap) << "the best bounds never get worse";
    last_gap = p.gap;
    return ++calls < 5;
  };
  const Optimum stopped = find_optimum(problem, {.progress = progress});
  EXPECT_EQ(stopped.status, SolverStatus::stopped);
  EXPECT_EQ(stopped.iterations, 5);
  EXPECT_GT(stopped.lower_bound, 0);
  EXPECT_GE(stopped.upper_bound, stopped.lower_bound);
}

TEST(Optimum, is_deterministic) {
  const Optimum one = find_optimum({.steps = 333}, {}), two = find_optimum({.steps = 333}, {});
  EXPECT_EQ(one.column_weights, two.column_weights);
  EXPECT_EQ(one.lower_bound, two.lower_bound);
}

TEST(Optimum, bad_problems_are_refused_by_name) {
  EXPECT_ERROR((void)find_optimum({.steps = 0}, {}), "invalid_argument", "steps must be");
  EXPECT_ERROR((void)find_optimum({.steps = 4, .decay = 0}, {}), "invalid_argument",
               "decay must be above 0 and at most 1, got 0");
  EXPECT_ERROR((void)find_optimum({.steps = 4, .decay = NAN}, {}), "invalid_argument", "NaN");
  EXPECT_ERROR((void)find_optimum({.steps = 2, .objective = Objective::mean, .rates = {1, -1}}, {}),
               "invalid_argument", "rates must be positive and finite, got -1");
  EXPECT_ERROR((void)find_optimum({.steps = 2, .objective = Objective::mean, .rates = {1}}, {}),
               "wrong_length", "rates must have 2 entries, got 1");
  EXPECT_ERROR((void)find_optimum({.steps = 2, .rates = {1, 1}}, {}), "unsupported",
               "rates cannot be given for the max objective");
  EXPECT_ERROR((void)find_optimum({.steps = 2}, {.gap = 0}), "invalid_argument", "gap");
}

// Noise stream.

std::vector<Workload> solved_workloads(std::int64_t n) {
  std::vector<double> rates;
  for (std::int64_t t = 0; t < n; ++t) rates.push_back(t % 3 == 1 ? 0.5 : 1.0);
  return {Workload::prefix_sums(n), Workload::momentum({.steps = n, .momentum = 0, .decay = 0.9}),
          Workload::learning_rates({.rates = rates})};
}

template <class Check>
void for_every_plan(const std::vector<std::int64_t>& horizons, Check&& check) {
  for (const std::int64_t n : horizons)
    for (const Workload& workload : solved_workloads(n))
      for (const Objective objective : {Objective::mean, Objective::max})
        for (const std::int64_t q : {1, 2, 3, 8, 0}) {
          if (objective == Objective::max && !workload.is_toeplitz()) continue;
          SCOPED_TRACE(workload.name() + ", n = " + std::to_string(n) +
                       ", q = " + std::to_string(q));
          const OptimalPlanResult result =
              plan_optimal(workload, {.objective = objective, .buffers = q});
          check(OptimalStrategy(workload, result.plan), result);
        }
}

TEST(Optimal, factorizes_with_unit_columns_and_its_stated_row_norms) {
  for_every_plan({1, 2, 3, 7, 16, 64}, [](const OptimalStrategy& s, const OptimalPlanResult&) {
    const Matrix encoder = s.encoder(), decoder = s.decoder();
    const double scale = decoder.cwiseAbs().maxCoeff();
    EXPECT_LE((decoder * encoder - s.workload().matrix()).cwiseAbs().maxCoeff(), 1e-13 * scale);
    EXPECT_LE((encoder.colwise().norm().array() - 1).abs().maxCoeff(), 1e-14);
    EXPECT_TRUE(relatively_close(s.max_column_norm_squared(), 1, 1e-15));
    double total = 0;
    for (std::int64_t t = 0; t < s.steps(); ++t) {
      const double dense = decoder.row(testing::index_of(t)).squaredNorm();
      EXPECT_TRUE(relatively_close(s.row_norm_squared(t), dense, 1e-12)) << t;
      total += dense;
    }
    EXPECT_TRUE(relatively_close(s.row_norms().mean_squared, total / static_cast<double>(s.steps()),
                                 1e-12));
    if (s.has_nonnegative_gram()) {
      EXPECT_GE((encoder.transpose() * encoder).minCoeff(), 0);
    }
  });
}

double error_of_optimal(const OptimalStrategy& s) {
  return std::sqrt(s.plan().objective == Objective::mean ? s.row_norms().mean_squared
                                                         : s.row_norms().max_squared);
}

TEST(Optimal, is_never_below_the_certificate_and_meets_it_with_enough_buffers) {
  for_every_plan({1, 2, 3, 7, 64, 200}, [](const OptimalStrategy& s, const OptimalPlanResult& r) {
    const double ratio = error_of_optimal(s) / r.lower_bound;
    EXPECT_GE(ratio, 1 - 1e-13);
    EXPECT_LE(ratio - 1, s.plan().shifts.size() > 8 ? 2e-8 : 2);
  });
}

TEST(Optimal, untuned_buffers_lose_what_was_measured) {
  struct Loss {
    std::int64_t steps, buffers;
    Objective objective;
    double loss;
  };
  for (const Loss& known :
       {Loss{1024, 4, Objective::mean, 4.7e-4}, Loss{10000, 4, Objective::mean, 2.9e-3},
        Loss{1024, 8, Objective::mean, 1.8e-7}, Loss{10000, 8, Objective::mean, 4.8e-6},
        Loss{100000, 8, Objective::mean, 4.8e-5}, Loss{1024, 8, Objective::max, 7.1e-5}}) {
    const Workload workload = Workload::prefix_sums(known.steps);
    const OptimalPlanResult r =
        plan_optimal(workload, {.objective = known.objective, .buffers = known.buffers});
    const double loss = error_of_optimal(OptimalStrategy(workload, r.plan)) / r.lower_bound - 1;
    EXPECT_NEAR(loss, known.loss, 0.06 * known.loss) << known.steps << " " << known.buffers;
  }
}

TEST(Optimal, a_plan_for_a_long_horizon_is_near_the_optimum) {
  const auto ratio = [](Objective objective) {
    const auto strategy = optimal_strategy(Workload::prefix_sums(1 << 18), std::nullopt, objective,
                                           Participation::single());
    const RowNorms rows = strategy->row_norms();
    const double square = objective == Objective::mean ? rows.mean_squared : rows.max_squared;
    return std::sqrt(square) /
           strategy->certified_lower_bound(objective, Participation::single()).value;
  };
  EXPECT_LT(ratio(Objective::mean), 1.0001);
  EXPECT_LT(ratio(Objective::max), 1.0017);
}

TEST(Optimal, weights_in_closed_form_lose_little) {
  for (const std::int64_t n : {64, 1024, 10000}) {
    const Workload workload = Workload::prefix_sums(n);
    const OptimalPlanResult plain =
        plan_optimal(workload, {.objective = Objective::mean, .buffers = 12, .use_solver = false});
    const OptimalPlanResult solved =
        plan_optimal(workload, {.objective = Objective::mean, .buffers = 12});
    EXPECT_EQ(plain.lower_bound, 0);
    const OptimalStrategy s(workload, plain.plan);
    const double ratio = error_of_optimal(s) / solved.lower_bound;
    const double own = s.certified_lower_bound(Objective::mean, Participation::single()).value;
    EXPECT_LE(own, solved.lower_bound) << "what the weights themselves prove";
    EXPECT_GE(own, solved.lower_bound * (1 - 2e-3));
    EXPECT_GE(ratio, 1);
    EXPECT_LE(ratio, 1 + 3e-4) << n;
  }
}

TEST(Optimal, a_wrong_number_costs_accuracy_but_never_the_sensitivity) {
  const Workload workload = Workload::prefix_sums(40);
  const OptimalPlanResult found = plan_optimal(workload, {});
  const OptimalPlan& good = found.plan;
  for (int fault = 0; fault < 4; ++fault) {
    OptimalPlan bad = good;
    if (fault == 0) bad.column_weights[7] *= 50;
    if (fault == 1) bad.weights[3] *= 20;
    if (fault == 2) bad.direct *= 1e6;
    if (fault == 3) std::ranges::reverse(bad.column_weights);
    const OptimalStrategy s(workload, bad);
    EXPECT_LE((s.encoder().colwise().norm().array() - 1).abs().maxCoeff(), 1e-14);
    EXPECT_LE((s.decoder() * s.encoder() - workload.matrix()).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_GE(error_of_optimal(s), found.lower_bound);
    EXPECT_GT(error_of_optimal(s), 1.0001 * error_of_optimal(OptimalStrategy(workload, good)));
  }
}

// Falsification: the reported properties of a stream must reveal any error in its numbers.

/// Reimplements the Riccati recursion, with one term wrong on request.
enum class Fault { none, no_update, no_noise, wrong_factor, gain_not_scaled };

VaryingBuffers riccati(const OptimalPlan& plan, Fault fault) {
  const std::size_t q = plan.shifts.size(), n = plan.column_weights.size();
  VaryingBuffers numbers = detail::realise(
      {.shifts = plan.shifts, .weights = plan.weights, .direct = plan.direct},
      {.rows = plan.row_weights, .columns = plan.column_weights, .decay = plan.decay});
  const auto size = testing::index_of(static_cast<std::int64_t>(q));
  Matrix rest = Matrix::Zero(size, size);
  for (std::size_t t = n; t-- > 0;) {
    const Eigen::Map<const Vector> phi(&numbers.factors[t * q], size);
    for (std::size_t k = 0; k < q; ++k)
      if (fault != Fault::no_noise || t % 8 != 3)
        rest.diagonal()(testing::index_of(static_cast<std::int64_t>(k))) +=
            plan.weights[k] * plan.row_weights[t] * numbers.factors[t * q + k];
    const Vector h = rest.rowwise().sum();
    const double c_squared = h.sum() + plan.direct / plan.column_weights[t];
    numbers.inverse_scales[t] = 1 / std::sqrt(c_squared);
    const double gain_scale = fault == Fault::gain_not_scaled ? std::sqrt(c_squared) : c_squared;
    Eigen::Map<Vector>(&numbers.gains[t * q], size) = h / gain_scale;
    if (t == 0) break;
    const Eigen::Map<const Vector> before(&numbers.factors[(t - 1) * q], size);
    if (fault != Fault::no_update) rest -= h * h.transpose() / c_squared;
    const Vector& carried = fault == Fault::wrong_factor ? Vector(phi) : Vector(before);
    rest = carried.asDiagonal() * rest * carried.asDiagonal();
  }
  return numbers;
}

/// Column norms predicted from the covariance, independently of the gains.
std::vector<double> predicted_norms_squared(const OptimalPlan& plan,
                                            const VaryingBuffers& numbers) {
  const std::size_t q = plan.shifts.size(), n = plan.column_weights.size();
  std::vector<double> norms(n), variances(q, 0.0);
  for (std::size_t t = n; t-- > 0;) {
    norms[t] = plan.direct / plan.column_weights[t];
    for (std::size_t k = 0; k < q; ++k) {
      const double phi = numbers.factors[t * q + k];
      variances[k] = phi * phi * variances[k] + plan.weights[k] * plan.row_weights[t] * phi;
      norms[t] += variances[k];
    }
  }
  return norms;
}

/// A stream with these numbers, whose columns are scaled by the predicted norms.
VaryingBufferedStrategy predicted_stream(const OptimalPlan& plan, const VaryingBuffers& numbers) {
  std::vector<double> scales = predicted_norms_squared(plan, numbers);
  for (double& scale : scales) scale = std::sqrt(scale);
  return {Workload::prefix_sums(std::ssize(plan.column_weights)),
          {.name = "stream",
           .numbers = std::make_shared<const VaryingBuffers>(numbers),
           .column_scales = std::move(scales)}};
}

/// True if the numbers prove in O(n q) that no entry of C is negative and no column increases.
///
/// Column j, up to its scale, is c_j, then c_i sum_k g_ik P_k with P_k = phi_{j,k} ... phi_{i-1,k}.
/// It falls from i to i + 1 where sum_k d_k P_k >= 0, d_k = c_i g_ik - c_{i+1} g_{i+1,k} phi_ik.
/// Some d_k are negative, but factors decrease with k, so P_{k+1} / P_k lies between its values for
/// j = 0 and for j = i - 1. The least sum over all P with quotients in this range is computed from
/// the last k down to the first.
bool proves_falling_columns(const VaryingBuffers& numbers) {
  const std::size_t q = static_cast<std::size_t>(numbers.buffers);
  const auto is_nonnegative = [](double number) { return number >= 0; };
  if (!std::ranges::all_of(numbers.gains, is_nonnegative) ||
      !std::ranges::all_of(numbers.factors, is_nonnegative))
    return false;
  std::vector<double> least(q, 1), most(q, 1);
  for (std::size_t i = 0; i + 1 < numbers.inverse_scales.size(); ++i) {
    const double *gain = &numbers.gains[i * q], *factor = &numbers.factors[i * q];
    const double c = 1 / numbers.inverse_scales[i], c_next = 1 / numbers.inverse_scales[i + 1];
    double below_diagonal = 0, sum = 0;
    for (std::size_t k = q; k-- > 0;) {
      const double next = c_next * gain[q + k] * factor[k];
      below_diagonal += next;
      sum = c * gain[k] - next + (k + 1 < q ? std::min(least[k] * sum, most[k] * sum) : 0);
    }
    if (!(below_diagonal <= c) || (i > 0 && !(sum >= 0))) return false;
    for (std::size_t k = 0; k + 1 < q; ++k) {
      most[k] = factor[k + 1] / factor[k];
      least[k] *= most[k];
      if (!(most[k] <= 1)) return false;
    }
  }
  return true;
}

bool has_falling_columns(const Matrix& encoder) {
  for (Eigen::Index j = 0; j < encoder.cols(); ++j)
    for (Eigen::Index i = j; i < encoder.rows(); ++i)
      if (!(encoder(i, j) >= 0 && (i == j || encoder(i, j) <= encoder(i - 1, j)))) return false;
  return true;
}

TEST(Optimal, columns_are_not_negative_and_do_not_increase) {
  for (const Objective objective : {Objective::mean, Objective::max})
    for (const std::int64_t q : {4, 8}) {
      SCOPED_TRACE(q);
      const auto made = [&](std::int64_t n) {
        const Workload workload = Workload::prefix_sums(n);
        return OptimalStrategy(workload,
                               plan_optimal(workload, {.objective = objective, .buffers = q}).plan);
      };
      const OptimalStrategy dense = made(512);
      EXPECT_TRUE(has_falling_columns(dense.encoder()));
      EXPECT_TRUE(proves_falling_columns(dense.numbers()));
      EXPECT_TRUE(proves_falling_columns(made(10000).numbers()));

      // Rejects a wrong sign of a gain or a factor, a gain that is too large, and a diagonal entry
      // of C that is too large.
      const std::size_t at = static_cast<std::size_t>(300 * q);
      for (int fault = 0; fault < 4; ++fault) {
        VaryingBuffers bad = dense.numbers();
        if (fault == 0) bad.gains[at] = -bad.gains[at];
        if (fault == 1) bad.factors[at] = -bad.factors[at];
        if (fault == 2) bad.gains[at] *= 2;
        if (fault == 3) bad.inverse_scales[300] /= 1.5;
        EXPECT_FALSE(proves_falling_columns(bad)) << fault;
        const VaryingBufferedStrategy stream(
            dense.workload(),
            {.name = "stream", .numbers = std::make_shared<const VaryingBuffers>(bad)});
        EXPECT_FALSE(has_falling_columns(stream.encoder())) << fault;
      }
    }
}

TEST(Optimal, a_wrong_term_of_the_riccati_recursion_does_not_pass) {
  const OptimalPlan plan = plan_optimal(Workload::prefix_sums(60), {.buffers = 5}).plan;
  for (const Fault fault : {Fault::none, Fault::no_update, Fault::no_noise, Fault::wrong_factor,
                            Fault::gain_not_scaled}) {
    SCOPED_TRACE(static_cast<int>(fault));
    const VaryingBufferedStrategy s = predicted_stream(plan, riccati(plan, fault));
    double wrong = 0;
    for (std::int64_t j = 0; j < 60; ++j)
      wrong = std::max(wrong, std::abs(s.column_norm_squared(j) - 1));
    // The check compares column norms with the covariance. Only the correct recursion passes.
    EXPECT_EQ(wrong <= 1e-12, fault == Fault::none) << wrong;
    // For any numbers, the reported properties are true and no certificate is undercut.
    const Matrix encoder = s.encoder(), decoder = s.decoder();
    EXPECT_TRUE(relatively_close(s.max_column_norm_squared(),
                                 encoder.colwise().squaredNorm().maxCoeff(), 1e-12));
    EXPECT_TRUE(relatively_close(s.row_norms().max_squared,
                                 decoder.rowwise().squaredNorm().maxCoeff(), 1e-11));
    EXPECT_GE(unit_error(s, Participation::single()).max_error,
              OptimalStrategy(s.workload(), plan)
                  .certified_lower_bound(Objective::max, Participation::single())
                  .value);
  }
}

TEST(Optimal, a_single_changed_gain_is_noticed) {
  const OptimalPlan plan = plan_optimal(Workload::prefix_sums(40), {}).plan;
  VaryingBuffers numbers = riccati(plan, Fault::none);
  EXPECT_LE(std::abs(predicted_stream(plan, numbers).column_norm_squared(5) - 1), 1e-12);
  numbers.gains[8 * 20 + 3] *= 1.01;
  const VaryingBufferedStrategy s = predicted_stream(plan, numbers);
  EXPECT_GT(std::abs(s.column_norm_squared(5) - 1), 1e-9);
  EXPECT_LE(std::abs(s.column_norm_squared(30) - 1), 1e-12) << "later columns do not see it";
}

TEST(Optimal, half_the_nodes_do_not_pass_for_all_of_them) {
  // Squared column norms are the diagonal of X, so they reveal that half of the nodes are missing.
  const Workload workload = Workload::prefix_sums(200);
  const OptimalPlan full = plan_optimal(workload, {.buffers = 12}).plan;
  const OptimalPlan half = plan_optimal(workload, {.buffers = 6}).plan;
  ASSERT_EQ(half.column_weights, full.column_weights);
  const auto distance = [&](const OptimalPlan& plan) {
    const std::vector<double> norms = predicted_norms_squared(plan, riccati(plan, Fault::none));
    const auto [low, high] = std::ranges::minmax(norms);
    return high / low - 1;
  };
  EXPECT_LE(distance(full), 1e-5);
  EXPECT_GT(distance(half), 1e-4) << "an optimum has columns of equal length";
  const double bound = OptimalStrategy(workload, half)
                           .certified_lower_bound(Objective::max, Participation::single())
                           .value;
  EXPECT_EQ(bound, OptimalStrategy(workload, full)
                       .certified_lower_bound(Objective::max, Participation::single())
                       .value)
      << "it rests on the dual variables alone";
  const double full_ratio = error_of_optimal(OptimalStrategy(workload, full)) / bound,
               half_ratio = error_of_optimal(OptimalStrategy(workload, half)) / bound;
  EXPECT_GE(full_ratio, 1);
  EXPECT_LE(full_ratio, 1 + 1e-5);
  EXPECT_GT(half_ratio, 1 + 1e-4);
}

TEST(Optimal, a_plan_gives_the_same_bits_again) {
  const Workload workload = Workload::prefix_sums(100);
  const OptimalPlan plan = plan_optimal(workload, {}).plan;
  const OptimalStrategy one(workload, plan), two(workload, one.plan());
  for (std::int64_t t = 0; t < 100; ++t)
    EXPECT_EQ(one.row_norm_squared(t), two.row_norm_squared(t));
}

TEST(Optimal, long_double_recursions_agree_at_a_long_horizon) {
  constexpr std::int64_t kSteps = 100000;
  const Workload workload = Workload::prefix_sums(kSteps);
  const OptimalPlan plan =
      plan_optimal(workload, {.objective = Objective::mean, .use_solver = false}).plan;
  const VaryingBuffers buffers =
      detail::realise({.shifts = plan.shifts, .weights = plan.weights, .direct = plan.direct},
                      {.rows = plan.row_weights, .columns = plan.column_weights});
  const std::vector<double> norms = detail::column_norms_squared(buffers);
  const std::size_t q = plan.shifts.size();
  std::vector<long double> later(q * q, 0);
  double worst = 0;
  for (std::size_t t = static_cast<std::size_t>(kSteps); t-- > 0;) {
    const long double c_squared =
        1 / (static_cast<long double>(buffers.inverse_scales[t]) * buffers.inverse_scales[t]);
    long double below = 0;
    for (std::size_t k = 0; k < q; ++k)
      for (std::size_t l = 0; l < q; ++l) {
        long double& entry = later[k * q + l];
        entry *= static_cast<long double>(buffers.factors[t * q + k]) * buffers.factors[t * q + l];
        below += entry;
        entry += c_squared * buffers.gains[t * q + k] * buffers.gains[t * q + l];
      }
    worst = std::max(worst, static_cast<double>(std::abs(norms[t] / (c_squared + below) - 1)));
  }
  EXPECT_LE(worst, 1e-12);
  // The slack refers to norms, whose relative error is half that of their squares.
  const OptimalStrategy stated(workload, plan);
  EXPECT_GT(worst, 0);
  EXPECT_GE(stated.encoder_slack(), worst / 2);
  EXPECT_LE(stated.encoder_slack(), 1e-10);
}

TEST(Optimal, long_double_row_variances_agree_at_a_long_horizon) {
  constexpr std::int64_t kSteps = 100000;
  const Workload workload = Workload::prefix_sums(kSteps);
  const OptimalStrategy strategy(
      workload, plan_optimal(workload, {.objective = Objective::mean, .use_solver = false}).plan);
  const VaryingBuffers& numbers = strategy.numbers();
  const auto q = static_cast<std::size_t>(numbers.buffers);
  // Covariances of the states s before a step with each other and with the previous row.
  std::vector<long double> s_s(q * q, 0), s_row(q, 0), s_w(q);
  long double row_row = 0;
  double worst = 0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(kSteps); ++t) {
    const double* const g = &numbers.gains[t * q];
    const double* const f = &numbers.factors[t * q];
    const long double scale = strategy.column_scales()[t];
    const long double fresh = numbers.inverse_scales[t];
    // w = fresh z - g . s; the row increases by scale w.
    long double w_w = fresh * fresh, w_row = 0;
    for (std::size_t k = 0; k < q; ++k) {
      s_w[k] = 0;
      for (std::size_t l = 0; l < q; ++l) s_w[k] -= g[l] * s_s[k * q + l];
      w_w -= g[k] * s_w[k];
      w_row -= g[k] * s_row[k];
    }
    row_row += 2 * scale * w_row + scale * scale * w_w;
    for (std::size_t k = 0; k < q; ++k) {
      s_row[k] = f[k] * (s_row[k] + scale * s_w[k] + w_row + scale * w_w);
      for (std::size_t l = 0; l < q; ++l)
        s_s[k * q + l] = f[k] * f[l] * (s_s[k * q + l] + s_w[k] + s_w[l] + w_w);
    }
    const double stated = strategy.row_norm_squared(static_cast<std::int64_t>(t));
    worst = std::max(worst, static_cast<double>(std::abs(stated / row_row - 1)));
  }
  EXPECT_LE(worst, 1e-9);
  EXPECT_GT(worst, 0);
}

TEST(Optimal, the_recursion_has_the_gram_matrix_and_the_covariance_of_its_definition) {
  for (const std::int64_t n : {3, 64, 200})
    for (const std::int64_t q : {2, 8}) {
      const Workload workload = Workload::prefix_sums(n);
      const OptimalPlan plan = plan_optimal(workload, {.buffers = q}).plan;
      const OptimalStrategy strategy(workload, plan);
      const Eigen::Map<const Vector> u(plan.row_weights.data(), testing::index_of(n));
      const Eigen::Map<const Vector> v(plan.column_weights.data(), testing::index_of(n));
      const Matrix a = workload.matrix(), inverse = testing::inverse(a);
      const Matrix k = inverse * u.cwiseInverse().asDiagonal() * inverse.transpose();
      Matrix x = plan.direct * Matrix(v.cwiseInverse().asDiagonal());
      for (std::size_t i = 0; i < plan.shifts.size(); ++i)
        x += plan.weights[i] * testing::inverse(k + plan.shifts[i] * Matrix(v.asDiagonal()));
      const Vector scale = x.diagonal().cwiseSqrt().cwiseInverse();
      x = scale.asDiagonal() * x * scale.asDiagonal();
      const Matrix c = strategy.encoder(), b = strategy.decoder();
      EXPECT_LE((c.transpose() * c - x).cwiseAbs().maxCoeff(), 1e-11) << n << " " << q;
      const Matrix covariance = a * testing::inverse(x) * a.transpose();
      EXPECT_LE((b * b.transpose() - covariance).cwiseAbs().maxCoeff(),
                1e-9 * covariance.diagonal().maxCoeff());
    }
}

TEST(Optimal, rounding_of_column_norms_counts_what_signs_cancel) {
  // c_1 g . phi = 2^30 - (2^30 - 1) = 1 gives the column (1, 1).
  VaryingBuffers buffers{.buffers = 2,
                         .inverse_scales = {1, 1},
                         .gains = {0, 0, 0x1p30, 1 - 0x1p30},
                         .factors = {1, 1, 1, 1},
                         .max_row_stddev = 0,
                         .max_state_stddev = 0};
  const std::vector<double> norms = detail::column_norms_squared(buffers);
  EXPECT_GE(detail::rounding_of_column_norms(buffers, norms), std::abs(norms[0] - 2) / 2);
  EXPECT_GT(detail::rounding_of_column_norms(buffers, norms), 1);
  buffers.gains = {0, 0, 0.5, 0.5};
  EXPECT_LT(detail::rounding_of_column_norms(buffers, detail::column_norms_squared(buffers)),
            1e-14);
}

TEST(Optimal, bounds_of_row_variances_hold_and_what_they_do_not_confirm_is_no_stream) {
  // Random numbers, for many of which rows of B have norms above 10^10.
  std::mt19937_64 bits(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  int num_large = 0, num_refused = 0, num_tight = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t n = 2 + static_cast<std::size_t>(trial % 30);
    const std::size_t q = 1 + static_cast<std::size_t>(trial % 4);
    const double size = std::pow(4.0, trial % 7) / 2, sign = trial % 3 == 0 ? -0.5 : 0;
    VaryingBuffers buffers{.buffers = static_cast<std::int64_t>(q),
                           .inverse_scales = std::vector<double>(n),
                           .gains = std::vector<double>(n * q),
                           .factors = std::vector<double>(n * q),
                           .max_row_stddev = 0,
                           .max_state_stddev = 0};
    for (double& scale : buffers.inverse_scales) scale = 0.5 + uniform(bits);
    for (double& gain : buffers.gains) gain = size * (uniform(bits) + sign);
    for (double& factor : buffers.factors) factor = trial % 5 == 0 ? 0 : uniform(bits);
    // Two equal states with gains that cancel, which loses all of double precision.
    if (trial % 4 == 1)
      for (std::size_t t = 0; t < n; ++t) {
        buffers.factors[t * q + 1] = buffers.factors[t * q];
        buffers.gains[t * q] += 0x1p34;
        buffers.gains[t * q + 1] -= 0x1p34;
      }
    const detail::Variances bounds = detail::variance_bounds(buffers);
    const double claimed = detail::with_stddevs(buffers).max_row_stddev;
    num_refused += std::isinf(claimed);
    // Computes B column by column from the definition of the recursion, in long double.
    std::vector<long double> squares(n, 0);
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<long double> states(q, 0);
      long double row = 0;
      for (std::size_t t = j; t < n; ++t) {
        long double w = t == j ? buffers.inverse_scales[t] : 0;
        for (std::size_t k = 0; k < q; ++k) w -= buffers.gains[t * q + k] * states[k];
        for (std::size_t k = 0; k < q; ++k)
          states[k] = buffers.factors[t * q + k] * (states[k] + w);
        row += w;
        squares[t] += row * row;
      }
    }
    long double largest = 0;
    for (std::size_t t = 0; t < n; ++t) {
      EXPECT_FALSE(bounds.rows[t] < squares[t] * (1 - 1e-12L)) << trial << " " << t;
      largest = std::max(largest, squares[t]);
      num_large += squares[t] > 1e20L;
      num_tight += bounds.rows[t] <= squares[t] * (1 + 1e-9L);
    }
    EXPECT_FALSE(claimed * claimed < largest) << trial;
  }
  EXPECT_GT(num_large, 1000);
  EXPECT_GT(num_refused, 100);
  EXPECT_LT(num_refused, 1900);
  EXPECT_GT(num_tight, 5000);
}

TEST(Optimal, bounds_of_row_variances_are_close_for_long_streams) {
  const Workload workload = Workload::prefix_sums(20000);
  const OptimalStrategy strategy(workload, plan_optimal(workload, {}).plan);
  const VaryingBuffers& buffers = strategy.numbers();
  const double largest = std::ranges::max(detail::variances(buffers, {}, 1).rows);
  EXPECT_LE(buffers.max_row_stddev, std::sqrt(largest) * (1 + 1e-6));
  EXPECT_GE(buffers.max_row_stddev, std::sqrt(largest) * (1 - 1e-12));
}

TEST(Optimal, bad_plans_and_workloads_are_refused_by_name) {
  const Workload workload = Workload::prefix_sums(3);
  const OptimalPlan good = plan_optimal(workload, {}).plan;
  const auto with = [&](auto&& change) {
    OptimalPlan plan = good;
    change(plan);
    return plan;
  };
  EXPECT_ERROR(OptimalStrategy(Workload::prefix_sums(4), good), "wrong_length",
               "column_weights must have 4 entries, got 3");
  EXPECT_ERROR(OptimalStrategy(workload, with([](OptimalPlan& p) { p.shifts[0] = NAN; })),
               "invalid_argument", "shifts must be positive and finite, got NaN");
  EXPECT_ERROR(OptimalStrategy(workload, with([](OptimalPlan& p) { p.weights.pop_back(); })),
               "wrong_length", "weights must have 8 entries, got 7");
  EXPECT_ERROR(OptimalStrategy(workload, with([](OptimalPlan& p) { p.row_weights[1] = -1; })),
               "invalid_argument", "row_weights must be positive and finite, got -1");
  EXPECT_ERROR(OptimalStrategy(workload, with([](OptimalPlan& p) { p.direct = 0; })),
               "invalid_argument", "direct must be positive and finite, got 0");
  EXPECT_ERROR((void)plan_optimal(Workload::sliding_window({.steps = 9, .window = 2}), {}),
               "unsupported", "got window=2");
  EXPECT_ERROR((void)plan_optimal(Workload::learning_rates({.rates = {1, -1}}),
                                  {.objective = Objective::mean}),
               "unsupported", "rates must be positive");
  EXPECT_ERROR((void)plan_optimal(workload, {.buffers = 65}), "invalid_argument",
               "buffers must be between 0 and 64, got 65");
}

TEST(Optimal, sensitivity_for_epochs_is_exact_at_every_horizon) {
  for (const auto& [n, k] : {std::pair{6, 2}, {6, 6}, {60, 4}, {60, 1}, {1200, 3}, {1200, 600}}) {
    const Participation epochs = Participation::fixed_epoch({.epochs = k, .epoch_length = n / k});
    for (const std::string name : {"optimal", "blt-scaled"}) {
      if (name == "blt-scaled" && n > 60) continue;  // its search takes long
      StrategyOptions options{.name = name, .steps = n};
      options.parameters.buffers = 3;
      const auto strategy = make_strategy(options);
      const Matrix encoder = strategy->encoder();
      double largest = 0;
      for (Eigen::Index s = 0; s < n / k; ++s) {
        Vector sum = Vector::Zero(n);
        for (Eigen::Index j = s; j < n; j += n / k) sum += encoder.col(j);
        largest = std::max(largest, sum.norm());
      }
      const Sensitivity found = sensitivity(*strategy, epochs);
      EXPECT_EQ(found.exactness, Exactness::exact);
      EXPECT_TRUE(relatively_close(found.value, largest, 1e-12)) << name << " " << n << " " << k;
    }
  }
}

}  // namespace
}  // namespace dpftrl
