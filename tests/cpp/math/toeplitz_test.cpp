// SPDX-License-Identifier: Apache-2.0
#include "math/toeplitz.hpp"

#include <algorithm>

#include "base/toeplitz_matrix.hpp"
#include "dpftrl/problem/workload.hpp"
#include "golden/toeplitz_coefficients_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

TEST(Toeplitz, square_root_coefficients_are_the_exact_fractions_rounded) {
  // binomial(2j, j) / 4^j has an exact 64-bit numerator up to j = 30.
  const std::vector<double> f = square_root_coefficients(31);
  std::uint64_t numerator = 1;  // binomial(2j, j)
  for (std::size_t j = 0; j < f.size(); ++j) {
    const std::uint64_t i = j;
    if (i > 0) numerator = numerator * 2 * (2 * i - 1) / i;
    const double rounded = std::ldexp(static_cast<double>(numerator), -2 * static_cast<int>(j));
    EXPECT_EQ(f[j], rounded) << "j = " << j;
  }
}

TEST(Toeplitz, square_root_coefficients_stay_accurate_far_out) {
  // f_j = Gamma(j + 1/2) / (sqrt(pi) j!) by its asymptotic series, error below 1e-20 at j = 10^6.
  const std::int64_t j = 1000000;
  const double x = 1.0 / static_cast<double>(j);
  const double series = 1 - x / 8 + x * x / 128 + 5 * x * x * x / 1024;
  const double expected = series / std::sqrt(3.14159265358979323846 * static_cast<double>(j));
  const double actual = square_root_coefficients(j + 1).back();
  EXPECT_TRUE(testing::relatively_close(actual, expected, 4e-16)) << actual << " " << expected;
}

TEST(Toeplitz, square_root_times_itself_is_all_ones_and_times_its_inverse_is_one) {
  const std::vector<double> f = square_root_coefficients(300);
  const std::vector<double> g = inverse_square_root_coefficients(300);
  const std::vector<double> square = multiply_series(f, f);
  const std::vector<double> identity = multiply_series(f, g);
  for (std::size_t j = 0; j < square.size(); ++j) {
    EXPECT_NEAR(square[j], 1, 1e-14);
    EXPECT_NEAR(identity[j], j == 0 ? 1 : 0, 1e-15);
  }
}

TEST(Toeplitz, product_of_series_is_the_product_of_matrices) {
  const std::vector<double> a = {1, -2, 3, 0.5};
  const std::vector<double> b = {2, 1, -1, 4};
  const Matrix product = lower_triangular_toeplitz(a) * lower_triangular_toeplitz(b);
  const Matrix expected = lower_triangular_toeplitz(multiply_series(a, b));
  EXPECT_EQ(product, expected);
}

TEST(Toeplitz, horizon_zero_is_refused) {
  EXPECT_ERROR((void)square_root_coefficients(0), "invalid_argument",
               "num_coefficients must be between 1 and");
}

TEST(Workload, prefix_sums_are_lower_triangular_ones) {
  const Matrix matrix = Workload::prefix_sums(3).matrix();
  Matrix expected(3, 3);
  expected << 1, 0, 0, 1, 1, 0, 1, 1, 1;
  EXPECT_EQ(matrix, expected);
  EXPECT_ERROR((void)Workload::prefix_sums(0), "invalid_argument", "steps must be between");
  EXPECT_ERROR((void)Workload::prefix_sums(kMaxDenseSteps + 1).matrix(), "unsupported",
               "steps must be at most 4096 for matrices, got 4097");
}

TEST(Toeplitz, coefficients_are_the_golden_ones) {
  const std::size_t size = std::size(golden::toeplitz_coefficients::coefficients);
  const auto n = static_cast<std::int64_t>(size);
  const std::vector<double> f = square_root_coefficients(n);
  const std::vector<double> g = inverse_square_root_coefficients(n);
  for (std::size_t j = 0; j < size; ++j) {
    EXPECT_TRUE(testing::relatively_close(
        f[j], golden::toeplitz_coefficients::coefficients[j].square_root, 2e-16));
    EXPECT_TRUE(testing::relatively_close(
        g[j], golden::toeplitz_coefficients::coefficients[j].inverse, 3e-16));
  }
}

TEST(Toeplitz, root_of_a_quadratic_times_itself_is_the_workload) {
  constexpr std::int64_t n = 400;
  for (const double alpha : {1.0, 0.99, 0.5})
    for (const double beta : {0.0, 0.9, 0.99, alpha}) {
      const auto root = quadratic_root_coefficients({.alpha = alpha, .beta = beta}, n);
      const auto inverse =
          quadratic_root_coefficients({.alpha = alpha, .beta = beta, .inverse = true}, n);
      const std::vector<double> square = multiply_series(root, root);
      const std::vector<double> identity = multiply_series(root, inverse);
      std::vector<double> expected(n, 1.0);  // sum_i alpha^(k-i) beta^i
      for (std::size_t k = 1; k < expected.size(); ++k)
        expected[k] = alpha * expected[k - 1] + std::pow(beta, static_cast<double>(k));
      for (std::size_t k = 0; k < expected.size(); ++k) {
        EXPECT_TRUE(testing::relatively_close(square[k], expected[k], 1e-13)) << alpha << beta;
        EXPECT_NEAR(identity[k], k == 0 ? 1 : 0, 1e-13);
      }
    }
}

