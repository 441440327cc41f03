// SPDX-License-Identifier: Apache-2.0
// The matrix A of every workload, compared with its definition as a recurrence.
#include "dpftrl/problem/workload.hpp"

#include <random>

#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using testing::relatively_close;
using WorkloadKind = Workload::Kind;

std::vector<double> random_sequence(std::int64_t n, std::uint32_t seed) {
  std::mt19937 bits(seed);
  std::vector<double> sequence(static_cast<std::size_t>(n));
  for (double& entry : sequence) entry = static_cast<double>(bits()) / 2147483648.0 - 1;
  return sequence;
}

std::vector<double> rates_of(std::int64_t n) {
  std::vector<double> rates(static_cast<std::size_t>(n));
  for (std::size_t t = 0; t < rates.size(); ++t)
    rates[t] = (t % 4 == 1 ? -0.3 : 0.1) * static_cast<double>(t + 1);
  return rates;
}

Matrix triangle(std::int64_t n) {
  Matrix matrix = Matrix::Zero(index_of(n), index_of(n));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    for (Eigen::Index j = 0; j <= i; ++j)
      matrix(i, j) = i == j ? -1.5 : 0.125 * static_cast<double>(i - 2 * j);
  return matrix;
}

std::vector<Workload> every_workload(std::int64_t n) {
  return {Workload::prefix_sums(n),
          Workload::momentum({.steps = n, .momentum = 0.9, .decay = 0.99}),
          Workload::momentum({.steps = n, .momentum = 0.5}),
          Workload::momentum({.steps = n, .decay = 0.25}),
          Workload::sliding_window({.steps = n, .window = 1}),
          Workload::sliding_window({.steps = n, .window = 3}),
          Workload::learning_rates({.rates = rates_of(n)}),
          Workload::learning_rates({.rates = rates_of(n), .momentum = 0.8}),
          Workload::lower_triangular(triangle(n))};
}

/// A w from the definitions in the header, in extended precision.
std::vector<double> by_definition(const Workload& workload, const std::vector<double>& w) {
  std::vector<double> out(w.size());
  long double average = 0, total = 0;
  for (std::size_t t = 0; t < w.size(); ++t) {
    average = static_cast<long double>(workload.momentum()) * average + w[t];
    const bool has_rates = workload.kind() == WorkloadKind::rates;
    const long double rate = has_rates ? workload.rates()[t] : 1.0;
    total = static_cast<long double>(workload.decay()) * total + rate * average;
    if (workload.kind() == WorkloadKind::window) {
      const auto width = static_cast<std::size_t>(workload.window());
      total = 0;
      for (std::size_t i = t + 1 >= width ? t + 1 - width : 0; i <= t; ++i) total += w[i];
    }
    if (workload.kind() == WorkloadKind::matrix) {
      total = 0;
      for (std::size_t i = 0; i <= t; ++i)
        total += static_cast<long double>(workload.matrix()(static_cast<Eigen::Index>(t),
                                                            static_cast<Eigen::Index>(i))) *
                 w[i];
    }
    out[t] = static_cast<double>(total);
  }
  return out;
}

/// True if the answer follows the definition; a function, so that it can be tested with wrong
/// answers.
bool agree(const std::vector<double>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return false;
  for (std::size_t t = 0; t < actual.size(); ++t)
    if (!(std::abs(actual[t] - expected[t]) <= 1e-14 * (1 + std::abs(expected[t])))) return false;
  return true;
}

TEST(Workload, apply_follows_the_definition) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 40})
    for (const Workload& workload : every_workload(n)) {
      const std::vector<double> w = random_sequence(n, 5);
      EXPECT_TRUE(agree(workload.apply(w), by_definition(workload, w))) << workload.name() << n;
    }
}

TEST(Workload, a_neighbouring_definition_is_rejected) {
  const std::vector<double> w = random_sequence(9, 6);
  const auto window = [&](std::int64_t width) {
    return Workload::sliding_window({.steps = 9, .window = width}).apply(w);
  };
  const Workload four = Workload::sliding_window({.steps = 9, .window = 4});
  EXPECT_TRUE(agree(window(4), by_definition(four, w)));
  EXPECT_FALSE(agree(window(3), by_definition(four, w)));
  EXPECT_FALSE(agree(window(5), by_definition(four, w)));
  const Workload momentum = Workload::momentum({.steps = 9, .momentum = 0.9, .decay = 0.5});
  const Workload swapped = Workload::momentum({.steps = 9, .momentum = 0.5, .decay = 0.9});
  const Workload damped = Workload::momentum({.steps = 9, .momentum = 0.9});
  EXPECT_TRUE(agree(swapped.apply(w), by_definition(momentum, w))) << "the two commute";
  EXPECT_FALSE(agree(damped.apply(w), by_definition(momentum, w)));
}

