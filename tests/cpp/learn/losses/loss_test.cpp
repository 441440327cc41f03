// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/learn/losses/loss.hpp"

#include <limits>
#include <memory>

#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;
using testing::kNan;

struct LossCase {
  std::shared_ptr<const Loss> loss;
  std::vector<double> labels;
};

std::vector<LossCase> loss_cases() {
  const auto user = [](double p, double y) {
    return LossAt{std::cosh(p - y) - 1, std::sinh(p - y)};
  };
  return {{make_loss("logistic"), {-1, 1}},
          {make_loss("squared"), {-2.5, 0, 1}},
          {make_loss("huber", {.huber_threshold = 1.7}), {-2.5, 0, 1}},
          {make_loss("absolute"), {-2.5, 0, 1}},
          {make_loss("quantile", {.quantile = 0.9}), {-2.5, 0, 1}},
          {make_loss("hinge"), {-1, 1}},
          {std::make_shared<const FunctionLoss<decltype(user)>>(user), {-2.5, 1}}};
}

TEST(Loss, slope_is_the_derivative_of_the_value) {
  const double h = 1e-5;
  for (const LossCase& c : loss_cases())
    for (const double y : c.labels)
      for (double p = -30.02; p <= 30; p += 0.37) {  // no kink within h
        const double difference = (c.loss->value(p + h, y) - c.loss->value(p - h, y)) / (2 * h);
        // Truncation error is h^2 / 6 * third derivative, rounding error eps * value / h.
        const double third = c.loss->name() == "function" ? std::cosh(p - y) : 1;
        const double tolerance = 1e-10 * third + 1e-16 * (1 + c.loss->value(p, y)) / h;
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
  for (const LossCase& c : loss_cases())
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
  EXPECT_EQ(make_loss("huber", {.huber_threshold = 1.7})->lipschitz(), 1.7);
  EXPECT_EQ(make_loss("quantile", {.quantile = 0.9})->lipschitz(), 0.9);
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
  const HuberLoss huber(0.5);
  EXPECT_EQ(huber.value(1.25, 1), 0.03125);
  EXPECT_EQ(huber.value(3, 1), 0.5 * (2 - 0.25));
  EXPECT_EQ(huber.slope(-3, 1), -0.5);
  const QuantileLoss quantile(0.75);
  EXPECT_EQ(quantile.value(1, 3), 1.5);
  EXPECT_EQ(quantile.value(3, 1), 0.5);
  EXPECT_EQ(QuantileLoss::absolute().value(-1, 1), 2);
  EXPECT_EQ(QuantileLoss::absolute().slope(1, 1), 0);
  EXPECT_EQ(HingeLoss().value(0.25, 1), 0.75);
  EXPECT_EQ(HingeLoss().value(0.25, -1), 1.25);
  EXPECT_EQ(HingeLoss().value(-1.5, -1), 0);
  EXPECT_EQ(HingeLoss().slope(-0.5, -1), 1);
}

TEST(Loss, safe_at_every_margin) {
  for (const double size : {1e2, 709.0, 746.0, 1e4, 1e154, 1e200, 1e300})
    for (const double p : {-size, size})
      for (const LossCase& c : loss_cases()) {
        if (c.loss->name() == "function") continue;  // defined by the user
        for (const double y : c.labels) {
          const LossAt at = c.loss->at(p, y);
          EXPECT_FALSE(std::isnan(at.value)) << c.loss->name() << " " << p;
          EXPECT_TRUE(std::isfinite(at.slope)) << c.loss->name() << " " << p;
        }
      }
  const LogisticLoss logistic;
  EXPECT_EQ(logistic.value(-1e300, 1), 1e300);
  EXPECT_EQ(logistic.slope(-1e300, 1), -1);
  EXPECT_EQ(logistic.value(1e300, 1), 0);
  // Far out on the correct side, the small value keeps its relative accuracy.
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
            "invalid_argument | make_loss: loss must be one of logistic, squared, hinge, huber, "
            "absolute, quantile, got \"hinge?\"");
  EXPECT_EQ(testing::error_text([] { make_loss("quantile", {.quantile = 1}); }),
            "invalid_argument | quantile: quantile must be strictly between 0 and 1, got 1");
  EXPECT_EQ(testing::error_text([] { make_loss("huber", {.huber_threshold = kNan}); }),
            "invalid_argument | huber: huber_threshold must be positive and finite, got NaN");
}

