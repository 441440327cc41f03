// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/query_mechanism.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "dense_algebra.hpp"
#include "golden/linear_queries_golden.hpp"
#include "queries/ranges.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using testing::relatively_close;

Matrix product(const QueryFactorization& factorization) {
  Matrix all(factorization.row_norms().size(), index_of(factorization.num_values()));
  std::vector<std::int64_t> unit(static_cast<std::size_t>(factorization.num_values()), 0);
  for (Eigen::Index v = 0; v < all.cols(); ++v) {
    unit[static_cast<std::size_t>(v)] = 1;
    const std::vector<std::int64_t> y = factorization.measure(unit);
    all.col(v) = factorization.decode(std::vector<double>(y.begin(), y.end()));
    unit[static_cast<std::size_t>(v)] = 0;
  }
  return all;
}

/// Options for every strategy, and for the optimum with both noises, neighbours and objectives.
std::vector<QueryFactorizationOptions> all_options() {
  std::vector<QueryFactorizationOptions> all = {{.strategy = QueryStrategy::identity},
                                                {.strategy = QueryStrategy::queries}};
  for (const QueryNoise noise : {QueryNoise::gaussian, QueryNoise::laplace})
    for (const Neighbours neighbours : {Neighbours::zero_out, Neighbours::replace_one})
      for (const Objective objective : {Objective::mean, Objective::max})
        all.push_back({.noise = noise, .neighbours = neighbours, .objective = objective});
  return all;
}

/// Error with noise scaled to the largest l1 norm of a column.
double l1_error(const QueryFactorization& found) {
  return found.unit_error * found.l1_sensitivity().add_remove / found.l2_sensitivity().add_remove;
}

/// Error by the objective, with noise scaled to the largest distance of two columns.
double replace_one_error(const QueryFactorization& found, bool is_l1 = false) {
  const Vector rows = found.row_norms(Neighbours::replace_one);
  const QuerySensitivity sensitivity = is_l1 ? found.l1_sensitivity() : found.l2_sensitivity();
  return sensitivity.replace_one *
         (found.objective == Objective::max
              ? rows.maxCoeff()
              : rows.norm() / std::sqrt(static_cast<double>(rows.size())));
}

struct KnownFactorization {
  const char* name;
  QueryWorkload workload;
  double gamma_mean;  ///< gamma_F
  double gamma_max;   ///< gamma_2; 0 if unknown
};

/// Values from independent computations and closed forms: parity |Q|, identity sqrt(m).
std::vector<KnownFactorization> known_factorizations() {
  const std::vector<QueryWorkload> prefixes = {QueryWorkload::prefix(4), QueryWorkload::prefix(8)};
  return {
      {"ranges 4", QueryWorkload::all_ranges(4), 4.0547364077028, 1.3827431691},
      {"ranges 8", QueryWorkload::all_ranges(8), 8.970188, 0},
      {"ranges 16", QueryWorkload::all_ranges(16), 20.325850949881, 1.9088286284},
      {"ranges 32", QueryWorkload::all_ranges(32), 46.298345, 0},
      {"identity 16", QueryWorkload::identity(16), 4, 1},
      {"parity 4 2", QueryWorkload::parities({.num_bits = 4, .order = 2}), 6, 2.44948974278318},
      {"parity 6 3", QueryWorkload::parities({.num_bits = 6, .order = 3}), 20, 4.47213595499959},
      {"parity <= 2 of 5",
       QueryWorkload::parities({.num_bits = 5, .order = 2, .with_lower_orders = true}), 16, 4},
      {"marginals 4", QueryWorkload::marginals({.attribute_sizes = {2, 2, 2, 2}, .order = 2}),
       7.68884648652934, 1.56947921688234},
      {"marginals 5", QueryWorkload::marginals({.attribute_sizes = {2, 2, 2, 2, 2}, .order = 2}),
       11.581139, 0},
      {"prefix 4", QueryWorkload::prefix(4), 2.62185890095970, 1.3261226670},
      {"prefix 4 x 8", QueryWorkload::kronecker(prefixes), 11.0821783707, 2.0030864886},
  };
}

TEST(QueryFactorization, known_optima) {
  for (const KnownFactorization& known : known_factorizations()) {
    const double m = static_cast<double>(known.workload.num_queries());
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const bool is_max = objective == Objective::max;
      if (is_max && known.gamma_max == 0) continue;
      const double expected = is_max ? known.gamma_max : known.gamma_mean / std::sqrt(m);
      const QueryFactorization found =
          factorize_queries(known.workload, {.objective = objective, .solver = {.gap = 1e-7}});
      EXPECT_LE(found.lower_bound, expected * (1 + 1e-6)) << known.name;
      EXPECT_GE(found.lower_bound, expected * (1 - 1e-6)) << known.name;
      // Rounding to integers of 24 bits, or of 18 for products, increases the error slightly.
      EXPECT_GE(found.unit_error, expected * (1 - 1e-6)) << known.name;
      EXPECT_LE(found.unit_error, expected * (1 + 3e-5)) << known.name;
    }
  }
}

QueryWorkload golden_workload(const std::string& name) {
  const std::vector<std::int64_t> bits(4, 2);
  const std::vector<QueryWorkload> prefixes = {QueryWorkload::prefix(4), QueryWorkload::prefix(8)};
  if (name == "all_ranges_4") return QueryWorkload::all_ranges(4);
  if (name == "all_ranges_16") return QueryWorkload::all_ranges(16);
  if (name == "identity_4") return QueryWorkload::identity(4);
  if (name == "identity_16") return QueryWorkload::identity(16);
  if (name == "parity_d4_w2") return QueryWorkload::parities({.num_bits = 4, .order = 2});
  if (name == "parity_d6_w3") return QueryWorkload::parities({.num_bits = 6, .order = 3});
  if (name == "parity_le_d5_w2")
    return QueryWorkload::parities({.num_bits = 5, .order = 2, .with_lower_orders = true});
  if (name == "marginals2_d4")
    return QueryWorkload::marginals({.attribute_sizes = bits, .order = 2});
  if (name == "prefix_4") return QueryWorkload::prefix(4);
  if (name == "prefix2d_4x8") return QueryWorkload::kronecker(prefixes);
  throw std::logic_error("no workload for " + name);
}

