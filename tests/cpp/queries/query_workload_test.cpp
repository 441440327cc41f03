// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/queries/query_workload.hpp"

#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;

TEST(QueryWorkload, asks_what_its_name_says) {
  const QueryWorkload ranges = QueryWorkload::all_ranges(5);
  EXPECT_EQ(ranges.num_queries(), 15);
  const std::vector<double> h = {3, 1, 4, 1, 5};
  const Vector answers = ranges.answers(h);
  Eigen::Index row = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    double sum = 0;
    for (std::size_t j = i; j < 5; ++j, ++row) {
      sum += h[j];
      EXPECT_EQ(answers(row), sum);
      EXPECT_EQ(ranges.label(row), std::to_string(i) + ".." + std::to_string(j));
    }
  }
  const Vector counts = QueryWorkload::prefix(5).answers(h);
  EXPECT_EQ(counts, (Vector(5) << 3, 4, 8, 9, 14).finished());
  EXPECT_EQ(QueryWorkload::identity(5).answers(h), (Vector(5) << 3, 1, 4, 1, 5).finished());
}

TEST(QueryWorkload, marginals_count_tables_of_some_attributes) {
  const std::vector<std::int64_t> sizes = {2, 3, 2};
  const QueryWorkload workload = QueryWorkload::marginals({.attribute_sizes = sizes, .order = 2});
  EXPECT_EQ(workload.num_queries(), 2 * 3 + 2 * 2 + 3 * 2);
  EXPECT_EQ(workload.num_values(), 12);
  std::vector<double> h(12);
  for (std::size_t v = 0; v < h.size(); ++v) h[v] = static_cast<double>(v * v + 1);
  const Vector answers = workload.answers(h);
  const auto at = [&](std::size_t a, std::size_t b, std::size_t c) {
    return h[(a * 3 + b) * 2 + c];
  };
  EXPECT_EQ(workload.label(1), "a0=0 a1=1");
  EXPECT_EQ(answers(1), at(0, 1, 0) + at(0, 1, 1));
  EXPECT_EQ(workload.label(6 + 2), "a0=1 a2=0");
  EXPECT_EQ(answers(8), at(1, 0, 0) + at(1, 1, 0) + at(1, 2, 0));
  EXPECT_EQ(workload.label(15), "a1=2 a2=1");
  EXPECT_EQ(answers(15), at(0, 2, 1) + at(1, 2, 1));
  EXPECT_EQ(
      QueryWorkload::marginals({.attribute_sizes = {2, 2, 2, 2, 2}, .order = 2}).num_queries(), 40);
}

TEST(QueryWorkload, parities_are_rows_of_the_hadamard_matrix) {
  const QueryWorkload some = QueryWorkload::parities({.num_bits = 4, .order = 2});
  const Matrix f = some.to_matrix();
  EXPECT_EQ(f.rows(), 6);
  EXPECT_EQ(Matrix(f * f.transpose()), Matrix(16 * Matrix::Identity(6, 6)));
  EXPECT_EQ(some.label(0), "x0+x1");
  EXPECT_EQ(f(0, 1), -1);
  EXPECT_EQ(f(0, 3), 1);
  const QueryWorkload all =
      QueryWorkload::parities({.num_bits = 3, .order = 3, .with_lower_orders = true});
  EXPECT_EQ(all.num_queries(), 8);
  EXPECT_EQ(all.label(0), "1");
}

TEST(QueryWorkload, products_are_those_of_the_dense_matrix) {
  const std::vector<QueryWorkload> parts = {QueryWorkload::prefix(3), QueryWorkload::all_ranges(2),
                                            QueryWorkload::identity(2)};
  const QueryWorkload product = QueryWorkload::kronecker(parts);
  EXPECT_EQ(product.num_queries(), 3 * 3 * 2);
  EXPECT_EQ(product.num_values(), 12);
  EXPECT_EQ(product.label(17), "0..2 x 1..1 x 1");
  std::vector<double> h(12);
  for (std::size_t v = 0; v < h.size(); ++v) h[v] = static_cast<double>((v * 7) % 5);
  const Vector dense = product.to_matrix() * Eigen::Map<const Vector>(h.data(), 12);
  EXPECT_EQ(product.answers(h), dense);
}

TEST(QueryWorkload, unions_and_predicates_keep_every_query) {
  const std::vector<QueryPredicate> predicates = {
      {"even", [](std::int64_t v) { return v % 2 == 0; }},
      {"small", [](std::int64_t v) { return v < 2; }}};
  const QueryWorkload asked = QueryWorkload::predicates(4, predicates);
  const std::vector<QueryWorkload> parts = {asked, QueryWorkload::identity(4)};
  const QueryWorkload both = QueryWorkload::union_of(parts);
  EXPECT_EQ(both.num_queries(), 6);
  EXPECT_EQ(both.label(1), "small");
  const std::vector<double> h = {1, 2, 3, 4};
  EXPECT_EQ(both.answers(h), (Vector(6) << 4, 3, 1, 2, 3, 4).finished());
}

