// SPDX-License-Identifier: Apache-2.0
// The certified optimum for arbitrary matrices and for fixed epochs.
#include "dpftrl/optimal/dense_optimum.hpp"

#include <bit>
#include <numeric>
#include <random>

#include "catalogue.hpp"
#include "dense_algebra.hpp"
#include "dpftrl/analysis/planner.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "golden/one_dimension_golden.hpp"
#include "math/nuclear_norm.hpp"
#include "optimal/sign_gauge.hpp"
#include "strategy/dense.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using testing::relatively_close;

Matrix prefix(std::int64_t n) {
  return Workload::prefix_sums(n).matrix();
}

/// One row for every interval of columns.
Matrix all_ranges(Eigen::Index n) {
  Matrix f = Matrix::Zero(n * (n + 1) / 2, n);
  Eigen::Index row = 0;
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = i; j < n; ++j) f.row(row++).segment(i, j - i + 1).setOnes();
  return f;
}

/// All two-way marginals of d bits.
Matrix two_way_marginals(unsigned d) {
  Matrix f = Matrix::Zero(index_of(2 * d * (d - 1)), Eigen::Index{1} << d);
  Eigen::Index row = 0;
  for (unsigned i = 0; i < d; ++i)
    for (unsigned j = 0; j < i; ++j)
      for (unsigned value = 0; value < 4; ++value, ++row)
        for (Eigen::Index x = 0; x < f.cols(); ++x) {
          const auto bits = static_cast<unsigned>(x);
          f(row, x) = ((bits >> i & 1) * 2 + (bits >> j & 1)) == value ? 1 : 0;
        }
  return f;
}

/// Signs of the parities of w out of d bits.
Matrix parities(unsigned d, int w) {
  std::vector<unsigned> sets;
  for (unsigned set = 0; set < 1U << d; ++set)
    if (std::popcount(set) == w) sets.push_back(set);
  Matrix f(std::ssize(sets), Eigen::Index{1} << d);
  for (Eigen::Index i = 0; i < f.rows(); ++i)
    for (Eigen::Index x = 0; x < f.cols(); ++x) {
      const unsigned common = static_cast<unsigned>(x) & sets[static_cast<std::size_t>(i)];
      f(i, x) = std::popcount(common) % 2 == 1 ? -1 : 1;
    }
  return f;
}

Participation whole_epochs(std::int64_t n, std::int64_t k) {
  return Participation::fixed_epoch({.epochs = k, .epoch_length = n / k});
}

struct KnownDenseOptimum {
  const char* name;
  DenseOptimumProblem problem;
  double least_error;
  double digits;  ///< relative accuracy of the known number
};

DenseOptimumProblem mean_of(Matrix f, Participation participation = Participation::single()) {
  return {std::move(f), Objective::mean, participation};
}

/// Values from independent computations, gamma_F / sqrt(number of queries), or closed forms.
std::vector<KnownDenseOptimum> known_dense_optima() {
  const Matrix momentum = Workload::momentum({.steps = 64, .momentum = 0.9}).matrix();
  return {
      {"prefix sums, mean", mean_of(prefix(64)), 2.099856472225, 1e-12},
      {"prefix sums, max", {prefix(64)}, 2.111367, 3e-7},
      {"two steps", {prefix(2)}, 1.154700538379, 1e-12},
      {"one step", {prefix(1)}, 1, 1e-15},
      {"momentum", mean_of(momentum), 11.437990371328, 1e-12},
      {"ranges 8", mean_of(all_ranges(8)), 8.970188 / std::sqrt(36.0), 1e-7},
      {"ranges 16", mean_of(all_ranges(16)), 20.325850949881 / std::sqrt(136.0), 2e-13},
      {"ranges 32", mean_of(all_ranges(32)), 46.298345 / std::sqrt(528.0), 2e-8},
      {"marginals", mean_of(two_way_marginals(5)), 11.581139 / std::sqrt(40.0), 2e-8},
      {"marginals, max", {two_way_marginals(4)}, 1.569479216882, 1e-12},
      {"parities", mean_of(parities(6, 3)), std::sqrt(20.0), 1e-15},
      {"parities, max", {parities(4, 2)}, std::sqrt(6.0), 1e-15},
      {"identity", mean_of(Matrix::Identity(16, 16)), 1, 1e-15},
      {"2 epochs", mean_of(prefix(64), whole_epochs(64, 2)), 2.973025, 2e-7},
      {"4 epochs", mean_of(prefix(64), whole_epochs(64, 4)), 4.407853, 2e-7},
      {"8 epochs", mean_of(prefix(64), whole_epochs(64, 8)), 7.008548, 2e-7},
  };
}

