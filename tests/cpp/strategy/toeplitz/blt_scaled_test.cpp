// SPDX-License-Identifier: Apache-2.0
// Buffers with constant decays, scaled rows and columns of norm 1.
#include "strategy/toeplitz/blt_scaled.hpp"

#include <cmath>
#include <random>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::relatively_close;

TEST(ScaledBlt, is_never_above_the_known_values) {
  struct Known {
    Objective objective;
    double error;
  };
  for (const auto& [objective, error] :
       {Known{Objective::mean, 2.9596}, Known{Objective::max, 2.9791}}) {
    const auto s = make_strategy(
        {.name = "blt-scaled", .steps = 1024, .parameters = {.objective = objective}});
    const UnitError found = unit_error(*s, Participation::single());
    const double own = objective == Objective::mean ? found.mean_error : found.max_error;
    EXPECT_LE(own, error);
    EXPECT_GE(own, certified_lower_bound(*s, Participation::single(), objective)->value);
    EXPECT_TRUE(relatively_close(found.sensitivity.value, 1, 1e-14));
  }
}

TEST(ScaledBlt, is_the_matrix_of_its_description) {
  const ScaledBuffers numbers{.buffers = {.decays = {0.9, 0.4}, .weights = {0.2, 0.3}},
                              .row_scales = {1, 2, 0.5, 1.5, 0.25}};
  const auto s = blt_scaled_strategy(Workload::prefix_sums(5), numbers);
  Matrix encoder = Matrix::Zero(5, 5);
  for (Eigen::Index j = 0; j < 5; ++j)
    for (Eigen::Index i = j; i < 5; ++i) {
      const double lag = static_cast<double>(i - j - 1);
      const double c = i == j ? 1 : 0.2 * std::pow(0.9, lag) + 0.3 * std::pow(0.4, lag);
      encoder(i, j) = numbers.row_scales[static_cast<std::size_t>(i)] * c;
    }
  encoder = (encoder * encoder.colwise().norm().cwiseInverse().asDiagonal()).eval();
  EXPECT_LE((s->encoder() - encoder).cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_GT((s->encoder().transpose() - encoder).cwiseAbs().maxCoeff(), 0.1);
  EXPECT_TRUE(relatively_close(s->row_norms().max_squared,
                               s->decoder().rowwise().squaredNorm().maxCoeff(), 1e-13));
}

TEST(ScaledBlt, bad_numbers_are_refused_by_name) {
  const Workload workload = Workload::prefix_sums(2);
  const ScaledBuffers good{.buffers = {.decays = {0.5}, .weights = {0.25}}, .row_scales = {1, 2}};
  const auto refuses = [&](auto&& change, const char* code, const char* message) {
    ScaledBuffers bad = good;
    change(bad);
    EXPECT_ERROR((void)blt_scaled_strategy(workload, bad), code, message);
  };
  EXPECT_NO_THROW((void)blt_scaled_strategy(workload, good));
  refuses([](ScaledBuffers& it) { it.buffers.decays[0] = 0; }, "invalid_argument", "decays[0]");
  refuses([](ScaledBuffers& it) { it.buffers.decays[0] = 1; }, "invalid_argument", "decays[0]");
  refuses([](ScaledBuffers& it) { it.buffers.decays[0] = NAN; }, "invalid_argument", "NaN");
  refuses([](ScaledBuffers& it) { it.buffers.weights[0] = NAN; }, "invalid_argument", "weights[0]");
  refuses([](ScaledBuffers& it) { it.buffers.weights.clear(); }, "wrong_length", "weights");
  refuses([](ScaledBuffers& it) { it.buffers = {}; }, "invalid_argument",
          "decays must have between 1");
  refuses([](ScaledBuffers& it) { it.row_scales[1] = 0; }, "invalid_argument", "row_scales");
  refuses([](ScaledBuffers& it) { it.row_scales[1] = NAN; }, "invalid_argument", "row_scales");
  refuses([](ScaledBuffers& it) { it.row_scales.pop_back(); }, "wrong_length",
          "row_scales must have 2 entries, got 1");
  EXPECT_ERROR((void)make_strategy({.name = "blt-scaled", .steps = kMaxScaledBltSteps + 1}),
               "invalid_argument", "steps must be between 1 and 2097152");
}

TEST(BltScaled, numbers_that_cancel_each_other_are_refused_or_their_rows_are_right) {
  std::mt19937_64 bits(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  int num_refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t n = 2 + trial % 40;
    ScaledBuffers numbers;
    for (int i = 0; i < 1 + trial % 3; ++i) {
      const double decay = 0.02 + 0.95 * std::abs(uniform(bits));
      numbers.buffers.decays.push_back(decay);
      numbers.buffers.weights.push_back(decay * uniform(bits) * std::exp(8 * uniform(bits)));
    }
    for (std::int64_t t = 0; t < n; ++t) numbers.row_scales.push_back(std::exp(uniform(bits)));
    try {
      const auto s = blt_scaled_strategy(Workload::prefix_sums(n), numbers);
      const Matrix decoder = s->decoder();
      for (std::int64_t t = 0; t < n; ++t)
        EXPECT_TRUE(testing::relatively_close(
            s->row_norm_squared(t), decoder.row(testing::index_of(t)).squaredNorm(), 1e-3))
            << trial << " " << t;
    } catch (const Error& error) {
      ++num_refused;
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
  }
  EXPECT_GT(num_refused, 0);
  EXPECT_LT(num_refused, 250);
}

}  // namespace
}  // namespace dpftrl