TEST(Toeplitz, roots_of_quadratics_agree_with_the_sum_of_products_far_out) {
  // c_j = sum_i (alpha^(j-i) f_{j-i}) (beta^i f_i), all terms positive, in long double.
  const std::int64_t j = 20000;
  const std::vector<double> f = square_root_coefficients(j + 1);
  for (const double beta : {0.9, 0.999}) {
    long double sum = 0, power = 1;
    for (std::int64_t i = 0; i <= j; ++i) {
      sum += power * f[static_cast<std::size_t>(i)] * f[static_cast<std::size_t>(j - i)];
      power *= beta;
    }
    const double actual = quadratic_root_coefficients({.alpha = 1, .beta = beta}, j + 1).back();
    EXPECT_TRUE(testing::relatively_close(actual, static_cast<double>(sum), 3e-16)) << beta;
  }
}

TEST(Toeplitz, quadratic_with_one_root_is_the_square_root) {
  EXPECT_EQ(quadratic_root_coefficients({.alpha = 1}, 5000), square_root_coefficients(5000));
  // Prefix sums of the inverse are the coefficients again: (1-x)^(1/2) / (1-x).
  const auto sums =
      quadratic_root_coefficients({.alpha = 1, .inverse = true, .summed = true}, 5000);
  const std::vector<double> f = square_root_coefficients(5000);
  for (std::size_t k = 0; k < f.size(); ++k)
    EXPECT_TRUE(testing::relatively_close(sums[k], f[k], 3e-16));
}

TEST(Toeplitz, root_of_a_window_times_itself_is_the_window) {
  for (const std::int64_t width : {1, 2, 3, 7, 64, 299, 300, 1000}) {
    const std::int64_t n = 300;
    const auto root = window_root_coefficients({.width = width}, n);
    const auto inverse = window_root_coefficients({.width = width, .inverse = true}, n);
    const auto summed =
        window_root_coefficients({.width = width, .inverse = true, .summed = true}, n);
    const std::vector<double> square = multiply_series(root, root);
    const std::vector<double> identity = multiply_series(root, inverse);
    double sum = 0;
    for (std::size_t k = 0; k < square.size(); ++k) {
      EXPECT_NEAR(square[k], static_cast<std::int64_t>(k) < width ? 1 : 0, 1e-14) << width;
      EXPECT_NEAR(identity[k], k == 0 ? 1 : 0, 1e-13) << width;
      sum += inverse[k];
      EXPECT_NEAR(summed[k], sum, 1e-13);
    }
  }
}

TEST(Toeplitz, roots_of_windows_agree_with_the_sum_over_periods_far_out) {
  // (1-x^W)^(1/2) (1-x)^(-1/2): c_j = sum_k g_k f_{j - k W}, in long double.
  const std::int64_t width = 10, n = 20000;
  const auto c = window_root_coefficients({.width = width}, n);
  const std::vector<double> f = square_root_coefficients(n);
  const std::vector<double> g = inverse_square_root_coefficients(n / width + 1);
  for (const std::int64_t j : {100, 1001, 19998, 19999}) {
    long double sum = 0;
    for (std::int64_t k = 0; k * width <= j; ++k)
      sum += static_cast<long double>(g[static_cast<std::size_t>(k)]) *
             f[static_cast<std::size_t>(j - k * width)];
    EXPECT_NEAR(c[static_cast<std::size_t>(j)], static_cast<double>(sum), 3e-16) << j;
  }
}

TEST(Toeplitz, reciprocal_times_series_is_one) {
  const std::vector<double> few = {2, -0.5, 0.25};
  const std::vector<double> reciprocal = reciprocal_series(few, 50);
  std::vector<double> padded = few;
  padded.resize(50);
  const std::vector<double> identity = multiply_series(padded, reciprocal);
  for (std::size_t k = 0; k < identity.size(); ++k) EXPECT_NEAR(identity[k], k == 0 ? 1 : 0, 1e-15);
}

TEST(Toeplitz, a_fast_reciprocal_is_that_of_the_recursion) {
  for (const std::int64_t size : {1, 255, 256, 257, 1000, 2048})
    for (const std::size_t bands : {std::size_t{1}, std::size_t{7}, std::size_t{2048}}) {
      std::vector<double> series = square_root_coefficients(std::max<std::int64_t>(size, 8));
      series.resize(std::min(series.size(), bands));
      const std::vector<double> exact = reciprocal_series(series, size);
      const std::vector<double> fast = reciprocal_series_by_fft(series, size);
      ASSERT_EQ(std::ssize(fast), size);
      for (std::size_t j = 0; j < exact.size(); ++j)
        ASSERT_NEAR(fast[j], exact[j], 1e-14) << size << " of " << bands << ", " << j;
    }
}