TEST(DenseOptimum, known_answers_lie_between_the_bounds) {
  for (const KnownDenseOptimum& known : known_dense_optima()) {
    SCOPED_TRACE(known.name);
    const DenseOptimum optimum = find_dense_optimum(known.problem);
    EXPECT_EQ(optimum.status, SolverStatus::converged);
    EXPECT_LE(optimum.upper_bound / optimum.lower_bound, 1 + 1.1e-10);
    EXPECT_LE(optimum.lower_bound, known.least_error * (1 + known.digits));
    EXPECT_GE(optimum.upper_bound, known.least_error * (1 - known.digits));
  }
}

/// Error of an encoder by dense algebra: its sensitivity to a user's contributions, times the row
/// norms of its decoder.
double error_of_encoder(const DenseOptimumProblem& problem, const Matrix& encoder) {
  const testing::SingularSystem svd = testing::thin_svd(encoder);
  // Directions with singular values at rounding level are not measured.
  const Vector& values = svd.values;
  Vector inverse = Vector::Zero(values.size());
  for (Eigen::Index i = 0; i < values.size(); ++i)
    if (values(i) > 1e-9 * values(0)) inverse(i) = 1 / values(i);
  const Matrix decoder = problem.queries * svd.v * inverse.asDiagonal() * svd.u.transpose();
  EXPECT_LE((decoder * encoder - problem.queries).cwiseAbs().maxCoeff(),
            1e-9 * problem.queries.cwiseAbs().maxCoeff());
  const double sensitivity =
      gram_sensitivity(encoder.transpose() * encoder, problem.participation).value;
  const Vector rows = decoder.rowwise().squaredNorm();
  return sensitivity *
         std::sqrt(problem.objective == Objective::mean ? rows.mean() : rows.maxCoeff());
}

std::vector<DenseOptimumProblem> dense_problems() {
  std::vector<DenseOptimumProblem> all;
  for (const Objective objective : {Objective::mean, Objective::max}) {
    for (const std::int64_t n : {1, 2, 3, 7, 16, 33})
      for (const Matrix& f : {prefix(n), testing::rough_matrix(n)})
        all.push_back({f, objective, Participation::single()});
    for (const Matrix& f : {all_ranges(9), two_way_marginals(3), parities(4, 2)})
      all.push_back({f, objective, Participation::single()});
    for (const std::int64_t k : {2, 3, 12})
      for (const Matrix& f : {prefix(12), testing::rough_matrix(12)})
        all.push_back({f, objective, whole_epochs(12, k)});
  }
  return all;
}