// The envelope is smooth and below the loss, and its slope supports the loss up to the excess:
// l(q) >= l(p) + slope (q - p) - excess for every q.
TEST(Loss, envelopes_are_below_the_loss_and_their_slopes_support_it) {
  for (const LossCase& c : loss_cases())
    for (const double y : c.labels)
      for (const double width : {1e-3, 0.3, 4.0})
        for (double p = -6.02; p <= 6; p += 0.31) {
          const SmoothedLossAt at = c.loss->smoothed(p, y, width);
          const std::string label = std::string(c.loss->name()) + " p=" + std::to_string(p) +
                                    " y=" + std::to_string(y) + " width=" + std::to_string(width);
          const double actual = c.loss->value(p, y);
          EXPECT_LE(at.value, actual * (1 + 1e-15) + 1e-15) << label;
          EXPECT_GE(at.excess, 0) << label;
          const bool kinks = !c.loss->curvature().has_value();
          EXPECT_NEAR(at.excess, kinks ? actual - at.value - width / 2 * at.slope * at.slope : 0.0,
                      1e-12 * (1 + actual))
              << label;
          for (double q = -9; q <= 9; q += 0.5)
            EXPECT_GE(c.loss->value(q, y),
                      actual + at.slope * (q - p) - at.excess - 1e-12 * (1 + actual))
                << label;
          const double h = 1e-6;
          const SmoothedLossAt up = c.loss->smoothed(p + h, y, width);
          const SmoothedLossAt down = c.loss->smoothed(p - h, y, width);
          if (up.curvature == down.curvature || std::abs(up.curvature - down.curvature) < 1e-4) {
            EXPECT_NEAR(at.slope, (up.value - down.value) / (2 * h),
                        1e-8 * (1 + actual) + h * at.curvature)
                << label;
            EXPECT_NEAR(at.curvature, (up.slope - down.slope) / (2 * h),
                        1e-3 * (1 + actual) + 1e-6 / width)
                << label;
          }
        }
}

TEST(Loss, an_excess_left_out_would_not_support_the_loss) {
  const SmoothedLossAt at = QuantileLoss::absolute().smoothed(0.25, 0, 1);
  EXPECT_GT(0.25 + at.slope * (0 - 0.25), 0);  // above l(0) = 0
}

TEST(FunctionLoss, gives_what_the_function_gives_and_refuses_what_is_not_a_number) {
  const auto pinball = [](double p, double y) {
    return p < y ? LossAt{0.9 * (y - p), -0.9} : LossAt{0.1 * (p - y), 0.1};
  };
  const FunctionLoss loss(pinball, {.lipschitz = 0.9});
  const QuantileLoss built_in(0.9);
  EXPECT_EQ(loss.name(), "function");
  EXPECT_EQ(loss.max_slope(5, 5), 0.9);
  EXPECT_EQ(FunctionLoss(pinball).max_slope(5, 5), kInfinity);
  for (const double p : {-3.0, 0.9, 1.05, 4.0})
    for (const double width : {0.01, 1.0}) {
      const SmoothedLossAt mine = loss.smoothed(p, 1, width);
      const SmoothedLossAt known = built_in.smoothed(p, 1, width);
      EXPECT_NEAR(mine.value, known.value, 1e-13);
      EXPECT_NEAR(mine.slope, known.slope, 1e-12);
      EXPECT_NEAR(mine.excess, known.excess, 1e-13);
    }
  const FunctionLoss broken([](double p, double) { return LossAt{p, kNan}; });
  EXPECT_EQ(testing::error_text([&] { broken.at(1, 1); }),
            "invalid_argument | function_loss: slope must be finite, got NaN");
  const FunctionLoss nothing([](double, double) { return LossAt{kNan, 0}; });
  EXPECT_EQ(testing::error_text([&] { nothing.at(1, 1); }),
            "invalid_argument | function_loss: value must be a number, got NaN");
  EXPECT_EQ(testing::error_text([&] { FunctionLoss(pinball, {.lipschitz = -1}); }),
            "invalid_argument | function_loss: lipschitz must be non-negative and finite, got -1");
}

