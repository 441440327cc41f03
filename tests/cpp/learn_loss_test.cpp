// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/loss.hpp"

#include <limits>
#include <memory>

#include "support.hpp"

namespace dpftrl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
  std::shared_ptr<const Loss> loss;
  std::vector<double> labels;
};

std::vector<Case> cases() {
  return {{make_loss("logistic"), {-1, 1}}, {make_loss("squared"), {-2.5, 0, 1}}};
}

TEST(Loss, slope_is_the_derivative_of_the_value) {
  const double h = 1e-5;
  for (const Case& c : cases())
    for (const double y : c.labels)
      for (double p = -30; p <= 30; p += 0.37) {
        const double difference = (c.loss->value(p + h, y) - c.loss->value(p - h, y)) / (2 * h);
        // Truncation h^2 / 6 * third derivative, rounding eps * value / h.
        const double tolerance = 1e-10 + 1e-16 * (1 + c.loss->value(p, y)) / h;
        EXPECT_NEAR(c.loss->slope(p, y), difference, 4 * tolerance)
            << c.loss->name() << " p=" << p << " y=" << y;
      }
}

TEST(Loss, a_slope_wrong_by_a_thousandth_would_be_seen) {
  const double h = 1e-5;
  const LogisticLoss loss;
  const double difference = (loss.value(0.3 + h, 1) - loss.value(0.3 - h, 1)) / (2 * h);
  EXPECT_GT(std::abs(1.001 * loss.slope(0.3, 1) - difference), 1e-5);
}

TEST(Loss, convex_non_negative_and_within_its_lipschitz_constant) {
  for (const Case& c : cases())
    for (const double y : c.labels) {
      double previous = -kInfinity;
      for (double p = -50; p <= 50; p += 0.25) {
        const LossAt at = c.loss->at(p, y);
        EXPECT_GE(at.value, 0);
        EXPECT_GE(at.slope, previous) << c.loss->name() << " p=" << p;
        previous = at.slope;
        EXPECT_LE(std::abs(at.slope), c.loss->lipschitz().value_or(kInfinity));
        EXPECT_LE(std::abs(at.slope), c.loss->max_slope(std::abs(p), std::abs(y)) * (1 + 1e-15));
      }
    }
  EXPECT_FALSE(SquaredLoss().lipschitz().has_value());
  EXPECT_EQ(LogisticLoss().lipschitz(), 1.0);
}

TEST(Loss, bounds_on_the_slope_are_attained) {
  const LogisticLoss logistic;
  const SquaredLoss squared;
  EXPECT_NEAR(std::abs(logistic.slope(-2, 1)), logistic.max_slope(2, 1), 1e-15);
  EXPECT_EQ(std::abs(squared.slope(-2, 3)), squared.max_slope(2, 3));
  EXPECT_GT(std::abs(logistic.slope(-40, 1)), 1 - 1e-15);
}

TEST(Loss, known_values) {
  const LogisticLoss logistic;
  EXPECT_NEAR(logistic.value(0, 1), 0.69314718055994530942, 1e-16);
  EXPECT_EQ(logistic.slope(0, 1), -0.5);
  EXPECT_EQ(logistic.slope(0, -1), 0.5);
  // ln(1 + e^-2) and 1/(1 + e^2), from 40-digit arithmetic.
  EXPECT_NEAR(logistic.value(2, 1), 0.12692801104297249, 1e-16);
  EXPECT_NEAR(logistic.slope(2, 1), -0.11920292202211756, 1e-16);
  EXPECT_NEAR(logistic.value(2, -1), 2.1269280110429727, 5e-16);
  EXPECT_EQ(SquaredLoss().value(3, 1), 2);
  EXPECT_EQ(SquaredLoss().slope(3, 1), 2);
}

