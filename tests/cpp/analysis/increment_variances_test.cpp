// SPDX-License-Identifier: Apache-2.0
// Variances of noise increments, compared with the inverse of the encoder and with sampled noise.
#include <cmath>

#include "catalogue.hpp"
#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "math/toeplitz.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

TEST(IncrementVariances, are_the_squared_row_norms_of_the_inverse_encoder) {
  for (const std::int64_t steps :
       testing::sizes({.full = {1, 2, 3, 8, 23}, .elsewhere = {1, 3, 8}}))
    for (const testing::Variant& variant : testing::prefix_variants(steps)) {
      const auto strategy = testing::strategy_of(variant);
      const std::vector<double> variances = increment_variances(*strategy);
      ASSERT_EQ(std::ssize(variances), steps);
      const Matrix encoder = strategy->encoder();
      Matrix inverse = strategy->decoder();
      for (Eigen::Index t = inverse.rows() - 1; t > 0; --t) inverse.row(t) -= inverse.row(t - 1);
      if (encoder.rows() == encoder.cols()) inverse = testing::inverse(encoder);
      for (std::int64_t t = 0; t < steps; ++t)
        ASSERT_NEAR(variances[static_cast<std::size_t>(t)],
                    inverse.row(testing::index_of(t)).squaredNorm(), 1e-7)
            << variant.title << ", step " << t;
    }
}

TEST(IncrementVariances, are_those_of_the_noise) {
  // A mean of 4000 squares deviates by more than 6 standard deviations with probability below 2e-8.
  constexpr std::int64_t kWidth = 4000, kSteps = 16;
  constexpr double kScale = 4096;
  testing::Thinned thinned(3);
  for (const testing::Variant& variant : testing::prefix_variants(kSteps)) {
    if (!thinned.takes_next()) continue;
    const auto strategy = testing::strategy_of(variant);
    const std::vector<double> variances = increment_variances(*strategy);
    NoiseIncrements noise(*strategy, {.key = Key::insecure_from_seed(5), .dimension = kWidth});
    std::vector<std::int64_t> row(kWidth);
    for (std::int64_t t = 0; t < kSteps; ++t) {
      noise.next_rounded(row, 1, kScale);
      double sum = 0;
      for (const std::int64_t entry : row) sum += std::pow(static_cast<double>(entry) / kScale, 2);
      const double ratio = sum / kWidth / variances[static_cast<std::size_t>(t)];
      ASSERT_NEAR(ratio, 1, 6 * std::sqrt(2.0 / kWidth)) << variant.title << ", step " << t;
    }
  }
}

TEST(IncrementVariances, long_horizons_are_for_toeplitz_encoders) {
  EXPECT_EQ(increment_variances(*testing::make_known("banded-square-root", 100000)).size(),
            100000U);
  // Beyond 2^26 products the inverse is found by transforms; the recursion is the reference.
  const auto blt = testing::make_known("blt", 10000);
  const std::vector<double> fast = increment_variances(*blt);
  const std::vector<double> inverse = reciprocal_series(blt->toeplitz_encoder(), 10000);
  double sum = 0;
  for (std::size_t t = 0; t < fast.size(); ++t) {
    sum += inverse[t] * inverse[t];
    ASSERT_NEAR(fast[t] / sum, 1, 1e-12) << "step " << t;
  }
  EXPECT_ERROR(increment_variances(*testing::make_known("tree", 4097)), "unsupported",
               "steps must be at most 4096 for an encoder that is not Toeplitz");
  const auto momentum =
      make_strategy({.name = "tree", .steps = 8, .workload = Workload::momentum({8, 0.9, 1})});
  EXPECT_ERROR(increment_variances(*momentum), "unsupported", "for prefix sums");
}

}  // namespace
}  // namespace dpftrl
