// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/noise/noise_stream.hpp"

#include "dense_decoder.hpp"
#include "random/gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

constexpr std::uint64_t kStreamSeed = 20;

NoiseStreamOptions noise_stream_options(std::int64_t dimension, std::int64_t first_coordinate = 0) {
  return {.key = Key::insecure_from_seed(kStreamSeed),
          .dimension = dimension,
          .first_coordinate = first_coordinate};
}

std::shared_ptr<const Strategy> stream_strategy(std::string_view name, std::int64_t steps) {
  return testing::make_known(name, steps);
}

Matrix rows_of_stream(const Strategy& strategy, const NoiseStreamOptions& how) {
  NoiseStream stream(strategy, how);
  Matrix rows(testing::index_of(strategy.steps()), testing::index_of(how.dimension));
  for (Eigen::Index t = 0; t < rows.rows(); ++t)
    stream.next({rows.row(t).data(), static_cast<std::size_t>(how.dimension)});
  return rows;
}

/// (B Z)_t in long double, as the oracle.
std::vector<long double> exact_row(const testing::LongMatrix& decoder, const Matrix& z,
                                   Eigen::Index t) {
  std::vector<long double> row(static_cast<std::size_t>(z.cols()), 0);
  for (Eigen::Index m = 0; m < decoder.cols(); ++m) {
    const long double weight = decoder(t, m);
    if (weight == 0) continue;
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] += weight * static_cast<long double>(z(m, static_cast<Eigen::Index>(i)));
  }
  return row;
}

TEST(NoiseStream, streamed_rows_are_the_materialised_matrix_times_the_same_z) {
  std::vector<std::int64_t> horizons = testing::awkward_horizons();
  const std::vector<std::int64_t> longer =
      testing::sizes({.full = {257, 255, 256}, .elsewhere = {257}});
  horizons.insert(horizons.end(), longer.begin(), longer.end());
  for (const StrategyInfo& info : strategy_catalogue())
    for (const std::int64_t n : horizons) {
      if (n > testing::within_reach(info, n)) continue;
      // Searches take nearly all of the time, and streams of their results have no blocks.
      if (!testing::is_full_size() && testing::is_optimised(info) && n > 64) continue;
      const auto strategy = stream_strategy(info.name, n);
      const Matrix z = noise_matrix(noise_stream_options(3), strategy->num_measurements());
      const Matrix expected = strategy->decoder() * z;
      const double difference =
          (rows_of_stream(*strategy, noise_stream_options(3)) - expected).cwiseAbs().maxCoeff();
      EXPECT_LE(difference, 1e-12) << info.name << ", n = " << n;
    }
}

TEST(NoiseStream, rows_at_transform_boundaries_are_right) {
  for (const std::int64_t n : {4095, 4096}) {
    const auto strategy = stream_strategy("square-root", n);
    const Matrix z = noise_matrix(noise_stream_options(1), n);
    const Matrix rows = rows_of_stream(*strategy, noise_stream_options(1));
    const Matrix decoder = strategy->decoder();
    const Eigen::Index last = testing::index_of(n) - 1;
    for (const Eigen::Index t : {Eigen::Index{0}, Eigen::Index{2047}, last - 1, last})
      EXPECT_NEAR(rows(t, 0), decoder.row(t).dot(z.col(0)), 1e-12) << n << " " << t;
  }
}

TEST(NoiseStream, rows_stay_within_their_error_bound) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    const Eigen::Index n = testing::index_of(testing::within_reach(info, 512));
    const auto strategy = stream_strategy(info.name, n);
    const testing::LongMatrix decoder = testing::dense_decoder(strategy->decoder_form(), n);
    const Matrix z = noise_matrix(noise_stream_options(4), strategy->num_measurements());
    NoiseStream stream(*strategy, noise_stream_options(4));
    std::vector<double> row(4);
    long double worst = 0;
    for (Eigen::Index t = 0; t < n; ++t) {
      stream.next(row);
      // Compared with the computed normals, so the bound must leave room for their own error.
      const std::vector<long double> exact = exact_row(decoder, z, t);
      const RowErrorBound bound = stream.row_error_bound();
      const long double normals = kNormalErrorBound * decoder.row(t).cwiseAbs().sum();
      for (std::size_t i = 0; i < row.size(); ++i) {
        const long double error = std::abs(exact[i] - static_cast<long double>(row[i]));
        const double allowed = bound.absolute + bound.relative * std::abs(row[i]);
        ASSERT_LE(error + normals * 0.999, allowed * (1 + 1e-9)) << info.name << " step " << t;
        worst = std::max(worst, error / allowed);
      }
    }
    // The bound is for the worst case and errors are random, so it may be loose, but not by 10^5.
    if (info.name != "output") {
      EXPECT_GE(worst, 1e-5) << info.name;
    }
  }
}

