// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/prefix_sum.hpp"

#include <algorithm>
#include <limits>

#include "collected.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "noise/exact/exact_entry.hpp"
#include "random/gaussian.hpp"
#include "release/grid/quantiser.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::Collected;
using testing::kNan;

std::shared_ptr<const Mechanism> prefix_mechanism(std::string_view strategy, std::int64_t steps,
                                                  double clip = 1, double epsilon = 1) {
  return Mechanism::make({.strategy = std::string(strategy),
                          .steps = steps,
                          .target = {.epsilon = epsilon, .delta = 1e-6},
                          .clip = clip});
}

PrefixSumOptions prefix_options(std::int64_t dimension, std::optional<double> grid = std::nullopt) {
  return {.key = Key::insecure_from_seed(5), .dimension = dimension, .grid = grid};
}

std::vector<double> prefix_record(std::uint64_t row, std::size_t dimension, double scale) {
  std::vector<double> values(dimension);
  fill_normals(Key::insecure_from_seed(6), Stream::test, row, 0, values);
  for (double& x : values) x *= scale;
  return values;
}

/// Increment from one record, in grids, as the difference of two releases with the same noise.
std::vector<double> increment(const std::shared_ptr<const Mechanism>& how,
                              const std::vector<double>& values,
                              std::optional<double> grid = std::nullopt) {
  const auto dimension = static_cast<std::int64_t>(values.size());
  PrefixSum with(how, prefix_options(dimension, grid)),
      without(how, prefix_options(dimension, grid));
  std::vector<double> a(values.size()), b(values.size());
  with.release(values, a);
  without.release(std::vector<double>(values.size(), 0.0), b);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = (a[i] - b[i]) / with.grid();
  return a;
}

TEST(PrefixSum, release_is_the_rounded_sum_plus_noise) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    const std::int64_t n = testing::within_reach(info, 200);
    const auto how = prefix_mechanism(info.name, n);
    PrefixSum sums(how, prefix_options(3));
    NoiseStream noise(how->strategy(), {.key = Key::insecure_from_seed(5), .dimension = 3});
    std::vector<double> total(3, 0.0), row(3), noisy(3);
    for (std::int64_t t = 0; t < n; ++t) {
      std::vector<double> values = prefix_record(static_cast<std::uint64_t>(t), 3, 0.4);
      sums.release(values, noisy);
      noise.next(row);
      clip_to_norm(values, how->clip());
      for (std::size_t i = 0; i < 3; ++i) {
        // Grid points are exact doubles here, so the right-hand side rounds sum + noise.
        total[i] += std::trunc(values[i] / sums.grid()) * sums.grid();
        const double ideal = total[i] + how->noise_stddev() * row[i];
        EXPECT_EQ(noisy[i], std::floor(ideal / sums.grid() + 0.5) * sums.grid()) << info.name;
      }
    }
    EXPECT_EQ(sums.num_recomputed(), 0);
  }
}

TEST(PrefixSum, coordinates_beyond_a_block_have_noise_and_records_of_their_own) {
  // Releases process a row in blocks of 1024; noise used twice would cancel in a difference.
  constexpr std::size_t kWidth = 2100;
  const auto how = prefix_mechanism("tree", 3);
  const PrefixSumOptions options = prefix_options(static_cast<std::int64_t>(kWidth));
  PrefixSum sums(how, options), with_sink(how, options);
  NoiseStream noise(how->strategy(), {.key = options.key, .dimension = options.dimension});
  std::vector<double> total(kWidth, 0.0), row(kWidth), noisy(kWidth), again(kWidth);
  for (std::uint64_t t = 0; t < 3; ++t) {
    const std::vector<double> values = prefix_record(t, kWidth, 0.01);
    Collected sink;
    sums.release(values, noisy);
    with_sink.release(values, again, &sink);
    EXPECT_EQ(again, noisy);
    EXPECT_EQ(sink.values, noisy);
    noise.next(row);
    for (std::size_t i = 0; i < kWidth; ++i) {
      total[i] += std::trunc(values[i] / sums.grid()) * sums.grid();
      const double ideal = total[i] + how->noise_stddev() * row[i];
      ASSERT_EQ(noisy[i], std::floor(ideal / sums.grid() + 0.5) * sums.grid()) << t << " " << i;
    }
  }
  EXPECT_EQ(sums.num_recomputed(), 0);
}

TEST(PrefixSum, what_a_record_adds_never_exceeds_the_clip_norm_in_integers) {
  // Adversarial records: on the sphere, far outside, tiny, equal entries, one huge entry.
  for (const std::size_t dimension :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{67}}) {
    for (const double clip : {1.0, 0.3, 17.7, 1e-200}) {
      const auto how = prefix_mechanism("tree", 4, clip);
      std::vector<std::vector<double>> records = {
          std::vector<double>(dimension, clip / std::sqrt(static_cast<double>(dimension))),
          std::vector<double>(dimension, 1e300), std::vector<double>(dimension, 1e-300),
          std::vector<double>(dimension, -clip)};
      for (std::uint64_t row = 0; row < 40; ++row)
        records.push_back(prefix_record(row, dimension, clip));
      // Norms equal to the clip norm except for the last digits, so one pass cannot tell which is
      // larger.
      for (std::uint64_t row = 0; row < 40; ++row) {
        std::vector<double> values = prefix_record(row, dimension, 1);
        double sum = 0;
        for (const double x : values) sum += x * x;
        for (double& x : values)
          x *= clip / std::sqrt(sum) * (1 + 0x1p-52 * (static_cast<double>(row) - 20));
        records.push_back(values);
      }
      for (const std::vector<double>& values : records) {
        const PrefixSum reference(how, prefix_options(static_cast<std::int64_t>(dimension)));
        const double limit = clip / reference.grid();
        long double norm_squared = 0;
        const std::vector<double> added = increment(how, values);
        for (std::size_t i = 0; i < dimension; ++i) {
          EXPECT_EQ(added[i], std::trunc(added[i]));
          EXPECT_LE(std::abs(added[i]) * reference.grid(), std::abs(values[i]));
          norm_squared += static_cast<long double>(added[i]) * added[i];
        }
        EXPECT_LE(norm_squared, static_cast<long double>(limit) * limit);
      }
    }
  }
}

