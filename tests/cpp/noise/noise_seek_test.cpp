// SPDX-License-Identifier: Apache-2.0
// Seeking changes no bit: every form, forward and backward, across batches, periods and blocks.
#include <numeric>

#include "catalogue.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "exact_forms.hpp"
#include "form_strategy.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

NoiseStreamOptions seek_options(std::int64_t dimension) {
  return {.key = Key::insecure_from_seed(81), .dimension = dimension, .first_coordinate = 3};
}

template <class Stream, class Value>
std::vector<Value> sought_rows(const Strategy& strategy, std::int64_t dimension) {
  std::vector<Value> rows(static_cast<std::size_t>(strategy.steps() * dimension));
  Stream(strategy, seek_options(dimension)).next_rows(rows, strategy.steps());
  return rows;
}

/// Steps in an order that jumps near and far, forward and backward, and repeats steps.
std::vector<std::int64_t> places(std::int64_t steps) {
  std::vector<std::int64_t> order;
  const std::int64_t stride = testing::is_full_size() ? 1 : 4;
  for (std::int64_t i = 0; i < steps; i += stride) order.push_back(i * 37 % steps);
  for (std::int64_t i = 0; i < steps; i += 7) order.insert(order.end(), {i, i});
  return order;
}

/// First step whose rows after a seek differ from those of a sequential stream, or -1.
template <class Stream, class Value>
std::int64_t first_difference(const Strategy& strategy, std::int64_t dimension,
                              const std::vector<std::int64_t>& steps) {
  const std::vector<Value> walked = sought_rows<Stream, Value>(strategy, dimension);
  const std::size_t width = static_cast<std::size_t>(dimension);
  Stream stream(strategy, seek_options(dimension));
  std::int64_t length = 1;
  for (const std::int64_t step : steps) {
    const std::int64_t count = std::min(length, strategy.steps() - step);
    length = length % 19 + 3;
    std::vector<Value> rows(static_cast<std::size_t>(count) * width);
    stream.seek(step);
    if (stream.step() != step) return step;
    if (count % 2 == 0)
      stream.next_rows(rows, count);
    else
      for (std::size_t i = 0; i < rows.size(); i += width)
        stream.next(std::span(rows).subspan(i, width));
    const Value* expected = walked.data() + static_cast<std::size_t>(step) * width;
    if (!std::equal(rows.begin(), rows.end(), expected)) return step;
  }
  return -1;
}

TEST(NoiseSeek, a_stream_that_seeks_has_the_bits_of_one_that_walks) {
  for (const std::int64_t steps : {1, 23})
    for (const testing::Variant& variant : testing::prefix_variants(steps)) {
      const auto strategy = testing::strategy_of(variant);
      const std::int64_t n = strategy->steps();
      EXPECT_EQ((first_difference<NoiseStream, double>(*strategy, 2, places(n))), -1)
          << variant.title;
      EXPECT_EQ((first_difference<FloatNoiseStream, float>(*strategy, 7, places(n))), -1)
          << variant.title;
    }
}

TEST(NoiseSeek, so_does_a_stream_of_several_windows) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    if (testing::is_optimised(info)) continue;
    const auto strategy = testing::make_known(info.name, 130);
    EXPECT_EQ((first_difference<NoiseStream, double>(*strategy, 3, places(130))), -1) << info.name;
    EXPECT_EQ((first_difference<FloatNoiseStream, float>(*strategy, 70, places(130))), -1)
        << info.name;
  }
}

TEST(NoiseSeek, so_does_every_form_for_every_workload) {
  for (const testing::NamedForm& named : testing::named_forms()) {
    const testing::FormStrategy strategy(named.form, named.steps);
    EXPECT_EQ((first_difference<NoiseStream, double>(strategy, 9, places(named.steps))), -1)
        << named.name;
  }
}

TEST(NoiseSeek, so_do_long_streams_and_rounded_rows) {
  // Beyond 2^16 steps the recursions run in extended precision.
  for (const char* name : {"independent", "tree", "honaker", "tree-k", "haar", "blt-rational",
                           "lambda-cgd", "square-root"}) {
    const auto strategy = testing::make_known(name, 66'000);
    EXPECT_EQ(
        (first_difference<NoiseStream, double>(*strategy, 1, {65'999, 65'535, 65'536, 3, 66'000})),
        -1)
        << name;
  }
  const auto strategy = testing::make_known("optimal", 64);
  NoiseStream walked(*strategy, seek_options(5)), sought(*strategy, seek_options(5));
  std::vector<std::int64_t> rows(64 * 5), rest(14 * 5);
  walked.next_rounded(rows, 64, 1000);
  sought.seek(50);
  sought.next_rounded(rest, 14, 1000);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), rows.begin() + 50 * 5));
}

TEST(NoiseSeek, rows_are_rounded_and_bounded_after_a_seek_too) {
  const auto strategy = testing::make_known("blt-rational", 40);
  NoiseStream stream(*strategy, seek_options(2));
  std::vector<std::int64_t> rounded(2 * 40), again(2 * 5);
  stream.next_rounded(rounded, 40, 1000);
  stream.seek(0);
  std::vector<double> row(2);
  for (int t = 0; t < 10; ++t) stream.next(row);
  const RowErrorBound bound = stream.row_error_bound();
  for (const int step : {8, 0}) {  // within the rows that were made at once, and before them
    stream.seek(step);
    stream.next_rounded(again, 5, 1000);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), rounded.begin() + 2 * step)) << step;
  }
  stream.seek(30);
  EXPECT_ERROR(stream.row_error_bound(), "invalid_argument",
               "written since the last seek, got none");
  stream.seek(9);
  stream.next(row);
  EXPECT_EQ(stream.row_error_bound().absolute, bound.absolute);
}

TEST(NoiseSeek, steps_beyond_the_horizon_are_refused_and_nothing_changes) {
  const auto strategy = testing::make_known("tree", 9);
  NoiseStream stream(*strategy, seek_options(1));
  stream.seek(9);
  stream.seek(4);
  EXPECT_ERROR(stream.seek(10), "invalid_argument", "step must be between 0 and 9, got 10");
  EXPECT_ERROR(stream.seek(-1), "invalid_argument", "step must be between 0 and 9, got -1");
  EXPECT_EQ(stream.step(), 4);
}

}  // namespace
}  // namespace dpftrl
