// SPDX-License-Identifier: Apache-2.0
#include "strategy/varying_bands.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/strategy/strategy_info.hpp"
#include "optimal/banded/banded_rows.hpp"
#include "special_values.hpp"
#include "strategy/dense.hpp"
#include "strategy/toeplitz/banded.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::index_of;
using testing::kNan;
using testing::relatively_close;

/// Positive on the diagonal, with both signs below it.
Matrix rough_columns(std::int64_t steps, std::int64_t bands) {
  return Matrix::NullaryExpr(index_of(steps), index_of(bands), [](auto j, auto m) {
    const double sign = m > 0 && (j + 2 * m) % 3 == 0 ? -0.5 : 1;
    return sign * (1 + 0.25 * static_cast<double>(j % 5)) / static_cast<double>(1 + 2 * m);
  });
}

Matrix equal_columns(std::int64_t steps, const std::vector<double>& coefficients) {
  return Matrix::NullaryExpr(index_of(steps), std::ssize(coefficients), [&](auto, auto m) {
    return coefficients[static_cast<std::size_t>(m)];
  });
}

TEST(VaryingBands, norms_are_those_of_the_dense_factors) {
  for (const std::int64_t n : {1, 2, 3, 7, 64})
    for (const std::int64_t p : {1, 2, 5, 70}) {
      SCOPED_TRACE("n = " + to_text(n) + ", p = " + to_text(p));
      const VaryingBandedStrategy s("bands", n, rough_columns(n, p));
      const Matrix encoder = s.encoder(), decoder = s.decoder();
      EXPECT_EQ(s.bands(), std::min(n, p));
      EXPECT_TRUE(encoder.isLowerTriangular(0));
      EXPECT_LE((decoder * encoder - s.workload().matrix()).cwiseAbs().maxCoeff(), 1e-13);
      double largest = 0, total = 0;
      for (std::int64_t t = 0; t < n; ++t) {
        const double row = decoder.row(index_of(t)).squaredNorm();
        EXPECT_TRUE(relatively_close(s.column_norm_squared(t),
                                     encoder.col(index_of(t)).squaredNorm(), 1e-14));
        EXPECT_TRUE(relatively_close(s.row_norm_squared(t), row, 1e-11));
        largest = std::max(largest, row);
        total += row;
      }
      EXPECT_TRUE(relatively_close(s.max_column_norm_squared(),
                                   encoder.colwise().squaredNorm().maxCoeff(), 1e-14));
      EXPECT_TRUE(relatively_close(s.row_norms().max_squared, largest, 1e-11));
      EXPECT_TRUE(
          relatively_close(s.row_norms().mean_squared, total / static_cast<double>(n), 1e-11));
    }
}

TEST(VaryingBands, bounds_of_row_norms_hold_and_what_they_do_not_confirm_is_refused) {
  // Random unit columns, most of them nearly singular, for which B has entries up to 10^17.
  std::mt19937_64 bits(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  int num_large = 0, num_refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::int64_t n = 2 + trial % 30, p = 2 + trial % 4;
    Matrix columns = Matrix::NullaryExpr(index_of(n), index_of(p), [&] { return uniform(bits); });
    for (Eigen::Index j = 0; j < columns.rows(); ++j) {
      columns(j, 0) = std::abs(columns(j, 0)) * std::pow(10.0, -(trial % 7)) + 1e-12;
      columns.row(j) /= columns.row(j).norm();
    }
    for (Eigen::Index j = columns.rows() - columns.cols() + 1; j < columns.rows(); ++j)
      if (j >= 0) columns.row(j).tail(columns.cols() - (columns.rows() - j)).setZero();
    const std::vector<double> bounds = detail::banded_row_norm_bounds_squared(columns);
    std::optional<VaryingBandedStrategy> s;
    try {
      s.emplace("bands", n, columns);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      ++num_refused;
    }
    // Computes B column by column in long double, by the defining recursion.
    std::vector<long double> squares(static_cast<std::size_t>(n), 0);
    for (std::int64_t j = 0; j < n; ++j) {
      std::vector<long double> w(static_cast<std::size_t>(n), 0);
      long double total = 0;
      for (std::int64_t t = j; t < n; ++t) {
        long double rest = t == j ? 1 : 0;
        for (std::int64_t m = 1; m < p && m <= t - j; ++m)
          rest -= static_cast<long double>(columns(index_of(t - m), index_of(m))) *
                  w[static_cast<std::size_t>(t - m)];
        total += w[static_cast<std::size_t>(t)] = rest / columns(index_of(t), 0);
        squares[static_cast<std::size_t>(t)] += total * total;
      }
    }
    for (std::int64_t t = 0; t < n; ++t) {
      const long double truth = squares[static_cast<std::size_t>(t)];
      const double bound = bounds[static_cast<std::size_t>(t)];
      EXPECT_TRUE(!(bound < truth * (1 - 1e-12L))) << trial << " " << t;
      num_large += truth > 1e20L;
      if (s) {
        EXPECT_TRUE(relatively_close(s->row_norm_squared(t), static_cast<double>(truth), 0x1p-9));
      }
    }
  }
  EXPECT_GT(num_large, 100);
  EXPECT_GT(num_refused, 30);
  EXPECT_LT(num_refused, 1900);
}