TEST(PrefixSum, integer_records_as_long_as_the_clip_norm_lose_nothing) {
  // Clipping divides by the rounded norm, and truncation to the grid then takes one from some
  // entries. This must not happen if the integers are within the clip norm, which Pythagorean
  // triples reach exactly.
  for (int m = 2; m < 40; ++m)
    for (int n = 1; n < m; ++n) {
      const double hypotenuse = m * m + n * n;
      const std::vector<double> legs = {static_cast<double>(m * m - n * n), 2.0 * m * n};
      EXPECT_EQ(increment(prefix_mechanism("tree", 4, hypotenuse), legs, 1), legs) << hypotenuse;
    }
}

TEST(PrefixSum, clipping_leaves_what_is_short_enough_and_only_that) {
  // The norm of (3 s, 4 s) is 5 s without rounding.
  for (double s = 1; s < 1e6; s = std::floor(s * 1.7) + 1) {
    const std::vector<double> legs = {3 * s, 4 * s};
    for (const double clip : {5 * s, std::nextafter(5 * s, 10 * s), 6 * s}) {
      std::vector<double> record = legs;
      clip_to_norm(record, clip);
      EXPECT_EQ(record, legs) << s;
    }
    std::vector<double> longer = legs;
    clip_to_norm(longer, 5 * s * (1 - 0x1p-40));
    EXPECT_LT(longer[0], legs[0]) << s;
    EXPECT_LT(longer[1], legs[1]) << s;
    EXPECT_GT(longer[1], legs[1] * (1 - 0x1p-39)) << s;
  }
}

TEST(PrefixSum, a_product_is_the_record_that_it_stands_for) {
  // Records within one block and over several, far outside the ball, on the sphere, inside, and so
  // small that they lose digits on the grid.
  const auto how = prefix_mechanism("tree", 64, 0.7);
  for (const std::size_t width : {std::size_t{1}, std::size_t{5}, std::size_t{700}}) {
    const std::vector<double> features = prefix_record(width, width, 1);
    double norm = 0;
    for (const double x : features) norm += x * x;
    norm = std::sqrt(norm);
    for (const double size : {0.0, 0x1p-1060, 1e-300, 1e-3, 0.69, 0.7, 1.0, 1e10, 1e290})
      for (const std::size_t num_scales : {std::size_t{1}, std::size_t{3}}) {
        std::vector<double> scales, written;
        for (std::size_t k = 0; k < num_scales; ++k)
          scales.push_back((k == 1 ? -0.5 : 1) * size / norm /
                           std::sqrt(num_scales > 1 ? 2.25 : 1));
        for (const double scale : scales)
          for (const double x : features) written.push_back(scale * x);
        const auto dimension = static_cast<std::int64_t>(written.size());
        PrefixSum of_products(how, prefix_options(dimension)),
            of_records(how, prefix_options(dimension));
        std::vector<double> a(written.size()), b(written.size());
        of_products.contribute(ProductRecord{scales, features});
        of_records.contribute(written);
        of_products.release(ProductRecord{scales, features}, a);
        of_records.release(written, b);
        EXPECT_EQ(a, b) << width << " " << size << " " << num_scales;
      }
  }
  PrefixSum sums(how, prefix_options(2));
  std::vector<double> row = {0.1, 0.2};
  const std::vector<double> one = {1}, nan = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_ERROR(sums.release(ProductRecord{one, row}, row), "invalid_argument",
               "noisy must be disjoint from the record");
  std::vector<double> noisy(2);
  EXPECT_ERROR(sums.release(ProductRecord{nan, row}, noisy), "invalid_argument",
               "scales[0] must be finite");
  const std::vector<double> huge = {1e200}, too_long = {1e200, 0};
  EXPECT_ERROR(sums.contribute(ProductRecord{huge, too_long}), "invalid_argument",
               "record must be finite");
  EXPECT_ERROR(sums.release(ProductRecord{row, row}, noisy), "wrong_length",
               "record must have 2 entries, got 4");
  EXPECT_EQ(sums.step(), 0);
}

TEST(PrefixSum, the_norm_limit_is_the_exact_floor_of_a_square) {
  // clip / grid = 1527566631.7..., whose square has low bits that a double cannot hold.
  const double grid = 0x1p-30;
  const double clip = 1.422657216946611;
  const std::vector<std::int64_t> crafted = {1261412984, 861566517, 26289, 164, 17, 5, 0};
  std::vector<double> values;
  for (const std::int64_t q : crafted) values.push_back(static_cast<double>(q) * grid);
  const auto how = prefix_mechanism("tree", 1, clip);
  std::int64_t norm_squared = 0;
  for (const double q : increment(how, values, grid))
    norm_squared += static_cast<std::int64_t>(q) * static_cast<std::int64_t>(q);
  // floor((clip / grid)^2) in integers: clip / grid = m / 2^22 with m below 2^53.
  const std::uint64_t m = static_cast<std::uint64_t>(std::ldexp(clip, 52));
  const std::uint64_t high = m >> 32, low = m & 0xffffffff;
  const std::uint64_t middle = 2 * high * low + (low * low >> 32);
  const std::uint64_t limit = (high * high << 20) + (middle >> 12);
  EXPECT_LE(static_cast<std::uint64_t>(norm_squared), limit);
}

TEST(PrefixSum, the_norm_limit_of_a_fraction_is_rounded_down) {
  EXPECT_EQ(detail::max_norm_squared(1.5, 1), 2);
  EXPECT_EQ(detail::max_norm_squared(std::nextafter(3.0, 0.0), 1), 8);
  EXPECT_EQ(detail::max_norm_squared(3, 1), 9);
}