TEST(Workload, matrix_is_the_map_itself) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 40})
    for (const Workload& workload : every_workload(n)) {
      const Matrix matrix = workload.matrix();
      EXPECT_TRUE(matrix.isLowerTriangular(0));
      EXPECT_GT(matrix.diagonal().cwiseAbs().minCoeff(), 0) << "invertible";
      const std::vector<double> w = random_sequence(n, 7), image = workload.apply(w);
      const Vector product = matrix * Eigen::Map<const Vector>(w.data(), index_of(n));
      EXPECT_TRUE(agree({product.begin(), product.end()}, image)) << workload.name();
    }
}

TEST(Workload, coefficients_are_the_first_column_and_make_the_matrix) {
  for (const std::int64_t n : {1, 2, 3, 8})
    for (const Workload& workload : every_workload(n)) {
      if (!workload.is_toeplitz()) {
        EXPECT_ERROR((void)workload.coefficients(), "unsupported",
                     "must have Toeplitz coefficients");
        continue;
      }
      const std::vector<double> a = workload.coefficients();
      const Matrix matrix = workload.matrix();
      ASSERT_EQ(std::ssize(a), n);
      for (Eigen::Index i = 0; i < matrix.rows(); ++i)
        for (Eigen::Index j = 0; j <= i; ++j)
          EXPECT_EQ(matrix(i, j), a[static_cast<std::size_t>(i - j)]);
    }
}

TEST(Workload, momentum_coefficients_have_full_relative_accuracy) {
  const double alpha = 0.999, beta = 0.95;
  const Workload workload = Workload::momentum({.steps = 2000, .momentum = beta, .decay = alpha});
  const std::vector<double> a = workload.coefficients();
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto power = static_cast<long double>(k + 1);
    const long double exact = (std::pow(static_cast<long double>(alpha), power) -
                               std::pow(static_cast<long double>(beta), power)) /
                              (static_cast<long double>(alpha) - static_cast<long double>(beta));
    ASSERT_TRUE(relatively_close(a[k], static_cast<double>(exact), 4e-16)) << k;
  }
}

TEST(Workload, long_sums_are_the_rounded_exact_ones) {
  // Adding 0.1 a million times as a plain running sum of doubles is off by 1e-6.
  const std::vector<double> w(1000000, 0.1);
  const std::vector<double> sums = Workload::prefix_sums(1000000).apply(w);
  EXPECT_EQ(sums.back(), static_cast<double>(1000000 * static_cast<long double>(0.1)));
  const std::vector<double> windows =
      Workload::sliding_window({.steps = 1000000, .window = 3}).apply(w);
  EXPECT_EQ(windows.back(), static_cast<double>(3 * static_cast<long double>(0.1)));
}

TEST(Workload, a_window_forgets_what_has_left_it) {
  std::vector<double> w(10, 0.1);
  w[0] = 1e17;
  const std::vector<double> out = Workload::sliding_window({.steps = 10, .window = 2}).apply(w);
  EXPECT_EQ(out[1], 1e17);
  for (std::size_t t = 2; t < 10; ++t) EXPECT_DOUBLE_EQ(out[t], 0.2) << t;
}

TEST(Workload, leading_is_the_leading_block) {
  for (const Workload& workload : every_workload(8))
    for (const std::int64_t n : {1, 2, 3, 5, 8}) {
      const Workload leading = workload.leading(n);
      EXPECT_EQ(leading.steps(), n);
      EXPECT_EQ(leading.matrix(), workload.matrix().topLeftCorner(index_of(n), index_of(n)).eval())
          << workload.name();
      const std::vector<double> w = random_sequence(n, 9);
      EXPECT_TRUE(agree(leading.apply(w), by_definition(leading, w)));
    }
}

TEST(Workload, special_parameters_are_prefix_sums) {
  EXPECT_TRUE(Workload::momentum({.steps = 5}).is_prefix());
  EXPECT_TRUE(Workload::sliding_window({.steps = 5, .window = 5}).is_prefix());
  EXPECT_TRUE(Workload::sliding_window({.steps = 5, .window = 9}).is_prefix());
  EXPECT_FALSE(Workload::sliding_window({.steps = 5, .window = 4}).is_prefix());
  EXPECT_TRUE(Workload::sliding_window({.steps = 5, .window = 4}).leading(4).is_prefix());
  EXPECT_FALSE(Workload::learning_rates({.rates = {1, 1}}).is_prefix());
  for (const Workload& workload :
       {Workload::momentum({.steps = 5}), Workload::sliding_window({.steps = 5, .window = 9})})
    EXPECT_EQ(workload.matrix(), Workload::prefix_sums(5).matrix());
}

TEST(Workload, names) {
  EXPECT_EQ(Workload::prefix_sums(3).name(), "prefix");
  EXPECT_EQ(Workload::momentum({.steps = 3, .momentum = 0.9, .decay = 0.99}).name(),
            "momentum=0.9,decay=0.99");
  EXPECT_EQ(Workload::sliding_window({.steps = 30, .window = 8}).name(), "window=8");
  EXPECT_EQ(Workload::learning_rates({.rates = {1, 2}}).name(), "rates");
  EXPECT_EQ(Workload::learning_rates({.rates = {1, 2}, .momentum = 0.9}).name(),
            "rates,momentum=0.9");
  EXPECT_EQ(Workload::lower_triangular(Matrix::Identity(2, 2)).name(), "matrix");
}