TEST(SoftmaxLoss, slopes_are_the_gradient_of_the_value_and_within_the_lipschitz_constant) {
  const SoftmaxLoss loss(4);
  const std::vector<std::vector<double>> points = {
      {0, 0, 0, 0}, {1, -2, 0.5, 3}, {-20, 4, 4, 4}, {30, -30, 0, 1}};
  std::vector<double> slopes(4), unused(4);
  for (const std::vector<double>& scores : points)
    for (const double label : {0.0, 1.0, 3.0}) {
      EXPECT_GE(loss.evaluate(scores, label, slopes), 0);
      double sum = 0;
      double square = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        std::vector<double> up = scores, down = scores;
        up[j] += 1e-5;
        down[j] -= 1e-5;
        const double difference =
            (loss.evaluate(up, label, unused) - loss.evaluate(down, label, unused)) / 2e-5;
        EXPECT_NEAR(slopes[j], difference, 1e-9);
        sum += slopes[j];
        square += slopes[j] * slopes[j];
      }
      EXPECT_NEAR(sum, 0, 1e-15);
      EXPECT_LE(std::sqrt(square), *loss.lipschitz());
    }
  EXPECT_NEAR(loss.evaluate(points[0], 2, slopes), std::log(4.0), 1e-15);
}

TEST(SoftmaxLoss, two_classes_are_logistic_regression_and_large_scores_are_safe) {
  const SoftmaxLoss loss(2);
  const LogisticLoss logistic;
  std::vector<double> slopes(2);
  for (const double p : {-700.0, -3.0, 0.0, 2.0, 40.0, 700.0}) {
    EXPECT_TRUE(testing::relatively_close(loss.evaluate(std::vector<double>{0, p}, 1, slopes),
                                          logistic.value(p, 1), 1e-14));
    EXPECT_TRUE(testing::relatively_close(slopes[1], logistic.slope(p, 1), 1e-14));
  }
  EXPECT_EQ(loss.evaluate(std::vector<double>{1e300, -1e300}, 1, slopes), 2e300);
  EXPECT_EQ(slopes, (std::vector<double>{1, -1}));
  EXPECT_EQ(loss.evaluate(std::vector<double>{1e300, -1e300}, 0, slopes), 0);
}

TEST(SoftmaxLoss, labels_are_classes_and_the_first_largest_score_wins) {
  const SoftmaxLoss loss(3);
  EXPECT_EQ(loss.label(2), 2);
  for (const double bad : {-1.0, 3.0, 0.5, kNan})
    EXPECT_ERROR(loss.label(bad), "invalid_argument",
                 "softmax: label must be an integer from 0 to 2");
  EXPECT_TRUE(loss.says(std::vector<double>{1, 3, 3}, 1));
  EXPECT_FALSE(loss.says(std::vector<double>{1, 3, 3}, 2));
  EXPECT_ERROR(SoftmaxLoss(1), "invalid_argument",
               "num_classes must be between 2 and 65536, got 1");
}

double length_of(const std::vector<double>& v) {
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
  EXPECT_NEAR(out[0], -0.6, 1e-14);
  EXPECT_NEAR(out[1], 0.8, 1e-14);
  clipped_gradient(0, x, 1, out);
  EXPECT_EQ(length_of(out), 0);
}