TEST(QueryFactorization, bounds_are_those_of_the_reference) {
  for (const golden::linear_queries::Optima& row : golden::linear_queries::optima) {
    const QueryWorkload workload = golden_workload(row.name);
    ASSERT_EQ(workload.num_queries(), row.rows) << row.name;
    ASSERT_EQ(workload.num_values(), row.cols) << row.name;
    const double root = std::sqrt(static_cast<double>(row.rows));
    const OptimumOptions solver{.gap = 1e-8};
    const double mean = factorize_queries(workload, {.solver = solver}).lower_bound * root;
    EXPECT_LE(mean, row.gammaF_upper * (1 + 1e-12)) << row.name;
    EXPECT_GE(mean, row.gammaF_lower * (1 - 1e-8)) << row.name;
    const double max =
        factorize_queries(workload, {.objective = Objective::max, .solver = {.gap = 1e-6}})
            .lower_bound;
    EXPECT_LE(max, row.gamma2_upper * (1 + 1e-12)) << row.name;
    EXPECT_GE(max, row.gamma2_lower * (1 - 2e-6)) << row.name;
    EXPECT_NEAR(schatten_query_bound(workload) * root / row.schatten_over_sqrt_cols, 1, 1e-11)
        << row.name;
  }
}

TEST(QueryFactorization, decoder_times_encoder_is_the_workload) {
  Matrix any(3, 4);
  any << 0.1, -2, 0, 1, 1, 1.0 / 3, 0, 0, 5, 0, 0, 1;
  std::vector<KnownFactorization> all = known_factorizations();
  all.push_back({"any, one value unasked", QueryWorkload::matrix(any), 0, 0});
  for (const KnownFactorization& known : all) {
    for (const QueryStrategy strategy :
         {QueryStrategy::optimal, QueryStrategy::identity, QueryStrategy::queries}) {
      const QueryFactorization found = factorize_queries(known.workload, {.strategy = strategy});
      const Matrix error = product(found) - known.workload.to_matrix();
      EXPECT_LE(error.cwiseAbs().maxCoeff(), 1e-10) << known.name;
      EXPECT_LE(found.lower_bound, found.unit_error) << known.name;
    }
  }
}

TEST(QueryFactorization, lemma_1_bounds_hold_and_any_proof_beats_no_optimum) {
  // ||F||_* / sqrt(m) <= gamma_F <= ||F||_F, here over sqrt(number of queries).
  for (const KnownFactorization& known : known_factorizations()) {
    const double optimum =
        known.gamma_mean / std::sqrt(static_cast<double>(known.workload.num_queries()));
    const Matrix f = known.workload.to_matrix();
    EXPECT_LE(schatten_query_bound(known.workload), optimum * (1 + 1e-7)) << known.name;
    EXPECT_GE(schatten_query_bound(known.workload), optimum * 0.9) << known.name;
    EXPECT_GE(f.norm() / std::sqrt(static_cast<double>(f.rows())), optimum * (1 - 1e-7))
        << known.name;
  }
  // The bound is tight if the Gram matrix and its root have constant diagonals.
  const QueryWorkload parity = QueryWorkload::parities({.num_bits = 6, .order = 3});
  EXPECT_NEAR(schatten_query_bound(parity) * std::sqrt(20), 20, 1e-12 * 20);
}

/// The queries as an explicit matrix.
QueryWorkload written_out(const QueryWorkload& workload) {
  return QueryWorkload::matrix(workload.to_matrix());
}

TEST(QueryFactorization, ranges_kept_as_prefixes_are_what_their_rows_are) {
  for (const std::int64_t m : {1, 2, 3, 7, 12}) {
    const QueryWorkload ranges = QueryWorkload::all_ranges(m);
    for (const QueryFactorizationOptions& options : all_options()) {
      const QueryFactorization found = factorize_queries(ranges, options);
      const QueryFactorization rows = factorize_queries(written_out(ranges), options);
      const bool is_replaced = options.neighbours == Neighbours::replace_one;
      const double bound = is_replaced ? found.replace_one_lower_bound : found.lower_bound;
      EXPECT_LE((product(found) - ranges.to_matrix()).cwiseAbs().maxCoeff(), 1e-10) << m;
      EXPECT_LE((found.decoder() * found.encoder().cast<double>() - ranges.to_matrix())
                    .cwiseAbs()
                    .maxCoeff(),
                1e-10);
      const Vector norms = found.decoder().rowwise().norm();
      EXPECT_LE((found.row_norms() - norms).cwiseAbs().maxCoeff(), 1e-9 * norms.maxCoeff());
      // Bounds hold for the explicit rows, and errors are no larger.
      EXPECT_LE(bound, is_replaced ? replace_one_error(rows) : rows.unit_error) << m;
      if (options.noise == QueryNoise::laplace) {
        EXPECT_LE(l1_error(found), l1_error(rows) * (1 + (is_replaced ? 1 : 1e-4))) << m;
      } else if (m > 1) {
        EXPECT_NEAR((is_replaced ? replace_one_error(found) : found.unit_error) /
                        (is_replaced ? replace_one_error(rows) : rows.unit_error),
                    1, 2e-4);
        EXPECT_NEAR(bound / (is_replaced ? rows.replace_one_lower_bound : rows.lower_bound), 1,
                    2e-4);
      }
    }
  }
}