/// Integers that a record adds.
std::vector<std::int64_t> integers_of(const ProductRecord& record, double clip, double grid) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(record.size()));
  const detail::GridRecord integers(record, clip, grid);
  const std::size_t half = all.size() / 2;  // in two blocks, as a release takes them
  integers.add_to(std::span(all).first(half));
  integers.add_to(std::span(all).subspan(half), half);
  return all;
}

TEST(PrefixSum, a_clip_norm_whose_square_is_rounded_up_is_not_exceeded) {
  // n ones have norm sqrt(n). A slightly smaller clip norm whose square rounds to n hides that they
  // must be clipped.
  constexpr std::array<double, 1> kOne = {1};
  std::int64_t num_hidden = 0;
  for (std::size_t n = 2; n < 300; ++n) {
    const double clip = std::sqrt(static_cast<double>(n));
    const std::int64_t most = detail::max_norm_squared(clip, 1);
    num_hidden += clip * clip == static_cast<double>(n) && most < static_cast<std::int64_t>(n);
    const std::vector<double> ones(n, 1.0);
    std::int64_t sum = 0;
    for (const std::int64_t q : integers_of({kOne, ones}, clip, 1)) sum += q * q;
    EXPECT_LE(sum, most) << n;
  }
  EXPECT_GE(num_hidden, 20);
}

TEST(PrefixSum, a_shortened_record_keeps_its_order_over_blocks) {
  // Pythagorean records at clip norms a few ulps below their own norm: if clipping rounds back to
  // the same integers, the magnitude of the larger entry is reduced by 1.
  constexpr std::array<double, 1> kOne = {1};
  std::int64_t num_shortened = 0;
  for (std::int64_t m = 2; m < 24; ++m)
    for (std::int64_t k = 1; k < m; ++k) {
      const std::int64_t a = m * m - k * k, b = 2 * m * k, norm = m * m + k * k;
      std::vector<double> record(8, 0.0);
      record[1] = static_cast<double>(a);
      record[6] = static_cast<double>(-b);
      double clip = static_cast<double>(norm);
      for (int ulps = 1; ulps <= 4; ++ulps) {
        clip = std::nextafter(clip, 0.0);
        const std::vector<std::int64_t> made = integers_of({kOne, record}, clip, 1);
        const std::int64_t first = made[1], second = made[6];
        EXPECT_EQ(made, (std::vector<std::int64_t>{0, first, 0, 0, 0, 0, second, 0})) << m;
        EXPECT_LT(first * first + second * second, norm * norm) << m << " " << k;
        num_shortened += (first == a && second == 1 - b) || (first == a - 1 && second == -b);
      }
    }
  EXPECT_GE(num_shortened, 10);
}

TEST(PrefixSum, scales_that_overflow_on_the_grid_are_taken_entry_by_entry) {
  const std::array<double, 1> scale = {0x1p1000};
  const std::vector<double> features = {0x1p-1010, 0, -0x1p-1012, 0x1p-1010, 0, 0};
  EXPECT_EQ(integers_of({scale, features}, 1, 0x1p-30),
            (std::vector<std::int64_t>{1 << 20, 0, -(1 << 18), 1 << 20, 0, 0}));
}

TEST(PrefixSum, records_within_the_clip_norm_keep_their_value_to_one_grid) {
  const auto how = prefix_mechanism("tree", 4);
  const PrefixSum reference(how, prefix_options(3));
  const std::vector<double> values = {0.5, -0.25, 0.7};
  const std::vector<double> added = increment(how, values);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(added[i] * reference.grid(), values[i], reference.grid());
}

TEST(PrefixSum, integers_are_counted_exactly) {
  // Counts up to the clip norm are represented exactly, for any epsilon.
  for (const double epsilon : {0.01, 1.0, 50.0})
    for (const double clip : {1.0, 5.0, 1000.0}) {
      const auto how = prefix_mechanism("honaker", 1000, clip, epsilon);
      const PrefixSum reference(how, prefix_options(1));
      EXPECT_LE(reference.grid(), 1);
      EXPECT_EQ(increment(how, {clip})[0] * reference.grid(), clip);
      EXPECT_EQ(increment(how, {1})[0] * reference.grid(), 1);
    }
}

TEST(PrefixSum, default_grid_is_a_power_of_two_below_noise_and_clip_norm) {
  for (const StrategyInfo& info : strategy_catalogue())
    for (const double clip : {1e-3, 0.7, 100.0}) {
      if (testing::is_optimised(info) && clip != 0.7) continue;  // the search is the same
      const auto how = prefix_mechanism(info.name, 64, clip);
      for (const std::int64_t dimension : {1, 10, 10000}) {
        const double grid = default_grid(*how, dimension);
        int exponent = 0;
        EXPECT_EQ(std::frexp(grid, &exponent), 0.5);
        for (std::int64_t t = 0; t < 64; ++t) EXPECT_LE(grid, how->release_stddev(t) / 64);
        EXPECT_LE(grid, clip / (64 * std::sqrt(static_cast<double>(dimension))));
        EXPECT_LE(grid, 1);
      }
    }
}

TEST(PrefixSum, truncation_of_a_whole_stream_stays_below_a_quarter_of_the_noise) {
  for (const StrategyInfo& info : strategy_catalogue())
    for (const std::int64_t n : {1, 100, 20000}) {
      if (testing::is_optimised(info) && n > 100) continue;  // slow
      const auto how = prefix_mechanism(info.name, n);
      const PrefixSum reference(how, prefix_options(1));
      const double kept = increment(how, {0.3})[0] * reference.grid();
      const double typical =
          how->noise_stddev() * std::sqrt(how->strategy().row_norms().mean_squared);
      EXPECT_LE(static_cast<double>(n) * (0.3 - kept), typical / 4) << info.name << " " << n;
      // The rule is needed, since the other two conditions alone allow a coarser grid.
      if (n == 20000 && info.name == "honaker") {
        EXPECT_GT(static_cast<double>(n) * (1.0 / 128), typical / 4);
      }
    }
}