TEST(VaryingBands, equal_columns_are_the_toeplitz_strategy_also_at_long_horizons) {
  const std::int64_t n = 40'000;
  const std::vector<double> coefficients{1, 0.5, 0.375, 0.3125};
  const VaryingBandedStrategy s("bands", n, equal_columns(n, coefficients));
  const Workload prefix = Workload::prefix_sums(n);
  const auto toeplitz =
      banded_toeplitz_strategy({.designed_for = prefix, .workload = prefix}, coefficients);
  const UnitError ours = unit_error(s, Participation::single());
  const UnitError theirs = unit_error(*toeplitz, Participation::single());
  EXPECT_TRUE(relatively_close(ours.sensitivity.value, theirs.sensitivity.value, 1e-14));
  EXPECT_TRUE(relatively_close(ours.max_error, theirs.max_error, 1e-9));
  EXPECT_TRUE(relatively_close(ours.mean_error, theirs.mean_error, 1e-9));

  const NoiseStreamOptions options{.key = Key::insecure_from_seed(3), .dimension = 2};
  NoiseStream mine(s, options), other(*toeplitz, options);
  Vector row(2), expected(2);
  for (std::int64_t t = 0; t < 3000; ++t) {
    mine.next({row.data(), 2});
    other.next({expected.data(), 2});
    ASSERT_LE((row - expected).norm(), 1e-11 * (1 + expected.norm())) << t;
  }
}

TEST(VaryingBands, one_user_far_enough_apart_has_the_exact_sensitivity) {
  const VaryingBandedStrategy s("bands", 30, rough_columns(30, 4));
  const auto apart = [](std::int64_t separation) {
    return Participation::min_separation({.times = 3, .apart = separation});
  };
  const Sensitivity orthogonal = sensitivity(s, apart(4));
  EXPECT_EQ(orthogonal.exactness, Exactness::exact);
  const double brute = brute_force_sensitivity(s.encoder(), apart(4)).value;
  EXPECT_TRUE(relatively_close(orthogonal.value, brute, 1e-13));
  EXPECT_GE(sensitivity(s, apart(2)).value,
            brute_force_sensitivity(s.encoder(), apart(2)).value * (1 - 1e-13));
}

TEST(VaryingBands, other_workloads_are_served_by_a_dense_strategy) {
  const Workload window = Workload::sliding_window({.steps = 20, .window = 4});
  const auto s = banded_strategy(window, rough_columns(20, 3));
  EXPECT_NE(dynamic_cast<const DenseStrategy*>(s.get()), nullptr);
  EXPECT_LE((s->decoder() * s->encoder() - window.matrix()).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(VaryingBands, bad_columns_are_refused) {
  const auto made = [](std::int64_t steps, Matrix columns) {
    return VaryingBandedStrategy("bands", steps, columns);
  };
  const auto with = [](Eigen::Index j, Eigen::Index m, double value) {
    Matrix columns = rough_columns(6, 3);
    columns(j, m) = value;
    return columns;
  };
  EXPECT_ERROR((void)made(5, rough_columns(6, 3)), "wrong_length",
               "columns must have 5 entries, got 6");
  EXPECT_ERROR((void)made(6, Matrix(6, 0)), "invalid_argument", "bands must be between 1");
  EXPECT_ERROR((void)made(0, Matrix(0, 3)), "invalid_argument", "steps must be between 1");
  EXPECT_ERROR((void)made(65537, Matrix::Ones(65537, 1)), "invalid_argument",
               "steps must be between 1 and 65536, got 65537");
  EXPECT_ERROR((void)made(6, with(2, 0, 0)), "invalid_argument",
               "columns[2][0] must be positive and finite, got 0");
  EXPECT_ERROR((void)made(6, with(2, 0, kNan)), "invalid_argument", "columns[2][0]");
  EXPECT_ERROR((void)made(6, with(3, 1, kNan)), "invalid_argument", "columns[3][1]");
  // Entries below the matrix are not read.
  EXPECT_NO_THROW((void)made(6, with(5, 2, kNan)));
}

}  // namespace
}  // namespace dpftrl
