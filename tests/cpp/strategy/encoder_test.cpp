// SPDX-License-Identifier: Apache-2.0
// Encoders given by the caller.
#include <limits>
#include <random>

#include "dense_algebra.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

Matrix random_encoder(Eigen::Index n) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  Matrix encoder = Matrix::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < i; ++j) encoder(i, j) = normal(generator) / 8;
    encoder(i, i) = 1 + std::abs(normal(generator));
  }
  return encoder;
}

TEST(Encoder, its_factors_sensitivity_and_errors_are_those_of_the_matrix) {
  for (const Eigen::Index n : {1, 4, 64})
    for (const bool is_window : {false, true}) {
      const Workload workload = is_window ? Workload::sliding_window({.steps = n, .window = 3})
                                          : Workload::prefix_sums(n);
      const Matrix encoder = random_encoder(n);
      const auto strategy = make_strategy({.name = "banded",
                                           .steps = n,
                                           .workload = workload,
                                           .parameters = encoder_parameters(encoder)});
      EXPECT_EQ(strategy->encoder(), encoder);
      const Matrix decoder = testing::divide_by_lower(workload.matrix(), encoder);
      EXPECT_LE((strategy->decoder() - decoder).cwiseAbs().maxCoeff(), 1e-9);
      const UnitError error = unit_error(*strategy, Participation::single());
      const double column = encoder.colwise().norm().maxCoeff();
      EXPECT_TRUE(testing::relatively_close(error.sensitivity.value, column, 1e-12));
      EXPECT_TRUE(testing::relatively_close(error.max_error,
                                            column * decoder.rowwise().norm().maxCoeff(), 1e-9));
    }
}

TEST(Encoder, what_is_none_is_refused_by_entry) {
  const Matrix good = random_encoder(3);
  const auto with = [&](Eigen::Index i, Eigen::Index j, double value) {
    Matrix bad = good;
    bad(i, j) = value;
    (void)encoder_parameters(bad);
  };
  EXPECT_ERROR(with(0, 2, 1), "invalid_argument", "encoder[0][2]");
  EXPECT_ERROR(with(1, 1, 0), "invalid_argument", "encoder[1][1]");
  EXPECT_ERROR(with(1, 1, -1), "invalid_argument", "encoder[1][1]");
  EXPECT_ERROR(with(2, 0, std::numeric_limits<double>::quiet_NaN()), "invalid_argument",
               "encoder[2][0]");
  EXPECT_ERROR((void)encoder_parameters(good.topRows(2)), "wrong_length", "encoder[0]");
  EXPECT_ERROR((void)encoder_parameters(Matrix(0, 0)), "invalid_argument", "encoder");
}

}  // namespace
}  // namespace dpftrl