TEST(Toeplitz, the_square_root_of_a_series_times_itself_is_the_series) {
  const std::vector<double> binomials = square_root_coefficients(500);
  const std::vector<double> root = square_root_of_series(std::vector<double>(500, 1.0));
  for (std::size_t k = 0; k < root.size(); ++k)
    EXPECT_TRUE(testing::relatively_close(root[k], binomials[k], 1e-15)) << k;
  EXPECT_EQ(square_root_of_series(std::vector<double>{4, 4, 1}), (std::vector<double>{2, 1, 0}));
  EXPECT_ERROR(square_root_of_series({}), "invalid_argument", "series must be");
  EXPECT_ERROR(square_root_of_series(std::vector<double>{-1, 1}), "invalid_argument", "got -1");
}

TEST(Toeplitz, logarithm_and_exponential_are_those_of_known_series) {
  // ln 1/(1-x) = sum x^j / j, at lengths within and beyond one block.
  for (const std::size_t size : std::vector<std::size_t>{1, 2, 64, 65, 127, 1000, 4097}) {
    const std::vector<double> logarithm = logarithm_of_series(std::vector<double>(size, 1.0));
    std::vector<double> expected(size);
    for (std::size_t j = 1; j < size; ++j) expected[j] = 1 / static_cast<double>(j);
    const std::vector<double> exponential = exponential_of_series(expected);
    for (std::size_t j = 0; j < size; ++j) {
      // j ln_j is the remainder of a sum of j terms computed by transforms, so its rounding error
      // is of order j.
      EXPECT_NEAR(logarithm[j], expected[j], 4e-12 * (j == 0 ? 1 : expected[j])) << size;
      EXPECT_NEAR(exponential[j], 1, 1e-12) << size;
    }
  }
}

TEST(Toeplitz, fast_products_stay_within_their_error_bound) {
  for (const std::size_t size : std::vector<std::size_t>{1, 2, 3, 100, 700}) {
    const std::vector<double> a = square_root_coefficients(static_cast<std::int64_t>(size));
    std::vector<double> b(size + 5);
    for (std::size_t j = 0; j < b.size(); ++j) b[j] = std::sin(static_cast<double>(j * j));
    const BoundedProduct product = multiply_by_fft(a, b);
    ASSERT_EQ(product.terms.size(), a.size() + b.size() - 1);
    long double worst = 0;
    for (std::size_t k = 0; k < product.terms.size(); ++k) {
      long double exact = 0;
      for (std::size_t i = 0; i < a.size(); ++i)
        if (k >= i && k - i < b.size()) exact += static_cast<long double>(a[i]) * b[k - i];
      worst = std::max(worst, std::abs(exact - product.terms[k]));
    }
    EXPECT_LE(worst, product.error_bound) << size;
    EXPECT_LE(product.error_bound, 1e-10) << "a bound that says something";
  }
}

TEST(Toeplitz, sums_of_absolute_products_are_those_of_the_gram_matrix) {
  for (const std::size_t size : std::vector<std::size_t>{1, 2, 3, 8, 31, 60}) {
    for (std::size_t bands = 1; bands <= size; bands += 1 + bands / 2) {
      for (const bool is_mixed : {false, true}) {
        std::vector<double> c(size, 0.0);
        for (std::size_t j = 0; j < bands; ++j)
          c[j] = is_mixed ? std::cos(static_cast<double>(j * j)) : 1.0 / static_cast<double>(j + 1);
        const Matrix encoder = lower_triangular_toeplitz(c);
        const Matrix gram = encoder.transpose() * encoder;
        for (Eigen::Index separation = 1; separation <= gram.rows() + 1; ++separation) {
          double sum = 0, least = 0;
          for (Eigen::Index i = 0; i < gram.rows(); i += separation) {
            for (Eigen::Index j = 0; j < gram.rows(); j += separation) {
              sum += std::abs(gram(i, j));
              least = std::min(least, gram(i, j));
            }
          }
          const ColumnSum found = sum_of_absolute_products(c, separation);
          EXPECT_NEAR(found.sum, sum, 1e-13 * sum) << size << " " << separation;
          if (least < -1e-12 || !is_mixed) {
            EXPECT_EQ(found.has_negative, is_mixed) << size << " " << separation;
          }
        }
      }
    }
  }
}

TEST(Toeplitz, bad_input_is_refused_by_name) {
  EXPECT_ERROR(sum_of_absolute_products(std::vector<double>{1, 2}, 0), "invalid_argument",
               "sum_of_absolute_products: separation must be between 1 and");
  EXPECT_ERROR(quadratic_root_coefficients({}, 0), "invalid_argument",
               "quadratic_root_coefficients: num_coefficients must be between 1 and");
  EXPECT_ERROR(window_root_coefficients({.width = 0}, 5), "invalid_argument",
               "window_root_coefficients: width must be between 1 and");
}

}  // namespace
}  // namespace dpftrl