TEST(Workload, bad_input_is_refused_by_name) {
  EXPECT_ERROR(Workload::prefix_sums(0), "invalid_argument",
               "prefix_sums: steps must be between 1 and 1099511627776, got 0");
  EXPECT_ERROR(Workload::momentum({.steps = 3, .momentum = 1}), "invalid_argument",
               "momentum_workload: momentum must be at least 0 and below 1, got 1");
  EXPECT_ERROR(Workload::momentum({.steps = 3, .momentum = std::nan("")}), "invalid_argument",
               "momentum must be at least 0 and below 1, got ");
  EXPECT_ERROR(Workload::momentum({.steps = 3, .decay = 0}), "invalid_argument",
               "decay must be above 0 and at most 1, got 0");
  EXPECT_ERROR(Workload::momentum({.steps = 3, .decay = std::nan("")}), "invalid_argument",
               "decay must be above 0");
  EXPECT_ERROR(Workload::sliding_window({.steps = 3, .window = 0}), "invalid_argument",
               "sliding_window: window must be between 1 and");
  EXPECT_ERROR(Workload::learning_rates({}), "invalid_argument", "one number per step, got none");
  EXPECT_ERROR(
      Workload::learning_rates({.rates = {1, 0}}), "invalid_argument",
      "rates[1] must be different from 0 (the total would repeat, and the workload have no "
      "inverse), got 0");
  EXPECT_ERROR(Workload::learning_rates({.rates = {1, HUGE_VAL}}), "invalid_argument", "rates[1]");
  EXPECT_ERROR(Workload::learning_rates({.rates = {1}, .momentum = -0.5}), "invalid_argument",
               "learning_rates: momentum must be at least 0 and below 1, got -0.5");
  EXPECT_ERROR(Workload::lower_triangular(Matrix(2, 3)), "invalid_argument",
               "matrix must be square and not empty, got 2 x 3");
  EXPECT_ERROR(Workload::lower_triangular(Matrix(0, 0)), "invalid_argument", "got 0 x 0");
  EXPECT_ERROR(Workload::lower_triangular(Matrix::Ones(2, 2)), "invalid_argument",
               "matrix(0, 1) must be 0, above the diagonal, got 1");
  Matrix matrix = Matrix::Identity(3, 3);
  matrix(1, 1) = 0;
  EXPECT_ERROR(Workload::lower_triangular(matrix), "invalid_argument",
               "matrix(1, 1) must be other than 0 on the diagonal (else the workload has no "
               "inverse; 1e-9 instead changes errors by about that), got 0");
  matrix(1, 1) = std::nan("");
  EXPECT_ERROR(Workload::lower_triangular(matrix), "invalid_argument", "matrix(1, 1)");
  matrix(1, 1) = 1;
  matrix(2, 0) = -HUGE_VAL;
  EXPECT_ERROR(Workload::lower_triangular(matrix), "invalid_argument", "matrix(2, 0)");
  EXPECT_ERROR(Workload::lower_triangular(Matrix::Identity(4097, 4097)), "unsupported",
               "steps must be at most 4096, got 4097");
  const Workload three = Workload::prefix_sums(3);
  EXPECT_ERROR((void)three.apply({1, 2}), "wrong_length", "workload");
  EXPECT_ERROR((void)three.leading(4), "invalid_argument", "steps must be between 1 and 3");
  EXPECT_ERROR((void)Workload::prefix_sums(4097).matrix(), "unsupported",
               "steps must be at most 4096 for matrices, got 4097");
  EXPECT_ERROR((void)Workload::prefix_sums((1 << 26) + 1).coefficients(), "unsupported",
               "at most 67108864 for coefficients, got 67108865");
}

TEST(Workload, a_diagonal_block_is_that_of_the_matrix) {
  const std::vector<double> rates = {1, -2, 0.5, 3, 4, -0.25, 2};
  for (const Workload& workload :
       {Workload::prefix_sums(7), Workload::momentum({.steps = 7, .momentum = 0.5, .decay = 0.75}),
        Workload::sliding_window({.steps = 7, .window = 3}),
        Workload::learning_rates({.rates = rates}),
        Workload::learning_rates({.rates = rates, .momentum = 0.5}),
        Workload::lower_triangular(Workload::learning_rates({.rates = rates}).matrix())})
    for (const auto& [first, size] : {std::pair{0, 7}, {2, 4}, {5, 2}, {6, 1}})
      EXPECT_EQ(workload.block(first, size).matrix(),
                workload.matrix().block(first, first, size, size))
          << workload.name() << " " << first;
}

}  // namespace
}  // namespace dpftrl