TEST(QueryFactorization, products_with_ranges_answer_what_their_matrix_does) {
  const std::vector<QueryWorkload> parts = {QueryWorkload::all_ranges(3), QueryWorkload::prefix(2),
                                            QueryWorkload::all_ranges(4)};
  const QueryWorkload ranges = QueryWorkload::kronecker(parts);
  EXPECT_EQ(ranges.num_queries(), 6 * 2 * 10);
  const Matrix f = ranges.to_matrix();
  std::vector<double> h(24);
  for (std::size_t v = 0; v < h.size(); ++v) h[v] = static_cast<double>((7 * v + 3) % 11);
  const Vector counts = Eigen::Map<const Vector>(h.data(), 24);
  EXPECT_EQ(ranges.answers(h), Vector(f * counts));
  const QueryFactorization found = factorize_queries(ranges);
  EXPECT_EQ(found.factors.size(), 3U);
  EXPECT_LE((product(found) - f).cwiseAbs().maxCoeff(), 1e-10);
  const Matrix decoder = found.decoder();
  EXPECT_LE((found.row_norms() - decoder.rowwise().norm()).cwiseAbs().maxCoeff(),
            1e-12 * decoder.norm());
}

TEST(QueryFactorization, ranges_have_a_triangular_root_of_their_gram_matrix) {
  for (const std::int64_t m : {1, 2, 3, 8, 40}) {
    const Matrix f = QueryWorkload::all_ranges(m).to_matrix();
    const Matrix root = detail::range_root(m);
    const Matrix gram =
        f.transpose() * f * (static_cast<double>(m) / static_cast<double>(f.rows()));
    EXPECT_LE((root.transpose() * root - gram).cwiseAbs().maxCoeff(), 1e-14 * gram.maxCoeff()) << m;
  }
}

TEST(QueryFactorization, own_measurements_answer_all_queries_with_their_own_sensitivity) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  const auto random = [&](Eigen::Index rows, Eigen::Index columns) {
    return Matrix::NullaryExpr(rows, columns, [&] { return normal(generator); }).eval();
  };
  const Matrix f = random(5, 8);
  const QueryWorkload workload = QueryWorkload::matrix(f);
  // 13 measurements of 8 values; 5, the queries in another basis; 8.
  for (const Matrix& m : {random(13, 8), Matrix(random(5, 5) * f), random(8, 8)}) {
    const QueryFactorization found = factorize_queries(workload, {.own = {{.measure = m}}});
    EXPECT_LE((product(found) - f).cwiseAbs().maxCoeff(), 1e-9);
    const Matrix r = f * m.completeOrthogonalDecomposition().pseudoInverse();
    const double column = m.colwise().norm().maxCoeff();
    EXPECT_NEAR(found.unit_error / (column * r.norm() / std::sqrt(5.0)), 1, 1e-5);
    EXPECT_LE(found.lower_bound, found.unit_error);
    // The sensitivity is that of the integer M, with any rows that were added to it.
    const Matrix integers = found.encoder().cast<double>();
    EXPECT_TRUE(relatively_close(found.l2_sensitivity().add_remove,
                                 integers.colwise().norm().maxCoeff(), 1e-12));
    EXPECT_TRUE(relatively_close(integers.row(0).norm() / integers.colwise().norm().maxCoeff(),
                                 m.row(0).norm() / column, 1e-6));
    // Any R with R M = F decodes, even one with a larger error.
    Matrix other = r;
    if (m.rows() == 13) {
      const Matrix kernel =
          Matrix::Identity(13, 13) - m * m.completeOrthogonalDecomposition().pseudoInverse();
      other += random(5, 13) * kernel;
    }
    const QueryFactorization decoded =
        factorize_queries(workload, {.own = {{.measure = m, .reconstruct = other}}});
    EXPECT_LE((product(decoded) - f).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_TRUE(relatively_close(decoded.unit_error, column * other.norm() / std::sqrt(5.0), 2e-6));
  }
}

TEST(QueryFactorization, exact_measurements_of_ones_own_are_made_as_they_are) {
  const Matrix m = (Matrix(3, 4) << 1, 0, 1, 0, 0, 1, 0, 1, 0.5, 0.5, -0.5, -0.5).finished();
  const Matrix r = (Matrix(2, 3) << 1, 1, 0, 1, -1, 0).finished();
  const QueryWorkload workload = QueryWorkload::matrix(r * m);
  const QueryFactorization found =
      factorize_queries(workload, {.own = {{.measure = m, .reconstruct = r}}});
  EXPECT_EQ(found.num_measurements(), 3);
  const Matrix integers = found.encoder().cast<double>();
  EXPECT_EQ(integers, integers(0, 0) * m);
}

TEST(QueryFactorization, own_measurements_that_do_not_answer_are_refused) {
  const QueryWorkload workload = QueryWorkload::prefix(3);
  const auto with = [&](Matrix m, std::optional<Matrix> r = {}) {
    (void)factorize_queries(workload,
                            {.own = {{.measure = std::move(m), .reconstruct = std::move(r)}}});
  };
  const Matrix one = Matrix::Identity(3, 3);
  Matrix bad = one;
  bad(1, 2) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(with(Matrix::Ones(3, 2)), "wrong_length", "measure");
  EXPECT_ERROR(with(bad), "invalid_argument", "measure");
  EXPECT_ERROR(with(Matrix::Zero(3, 3)), "invalid_argument", "measure");
  EXPECT_ERROR(with(one.topRows(2)), "invalid_argument", "some R has R M = F");
  EXPECT_ERROR(with(one, one), "invalid_argument",
               "reconstruct must be such that R M is F, got 0 for 1 in row 2, column 1");
  EXPECT_ERROR(with(one, Matrix(one.topRows(2))), "wrong_length", "reconstruct");
  EXPECT_ERROR(with(one, Matrix::Ones(3, 2)), "wrong_length", "reconstruct");
  EXPECT_ERROR(with(one, bad), "invalid_argument", "reconstruct");
}