TEST(DenseOptimum, certificates_are_verified_by_singular_values) {
  for (const DenseOptimumProblem& problem : dense_problems()) {
    const Matrix& f = problem.queries;
    SCOPED_TRACE(std::to_string(f.rows()) + " x " + std::to_string(f.cols()));
    const DenseOptimum optimum = find_dense_optimum(problem, {.gap = 1e-5, .max_iterations = 300});
    EXPECT_LE(optimum.lower_bound, optimum.upper_bound);
    // The lower bound is the scaled nuclear norm of D_u^(1/2) F Lambda^(1/2), and not above it.
    const Matrix& weights = optimum.column_weights;
    const Eigen::Map<const Vector> u(optimum.row_weights.data(), f.rows());
    const auto [squares, vectors] = testing::symmetric_eigen(weights);
    const Matrix root = vectors * squares.cwiseSqrt().asDiagonal() * vectors.transpose();
    const Matrix w = u.cwiseSqrt().asDiagonal() * f * root;
    const double nuclear = testing::singular_values(w).sum();
    const auto k =
        index_of(problem.participation.times_within(static_cast<std::int64_t>(f.cols())));
    const Eigen::Index b = f.cols() / k;
    double total = 0;
    for (Eigen::Index s = 0; s < b; ++s) {
      double largest = 0;
      for (Eigen::Index i = s; i < f.cols(); i += b) largest = std::max(largest, weights(i, i));
      total += largest;
      for (Eigen::Index i = 0; i < f.cols(); ++i)
        if (i % b != s) {
          EXPECT_EQ(weights(s, i), 0) << "only steps of one user";
        }
    }
    const double lower = nuclear / std::sqrt(u.sum() * total);
    EXPECT_LE(optimum.lower_bound, lower * (1 + 1e-14));
    EXPECT_GE(optimum.lower_bound, lower * (1 - 1e-6));
    // The upper bound is the error of the encoder, and not below it.
    const double error = error_of_encoder(problem, optimum.encoder);
    EXPECT_GE(optimum.upper_bound, error * (1 - 1e-12));
    EXPECT_LE(optimum.upper_bound, error * (1 + 1e-6));
  }
}

TEST(DenseOptimum, no_factorization_is_below_the_lower_bound) {
  const std::int64_t n = 12;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const Participation& participation :
       {Participation::single(), whole_epochs(n, 3), whole_epochs(n, 12)})
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const DenseOptimumProblem problem{prefix(n), objective, participation};
      const DenseOptimum optimum =
          find_dense_optimum(problem, {.gap = 1e-4, .max_iterations = 300});
      for (const char* name : {"square-root", "tree", "normalized-square-root", "independent"}) {
        const Matrix encoder = make_strategy({.name = name, .steps = n})->encoder();
        EXPECT_GE(error_of_encoder(problem, encoder), optimum.lower_bound) << name;
      }
      for (int i = 0; i < 20; ++i) {
        Matrix encoder = optimum.encoder;
        for (double& entry : encoder.reshaped()) entry += 1e-3 * normal(random);
        EXPECT_GE(error_of_encoder(problem, encoder), optimum.lower_bound);
      }
    }
}

/// Largest norm of a signed sum of a user's columns, which is the sensitivity for scalar records.
double sensitivity_to_signs(const Matrix& encoder, Eigen::Index epochs) {
  const Eigen::Index b = encoder.cols() / epochs;
  double largest = 0;
  for (Eigen::Index s = 0; s < b; ++s)
    for (unsigned code = 0; code < 1U << (epochs - 1); ++code) {
      Vector sum = encoder.col(s);
      for (Eigen::Index i = 1; i < epochs; ++i)
        sum += ((code >> (i - 1) & 1U) != 0 ? -1 : 1) * encoder.col(s + i * b);
      largest = std::max(largest, sum.norm());
    }
  return largest;
}

TEST(DenseOptimum, a_factorization_for_numbers_is_below_the_bound_for_vectors) {
  constexpr Eigen::Index n = testing::golden::kOneDimensionSteps;
  Matrix encoder(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j)
      encoder(i, j) = testing::golden::kOneDimensionEncoder[i][j];
  const Workload workload = Workload::prefix_sums(n);
  const Matrix decoder = workload.matrix() * testing::inverse(encoder);
  const double rows = decoder.rowwise().norm().maxCoeff();
  const double of_numbers = sensitivity_to_signs(encoder, 3) * rows;
  EXPECT_NEAR(of_numbers, testing::golden::kOneDimensionError, 3e-8);
  const Participation three = whole_epochs(n, 3);
  for (const auto& bound :
       {*certified_lower_bound(workload, three, Objective::max),
        *find_plan({.strategy = {.name = "optimal", .steps = n, .participation = three}})
             .lower_bound}) {
    EXPECT_LT(of_numbers, bound.value * (1 - 5e-6)) << "the bound is not one for numbers";
    EXPECT_EQ(bound.min_dimension, 2) << "and must say so";
    EXPECT_GE(of_numbers, bound.every_dimension);
    EXPECT_GT(bound.every_dimension, of_numbers * (1 - 1e-2)) << "and is close to the truth";
  }
  // For vector records, the same factorization has a larger sensitivity, and the bound holds.
  const double of_vectors =
      sensitivity(DenseStrategy(workload, {.name = "test", .encoder = encoder}), three).value;
  EXPECT_GE(of_vectors * rows, certified_lower_bound(workload, three, Objective::max)->value);
}