TEST(PrefixSum, default_grid_works_at_every_scale) {
  for (const double clip : {1e-200, 1e-3, 1.0, 1e12, 1e200})
    for (const double epsilon : {1e-3, 1.0, 1e6})
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{1} << 24, std::int64_t{1} << 40})
        EXPECT_EQ(testing::error_text([&] {
                    const PrefixSum sums(prefix_mechanism("tree", n, clip, epsilon),
                                         prefix_options(1));
                  }),
                  "")
            << clip << " " << epsilon << " " << n;
}

/// Noise of the first release over many coordinates, in units of the predicted standard deviation.
double empirical_stddev(const Mechanism& how, std::vector<double> noisy) {
  double squares = 0;
  for (const double x : noisy) squares += x * x;
  return std::sqrt(squares / static_cast<double>(noisy.size())) / how.release_stddev(0);
}

TEST(PrefixSum, noise_has_the_stated_standard_deviation) {
  // With 10^5 samples the estimate's standard deviation is 0.22 %, so 1.5 % is 6.7 of them; false
  // alarm below 1e-10.
  const auto how = prefix_mechanism("square-root", 16);
  PrefixSum sums(how, prefix_options(100000));
  std::vector<double> noisy(100000);
  sums.release(std::vector<double>(100000, 0.0), noisy);
  EXPECT_NEAR(empirical_stddev(*how, noisy), 1, 0.015);
  for (double& x : noisy) x *= 2.0 / 3;
  EXPECT_GT(std::abs(empirical_stddev(*how, noisy) - 1), 0.015) << "the check can fail";
}

/// Moments of floor(stddev N + 1/2), by sums over all integers.
struct RoundedMoments {
  double second = 0, fourth = 0;
};
RoundedMoments moments_of_rounded(double stddev) {
  RoundedMoments moments;
  for (double k = 1; k < 12 * stddev + 2; ++k) {
    const auto beyond = [&](double x) { return std::erfc(x / (stddev * std::sqrt(2.0))); };
    const double mass = beyond(k - 0.5) - beyond(k + 0.5);
    moments.second += k * k * mass;
    moments.fourth += k * k * k * k * mass;
  }
  return moments;
}

TEST(PrefixSum, the_predicted_std_is_that_of_the_releases_on_coarse_grids_too) {
  // Six standard errors of a mean square of 40,000 entries, at least about a hundred of which are
  // not 0; at most 40 cases give a false alarm with probability below 1e-6.
  constexpr std::int64_t kDimension = 40000;
  constexpr double kSigmas = 6;
  int num_cases = 0, num_understated = 0, num_overstated = 0;
  for (const char* strategy : {"output", "tree", "square-root", "independent"}) {
    for (const double epsilon : {0.3, 8.0, 20.0, 50.0, 200.0}) {
      const auto how = prefix_mechanism(strategy, 8, 1, epsilon);
      PrefixSum sums(how, prefix_options(kDimension, 1));
      std::vector<double> noisy(kDimension);
      for (const std::int64_t step : {0, 1}) {
        sums.release(std::vector<double>(kDimension, 0.0), noisy);
        const double ideal = how->release_stddev(step);
        const double predicted = std::pow(sums.release_stddev(step), 2);
        const RoundedMoments exact = moments_of_rounded(ideal);
        EXPECT_TRUE(testing::relatively_close(predicted, exact.second, 1e-11)) << ideal;
        if (predicted * kDimension < 100) continue;
        double measured = 0;
        for (const double x : noisy) measured += x * x / kDimension;
        const double most =
            kSigmas * std::sqrt((exact.fourth - exact.second * exact.second) / kDimension);
        EXPECT_NEAR(measured, predicted, most) << strategy << " " << ideal;
        // Ignoring the rounding would predict another variance.
        num_understated += measured - ideal * ideal > most;
        num_overstated += ideal * ideal - measured > most;
        ++num_cases;
      }
    }
  }
  EXPECT_GE(num_cases, 20);
  EXPECT_GE(num_understated, 5);
  EXPECT_GE(num_overstated, 2);
}

TEST(PrefixSum, a_refused_record_changes_nothing) {
  const auto how = prefix_mechanism("honaker", 10);
  PrefixSum sums(how, prefix_options(2)), undisturbed(how, prefix_options(2));
  std::vector<double> noisy(2), expected(2);
  const std::vector<double> bad_nan = {0.1, kNan};
  const std::vector<double> bad_infinity = {-std::numeric_limits<double>::infinity(), 0};
  const std::vector<double> short_record = {1};
  const std::vector<double> good = {0.3, 0.4};
  for (int t = 0; t < 10; ++t) {
    EXPECT_ERROR(sums.release(bad_nan, noisy), "invalid_argument",
                 "record[1] must be finite, got NaN");
    EXPECT_ERROR(sums.release(bad_infinity, noisy), "invalid_argument",
                 "record[0] must be finite, got -inf");
    EXPECT_ERROR(sums.release(short_record, noisy), "wrong_length",
                 "record must have 2 entries, got 1");
    sums.release(good, noisy);
    undisturbed.release(good, expected);
    EXPECT_EQ(noisy, expected);
  }
}

TEST(PrefixSum, a_release_over_a_part_of_its_record_is_refused) {
  PrefixSum sums(prefix_mechanism("tree", 4), prefix_options(3));
  std::vector<double> memory(6, 0.25);
  const std::span<double> all(memory);
  const char* const message = "noisy must be the record itself or disjoint from it";
  EXPECT_ERROR(sums.release(all.first(3), all.subspan(1, 3)), "invalid_argument", message);
  EXPECT_ERROR(sums.release(all.subspan(1, 3), all.first(3)), "invalid_argument", message);
  EXPECT_ERROR(sums.release_batch(all.first(3), all.subspan(2, 3), 1), "invalid_argument", message);
  EXPECT_EQ(sums.step(), 0);
  EXPECT_EQ(memory, std::vector<double>(6, 0.25));
  sums.release(all.first(3), all.last(3));
  sums.release(all.first(3), all.first(3));
  EXPECT_EQ(sums.step(), 2);
}