TEST(QueryFactorization, ranges_of_many_values_need_no_rows) {
  const QueryFactorization found = factorize_queries(QueryWorkload::all_ranges(400));
  EXPECT_LE(found.lower_bound, found.unit_error);
  EXPECT_GE(found.lower_bound, found.unit_error * (1 - 3e-6));
  EXPECT_EQ(found.row_norms().size(), 400 * 401 / 2);
  std::vector<double> y(400);
  std::vector<std::int64_t> h(400);
  for (std::size_t v = 0; v < h.size(); ++v) h[v] = static_cast<std::int64_t>(v % 7);
  const std::vector<std::int64_t> measured = found.measure(h);
  const Vector answers = found.decode(std::vector<double>(measured.begin(), measured.end()));
  const Vector truth =
      QueryWorkload::all_ranges(400).answers(std::vector<double>(h.begin(), h.end()));
  EXPECT_LE((answers - truth).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_ERROR(
      (void)factorize_queries(QueryWorkload::all_ranges(400), {.objective = Objective::max}),
      "unsupported", "at most 361 values for the max objective of all ranges, got 400");
  EXPECT_ERROR(
      (void)factorize_queries(QueryWorkload::all_ranges(400), {.strategy = QueryStrategy::queries}),
      "unsupported",
      "at most 2048 queries a factor, if they are measured by themselves, got 80200");
  const QueryWorkload most = QueryWorkload::all_ranges(2048);
  EXPECT_EQ(most.num_queries(), 2098176);
  EXPECT_EQ(most.label(0), "0..0");
  EXPECT_EQ(most.label(2048), "1..1");
  EXPECT_EQ(most.label(2098175), "2047..2047");
}

TEST(QueryFactorization, lemma_45_no_more_measurements_than_values) {
  for (const KnownFactorization& known : known_factorizations()) {
    const QueryFactorization found = factorize_queries(known.workload);
    for (std::size_t i = 0; i < found.factors.size(); ++i) {
      const Matrix& f = known.workload.factors()[i].queries;
      // If F lacks full rank, at most one further measurement per column restores what rounding
      // took out of its row space.
      const Eigen::Index rank = testing::rank_of(f);
      EXPECT_LE(found.factors[i].encoder.rows(), rank == f.cols() ? rank : rank + f.cols())
          << known.name;
    }
  }
}

TEST(QueryFactorization, lemma_48_a_diagonal_workload_costs_its_frobenius_norm) {
  const Vector diagonal = (Vector(5) << 1, 2, 0.5, 7, 3).finished();
  const QueryWorkload workload = QueryWorkload::matrix(diagonal.asDiagonal());
  const QueryFactorization found = factorize_queries(workload, {.solver = {.gap = 1e-8}});
  EXPECT_NEAR(found.lower_bound * std::sqrt(5), diagonal.norm(), 1e-7 * diagonal.norm());
}

TEST(QueryFactorization, many_columns_are_cheap_where_the_optimum_is_known) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0.5, 2);
  Vector diagonal(1024);
  for (double& entry : diagonal) entry = uniform(random);
  const QueryFactorization counts = factorize_queries(QueryWorkload::matrix(diagonal.asDiagonal()));
  EXPECT_NEAR(counts.lower_bound / (diagonal.norm() / 32), 1, 1e-9);
  EXPECT_NEAR(counts.unit_error, diagonal.norm() / 32, 1e-12);
  EXPECT_EQ(counts.factors[0].encoder, IntegerMatrix::Identity(1024, 1024) * (1 << 24));
  // Parities of 4 of 10 bits are orthogonal rows, so measuring them directly is optimal.
  const QueryWorkload parities = QueryWorkload::parities({.num_bits = 10, .order = 4});
  const QueryFactorization signs = factorize_queries(parities, {.objective = Objective::max});
  EXPECT_NEAR(signs.lower_bound / std::sqrt(210), 1, 1e-9);
  EXPECT_NEAR(signs.unit_error, std::sqrt(210), 1e-11);
  EXPECT_EQ(signs.num_measurements(), 210);
  // Prefix sums in linear time, compared with the values of the reference.
  const QueryFactorization mean = factorize_queries(QueryWorkload::prefix(64));
  EXPECT_NEAR(mean.lower_bound / 2.099856472225, 1, 1e-6);
  EXPECT_NEAR(mean.unit_error / 2.099856472225, 1, 1e-6);
  const QueryFactorization max =
      factorize_queries(QueryWorkload::prefix(512), {.objective = Objective::max});
  EXPECT_NEAR(max.lower_bound / 2.746433332077, 1, 1e-6);
  EXPECT_NEAR(max.unit_error / 2.746433332077, 1, 1e-6);
  const Matrix product = max.decoder() * max.encoder().cast<double>();
  EXPECT_LE((product - QueryWorkload::prefix(512).to_matrix()).cwiseAbs().maxCoeff(), 1e-10);
}