TEST(Loss, safe_at_every_margin) {
  for (const double size : {1e2, 709.0, 746.0, 1e4, 1e154, 1e200, 1e300})
    for (const double p : {-size, size})
      for (const Case& c : cases())
        for (const double y : c.labels) {
          const LossAt at = c.loss->at(p, y);
          EXPECT_FALSE(std::isnan(at.value)) << c.loss->name() << " " << p;
          EXPECT_TRUE(std::isfinite(at.slope)) << c.loss->name() << " " << p;
        }
  const LogisticLoss logistic;
  EXPECT_EQ(logistic.value(-1e300, 1), 1e300);
  EXPECT_EQ(logistic.slope(-1e300, 1), -1);
  EXPECT_EQ(logistic.value(1e300, 1), 0);
  // Far out on the right side the small value keeps its relative accuracy.
  EXPECT_TRUE(testing::relatively_close(logistic.value(700, 1), std::exp(-700.0), 1e-14));
  EXPECT_TRUE(testing::relatively_close(logistic.slope(700, 1), -std::exp(-700.0), 1e-14));
}

TEST(Loss, labels_are_mapped_or_refused) {
  const LogisticLoss logistic;
  EXPECT_EQ(logistic.label(0), -1);
  EXPECT_EQ(logistic.label(-1), -1);
  EXPECT_EQ(logistic.label(1), 1);
  const auto message = [](const Loss& loss, double label) {
    return testing::error_text([&] { loss.label(label); });
  };
  EXPECT_EQ(message(logistic, 2), "invalid_argument | logistic: label must be -1, 0 or 1, got 2");
  EXPECT_EQ(message(logistic, 0.5),
            "invalid_argument | logistic: label must be -1, 0 or 1, got 0.5");
  EXPECT_EQ(message(logistic, kNan),
            "invalid_argument | logistic: label must be -1, 0 or 1, got NaN");
  EXPECT_EQ(SquaredLoss().label(-7.25), -7.25);
  EXPECT_EQ(message(SquaredLoss(), kInfinity),
            "invalid_argument | squared: label must be finite, got inf");
}

TEST(Loss, correct_means_the_sign_agrees_and_zero_says_plus_one) {
  const LogisticLoss logistic;
  EXPECT_TRUE(logistic.correct(0.1, 1));
  EXPECT_TRUE(logistic.correct(0, 1));
  EXPECT_FALSE(logistic.correct(0, -1));
  EXPECT_TRUE(logistic.correct(-0.1, -1));
  EXPECT_FALSE(SquaredLoss().correct(1, 1));
}

TEST(Loss, unknown_name_is_refused_with_the_known_ones) {
  EXPECT_EQ(testing::error_text([] { make_loss("hinge?"); }),
            "invalid_argument | make_loss: loss must be one of logistic, squared, got \"hinge?\"");
}

double norm_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

TEST(ClippedGradient, is_the_gradient_until_the_clip_norm_and_its_direction_beyond) {
  const std::vector<double> x = {3, -4};
  std::vector<double> out(2);
  clipped_gradient(-0.1, x, 1, out);
  EXPECT_EQ(out, (std::vector<double>{-0.1 * 3, 0.1 * 4}));
  clipped_gradient(-2, x, 1, out);
  EXPECT_NEAR(out[0], -0.6, 1e-15);
  EXPECT_NEAR(out[1], 0.8, 1e-15);
  clipped_gradient(0, x, 1, out);
  EXPECT_EQ(norm_of(out), 0);
}

TEST(ClippedGradient, stays_finite_and_clipped_at_every_scale) {
  std::vector<double> out(3);
  for (const double slope : {1e-300, 1e-5, 1.0, 1e300, -1e300})
    for (const double size : {0.0, 1e-300, 1e-200, 1.0, 1e150, 1e300}) {
      const std::vector<double> x = {size, -size, size / 2};
      clipped_gradient(slope, x, 0.5, out);
      EXPECT_LE(norm_of(out), 0.5 * (1 + 1e-14)) << slope << " " << size;
      if (std::abs(slope) * size > 1) {
        EXPECT_GE(norm_of(out), 0.5 * (1 - 1e-14)) << slope << " " << size;
      }
    }
}

TEST(ClippedGradient, features_without_a_finite_norm_are_refused) {
  std::vector<double> out(2);
  const std::vector<double> x = {1.7e308, 1.7e308};
  EXPECT_EQ(testing::error_text([&] { clipped_gradient(1, x, 1, out); }),
            "invalid_argument | clipped_gradient: norm of features must be finite, got inf");
}

}  // namespace
}  // namespace dpftrl