TEST(PrefixSum, past_the_horizon_is_refused) {
  PrefixSum sums(prefix_mechanism("tree", 2), prefix_options(1));
  std::vector<double> noisy(1);
  const std::vector<double> one = {1};
  sums.release(one, noisy);
  sums.release(one, noisy);
  const double last = noisy[0];
  EXPECT_ERROR(sums.release(one, noisy), "past_horizon", "horizon 2");
  EXPECT_EQ(noisy[0], last);
  EXPECT_EQ(sums.step(), 2);
}

TEST(PrefixSum, a_batch_is_its_releases_one_by_one) {
  for (const char* name : {"blt", "honaker", "square-root"})
    for (const std::int64_t dimension : {1, 3, 40}) {
      const auto how = prefix_mechanism(name, 90);
      const std::size_t width = static_cast<std::size_t>(dimension);
      const std::vector<double> records = prefix_record(1, 90 * width, 0.3);
      PrefixSum batch(how, prefix_options(dimension)), single(how, prefix_options(dimension));
      std::vector<double> noisy(90 * width), expected(90 * width);
      for (const auto& [first, count] : {std::pair{0, 1}, {1, 70}, {71, 0}, {71, 19}})
        batch.release_batch(std::span(records).subspan(static_cast<std::size_t>(first) * width,
                                                       static_cast<std::size_t>(count) * width),
                            std::span(noisy).subspan(static_cast<std::size_t>(first) * width,
                                                     static_cast<std::size_t>(count) * width),
                            count);
      for (std::size_t t = 0; t < 90; ++t)
        single.release(std::span(records).subspan(t * width, width),
                       std::span(expected).subspan(t * width, width));
      EXPECT_EQ(noisy, expected) << name << " " << dimension;
    }
}

/// Numbers around every threshold of clipping and rounding, and far beyond.
std::vector<double> nasty_numbers(double clip, double grid) {
  std::vector<double> numbers;
  for (const double x :
       {0.0, clip, clip / 3, grid, 3 * grid, grid / 2, 1e-310, 1e308,
        std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()})
    for (const double near : {x, std::nextafter(x, 0.0), std::nextafter(x, 2 * x)})
      if (std::isfinite(near)) numbers.insert(numbers.end(), {near, -near});
  return numbers;
}

TEST(PrefixSum, a_batch_of_numbers_has_their_integers_one_by_one) {
  for (const double clip : {1.0, 0.1, 3.0, 1e-200, 1e200})
    for (const int fineness : {20, 27}) {
      const auto how = prefix_mechanism("blt", 58, clip);
      const double grid = std::exp2(std::floor(std::log2(clip)) - fineness);
      const std::vector<double> numbers = nasty_numbers(clip, grid);
      const auto count = static_cast<std::int64_t>(numbers.size());
      PrefixSum batch(how, prefix_options(1, grid)), single(how, prefix_options(1, grid));
      std::vector<double> noisy(numbers.size()), expected(numbers.size());
      std::vector<double> bad = numbers;
      bad.back() = kNan;
      EXPECT_ERROR(batch.release_batch(bad, noisy, count), "invalid_argument", "must be finite");
      EXPECT_EQ(batch.step(), 0);
      batch.contribute({&clip, 1});
      single.contribute({&clip, 1});
      batch.release_batch(numbers, noisy, count);
      for (std::size_t t = 0; t < numbers.size(); ++t)
        single.release({&numbers[t], 1}, {&expected[t], 1});
      EXPECT_EQ(noisy, expected) << clip;
      EXPECT_EQ(batch.checkpoint(), single.checkpoint());
    }
}

TEST(PrefixSum, a_batch_of_numbers_recomputes_the_entries_that_it_releases) {
  const auto how = prefix_mechanism("blt", 300, 1, 0.02);
  const double grid = 0x1p-30;
  PrefixSum batch(how, prefix_options(1, grid)), single(how, prefix_options(1, grid));
  const std::vector<double> zeros(300, 0.0);
  std::vector<double> noisy(300), expected(300);
  for (const std::size_t end : {3U, 70U, 300U}) {
    const auto begin = static_cast<std::size_t>(batch.step());
    batch.release_batch(std::span(zeros).subspan(begin, end - begin),
                        std::span(noisy).subspan(begin, end - begin),
                        static_cast<std::int64_t>(end - begin));
    for (std::size_t t = begin; t < end; ++t) single.release({&zeros[t], 1}, {&expected[t], 1});
    EXPECT_EQ(noisy, expected);
    EXPECT_EQ(batch.num_recomputed(), single.num_recomputed());
  }
  EXPECT_GT(batch.num_recomputed(), 0);
}

TEST(PrefixSum, a_refused_batch_changes_nothing) {
  const auto how = prefix_mechanism("tree", 3);
  PrefixSum sums(how, prefix_options(2)), undisturbed(how, prefix_options(2));
  std::vector<double> noisy(4), expected(4);
  const std::vector<double> bad = {0.1, 0.2, 0.3, kNan};
  EXPECT_ERROR(sums.release_batch(bad, noisy, 2), "invalid_argument", "records[3] must be finite");
  EXPECT_ERROR(sums.release_batch(bad, noisy, 3), "wrong_length", "records must have 6 entries");
  EXPECT_ERROR(sums.release_batch(bad, noisy, -1), "invalid_argument",
               "num_records must be between 0 and 3");
  const std::vector<double> good = {0.1, 0.2, 0.3, 0.4};
  sums.release_batch(good, noisy, 2);
  undisturbed.release_batch(good, expected, 2);
  EXPECT_EQ(noisy, expected);
  EXPECT_ERROR(sums.release_batch(good, noisy, 2), "past_horizon", "horizon 3");
  EXPECT_EQ(sums.step(), 2);
}