TEST(DenseOptimum, the_largest_error_over_epochs_is_found_beyond_the_gap_of_a_barrier) {
  // If the barrier decreased only with the gap, gaps of up to 6.3e-3 would remain.
  struct Case {
    std::int64_t steps, epochs;
    double gap;
  };
  for (const Case& each : {Case{64, 8, 6e-4}, Case{48, 6, 1e-4}, Case{90, 3, 1e-5}}) {
    const DenseOptimum found =
        find_dense_optimum({.queries = prefix(each.steps),
                            .objective = Objective::max,
                            .participation = whole_epochs(each.steps, each.epochs)},
                           {.gap = 1e-6, .max_iterations = 120});
    EXPECT_LE(found.upper_bound, found.lower_bound * (1 + each.gap)) << each.epochs;
  }
}

TEST(DenseOptimum, up_to_two_epochs_a_bound_is_one_for_numbers) {
  EXPECT_EQ(least_dimension_of_duals(1), 1);
  EXPECT_EQ(least_dimension_of_duals(2), 1);
  EXPECT_EQ(least_dimension_of_duals(3), 2);
  EXPECT_EQ(least_dimension_of_duals(5), 2);
  EXPECT_EQ(least_dimension_of_duals(6), 3);
  EXPECT_EQ(least_dimension_of_duals(10), 4);
  for (const std::int64_t k : {1, 2, 4, 8, 16}) {
    const auto bound =
        *certified_lower_bound(Workload::prefix_sums(32), whole_epochs(32, k), Objective::max);
    EXPECT_EQ(bound.min_dimension, least_dimension_of_duals(k)) << k;
    EXPECT_EQ(bound.every_dimension < bound.value, k > 2) << k;
    EXPECT_GE(bound.every_dimension, k <= kMaxSignedEpochs ? 0.95 * bound.value : 0) << k;
    EXPECT_GT(bound.every_dimension, 0) << k << ": the Schatten norm, if nothing else";
  }
}

TEST(DenseOptimum, the_gauge_of_signs) {
  using detail::sign_gauge;
  const Vector signs{{1, -1, 1, 1}};
  EXPECT_NEAR(sign_gauge(signs * signs.transpose()), 1, 1e-5);
  EXPECT_NEAR(sign_gauge(Matrix::Identity(5, 5)), 1, 1e-5);
  EXPECT_EQ(sign_gauge(Matrix{{2, 1}, {1, 3}}), 3);
  EXPECT_TRUE(std::isinf(sign_gauge(Matrix::Identity(kMaxSignedEpochs + 1, kMaxSignedEpochs + 1))));
  // For columns at 120 degrees, signs reach 4, and tr Lambda X = 4.5.
  const Matrix star{{1, -0.5, -0.5}, {-0.5, 1, -0.5}, {-0.5, -0.5, 1}};
  EXPECT_GE(sign_gauge(star), 4.5 / 4);
  EXPECT_LE(sign_gauge(star), 1.5 + 1e-12);
  // No X exceeds the gauge.
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const auto gram_of = [&](Eigen::Index k) {
    Matrix factor(k, k);
    for (double& entry : factor.reshaped()) entry = normal(random);
    return Matrix(factor.transpose() * factor);
  };
  for (int trial = 0; trial < 60; ++trial) {
    const Eigen::Index k = 3 + trial % 5;
    const Matrix lambda = gram_of(k), x = gram_of(k);
    const Matrix root = lower_triangular_encoder(testing::upper_cholesky(x));
    const double largest = sensitivity_to_signs(root, k);
    EXPECT_GE(sign_gauge(lambda) * largest * largest, (lambda * x).trace()) << k;
    EXPECT_GE(sign_gauge(lambda), lambda.diagonal().maxCoeff() * (1 - 1e-12)) << k;
  }
}