TEST(NoiseStream, a_shard_has_the_same_bits_as_the_whole) {
  // The square root transforms coordinates in pairs, so odd and even ends are tested, in narrow and
  // wide shards.
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = stream_strategy(info.name, 37);
    const Matrix whole = rows_of_stream(*strategy, noise_stream_options(91));
    for (const std::int64_t first : {0, 1, 57, 58, 90})
      for (const std::int64_t dimension : {1, 2, 3, 4, 5, 6, 20, 33}) {
        if (first + dimension > 91) continue;
        const Matrix shard = rows_of_stream(*strategy, noise_stream_options(dimension, first));
        EXPECT_EQ(whole.middleCols(testing::index_of(first), testing::index_of(dimension)), shard)
            << info.name << " " << first << " " << dimension;
      }
  }
}

TEST(NoiseStream, same_key_same_rows_other_key_other_rows) {
  const auto strategy = stream_strategy("honaker", 50);
  EXPECT_EQ(rows_of_stream(*strategy, noise_stream_options(2)),
            rows_of_stream(*strategy, noise_stream_options(2)));
  NoiseStreamOptions other = noise_stream_options(2);
  other.key = Key::insecure_from_seed(kStreamSeed + 1);
  EXPECT_NE(rows_of_stream(*strategy, noise_stream_options(2)), rows_of_stream(*strategy, other));
}

/// Largest |estimated - expected| covariance of rows, in standard errors, over all pairs of steps;
/// coordinates are the independent samples.
double covariance_deviation(const Matrix& rows, const Matrix& decoder) {
  const double samples = static_cast<double>(rows.cols());
  double worst = 0;
  for (Eigen::Index s = 0; s < rows.rows(); ++s)
    for (Eigen::Index t = s; t < rows.rows(); ++t) {
      const double expected = decoder.row(s).dot(decoder.row(t));
      const double variances = decoder.row(s).squaredNorm() * decoder.row(t).squaredNorm();
      const double error = std::sqrt((variances + expected * expected) / samples);
      worst = std::max(worst, std::abs(rows.row(s).dot(rows.row(t)) / samples - expected) / error);
    }
  return worst;
}

TEST(NoiseStream, covariance_of_rows_is_b_b_transposed) {
  // 91 pairs at 5.5 standard errors: false alarm below 4e-6 per strategy, and the key is fixed.
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = stream_strategy(info.name, 13);
    const Matrix rows = rows_of_stream(*strategy, noise_stream_options(40000));
    EXPECT_LE(covariance_deviation(rows, strategy->decoder()), 5.5) << info.name;
  }
}

TEST(NoiseStream, covariance_check_rejects_wrong_scales_and_uncorrelated_rows) {
  const auto strategy = stream_strategy("honaker", 13);
  const Matrix decoder = strategy->decoder();
  const Matrix rows = rows_of_stream(*strategy, noise_stream_options(40000));
  EXPECT_GT(covariance_deviation(rows * (2.0 / 3), decoder), 5.5);
  EXPECT_GT(covariance_deviation(rows * 1.5, decoder), 5.5);
  // Rows with the right variance but fresh noise in every step, as from a stream that loses its
  // state.
  Matrix forgetful = noise_matrix(noise_stream_options(40000), 13);
  for (Eigen::Index t = 0; t < 13; ++t) forgetful.row(t) *= decoder.row(t).norm();
  EXPECT_GT(covariance_deviation(forgetful, decoder), 5.5);
}

TEST(NoiseStream, past_the_horizon_is_refused_and_nothing_changes) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = stream_strategy(info.name, 3);
    NoiseStream stream(*strategy, noise_stream_options(2));
    std::vector<double> row(2);
    for (int t = 0; t < 3; ++t) stream.next(row);
    const std::vector<double> before = row;
    EXPECT_ERROR(stream.next(row), "past_horizon", "step must be below the horizon 3, got 3");
    EXPECT_EQ(row, before);
    EXPECT_EQ(stream.step(), 3);
  }
}

TEST(NoiseStream, bad_options_and_lengths_are_refused) {
  const auto strategy = stream_strategy("tree", 4);
  EXPECT_ERROR(NoiseStream(*strategy, noise_stream_options(0)), "invalid_argument",
               "dimension must be between 1 and");
  EXPECT_ERROR(NoiseStream(*strategy, noise_stream_options(1, -1)), "invalid_argument",
               "first_coordinate must be between 0 and");
  NoiseStream stream(*strategy, noise_stream_options(2));
  std::vector<double> row(3);
  EXPECT_ERROR(stream.next(row), "wrong_length", "row must have 2 entries, got 3");
  EXPECT_EQ(stream.step(), 0);
  const auto long_run = stream_strategy("square-root", 1 << 20);
  EXPECT_ERROR(NoiseStream(*long_run, noise_stream_options(1 << 10)), "resource_exhausted",
               "got 1048576 * 1024");
  // Scratch space counts towards the limit: 2^23 + 1 steps of one coordinate would take 1.6 GiB.
  EXPECT_NO_THROW(NoiseStream(*long_run, noise_stream_options(1)));
  const auto longest = stream_strategy("square-root", (1 << 23) + 1);
  EXPECT_ERROR(NoiseStream(*longest, noise_stream_options(1)), "resource_exhausted",
               "small enough for 1 GiB of noise and scratch space");
}

}  // namespace
}  // namespace dpftrl