TEST(QueryFactorization, values_that_are_alike_for_all_queries_are_measured_as_one) {
  // 2000 values of three kinds, and some that no query covers.
  Matrix f = Matrix::Zero(3, 2000);
  for (Eigen::Index v = 0; v < 2000; ++v)
    if (v % 7 != 0) f.col(v) << 1, v < 900 ? 1 : 0, v % 3 == 0 ? 2 : 0;
  const std::vector<Eigen::Index> kinds = {1, 3, 901, 906};
  for (QueryFactorizationOptions options : all_options()) {
    if (options.strategy != QueryStrategy::optimal) continue;
    const QueryFactorization found = factorize_queries(QueryWorkload::matrix(f), options);
    const IntegerMatrix& m = found.factors[0].encoder;
    for (Eigen::Index v = 0; v < 2000; v += 3)
      for (Eigen::Index w = 0; w < v; w += 13)
        ASSERT_EQ(m.col(v) == m.col(w), f.col(v) == f.col(w));
    EXPECT_LE((found.decoder() * m.cast<double>() - f).cwiseAbs().maxCoeff(), 1e-10);
    if (options.neighbours == Neighbours::replace_one) continue;
    EXPECT_EQ(m.col(7).cwiseAbs().maxCoeff(), 0);
    // The optimum is that for one value of each kind.
    const QueryFactorization few =
        factorize_queries(QueryWorkload::matrix(f(Eigen::all, kinds)), options);
    EXPECT_NEAR(found.lower_bound / few.lower_bound, 1, 1e-5);
    EXPECT_NEAR(found.unit_error / few.unit_error, 1, 1e-4);
  }
}

TEST(QueryFactorization, closed_forms_are_not_taken_for_workloads_that_look_like_them) {
  // The longest column is orthogonal to all others, which are not orthogonal to each other.
  Matrix columns = Matrix::Zero(7, 7);
  columns(0, 0) = 5;
  columns.bottomRightCorner(6, 6) = QueryWorkload::prefix(6).to_matrix();
  // Rows and columns of equal norm that are not orthogonal.
  const Matrix rows = Matrix{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}};
  // Prefix sums except for one entry.
  Matrix nearly = QueryWorkload::prefix(6).to_matrix();
  nearly(3, 1) = 1 + 0x1p-10;
  for (const Matrix& f : {columns, rows, nearly}) {
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const QueryFactorization found =
          factorize_queries(QueryWorkload::matrix(f), {.objective = objective});
      EXPECT_LE(found.lower_bound, found.unit_error);
      EXPECT_GE(found.lower_bound, found.unit_error * (1 - 3e-6));
      EXPECT_LE((product(found) - f).cwiseAbs().maxCoeff(), 1e-10);
      for (const QueryStrategy strategy : {QueryStrategy::identity, QueryStrategy::queries}) {
        const QueryFactorization plain = factorize_queries(
            QueryWorkload::matrix(f), {.strategy = strategy, .objective = objective});
        EXPECT_LE(found.lower_bound, plain.unit_error);
        EXPECT_LE(plain.lower_bound, found.unit_error * (1 + 1e-12));
      }
    }
  }
}

TEST(QueryFactorization, optimal_is_not_worse_than_what_people_do) {
  for (const KnownFactorization& known : known_factorizations()) {
    const double optimal = factorize_queries(known.workload).unit_error;
    for (const QueryStrategy strategy : {QueryStrategy::identity, QueryStrategy::queries})
      EXPECT_LE(optimal,
                factorize_queries(known.workload, {.strategy = strategy}).unit_error * (1 + 3e-5))
          << known.name;
  }
}

TEST(QueryFactorization, what_is_measured_for_laplace_noise_is_the_best_of_what_is_known) {
  std::vector<KnownFactorization> all = known_factorizations();
  all.push_back({"prefix 64", QueryWorkload::prefix(64), 0, 0});
  Matrix any(3, 4);
  any << 0.1, -2, 0, 1, 1, 1.0 / 3, 0, 0, 5, 0, 0, 1;
  all.push_back({"any, one value unasked", QueryWorkload::matrix(any), 0, 0});
  for (const KnownFactorization& known : all) {
    for (const Objective objective : {Objective::mean, Objective::max}) {
      QueryFactorizationOptions options{.objective = objective};
      double least = l1_error(factorize_queries(known.workload, options));
      for (const QueryStrategy strategy : {QueryStrategy::identity, QueryStrategy::queries}) {
        options.strategy = strategy;
        least = std::min(least, l1_error(factorize_queries(known.workload, options)));
      }
      const QueryFactorization found =
          factorize_queries(known.workload, {.noise = QueryNoise::laplace, .objective = objective});
      EXPECT_LE(l1_error(found), least * (1 + 1e-4)) << known.name;
      EXPECT_GE(l1_error(found), found.lower_bound) << known.name;
      const Matrix error = product(found) - known.workload.to_matrix();
      EXPECT_LE(error.cwiseAbs().maxCoeff(), 1e-10) << known.name;
      // With many counts, sums of neighbouring values reduce the error.
      if (known.workload.num_queries() == 64) {
        EXPECT_LE(l1_error(found), 0.8 * least);
      }
    }
  }
}

TEST(QueryFactorization, prefixes_for_laplace_noise_have_the_errors_of_the_documents) {
  const std::array<std::array<double, 3>, 3> known = {
      {{16, 2.92, 2.91}, {64, 5.70, 4.20}, {256, 11.34, 5.97}}};
  for (const auto& [size, of_counts, least] : known) {
    const QueryWorkload workload = QueryWorkload::prefix(static_cast<std::int64_t>(size));
    const auto error_of = [&](QueryStrategy strategy) {
      return l1_error(
          factorize_queries(workload, {.strategy = strategy, .noise = QueryNoise::laplace}));
    };
    EXPECT_NEAR(error_of(QueryStrategy::identity), of_counts, 0.0051);
    EXPECT_NEAR(error_of(QueryStrategy::optimal), least, 0.0051);
  }
}