TEST(PrefixSum, digits_one_by_one_give_the_same_releases) {
  for (const char* name : {"blt", "honaker", "haar", "square-root"}) {
    const auto how = prefix_mechanism(name, 40);
    PrefixSumOptions slowly = prefix_options(2);
    slowly.exact_only = true;
    PrefixSum quick(how, prefix_options(2)), slow(how, slowly);
    const std::vector<double> records = prefix_record(2, 80, 0.3);
    std::vector<double> noisy(80), expected(80);
    quick.release_batch(records, noisy, 40);
    slow.release_batch(records, expected, 40);
    EXPECT_EQ(noisy, expected) << name;
    EXPECT_EQ(slow.num_recomputed(), 80);
  }
}

TEST(PrefixSum, digits_one_by_one_go_on_after_a_restore_in_the_middle_of_a_window) {
  // Rows are made several at a time; those beyond the checkpoint have undecided entries.
  const auto how = prefix_mechanism("tree", 12);
  PrefixSumOptions slowly = prefix_options(2);
  slowly.exact_only = true;
  PrefixSum undisturbed(how, prefix_options(2)), sums(how, slowly);
  std::vector<double> noisy(2), expected(2);
  for (std::uint64_t t = 0; t < 12; ++t) {
    sums.restore_without_journal(sums.checkpoint());
    sums.release(prefix_record(t, 2, 0.3), noisy);
    undisturbed.release(prefix_record(t, 2, 0.3), expected);
    EXPECT_EQ(noisy, expected) << t;
  }
}

TEST(PrefixSum, digits_beyond_a_block_of_coordinates_are_those_of_their_own_addresses) {
  // Recomputation processes a row in blocks of 1024.
  constexpr std::int64_t kWidth = 1100;
  const auto how = prefix_mechanism("tree", 3);
  PrefixSumOptions slowly = prefix_options(kWidth);
  slowly.exact_only = true;
  PrefixSum quick(how, prefix_options(kWidth)), slow(how, slowly);
  const std::vector<double> zeros(kWidth, 0.0);
  std::vector<double> noisy(kWidth), expected(kWidth);
  for (std::int64_t t = 0; t < 3; ++t) {
    quick.release(zeros, noisy);
    slow.release(zeros, expected);
    EXPECT_EQ(noisy, expected) << t;
  }
  EXPECT_LT(quick.num_recomputed(), 10);
  EXPECT_EQ(slow.num_recomputed(), 3 * kWidth);
}

/// Noise of a run on zero records in integers, and the number of recomputed entries.
struct NoiseRun {
  std::vector<std::int64_t> rounded;
  std::int64_t num_recomputed;
};

NoiseRun run_on_zeros(const std::shared_ptr<const Mechanism>& how, std::int64_t dimension,
                      double grid) {
  PrefixSum sums(how, prefix_options(dimension, grid));
  std::vector<double> noisy(static_cast<std::size_t>(dimension));
  const std::vector<double> zeros(noisy.size(), 0.0);
  NoiseRun run{};
  for (std::int64_t t = 0; t < sums.steps(); ++t) {
    sums.release(zeros, noisy);
    for (const double x : noisy) run.rounded.push_back(static_cast<std::int64_t>(x / grid));
  }
  run.num_recomputed = sums.num_recomputed();
  return run;
}

TEST(PrefixSum, entries_that_double_precision_leaves_open_are_recomputed_exactly) {
  // A grid 2^30 times finer than the noise leaves many entries undecided.
  const double grid = 0x1p-28;
  // Exact entries take nearly all of the time.
  const std::int64_t stride = testing::is_full_size() ? 11 : 101,
                     num_last = testing::is_full_size() ? 8 : 2;
  for (const StrategyInfo& info : strategy_catalogue()) {
    const std::int64_t n = testing::within_reach(info, 300);
    const auto how = prefix_mechanism(info.name, n);
    const double scale = how->noise_stddev() / grid;
    const NoiseStreamOptions options{.key = Key::insecure_from_seed(5), .dimension = 3};
    const DecoderForm form = how->strategy().decoder_form();
    const NoiseRun run = run_on_zeros(how, 3, grid);
    NoiseStream noise(how->strategy(), options);
    std::vector<double> row(3);
    std::int64_t num_changed = 0;
    for (std::int64_t t = 0; t < n; ++t) {
      noise.next(row);
      if (t % stride != 0 && t < n - num_last) continue;
      for (std::int64_t i = 0; i < 3; ++i) {
        const std::int64_t released = run.rounded[static_cast<std::size_t>(3 * t + i)];
        ASSERT_EQ(released, exact_rounded_entry(form, options, t, i, scale)) << info.name;
        const double naive = std::floor(scale * row[static_cast<std::size_t>(i)] + 0.5);
        num_changed += static_cast<double>(released) != naive;
      }
    }
    EXPECT_LE(num_changed, run.num_recomputed);
  }
}

TEST(PrefixSum, a_run_with_recomputed_entries_has_the_bits_of_the_ideal_noise) {
  // On this grid every run has undecided entries, but few enough to check all of them.
  const auto how = prefix_mechanism("independent", 1500);
  const double grid = 0x1p-31;
  const NoiseRun run = run_on_zeros(how, 2, grid);
  EXPECT_GE(run.num_recomputed, 5);
  EXPECT_LE(run.num_recomputed, 300);
  NoiseStream noise(how->strategy(), {.key = Key::insecure_from_seed(5), .dimension = 2});
  std::vector<double> row(2);
  std::int64_t num_wrong_in_doubles = 0;
  for (std::int64_t t = 0; t < 1500; ++t) {
    noise.next(row);
    const RowErrorBound bound = noise.row_error_bound();
    for (std::size_t i = 0; i < 2; ++i) {
      const double scaled = how->noise_stddev() / grid * row[i];
      const double error =
          how->noise_stddev() / grid * (bound.absolute + bound.relative * std::abs(row[i])) +
          0x1p-51 * std::abs(scaled);
      if (0.5 - std::abs(scaled - std::floor(scaled + 0.5)) > 2 * error) continue;
      const std::int64_t ideal =
          noise.rounded(static_cast<std::int64_t>(i), how->noise_stddev() / grid);
      EXPECT_EQ(run.rounded[static_cast<std::size_t>(2 * t) + i], ideal);
      num_wrong_in_doubles += static_cast<double>(ideal) != std::floor(scaled + 0.5);
    }
  }
  EXPECT_LE(num_wrong_in_doubles, run.num_recomputed);
}