TEST(QueryWorkload, refuses_bad_input) {
  EXPECT_ERROR(QueryWorkload::identity(0), "invalid_argument",
               "workload must have between 1 and 2048 values, got 0");
  EXPECT_ERROR(QueryWorkload::identity(2049), "invalid_argument", "2048 values, got 2049");
  EXPECT_ERROR(QueryWorkload::all_ranges(2049), "invalid_argument", "2048 values, got 2049");
  EXPECT_ERROR((void)QueryWorkload::all_ranges(2048).to_matrix(), "resource_exhausted",
               "must have at most 33554432 entries as a matrix");
  EXPECT_ERROR(QueryWorkload::marginals({.attribute_sizes = {2, 1}, .order = 1}),
               "invalid_argument", "attribute_sizes must be between 2");
  EXPECT_ERROR(QueryWorkload::marginals({.attribute_sizes = {2, 2}, .order = 3}),
               "invalid_argument", "order must be");
  EXPECT_ERROR(QueryWorkload::parities({.num_bits = 12, .order = 1}), "invalid_argument",
               "num_bits");
  Matrix f = Matrix::Ones(2, 2);
  EXPECT_ERROR(QueryWorkload::matrix(f, {"a"}), "wrong_length", "labels");
  f(1, 0) = std::nan("");
  EXPECT_ERROR(QueryWorkload::matrix(f), "invalid_argument", "queries");
  f.row(1).setZero();
  EXPECT_ERROR(QueryWorkload::matrix(f, {"a", "b"}), "invalid_argument",
               "queries[1] must be other than 0");
  const std::vector<QueryPredicate> never = {{"never", [](std::int64_t) { return false; }}};
  EXPECT_ERROR(QueryWorkload::predicates(3, never), "invalid_argument",
               "queries[0] must be other than 0");
  const std::vector<QueryWorkload> parts = {QueryWorkload::identity(2), QueryWorkload::identity(3)};
  EXPECT_ERROR(QueryWorkload::union_of(parts), "wrong_length", "parts must have 2 entries");
  EXPECT_ERROR(QueryWorkload::union_of({}), "invalid_argument", "parts must have between 1");
  const std::vector<QueryWorkload> large(3, QueryWorkload::identity(300));
  EXPECT_ERROR(QueryWorkload::kronecker(large), "invalid_argument", "workload must have between 1");
  EXPECT_ERROR(QueryWorkload::kronecker(std::vector(2, QueryWorkload::identity(300))).to_matrix(),
               "resource_exhausted", "entries as a matrix");
  EXPECT_ERROR(QueryWorkload::identity(2).answers(std::vector<double>{1}), "wrong_length",
               "histogram");
}

TEST(QueryDomain, counts_every_text_once_or_refuses_it) {
  const std::vector<std::string> texts = {"b", "a", "b", "z"};
  const QueryDomain strict = QueryDomain::categories({"a", "b"});
  EXPECT_ERROR(strict.histogram(texts), "invalid_argument", "declared domain, got 'z'");
  const QueryDomain open = QueryDomain::categories({"a", "b", "rest"}, "rest");
  EXPECT_EQ(open.histogram(texts), (std::vector<std::int64_t>{1, 2, 1}));
  const QueryDomain ages = QueryDomain::integers(-1, 2, true);
  EXPECT_EQ(ages.labels(), (std::vector<std::string>{"-1", "0", "1", "2", "other"}));
  EXPECT_EQ(ages.histogram(std::vector<std::string>{"-1", "2", "3", "2.0", ""}),
            (std::vector<std::int64_t>{1, 0, 0, 1, 3}));
  EXPECT_ERROR(QueryDomain::integers(0, 2).index_of("3"), "invalid_argument", "got '3'");
}

TEST(QueryDomain, refuses_bad_declarations) {
  EXPECT_ERROR(QueryDomain::categories({}), "invalid_argument", "labels must have between 1");
  EXPECT_ERROR(QueryDomain::categories({"a", "a"}), "invalid_argument", "'a' twice");
  EXPECT_ERROR(QueryDomain::categories({"a"}, "b"), "invalid_argument", "other");
  EXPECT_ERROR(QueryDomain::integers(2, 1), "invalid_argument", "last");
}

TEST(QueryWorkload, numbers_that_would_leave_the_doubles_are_refused) {
  for (const double entry : {1e155, -1e300, 1e-200, 1e19, 1e-19}) {
    Matrix queries = Matrix::Identity(2, 2);
    queries(1, 0) = entry;
    EXPECT_ERROR((void)QueryWorkload::matrix(queries), "invalid_argument",
                 "0 or between 2^-60 and 2^60 in magnitude, got " + to_text(entry));
  }
}

}  // namespace
}  // namespace dpftrl