TEST(QueryFactorizer, in_pieces_it_is_the_same) {
  const std::vector<QueryWorkload> parts = {QueryWorkload::prefix(4), QueryWorkload::all_ranges(9)};
  const QueryFactorizationOptions options{.objective = Objective::max};
  QueryFactorizer factorizer(QueryWorkload::kronecker(parts), options);
  double last = 0;
  std::int64_t pieces = 1;
  for (; factorizer.advance(); ++pieces) {
    EXPECT_GE(factorizer.progress().fraction, last);
    last = factorizer.progress().fraction;
  }
  EXPECT_GT(pieces, 10);
  EXPECT_EQ(factorizer.progress().fraction, 1);
  const QueryFactorization found = factorizer.result();
  const QueryFactorization whole = factorize_queries(QueryWorkload::kronecker(parts), options);
  EXPECT_EQ(found.lower_bound, whole.lower_bound);
  EXPECT_EQ(found.encoder(), whole.encoder());
  EXPECT_EQ(found.decoder(), whole.decoder());
  const Matrix f = QueryWorkload::kronecker(parts).to_matrix();
  EXPECT_LE((found.decoder() * found.encoder().cast<double>() - f).cwiseAbs().maxCoeff(), 1e-10);
}

/// Largest l2 and l1 distances between the measurements of any neighbouring histograms.
std::array<double, 4> brute_force_errors(const QueryFactorization& factorization) {
  const auto m = static_cast<std::size_t>(factorization.num_values());
  std::array<double, 4> largest{};
  const auto compare = [&](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                           std::size_t place) {
    const std::vector<std::int64_t> y = factorization.measure(a), z = factorization.measure(b);
    double squares = 0, sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double d = static_cast<double>(y[i] - z[i]);
      squares += d * d;
      sum += std::abs(d);
    }
    largest[place] = std::max(largest[place], std::sqrt(squares));
    largest[place + 1] = std::max(largest[place + 1], sum);
  };
  std::size_t num_histograms = 1;
  for (std::size_t v = 0; v < m; ++v) num_histograms *= 3;
  for (std::size_t code = 0; code < num_histograms; ++code) {
    std::vector<std::int64_t> h(m);
    for (std::size_t v = 0, rest = code; v < m; ++v, rest /= 3)
      h[v] = static_cast<std::int64_t>(rest % 3);
    for (std::size_t v = 0; v < m; ++v) {
      if (h[v] == 0) continue;
      std::vector<std::int64_t> other = h;
      --other[v];
      compare(h, other, 0);
      for (std::size_t w = 0; w < m; ++w) {
        ++other[w];
        compare(h, other, 2);
        --other[w];
      }
    }
  }
  return largest;
}

TEST(QueryFactorization, sensitivity_is_that_of_all_neighbouring_histograms) {
  Matrix any(3, 4);
  any << 0.1, -2, 0, 1, 1, 1.0 / 3, 0, 0, 5, 0, 0, 1;
  const std::vector<QueryWorkload> pair = {QueryWorkload::prefix(2), QueryWorkload::prefix(2)};
  const std::vector<QueryWorkload> workloads = {
      QueryWorkload::prefix(4), QueryWorkload::all_ranges(4), QueryWorkload::matrix(any),
      QueryWorkload::parities({.num_bits = 2, .order = 1}), QueryWorkload::kronecker(pair)};
  for (const QueryWorkload& workload : workloads) {
    for (const QueryFactorizationOptions& options : all_options()) {
      const QueryFactorization found = factorize_queries(workload, options);
      const std::array<double, 4> brute = brute_force_errors(found);
      const QuerySensitivity l2 = found.l2_sensitivity(), l1 = found.l1_sensitivity();
      const std::array<double, 4> claimed = {l2.add_remove, l1.add_remove, l2.replace_one,
                                             l1.replace_one};
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_GE(claimed[i], brute[i]);
        EXPECT_LE(claimed[i], brute[i] * (1 + 1e-9));
      }
      // The test detects a claim that is too small.
      EXPECT_LT(l2.replace_one * (1 - 1e-8), brute[2]);
      EXPECT_LE(l2.replace_one, l2.textbook);
      EXPECT_LE(l1.replace_one, l1.textbook);
    }
  }
}

TEST(QueryFactorization, the_bound_for_replace_one_holds_for_others_too) {
  // Tests factorizations of F, and of F minus a constant in each row, which the number of records
  // restores.
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const KnownFactorization& known : known_factorizations()) {
    const Matrix f = known.workload.to_matrix();
    if (f.cols() > 16) continue;
    const double bound = factorize_queries(known.workload).replace_one_lower_bound;
    EXPECT_GT(bound, 0) << known.name;
    const auto error_of = [&](const QueryWorkload& workload, const QueryFactorization& found) {
      const QuerySensitivity l2 = found.l2_sensitivity();
      EXPECT_EQ(workload.num_queries(), f.rows());
      return found.unit_error * l2.replace_one / l2.add_remove;
    };
    double least = error_of(known.workload, factorize_queries(known.workload));
    EXPECT_LE(least, 2 * bound) << known.name;
    for (int trial = 0; trial < 20; ++trial) {
      // Constants near those that centre the rows.
      Matrix moved = f;
      for (Eigen::Index i = 0; i < f.rows(); ++i)
        moved.row(i).array() -= f.row(i).mean() * (trial == 0 ? 1 : 1 + 0.2 * normal(random));
      if (moved.rowwise().norm().minCoeff() == 0) continue;
      const QueryWorkload workload = QueryWorkload::matrix(moved);
      for (const QueryStrategy strategy : {QueryStrategy::optimal, QueryStrategy::queries})
        least = std::min(least,
                         error_of(workload, factorize_queries(workload, {.strategy = strategy})));
    }
    EXPECT_LE(bound, least * (1 + 1e-9)) << known.name;
  }
  // For the identity, the bound reaches the error of simplices.
  const QueryFactorization identity = factorize_queries(QueryWorkload::identity(8));
  EXPECT_NEAR(identity.replace_one_lower_bound, std::sqrt(2 * 7.0 / 8), 1e-5);
}

