// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/toeplitz.hpp"

#include "dpftrl/workload.hpp"
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
  EXPECT_ERROR((void)Workload::prefix_sums(0), "invalid_argument", "num_steps must be between");
  EXPECT_ERROR((void)Workload::prefix_sums(kMaxDenseSteps + 1).matrix(), "unsupported",
               "num_steps up to 4096, got 4097");
}

}  // namespace
}  // namespace dpftrl