TEST(DenseOptimum, any_duals_give_bounds_its_own_the_bound_it_stated) {
  const Participation epochs = Participation::fixed_epoch({.epochs = 3, .epoch_length = 8});
  const Matrix a = Workload::momentum({.steps = 24, .momentum = 0.7}).matrix();
  for (const Objective objective : {Objective::mean, Objective::max})
    for (const Participation& participation : {Participation::single(), epochs}) {
      const DenseOptimumProblem problem{
          .queries = a, .objective = objective, .participation = participation};
      const DenseOptimum best = find_dense_optimum(problem, {.gap = 1e-4});
      const DenseDuals& duals = best.duals;
      EXPECT_EQ(dense_lower_bounds(problem, duals).value, best.lower_bound);
      EXPECT_EQ(dense_lower_bounds(problem, duals).every_dimension, best.every_dimension_bound);
      const auto bound_of = [&](std::vector<double> columns, std::vector<double> rows) {
        return dense_lower_bounds(problem, {std::move(columns), std::move(rows)}).value;
      };
      for (std::size_t j = 0; j < duals.columns.size(); j += 5)
        for (const double factor : {-3.0, 0.0, 0.5, 30.0, 1e200, 1e300}) {
          std::vector<double> columns = duals.columns, rows = duals.rows;
          columns[j] = (columns[j] == 0 ? 1 : columns[j]) * factor;
          EXPECT_LE(bound_of(columns, rows), best.upper_bound) << j << " " << factor;
          if (rows.empty()) continue;
          rows[j % rows.size()] *= factor;
          EXPECT_LE(bound_of(duals.columns, rows), best.upper_bound) << j << " " << factor;
        }
      std::vector<double> one = duals.columns;
      one[0] *= 1.5;
      EXPECT_LT(bound_of(one, duals.rows), best.lower_bound) << "and worse ones worse bounds";
      EXPECT_GT(bound_of(one, duals.rows), best.lower_bound * 0.8);
      EXPECT_EQ(bound_of(std::vector<double>(one.size(), 0.0), duals.rows), 0);
      one[0] = NAN;
      EXPECT_ERROR((void)bound_of(one, duals.rows), "invalid_argument", "duals.columns[0]");
      one.pop_back();
      EXPECT_ERROR((void)bound_of(one, duals.rows), "wrong_length", "duals.columns");
      const std::vector<double> other(objective == Objective::max ? 23 : 24, 1.0);
      EXPECT_ERROR((void)bound_of(duals.columns, other), "wrong_length", "duals.rows");
    }
}

TEST(DenseOptimum, agrees_with_the_solver_in_linear_time) {
  for (const Objective objective : {Objective::mean, Objective::max}) {
    const Optimum fast = find_optimum({.steps = 48, .objective = objective, .decay = 0.9}, {});
    const Matrix a = Workload::momentum({.steps = 48, .momentum = 0, .decay = 0.9}).matrix();
    const DenseOptimum dense = find_dense_optimum({a, objective});
    EXPECT_TRUE(relatively_close(dense.lower_bound, fast.lower_bound, 2e-10));
    EXPECT_TRUE(relatively_close(dense.upper_bound, fast.upper_bound, 2e-10));
  }
}

TEST(DenseOptimum, inactive_rows_do_not_keep_it_from_its_gap) {
  for (const double momentum : {0.9, 0.99}) {
    const Matrix a = Workload::momentum({.steps = 48, .momentum = momentum}).matrix();
    for (const Participation& participation : {Participation::single(), whole_epochs(48, 4)}) {
      const DenseOptimum optimum =
          find_dense_optimum({a, Objective::max, participation}, {.gap = 1e-4});
      EXPECT_EQ(optimum.status, SolverStatus::converged);
      EXPECT_LE(optimum.iterations, 80);
      EXPECT_LE(optimum.upper_bound / optimum.lower_bound, 1 + 1.1e-4);
      const auto [least, largest] = std::ranges::minmax(optimum.row_weights);
      EXPECT_LT(least, 1e-2 * largest) << "inactive";
    }
  }
}