TEST(ClippedGradient, stays_finite_and_clipped_at_every_scale) {
  std::vector<double> out(3);
  for (const double slope : {1e-300, 1e-5, 1.0, 1e300, -1e300})
    for (const double size : {0.0, 1e-300, 1e-200, 1.0, 1e150, 1e300}) {
      const std::vector<double> x = {size, -size, size / 2};
      clipped_gradient(slope, x, 0.5, out);
      EXPECT_LE(length_of(out), 0.5 * (1 + 1e-14)) << slope << " " << size;
      if (std::abs(slope) * size > 1) {
        EXPECT_GE(length_of(out), 0.5 * (1 - 1e-14)) << slope << " " << size;
      }
    }
}

TEST(ClippedGradient, of_several_scores_is_their_outer_product_clipped_as_one) {
  const std::vector<double> x = {3, -4};
  const std::vector<double> slopes = {0.6, -0.8, 0};
  std::vector<double> out(6);
  clipped_gradient(slopes, x, 100, out);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(out[2 * k + i], slopes[k] * x[i]);
  clipped_gradient(slopes, x, 0.5, out);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(out[2 * k + i], slopes[k] * x[i] / 10, 1e-14);
  clipped_gradient(std::vector<double>{1e300, -1e300}, std::vector<double>{1e200}, 2,
                   std::span(out).first(2));
  EXPECT_NEAR(out[0], std::sqrt(2.0), 2e-14);
  EXPECT_NEAR(out[1], -std::sqrt(2.0), 2e-14);
}

TEST(ClippedGradient, is_clipped_whatever_overflows) {
  // Infinite slopes, alone and beside others, and finite slopes whose norm overflows.
  const std::vector<std::vector<double>> all = {{kInfinity},
                                                {-kInfinity},
                                                {1e300},
                                                {kInfinity, 1},
                                                {1, -kInfinity, 2},
                                                {kInfinity, -kInfinity},
                                                {1.7e308, 1.7e308},
                                                {1.7e308, -1.7e308, 1e308}};
  for (const std::vector<double>& slopes : all)
    for (const double clip : {1e-300, 0.5, 1e300})
      for (const double size : {0.0, 5e-324, 1e-310, 1e-300, 1.0, 1e150, 1e300}) {
        SCOPED_TRACE(::testing::Message() << slopes[0] << " clip " << clip << " size " << size);
        const std::vector<double> x = {size, -size / 2};
        std::vector<double> out(slopes.size() * x.size());
        clipped_gradient(slopes, x, clip, out);
        const double length = Eigen::Map<const Vector>(out.data(), std::ssize(out)).stableNorm();
        EXPECT_LE(length, clip);
        const double largest =
            *std::max_element(slopes.begin(), slopes.end(),
                              [](double a, double b) { return std::abs(a) < std::abs(b); });
        const bool is_long = std::abs(largest) * size > clip;
        const double bound =
            std::abs(largest) * std::sqrt(static_cast<double>(slopes.size())) * 1.2;
        const bool is_short = std::isfinite(largest) && bound * size < clip;
        // A clipped gradient is as long as the clip norm, unless its scale leaves the doubles.
        if (size > 0 && is_long && size > 1e-307 * clip && clip > 1e-307 * size) {
          EXPECT_GE(length, clip * (1 - 1e-13));
        }
        for (std::size_t k = 0; k < slopes.size(); ++k) {
          if (size > 0 && std::abs(slopes[k]) == std::abs(largest)) {
            EXPECT_EQ(std::signbit(out[k * x.size()]), std::signbit(slopes[k]));
          }
          if (is_short) {
            EXPECT_EQ(out[k * x.size()], slopes[k] * x[0]);
          }
        }
      }
  std::vector<double> out(2);
  const std::vector<double> x = {1, 1};
  EXPECT_EQ(testing::error_text([&] { clipped_gradient(kNan, x, 1, out); }),
            "invalid_argument | clipped_gradient: slopes must be numbers, got NaN");
}

TEST(ClippedGradient, features_without_a_finite_norm_are_refused) {
  std::vector<double> out(2);
  const std::vector<double> x = {1.7e308, 1.7e308};
  EXPECT_EQ(testing::error_text([&] { clipped_gradient(1, x, 1, out); }),
            "invalid_argument | clipped_gradient: features must have a finite norm, got inf");
}

}  // namespace
}  // namespace dpftrl