/// Error of measuring with any M: R = F M^+ on differences of columns.
double replace_one_error(const Matrix& f, const Matrix& m, Objective objective) {
  const Matrix centred_f = f.colwise() - f.rowwise().mean();
  const Matrix centred_m = m.colwise() - m.rowwise().mean();
  const Matrix decoder = centred_f * testing::pseudo_inverse(centred_m);
  if ((decoder * centred_m - centred_f).cwiseAbs().maxCoeff() > 1e-9)
    return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (Eigen::Index i = 0; i < m.cols(); ++i)
    for (Eigen::Index j = 0; j < i; ++j) largest = std::max(largest, (m.col(i) - m.col(j)).norm());
  return largest * (objective == Objective::max
                        ? decoder.rowwise().norm().maxCoeff()
                        : decoder.norm() / std::sqrt(static_cast<double>(f.rows())));
}

std::vector<KnownFactorization> asked_with_a_public_total() {
  std::vector<KnownFactorization> all = known_factorizations();
  Matrix any(3, 4);
  any << 0.1, -2, 0, 1, 1, 1.0 / 3, 0, 0, 5, 0, 0, 1;
  all.push_back({"any, one value unasked", QueryWorkload::matrix(any), 0, 0});
  all.push_back({"two kinds of columns",
                 QueryWorkload::matrix(Matrix{{1, 0, 1, 0, 0}, {3, 1, 3, 1, 1}}), 0, 0});
  all.push_back({"two values", QueryWorkload::prefix(2), 0, 0});
  all.push_back({"nearly alike", QueryWorkload::matrix(Matrix{{1000, 1001, 1000.5}}), 0, 0});
  return all;
}

TEST(QueryFactorization, the_optimum_for_replace_one_is_met_by_what_is_measured) {
  for (const KnownFactorization& known : asked_with_a_public_total()) {
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const QueryFactorizationOptions options{.neighbours = Neighbours::replace_one,
                                              .objective = objective};
      const QueryFactorization found = factorize_queries(known.workload, options);
      const double error = replace_one_error(found);
      EXPECT_GE(error, found.replace_one_lower_bound) << known.name;
      EXPECT_LE(error, found.replace_one_lower_bound * (1 + 1.2e-4)) << known.name;
      // F = R M, where M has a row for the number of records; a query for that number alone is
      // exact.
      const Matrix f = known.workload.to_matrix();
      const Matrix rest = product(found) - f;
      EXPECT_LE(rest.cwiseAbs().maxCoeff(), 1e-10 * f.cwiseAbs().maxCoeff()) << known.name;
      const std::vector<bool> is_public = found.public_measurements();
      EXPECT_EQ(std::count(is_public.begin(), is_public.end(), true), 1) << known.name;
      const Vector rows = found.row_norms(Neighbours::replace_one);
      for (Eigen::Index i = 0; i < f.rows(); ++i)
        EXPECT_EQ(rows(i) == 0, (f.row(i).array() == f(i, 0)).all()) << known.name;
      const QueryFactorization other = factorize_queries(known.workload, {.objective = objective});
      EXPECT_LE(error, replace_one_error(other) * (1 + 1.2e-4)) << known.name;
      EXPECT_LE(other.replace_one_lower_bound, error) << known.name;
      EXPECT_LE(found.lower_bound, other.unit_error) << known.name;
    }
  }
}

TEST(QueryFactorization, nothing_that_can_be_measured_beats_the_bound_for_replace_one) {
  std::mt19937_64 random(19);
  std::normal_distribution<double> normal;
  for (const KnownFactorization& known : asked_with_a_public_total()) {
    if (known.workload.num_values() > 8) continue;
    const Matrix f = known.workload.to_matrix();
    for (const Objective objective : {Objective::mean, Objective::max}) {
      const QueryFactorizationOptions options{.neighbours = Neighbours::replace_one,
                                              .objective = objective};
      const QueryFactorization found = factorize_queries(known.workload, options);
      const Matrix best = found.encoder().cast<double>();
      double least = replace_one_error(f, best, objective);
      EXPECT_NEAR(least / replace_one_error(found), 1, 1e-9) << known.name;
      for (int trial = 0; trial < 300; ++trial) {
        // Perturbs the optimum by small and large amounts, and shifts columns, which changes
        // nothing.
        const double size = std::pow(10.0, -trial % 7) * best.norm();
        Matrix m = best;
        for (double& entry : m.reshaped()) entry += size * normal(random);
        least = std::min(least, replace_one_error(f, m, objective));
      }
      EXPECT_GE(least, found.replace_one_lower_bound) << known.name;
      // The bound is tight: it rejects slightly smaller errors.
      EXPECT_LT(least * (1 - 2e-4), found.replace_one_lower_bound) << known.name;
    }
  }
}

TEST(QueryFactorization, the_optimum_for_replace_one_has_known_values) {
  const auto bound_of = [](const QueryWorkload& workload, Objective objective) {
    return factorize_queries(workload,
                             {.neighbours = Neighbours::replace_one, .objective = objective})
        .replace_one_lower_bound;
  };
  for (const Objective objective : {Objective::mean, Objective::max}) {
    // Simplices have the squared error 2 (m - 1) / m.
    for (const double m : {2.0, 3.0, 7.0, 16.0})
      EXPECT_NEAR(bound_of(QueryWorkload::identity(static_cast<std::int64_t>(m)), objective),
                  std::sqrt(2 * (m - 1) / m), 1e-4);
    // The error of a single query is its range.
    const QueryWorkload one = QueryWorkload::matrix(Matrix{{3, -1, 7, 6.5}});
    EXPECT_NEAR(bound_of(one, objective), 8, 8e-4);
  }
  // Prefix sums of two values are the first count and the number of records.
  EXPECT_NEAR(bound_of(QueryWorkload::prefix(2), Objective::mean), std::sqrt(0.5), 1e-4);
  EXPECT_NEAR(bound_of(QueryWorkload::prefix(2), Objective::max), 1, 1e-4);
}