TEST(DenseOptimum, columns_of_one_norm_make_the_error_the_least_to_second_order) {
  // Without columns of one norm, the gaps of the bound would be 1e-3 instead of 1e-6.
  for (const Matrix& f : {prefix(64), all_ranges(16), testing::rough_matrix(33)}) {
    const DenseOptimum optimum = find_dense_optimum(mean_of(f), {.gap = 1e-6});
    EXPECT_EQ(optimum.status, SolverStatus::converged);
    EXPECT_LE(optimum.iterations, 12);
    const Vector norms = optimum.encoder.colwise().norm();
    EXPECT_NEAR(norms.minCoeff(), 1, 1e-12);
    EXPECT_NEAR(error_of_encoder(mean_of(f), optimum.encoder) / optimum.upper_bound, 1, 1e-9);
  }
}

TEST(DenseOptimum, may_start_anywhere_and_ends_at_the_same_bounds) {
  const std::vector<double> uneven = {1, 5, 0.1, 2, 3, 0.5, 1, 1};
  for (const Objective objective : {Objective::mean, Objective::max}) {
    DenseOptimumProblem problem{.queries = prefix(8), .objective = objective};
    const DenseOptimum usual = find_dense_optimum(problem);
    problem.start = {.column_weights = uneven, .row_weights = uneven};
    const DenseOptimum other = find_dense_optimum(problem);
    EXPECT_EQ(other.status, SolverStatus::converged);
    EXPECT_TRUE(relatively_close(usual.lower_bound, other.lower_bound, 2e-10));
    std::vector<double> columns;
    for (const double weight : usual.column_weights.diagonal()) columns.push_back(weight);
    problem.start = {.column_weights = columns, .row_weights = usual.row_weights};
    EXPECT_LT(find_dense_optimum(problem).iterations, usual.iterations);
  }
}

TEST(DenseOptimum, is_multiplicative_over_products_and_scales_with_the_queries) {
  // gamma_F is multiplicative over Kronecker products.
  Matrix product = Matrix::Zero(32, 32);
  const Matrix a = prefix(4), b = prefix(8);
  for (Eigen::Index i = 0; i < 32; ++i)
    for (Eigen::Index j = 0; j < 32; ++j) product(i, j) = a(i / 8, j / 8) * b(i % 8, j % 8);
  const double of_product = find_dense_optimum(mean_of(product)).lower_bound;
  const double factors =
      find_dense_optimum(mean_of(a)).lower_bound * find_dense_optimum(mean_of(b)).lower_bound;
  EXPECT_TRUE(relatively_close(of_product, factors, 2e-10));
  for (const double scale : {1e-200, 3.0, 1e200}) {
    const DenseOptimum scaled = find_dense_optimum(mean_of(scale * a));
    EXPECT_TRUE(relatively_close(scaled.lower_bound / scale,
                                 find_dense_optimum(mean_of(a)).lower_bound, 2e-10));
  }
}

TEST(DenseOptimum, giving_up_does_not_look_like_convergence) {
  const DenseOptimumProblem problem = mean_of(prefix(40));
  const DenseOptimum early = find_dense_optimum(problem, {.max_iterations = 3});
  EXPECT_EQ(early.status, SolverStatus::not_converged);
  EXPECT_EQ(early.iterations, 3);
  EXPECT_LT(early.lower_bound, early.upper_bound);
  std::int64_t calls = 0;
  double last_gap = std::numeric_limits<double>::infinity();
  const auto progress = [&](const OptimumProgress& p) {
    EXPECT_LE(p.gap, last_gap) << "the best bounds never get worse";
    last_gap = p.gap;
    return ++calls < 5;
  };
  const DenseOptimum stopped = find_dense_optimum(problem, {.progress = progress});
  EXPECT_EQ(stopped.status, SolverStatus::stopped);
  EXPECT_EQ(stopped.iterations, 5);
  EXPECT_GE(stopped.upper_bound, stopped.lower_bound);
}

