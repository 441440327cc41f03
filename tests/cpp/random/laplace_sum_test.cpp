// SPDX-License-Identifier: Apache-2.0
#include "random/laplace_sum.hpp"

#include <cmath>

#include "golden/pure_golden.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::discrete_laplace_variance;
using detail::LaplaceSum;
using testing::relatively_close;

TEST(LaplaceSum, the_variance_is_that_of_the_law) {
  for (const double scale : {0.3, 1.0, 2.0, 17.0, 400.0}) {
    const double q = std::exp(-1 / scale);
    double sum = 0;
    for (double k = 1; k <= 60 * scale + 60; ++k) sum += 2 * k * k * std::exp(-k / scale);
    sum *= (1 - q) / (1 + q);
    EXPECT_TRUE(relatively_close(discrete_laplace_variance(scale), sum, 1e-11)) << scale;
  }
  // The variance is smaller than that of the continuous distribution by about 1/6, which does not
  // matter at large scales.
  EXPECT_LT(discrete_laplace_variance(5), 2 * 5.0 * 5.0);
  EXPECT_NEAR(discrete_laplace_variance(5), 50 - 1.0 / 6, 1e-3);
  EXPECT_TRUE(relatively_close(discrete_laplace_variance(0x1p40), 0x1p81, 1e-12));
}

TEST(LaplaceSum, the_tail_is_that_of_the_convolution) {
  for (const auto& known : golden::pure::tails) {
    SCOPED_TRACE(std::to_string(known.num_terms) + " of " + std::to_string(known.scale) + " at " +
                 std::to_string(known.x));
    const LaplaceSum sum(known.num_terms, known.scale);
    const double tail = 2 * sum.tail(known.x + 1);
    EXPECT_GE(tail, known.probability);
    EXPECT_LE(tail, known.probability * (1 + 2e-9));
  }
}

TEST(LaplaceSum, the_half_width_is_the_smallest) {
  for (const std::int64_t scale : {1, 3, 1000, 123456789})
    for (const std::int64_t num_terms : {1, 2, 24})
      for (const double probability : {0.9, 0.05, 1e-6, 1e-100}) {
        const LaplaceSum sum(num_terms, scale);
        const std::int64_t x = sum.half_width(probability);
        EXPECT_LE(2 * sum.tail(x + 1), probability);
        if (x > 0) {
          EXPECT_GT(2 * sum.tail(x), probability);
        }
      }
  EXPECT_EQ(LaplaceSum(0, 5).half_width(0.1), 0);
  // For one variable, P[|k| > x] = 2 q^(x + 1) / (1 + q).
  const double q = std::exp(-1.0 / 1000);
  const double single = 2 * std::pow(q, 501) / (1 + q);
  EXPECT_TRUE(relatively_close(2 * LaplaceSum(1, 1000).tail(501), single, 2e-9));
}

}  // namespace
}  // namespace dpftrl