TEST(PrefixSum, bad_grids_are_refused_by_name) {
  const auto how = prefix_mechanism("tree", 8);
  for (const double bad : {0.0, -0.5, 0.3, kNan, std::numeric_limits<double>::infinity()})
    EXPECT_ERROR(PrefixSum(how, prefix_options(1, bad)), "invalid_argument",
                 "grid must be a power of two");
  EXPECT_ERROR(PrefixSum(how, prefix_options(1, 2.0)), "invalid_argument",
               "grid must be at most clip = 1, got 2");
  EXPECT_ERROR(PrefixSum(how, prefix_options(1, 0x1p-60)), "invalid_argument",
               "grid must be coarse enough");
  EXPECT_ERROR(PrefixSum(nullptr, prefix_options(1)), "invalid_argument",
               "prefix_sum: mechanism must be given");
  const auto drowned = Mechanism::make(
      {.strategy = "output", .steps = 1000000, .target = {.epsilon = 1e-13, .delta = 1e-13}});
  EXPECT_ERROR(PrefixSum(drowned, prefix_options(1)), "invalid_argument",
               "clip must be at least 2^-40 of the largest release std");
  EXPECT_ERROR(PrefixSum(prefix_mechanism("tree", 8, 1e300), prefix_options(1)), "invalid_argument",
               "grid must be at most 2^900");
  EXPECT_ERROR(PrefixSum(how, prefix_options(0)), "invalid_argument", "dimension must be between");
}

TEST(PrefixSum, a_grid_in_which_the_sums_of_the_horizon_pass_2_to_62_is_refused) {
  // 2^40 records of 2^22 grids add up to 2^62; no other limit applies to these grids.
  const auto how = prefix_mechanism("tree", std::int64_t{1} << 40);
  EXPECT_EQ(PrefixSum(how, prefix_options(1, 0x1p-22)).max_contributions(), std::int64_t{1} << 40);
  EXPECT_ERROR(PrefixSum(how, prefix_options(1, 0x1p-23)), "invalid_argument",
               "grid must be coarse enough that a record spans at most 2^31 grids, the sums 2^62");
  EXPECT_EQ(
      PrefixSum(prefix_mechanism("tree", std::int64_t{1} << 39), prefix_options(1, 0x1p-23)).grid(),
      0x1p-23);
}

TEST(PrefixSum, a_checkpoint_belongs_to_one_clip_norm_one_noise_and_one_grid) {
  const auto sums = [](double clip, Neighbours neighbours, double epsilon, double grid) {
    const auto how = Mechanism::make({.strategy = "tree",
                                      .steps = 4,
                                      .target = {.epsilon = epsilon, .delta = 1e-6},
                                      .clip = clip,
                                      .neighbours = neighbours});
    return PrefixSum(how, prefix_options(1, grid));
  };
  PrefixSum own = sums(1, Neighbours::replace_one, 1, 0x1p-10);
  PrefixSum longer = sums(2, Neighbours::zero_out, 1, 0x1p-10);
  ASSERT_EQ(own.release_stddev(0), longer.release_stddev(0));  // only the clip norm differs
  const auto bytes = own.checkpoint();
  EXPECT_NO_THROW(own.restore_without_journal(bytes));
  EXPECT_ERROR(longer.restore_without_journal(bytes), "bad_state", "must be of this mechanism");
  EXPECT_ERROR(sums(1, Neighbours::replace_one, 2, 0x1p-10).restore_without_journal(bytes),
               "bad_state", "must be of this mechanism");
  EXPECT_ERROR(sums(1, Neighbours::replace_one, 1, 0x1p-11).restore_without_journal(bytes),
               "bad_state", "must be of this mechanism");
}

TEST(PrefixSum, the_default_grid_is_fine_enough_for_the_quietest_step) {
  // The noise of the first step is a quarter of that of the last, and is the tightest limit on the
  // grid.
  const auto how = prefix_mechanism("independent", 16, 1, 20);
  EXPECT_GT(how->release_stddev(15), 3 * how->release_stddev(0));
  EXPECT_LE(default_grid(*how, 1), how->release_stddev(0) / 64);
}

TEST(PrefixSum, each_limit_of_a_fine_grid_holds_by_itself) {
  // With one step: a record beyond 2^31 grids, where sums and noise have room; then noise of 2400
  // clip norms beyond 2^40 grids, where the record has room.
  const auto how = prefix_mechanism("tree", 1), noisy = prefix_mechanism("tree", 1, 1, 1e-3);
  EXPECT_NO_THROW(PrefixSum(how, prefix_options(1, 0x1p-31)));
  EXPECT_ERROR(PrefixSum(how, prefix_options(1, 0x1p-32)), "invalid_argument",
               "grid must be coarse enough");
  ASSERT_GT(noisy->noise_stddev(), 0x1p9);
  EXPECT_NO_THROW(PrefixSum(noisy, prefix_options(1, 0x1p-24)));
  EXPECT_ERROR(PrefixSum(noisy, prefix_options(1, 0x1p-31)), "invalid_argument",
               "grid must be coarse enough");
}