TEST(QueryFactorization, laplace_noise_for_replace_one_is_no_worse_than_the_usual_measurements) {
  for (const KnownFactorization& known : asked_with_a_public_total()) {
    for (const Objective objective : {Objective::mean, Objective::max}) {
      QueryFactorizationOptions options{.noise = QueryNoise::laplace,
                                        .neighbours = Neighbours::replace_one,
                                        .objective = objective};
      const QueryFactorization found = factorize_queries(known.workload, options);
      const double error = replace_one_error(found, true);
      EXPECT_GE(error, found.replace_one_lower_bound * (1 - 1e-12)) << known.name;
      EXPECT_LE((product(found) - known.workload.to_matrix()).cwiseAbs().maxCoeff(), 1e-9)
          << known.name;
      for (const QueryStrategy strategy : {QueryStrategy::identity, QueryStrategy::queries}) {
        options.strategy = strategy;
        EXPECT_LE(error,
                  replace_one_error(factorize_queries(known.workload, options), true) * (1 + 1e-4))
            << known.name;
      }
    }
  }
}

TEST(QueryFactorization, errors_for_replace_one_are_those_of_the_documents) {
  const auto errors_of = [](const QueryWorkload& workload, Objective objective) {
    QueryFactorizationOptions options{.objective = objective};
    const double before = replace_one_error(factorize_queries(workload, options));
    options.neighbours = Neighbours::replace_one;
    return std::array<double, 2>{before, replace_one_error(factorize_queries(workload, options))};
  };
  const auto near = [](const std::array<double, 2>& found, double before, double own) {
    EXPECT_NEAR(found[0], before, 0.0051);
    EXPECT_NEAR(found[1], own, 0.0051);
  };
  near(errors_of(QueryWorkload::prefix(8), Objective::mean), 2.03, 1.48);
  near(errors_of(QueryWorkload::prefix(64), Objective::mean), 2.96, 2.46);
  near(errors_of(QueryWorkload::all_ranges(8), Objective::mean), 2.09, 1.64);
  near(errors_of(QueryWorkload::all_ranges(32), Objective::mean), 2.85, 2.48);
  near(errors_of(QueryWorkload::identity(8), Objective::mean), 1.41, 1.32);
  near(errors_of(QueryWorkload::prefix(64), Objective::max), 2.95, 2.48);
  near(errors_of(QueryWorkload::all_ranges(32), Objective::max), 3.10, 2.73);
}

TEST(QueryFactorization, ratios_for_replace_one_are_those_of_the_documents) {
  const auto ratio_of = [](const QueryWorkload& workload) {
    const QueryFactorization found = factorize_queries(workload);
    const QuerySensitivity l2 = found.l2_sensitivity();
    return found.unit_error * l2.replace_one / l2.add_remove / found.replace_one_lower_bound;
  };
  EXPECT_NEAR(ratio_of(QueryWorkload::identity(8)), 1.07, 0.0051);
  EXPECT_NEAR(ratio_of(QueryWorkload::marginals({.attribute_sizes = {2, 2, 2, 2, 2}, .order = 2})),
              1.16, 0.0051);
  EXPECT_NEAR(ratio_of(QueryWorkload::all_ranges(32)), 1.3, 0.051);
  EXPECT_NEAR(ratio_of(QueryWorkload::prefix(8)), 1.8, 0.051);
}

TEST(QueryFactorization, pairs_of_columns_beat_the_textbook_bound) {
  const auto ratio_of = [](const QueryWorkload& workload) {
    const QuerySensitivity found =
        factorize_queries(workload, {.strategy = QueryStrategy::queries}).l2_sensitivity();
    return std::array<double, 2>{found.replace_one / found.add_remove,
                                 found.textbook / found.add_remove};
  };
  EXPECT_NEAR(ratio_of(QueryWorkload::identity(8))[0], std::sqrt(2), 1e-9);
  EXPECT_NEAR(ratio_of(QueryWorkload::identity(8))[1], 2, 1e-9);
  // sqrt(7), compared with the textbook's 2 sqrt(8).
  EXPECT_NEAR(ratio_of(QueryWorkload::prefix(8))[0], std::sqrt(7.0 / 8), 1e-9);
  // Hadamard matrix with 8 rows: 4, compared with 2 sqrt(8).
  const QueryWorkload hadamard =
      QueryWorkload::parities({.num_bits = 3, .order = 3, .with_lower_orders = true});
  EXPECT_NEAR(ratio_of(hadamard)[0], std::sqrt(2), 1e-9);
  // With too many columns to compare in pairs, the textbook bound is used.
  const QueryFactorization large =
      factorize_queries(QueryWorkload::kronecker(std::vector(2, QueryWorkload::identity(64))),
                        {.strategy = QueryStrategy::identity});
  EXPECT_EQ(large.l2_sensitivity().replace_one, large.l2_sensitivity().textbook);
  EXPECT_EQ(large.l1_sensitivity().replace_one, large.l1_sensitivity().textbook);
}

TEST(QueryFactorization, refuses_bad_input) {
  const QueryFactorization found = factorize_queries(QueryWorkload::prefix(2));
  EXPECT_ERROR(found.measure(std::vector<std::int64_t>{1}), "wrong_length", "histogram");
  EXPECT_ERROR(found.measure(std::vector<std::int64_t>{1, -1}), "invalid_argument", "histogram[1]");
  EXPECT_ERROR(found.measure(std::vector<std::int64_t>{1, std::int64_t{1} << 50}), "unsupported",
               "histogram must have at most");
  EXPECT_ERROR(found.decode(std::vector<double>{1}), "wrong_length", "measurements");
  EXPECT_ERROR(
      (void)factorize_queries(QueryWorkload::kronecker(std::vector(4, QueryWorkload::identity(2)))),
      "unsupported", "at most 3 factors, got 4");
}

}  // namespace
}  // namespace dpftrl
