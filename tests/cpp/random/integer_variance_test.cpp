// SPDX-License-Identifier: Apache-2.0
#include "random/integer_variance.hpp"

#include <cmath>
#include <numbers>

#include "support.hpp"

namespace dpftrl {
namespace {

using detail::discrete_gaussian_variance;
using detail::rounded_difference_variance;
using detail::rounded_gaussian_variance;
using testing::relatively_close;

struct KnownVariance {
  double parameter;
  double variance;
};

TEST(IntegerVariance, of_a_rounded_gaussian_is_the_exact_sum) {
  // sum_k (2 k - 1) erfc((k - 1/2) / (s sqrt 2)) with 60 digits, by mpmath.
  for (const auto& [stddev, variance] :
       {KnownVariance{0.0625, 1.2441921148543568247e-15},
        KnownVariance{0.15625, 0.0013742758758316969126},
        KnownVariance{0.25, 0.045500269815884284627}, KnownVariance{0.3125, 0.10960334336803406245},
        KnownVariance{0.5, 0.32541276258633083957}, KnownVariance{0.75, 0.64579791665024802149},
        KnownVariance{0.96875, 1.0218098610926643969},
        KnownVariance{1 - 0x1p-53, 1.0833333223611178012}, KnownVariance{1, 1.0833333223611180232},
        KnownVariance{1.25, 1.6458333333330773978}, KnownVariance{2, 4.0833333333333333333},
        KnownVariance{5, 25.083333333333333333}})
    EXPECT_TRUE(relatively_close(rounded_gaussian_variance(stddev), variance, 1e-13)) << stddev;
  // On coarse grids, neither Sheppard's correction nor the uncorrected variance is right.
  EXPECT_FALSE(relatively_close(0.25 * 0.25 + 1.0 / 12, 0.0455, 1e-13));
  EXPECT_FALSE(relatively_close(0.25 * 0.25, 0.0455, 1e-13));
}

TEST(IntegerVariance, of_a_rounded_gaussian_is_that_of_its_definition) {
  for (double stddev = 0.11; stddev < 6; stddev *= 1.07) {
    double sum = 0;
    for (double k = 1; k < 12 * stddev + 2; ++k) {
      const auto beyond = [&](double x) { return std::erfc(x / (stddev * std::numbers::sqrt2)); };
      sum += k * k * (beyond(k - 0.5) - beyond(k + 0.5));
    }
    EXPECT_TRUE(relatively_close(rounded_gaussian_variance(stddev), sum, 1e-12)) << stddev;
  }
}

TEST(IntegerVariance, of_a_discrete_gaussian_is_the_exact_sum) {
  // 2 sum_k k^2 e^(-k^2 / 2 v) / (1 + 2 sum_k e^(-k^2 / 2 v)) with 60 digits, by mpmath.
  for (const auto& [parameter, variance] :
       {KnownVariance{0x1p-10, 8.7549820741061029082e-223},
        KnownVariance{0x1p-6, 2.5328331098187709922e-14},
        KnownVariance{0x1p-4, 0.00067047541701564781658},
        KnownVariance{0.25, 0.21501267508813848638}, KnownVariance{0.5, 0.49897913083282046176},
        KnownVariance{1, 0.99999978876772808311}, KnownVariance{2, 1.9999999999999977396},
        KnownVariance{3.9375, 3.9375}})
    EXPECT_TRUE(relatively_close(discrete_gaussian_variance(parameter), variance, 1e-13))
        << parameter;
  for (const double large : {4.0, 9.0, 1e10, 0x1p92})
    EXPECT_EQ(discrete_gaussian_variance(large), large);
}

TEST(IntegerVariance, of_a_rounded_difference_is_that_of_its_definition) {
  // Expected square of the distance |stddev N| after rounding: k + r, where k is an integer and
  // 0 <= r < 1, becomes k with probability 1 - r, otherwise k + 1.
  for (double stddev = 0.01; stddev < 3; stddev *= 1.3) {
    double sum = 0;
    constexpr double kStep = 1.0 / 4096;
    for (double n = kStep / 2; n < 9; n += kStep) {
      const double distance = stddev * n, k = std::floor(distance), rest = distance - k;
      const double square = k * k * (1 - rest) + (k + 1) * (k + 1) * rest;
      sum += 2 * kStep * square * std::exp(-n * n / 2) / std::sqrt(2 * std::numbers::pi);
    }
    EXPECT_TRUE(relatively_close(rounded_difference_variance(stddev), sum, 1e-6)) << stddev;
  }
  EXPECT_TRUE(relatively_close(rounded_difference_variance(100), 10000 + 1.0 / 6, 1e-15));
  EXPECT_EQ(rounded_difference_variance(0), 0);
  // Two independent roundings would not be right on coarse grids.
  EXPECT_FALSE(relatively_close(rounded_difference_variance(0.25), 0.0625 + 1.0 / 6, 0.1));
}

TEST(IntegerVariance, at_the_ends_of_the_range) {
  EXPECT_EQ(rounded_gaussian_variance(0), 0);
  EXPECT_EQ(rounded_gaussian_variance(1e-300), 0);
  EXPECT_EQ(rounded_gaussian_variance(0x1p50), 0x1p100);
  double previous = 0;
  for (double stddev = 0.02; stddev < 4; stddev += 1.0 / 128) {
    const double variance = rounded_gaussian_variance(stddev);
    EXPECT_GT(variance, previous) << stddev;
    EXPECT_LE(variance, stddev * stddev + 1.0 / 12) << stddev;
    previous = variance;
  }
}

}  // namespace
}  // namespace dpftrl