TEST(PrefixSum, noise_near_underflow_is_refused) {
  const auto how = prefix_mechanism("tree", 8, 1e-300);
  EXPECT_ERROR(PrefixSum(how, prefix_options(1)), "invalid_argument",
               "noise_stddev must be at least 2^-900");
}

TEST(PrefixSum, options_may_leave_out_the_grid) {
  // Compiled with -Wextra -Werror, so a member without an initialiser would fail here.
  const PrefixSumOptions options{.key = Key::insecure_from_seed(1), .dimension = 2};
  EXPECT_FALSE(options.grid.has_value());
}

TEST(PrefixSum, clipping_keeps_direction_and_short_records) {
  std::vector<double> values = {3, -4};
  clip_to_norm(values, 1);
  EXPECT_NEAR(values[0], 0.6, 1e-15);
  EXPECT_NEAR(values[1], -0.8, 1e-15);
  std::vector<double> small = {0.1, 0.2};
  clip_to_norm(small, 1);
  EXPECT_EQ(small, (std::vector<double>{0.1, 0.2}));
  std::vector<double> huge = {1e308, 1e308};
  clip_to_norm(huge, 1);
  EXPECT_NEAR(huge[0], std::sqrt(0.5), 1e-15);
  // The norm overflows, which must not make the record zero.
  std::vector<double> four = {1e308, -1e308, 1e308, 1e308};
  clip_to_norm(four, 2);
  EXPECT_NEAR(four[0], 1, 1e-15);
  EXPECT_NEAR(four[1], -1, 1e-15);
  std::vector<double> tiny = {3e-320, 4e-320};
  clip_to_norm(tiny, 1);
  EXPECT_EQ(tiny, (std::vector<double>{3e-320, 4e-320}));
  EXPECT_ERROR(clip_to_norm(small, 0), "invalid_argument", "clip must be positive");
}

TEST(PrefixSum, a_step_of_contributions_is_their_integer_sum_and_the_same_noise) {
  const auto how = prefix_mechanism("honaker", 5);
  PrefixSum sums(how, prefix_options(3)), silent(how, prefix_options(3));
  std::vector<double> noisy(3), noise(3), total(3, 0.0);
  for (std::uint64_t t = 0; t < 5; ++t) {
    for (std::uint64_t i = 0; i < 10 * t; ++i) {
      const std::vector<double> values = prefix_record(100 * t + i, 3, 0.7);
      const std::vector<double> added = increment(how, values);
      for (std::size_t j = 0; j < 3; ++j) total[j] += added[j];
      sums.contribute(values);
    }
    sums.release(noisy);
    silent.release(std::vector<double>(3, 0.0), noise);
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_EQ((noisy[j] - noise[j]) / sums.grid(), total[j]) << t;
  }
  // Contributions mixed with records: a release with a record also ends the open step.
  PrefixSum mixed(how, prefix_options(3)), plain(how, prefix_options(3));
  const std::vector<double> half = {0.5, 0, 0};
  mixed.contribute(half);
  mixed.release(half, noisy);
  plain.contribute(half);
  plain.contribute(half);
  plain.release(noise);
  EXPECT_EQ(noisy, noise);
}

TEST(PrefixSum, a_refused_contribution_changes_nothing) {
  PrefixSum sums(prefix_mechanism("tree", 2), prefix_options(1)),
      undisturbed(prefix_mechanism("tree", 2), prefix_options(1));
  std::vector<double> noisy(1), expected(1), wide(2);
  const std::vector<double> bad = {kNan}, good = {1};
  sums.contribute(good);
  undisturbed.contribute(good);
  EXPECT_ERROR(sums.contribute(bad), "invalid_argument", "must be finite, got NaN");
  EXPECT_ERROR(sums.contribute(wide), "wrong_length", "contribution must have 1 entry, got 2");
  EXPECT_ERROR(sums.release(wide), "wrong_length", "noisy must have 1 entry, got 2");
  sums.release(noisy);
  undisturbed.release(expected);
  EXPECT_EQ(noisy, expected);
  sums.release(noisy);
  EXPECT_ERROR(sums.release(noisy), "past_horizon", "horizon 2");
  EXPECT_ERROR(sums.contribute(good), "past_horizon", "horizon 2");
}

TEST(PrefixSum, the_sums_have_room_for_2_to_31_contributions_and_for_the_horizon) {
  const auto how = prefix_mechanism("tree", 8);
  EXPECT_EQ(PrefixSum(how, prefix_options(1, 0x1p-31)).max_contributions(), std::int64_t{1} << 31);
  EXPECT_EQ(PrefixSum(how, prefix_options(1, 0x1p-10)).max_contributions(), std::int64_t{1} << 52);
  const auto longest = prefix_mechanism("tree", std::int64_t{1} << 40, 3);
  EXPECT_GE(PrefixSum(longest, prefix_options(1)).max_contributions(), std::int64_t{1} << 40);
}

TEST(PrefixSum, noise_that_leaves_the_fixed_point_range_is_refused_not_rounded) {
  // A recursion that amplifies errors by 2^20 or more per step, while sensitivity and rows stay
  // small.
  constexpr double kHuge = 0x1p20;
  MechanismOptions options{
      .strategy = "blt", .steps = 74, .target = {.epsilon = 100, .delta = 1e-6}, .clip = 1};
  options.parameters.decays = {0, 0, 0, 0};
  options.parameters.weights = {1.5, kHuge, -kHuge / 2, -kHuge / 2};
  PrefixSum sums(Mechanism::make(options),
                 {.key = Key::insecure_from_seed(3), .dimension = 100, .grid = 1});
  const std::vector<double> record(100, 0.0);
  std::vector<double> noisy(100);
  const auto release_all = [&] {
    for (int t = 0; t < 74; ++t) sums.release(record, noisy);
  };
  EXPECT_ERROR(release_all(), "unsupported", "noise stays within 2^62 throughout its recursion");
}

}  // namespace
}  // namespace dpftrl