TEST(DenseOptimum, bad_problems_are_refused_by_name) {
  const auto solve = [](const DenseOptimumProblem& problem) {
    (void)find_dense_optimum(problem, {});
  };
  EXPECT_ERROR(solve({Matrix()}), "invalid_argument", "queries must have between 1");
  EXPECT_ERROR(solve({Matrix::Ones(1, 2049)}), "invalid_argument",
               "queries must have between 1 and 2048 columns, got 2049");
  EXPECT_ERROR(solve({Matrix::Constant(2, 2, NAN)}), "invalid_argument", "queries");
  EXPECT_ERROR(solve({Matrix(Vector{{1, 0}}.asDiagonal())}), "invalid_argument",
               "queries[1] must be a row that is not all 0");
  EXPECT_ERROR(solve({Matrix{{1, 0}, {1, 0}}}), "invalid_argument", "zeros in column 1");
  EXPECT_ERROR(solve({prefix(6), Objective::mean, whole_epochs(8, 2)}), "invalid_argument",
               "steps must be epochs * epoch_length = 8, got 6");
  EXPECT_ERROR(
      solve({prefix(6), Objective::mean, Participation::min_separation({.times = 2, .apart = 2})}),
      "unsupported", "got min-separation");
  EXPECT_ERROR(solve({Matrix::Identity(1026, 1026), Objective::mean, whole_epochs(1026, 2)}),
               "unsupported", "steps must be at most 1024 with fixed epochs, got 1026");
  EXPECT_ERROR((void)find_dense_optimum({prefix(2)}, {.gap = 0}), "invalid_argument", "gap");
  const auto solve_from = [&](DenseOptimumStart start, const Participation& participation) {
    solve({prefix(2), Objective::max, participation, std::move(start)});
  };
  EXPECT_ERROR(solve_from({{1, 1, 1}, {1, 1}}, Participation::single()), "wrong_length",
               "column_weights");
  EXPECT_ERROR(solve_from({{1, 1}, {}}, Participation::single()), "wrong_length", "row_weights");
  EXPECT_ERROR(solve_from({{1, 0}, {1, 1}}, Participation::single()), "invalid_argument",
               "column_weights must be positive");
  EXPECT_ERROR(solve_from({{1, 1}, {1, NAN}}, Participation::single()), "invalid_argument",
               "row_weights");
  EXPECT_ERROR(solve_from({{1, 1}, {1, 1}}, whole_epochs(2, 2)), "unsupported",
               "start cannot be given for more than one participation");
}

TEST(NuclearNorm, is_bounded_from_below_by_any_matrix_and_closely_by_the_polar_factor) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const auto random_matrix = [&](Eigen::Index rows, Eigen::Index columns) {
    Matrix matrix(rows, columns);
    for (double& entry : matrix.reshaped()) entry = normal(random);
    return matrix;
  };
  for (const Eigen::Index rank : {2, 5, 8}) {
    const Matrix w = random_matrix(12, rank) * random_matrix(rank, 8);
    const testing::SingularSystem svd = testing::thin_svd(w);
    const double nuclear = svd.values.sum();
    const Matrix magnitude = w.cwiseAbs();
    const detail::RoundedMatrix rounded{
        .values = w, .magnitude = magnitude, .relative_error = 0x1p-50};
    // If w lacks full rank, this is a partial isometry, whose Gram matrix is a projector.
    const Matrix polar = svd.u.leftCols(rank) * svd.v.leftCols(rank).transpose();
    const double bound = detail::nuclear_norm_bound(rounded, polar);
    EXPECT_LE(bound, nuclear);
    EXPECT_GE(bound, nuclear * (1 - 1e-12));
    for (const double size : {1e-3, 0.1, 10.0}) {
      const Matrix wrong = polar + size * random_matrix(12, 8);
      EXPECT_LE(detail::nuclear_norm_bound(rounded, wrong), nuclear);
      EXPECT_LE(detail::nuclear_norm_bound(rounded, 3 * polar), nuclear) << "its norm is seen";
    }
  }
}

}  // namespace
}  // namespace dpftrl
