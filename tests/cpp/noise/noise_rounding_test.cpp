// SPDX-License-Identifier: Apache-2.0
// Batches of rows, the rounding test, and the compilations of the inner loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "dpftrl/noise/noise_stream.hpp"
#include "families.hpp"
#include "random/gaussian.hpp"
#include "simd/simd.hpp"
#include "special_values.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::kInfinity;

NoiseStreamOptions rounding_options(std::int64_t dimension, bool exact_only = false) {
  return {.key = Key::insecure_from_seed(31), .dimension = dimension, .exact_only = exact_only};
}

std::shared_ptr<const Strategy> rounded_strategy(std::string_view name, std::int64_t steps) {
  return testing::make_known(name, steps);
}

/// All rows, requested in calls of 1, 2, 3, ... rows.
template <class Stream, class Value>
std::vector<Value> in_growing_calls(Stream stream) {
  std::vector<Value> rows;
  for (std::int64_t count = 1; stream.step() < stream.steps(); ++count) {
    const std::int64_t some = std::min(count, stream.steps() - stream.step());
    std::vector<Value> part(static_cast<std::size_t>(some * stream.dimension()));
    stream.next_rows(part, some);
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

template <class Stream, class Value>
std::vector<Value> one_by_one(Stream stream) {
  std::vector<Value> rows, row(static_cast<std::size_t>(stream.dimension()));
  while (stream.step() < stream.steps()) {
    stream.next(row);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

TEST(NoiseWindows, rows_do_not_depend_on_how_many_are_asked_for_at_once) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = rounded_strategy(info.name, testing::within_reach(info, 75));
    for (const std::int64_t dimension : {1, 3, 5, 70}) {
      const auto stream = [&] { return NoiseStream(*strategy, rounding_options(dimension)); };
      EXPECT_EQ((one_by_one<NoiseStream, double>(stream())),
                (in_growing_calls<NoiseStream, double>(stream())))
          << info.name << " " << dimension;
      const auto floats = [&] { return FloatNoiseStream(*strategy, rounding_options(dimension)); };
      EXPECT_EQ((one_by_one<FloatNoiseStream, float>(floats())),
                (in_growing_calls<FloatNoiseStream, float>(floats())))
          << info.name << " " << dimension;
    }
  }
}

template <class Stream, class Value>
void expect_shard_of(const Strategy& strategy) {
  const std::vector<Value> whole =
      in_growing_calls<Stream, Value>(Stream(strategy, rounding_options(5000)));
  for (const std::size_t width : {3U, 601U}) {
    NoiseStreamOptions how = rounding_options(static_cast<std::int64_t>(width));
    how.first_coordinate = 4097;
    const std::vector<Value> shard = in_growing_calls<Stream, Value>(Stream(strategy, how));
    for (std::size_t t = 0; t < 9; ++t)
      for (std::size_t i = 0; i < width; ++i)
        ASSERT_EQ(whole[5000 * t + 4097 + i], shard[width * t + i])
            << strategy.name() << " " << t << " " << i;
  }
}

TEST(NoiseWindows, blocks_of_coordinates_have_the_bits_of_narrow_shards) {
  for (const char* name :
       {"blt", "honaker", "haar", "banded-square-root", "banded-inverse-square-root", "tree-k"}) {
    const auto strategy = rounded_strategy(name, 9);
    expect_shard_of<NoiseStream, double>(*strategy);
    expect_shard_of<FloatNoiseStream, float>(*strategy);
  }
}

/// True for convolutions, which use normals in double even for rows of floats.
bool is_made_in_advance(const DecoderForm& form) {
  if (const auto* filter = std::get_if<FilteredDecoder>(&form))
    return is_made_in_advance(*filter->base);
  return std::holds_alternative<ToeplitzDecoder>(form);
}

TEST(NoiseWindows, float_rows_are_the_decoder_times_float_normals) {
  const std::int64_t n = 40;
  const std::size_t width = 6;
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = rounded_strategy(info.name, n);
    if (is_made_in_advance(strategy->decoder_form())) continue;
    const Matrix decoder = strategy->decoder();
    const std::vector<float> rows =
        one_by_one<FloatNoiseStream, float>(FloatNoiseStream(*strategy, rounding_options(6)));
    Matrix z(decoder.cols(), static_cast<Eigen::Index>(width));
    for (Eigen::Index m = 0; m < z.rows(); ++m) {
      std::vector<float> normals(width);
      fill_normals(Key::insecure_from_seed(31), Stream::noise_float, static_cast<std::uint64_t>(m),
                   0, std::span<float>(normals));
      for (std::size_t i = 0; i < width; ++i) z(m, static_cast<Eigen::Index>(i)) = normals[i];
    }
    const Matrix expected = decoder * z;
    for (std::size_t k = 0; k < rows.size(); ++k)
      EXPECT_NEAR(rows[k], expected.data()[k], 1e-3) << info.name << ", step " << k / width;
  }
}

TEST(NoiseRounding, integers_are_those_of_the_digits_one_by_one) {
  // The coarse scale decides all entries, whereas the fine one leaves many undecided.
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = rounded_strategy(info.name, 33);
    for (const double scale : {64.0, 0x1p36}) {
      NoiseStream quick(*strategy, rounding_options(3)), slow(*strategy, rounding_options(3, true));
      std::vector<std::int64_t> rows(33 * 3), digits(33 * 3);
      const bool are_all_decided = quick.next_rounded(rows, 33, scale);
      EXPECT_EQ(are_all_decided, std::ranges::find(rows, kUndecided) == rows.end());
      slow.next_rounded(digits, 33, scale);
      for (std::int64_t k = 0; k < 33 * 3; k += 4) {
        const NoiseStream::Entry entry{k / 3, k % 3};
        const auto place = static_cast<std::size_t>(k);
        ASSERT_EQ(digits[place], kUndecided) << info.name;
        digits[place] = slow.rounded_entry(entry, scale);
        if (rows[place] == kUndecided) rows[place] = quick.rounded_entry(entry, scale);
        EXPECT_EQ(rows[place], digits[place]) << info.name << " " << k << " " << scale;
      }
    }
  }
}

/// Entries that a bound `factor` times the proven one decides, and how many of them wrongly.
struct Decided {
  std::int64_t all = 0;
  std::int64_t wrongly = 0;
};

Decided decided_by_bound(double factor, double scale) {
  const auto strategy = rounded_strategy("blt", 200);
  NoiseStream stream(*strategy, rounding_options(60)), exact(*strategy, rounding_options(60, true));
  std::vector<double> row(60);
  std::vector<std::int64_t> integers(60), open(60);
  Decided decided;
  for (std::int64_t t = 0; t < 200; ++t) {
    stream.next(row);
    exact.next_rounded(open, 1, scale);
    if (t % 20 != 19) continue;
    const RowErrorBound bound = stream.row_error_bound();
    simd::kernels().round_row({scale, factor * bound.absolute, factor * bound.relative}, row.data(),
                              row.size(), integers.data());
    for (std::size_t i = 0; i < integers.size(); ++i) {
      if (integers[i] == kUndecided) continue;
      const NoiseStream::Entry entry{t, static_cast<std::int64_t>(i)};
      ++decided.all;
      decided.wrongly += integers[i] != exact.rounded_entry(entry, scale);
    }
  }
  return decided;
}

TEST(NoiseRounding, a_bound_that_is_too_small_gives_wrong_integers) {
  // Falsification: the proven bound decides correctly, while a smaller bound decides many entries
  // wrongly.
  const Decided proven = decided_by_bound(1, 0x1p34);
  EXPECT_GT(proven.all, 20);
  EXPECT_EQ(proven.wrongly, 0);
  const Decided unproven = decided_by_bound(0, 0x1p46);
  EXPECT_GT(unproven.wrongly, 5);
}

TEST(NoiseRounding, what_a_stream_decides_is_right_at_scales_near_its_error) {
  // Without the bounds of rows, about every fifth entry would be wrong at the finest scale.
  const auto strategy = rounded_strategy("blt", 200);
  for (const double scale : {0x1p38, 0x1p42, 0x1p46}) {
    NoiseStream stream(*strategy, rounding_options(20));
    std::vector<std::int64_t> rows(200 * 20);
    stream.next_rounded(rows, 200, scale);
    for (std::size_t k = 0; k < rows.size(); k += 7) {
      if (rows[k] == kUndecided) continue;
      const NoiseStream::Entry entry{static_cast<std::int64_t>(k) / 20,
                                     static_cast<std::int64_t>(k) % 20};
      EXPECT_EQ(rows[k], stream.rounded_entry(entry, scale)) << k << " " << scale;
    }
  }
}

TEST(NoiseRounding, nothing_doubtful_is_decided) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> row = {0,      0.25, 0.5,     -0.5,      1.4999999, 1.5000001,
                                   0x1p51, nan,  -0x1p60, kInfinity, 1e300,     -2.75};
  std::vector<std::int64_t> out(row.size());
  EXPECT_FALSE(simd::kernels().round_row({1, 1e-6, 0}, row.data(), row.size(), out.data()));
  const std::int64_t x = kUndecided;
  EXPECT_EQ(out, (std::vector<std::int64_t>{0, 0, x, x, x, x, x, x, x, x, x, -3}));
  EXPECT_FALSE(simd::kernels().round_row({1, kInfinity, 0}, row.data(), 2, out.data()));
  EXPECT_EQ(out[0], x);
  EXPECT_TRUE(simd::kernels().round_row({4, 1e-6, 0}, row.data(), 4, out.data()));
  EXPECT_EQ(out[2], 2);
  EXPECT_EQ(out[3], -2);
}

/// Results of every loop on the same awkward input.
struct Outputs {
  std::vector<std::uint32_t> words;
  std::vector<double> numbers;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
};

Outputs run_all(const simd::Kernels& kernels) {
  Outputs out{std::vector<std::uint32_t>(64 * 15 + 16), std::vector<double>(1024 + 4 * 72),
              std::vector<float>(1024 + 72), std::vector<std::int64_t>(71)};
  const std::uint32_t key[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  kernels.blocks_of_row(key, 9, 77, 400, 7, out.words.data());
  kernels.block_of_rows(key, 9, 0xfffffffe, 400, 7, out.words.data() + 7 * 64);
  kernels.chacha_block(key, key, out.words.data() + 15 * 64);
  kernels.normals_double(out.words.data(), 512, out.numbers.data());
  kernels.normals_float(out.words.data(), 512, out.floats.data());
  double* const next = out.numbers.data() + 1024;
  const double* const z = out.numbers.data();
  const simd::Factor<double> factors[] = {{0.3, z}, {-0.7, z + 1}, {1, z + 73}};
  kernels.combine_double(next, factors, 3, 72);
  const simd::PairFactor pairs[] = {{0.3, 1e-17, z, z + 5}, {1, 0, z + 9, z + 3}, {-3, 0, z, z}};
  kernels.combine_pair(next + 72, next + 144, pairs, 3, 72);
  const simd::Factor<float> few[] = {{0.3f, out.floats.data()}, {-0.7f, out.floats.data() + 1}};
  kernels.combine_float(out.floats.data() + 1024, few, 2, 72);
  kernels.round_row({100, 1e-3, 1e-5}, z, 71, out.integers.data());
  std::copy_n(z + 100, 64, next + 216);
  for (const std::size_t half : {1U, 2U, 8U}) {
    kernels.forward_stage(next + 216, next + 248, 32, half, z + 3, z + 40);
    kernels.inverse_stage(next + 216, next + 248, 32, half, z + 5, z + 50);
  }
  return out;
}

TEST(Simd, all_compilations_give_the_same_bits) {
  const Outputs baseline = run_all(simd::baseline_kernels());
  for (const simd::Kernels* kernels : simd::all_kernels()) {
    const Outputs outputs = run_all(*kernels);
    EXPECT_EQ(baseline.words, outputs.words);
    EXPECT_EQ(baseline.numbers, outputs.numbers);
    EXPECT_EQ(baseline.floats, outputs.floats);
    EXPECT_EQ(baseline.integers, outputs.integers);
  }
  EXPECT_EQ(&simd::kernels(), simd::all_kernels().back());
}

TEST(Simd, integers_are_converted_as_by_the_language) {
  std::vector<double> numbers = {0.0, -0.0, 0.5, -0.5, 0x1p-1074, 1 - 0x1p-53, -1.5, 2.5, 1e300};
  std::vector<std::int64_t> integers = {0, 1, -1, INT64_MIN / 2, INT64_MAX / 2};
  numbers.back() = 0x1p51 - 0.5;
  for (std::uint32_t i = 0; i < 500; ++i) {
    const auto words =
        random_block(Key::insecure_from_seed(3), {.stream = Stream::test, .row = 5, .block = i});
    const std::uint64_t bits = std::uint64_t{words[0]} << 32 | words[1];
    // Numbers of every length, including halves and midpoints of two doubles.
    const int length = static_cast<int>(words[2] % 62);
    integers.push_back(static_cast<std::int64_t>(bits) >> (63 - length));
    integers.push_back(((static_cast<std::int64_t>(bits) >> 11) * 2 + 1) * 256);
    numbers.push_back(static_cast<double>(integers.back() >> 13) * 0x1p-1);
    numbers.push_back(std::ldexp(static_cast<double>(bits), -14 - length));
  }
  for (const simd::Kernels* kernels : {&simd::baseline_kernels(), &simd::kernels()})
    for (const std::size_t less : {0U, 1U, 2U, 3U}) {
      for (const double factor : {1.0, -0.25, 0.3}) {
        std::vector<std::int64_t> sums(numbers.size(), 7);
        kernels->add_integers(factor, numbers.data(), numbers.size() - less, sums.data());
        for (std::size_t i = 0; i < numbers.size() - less; ++i)
          ASSERT_EQ(sums[i], 7 + static_cast<std::int64_t>(factor * numbers[i])) << numbers[i];
        for (std::size_t i = numbers.size() - less; i < numbers.size(); ++i) ASSERT_EQ(sums[i], 7);
      }
      std::vector<std::int64_t> others(integers.rbegin(), integers.rend());
      std::vector<double> out(integers.size());
      kernels->scale_sums(integers.data(), others.data(), integers.size() - less, 0x1p-9,
                          out.data());
      for (std::size_t i = 0; i < integers.size() - less; ++i)
        ASSERT_EQ(out[i], static_cast<double>(integers[i] + others[i]) * 0x1p-9) << integers[i];
    }
}

/// Runs `steps` steps of buffers on z, one coordinate after another; returns rows, then states.
template <class T>
std::vector<T> expected_of_buffers(const simd::Buffers<T>& buffers, const std::vector<T>& z,
                                   std::size_t steps, std::size_t width) {
  std::vector<T> out(z);
  for (std::size_t i = 0; i < width; ++i) {
    std::vector<T> states;
    for (std::size_t k = 0; k < buffers.count; ++k) states.push_back(buffers.states[k][i]);
    T total = buffers.total[i];
    for (std::size_t t = 0; t < steps; ++t) {
      T w = z[t * width + i];
      for (std::size_t k = 0; k < buffers.count; ++k) w = w + buffers.weights[k] * states[k];
      for (T& state : states) state = buffers.decays[&state - states.data()] * state + w;
      total = total + w;
      out[t * width + i] = total;
    }
    out.insert(out.end(), states.begin(), states.end());
    out.push_back(total);
  }
  return out;
}

template <class T, class Kernel>
void expect_buffers(Kernel kernel, std::size_t count, std::size_t width) {
  constexpr std::size_t kSteps = 3;
  std::vector<T> z(kSteps * width), states((count + 1) * width);
  fill_normals(Key::insecure_from_seed(3), Stream::test, 0, 0, std::span<T>(z));
  fill_normals(Key::insecure_from_seed(3), Stream::test, 1, 0, std::span<T>(states));
  simd::Buffers<T> buffers{};
  buffers.count = count;
  for (std::size_t k = 0; k < count; ++k) {
    buffers.weights[k] = static_cast<T>(-0.3 / static_cast<double>(k + 1));
    buffers.decays[k] = static_cast<T>(1 - 0.4 / static_cast<double>(k + 1));
    buffers.states[k] = &states[k * width];
  }
  buffers.total = &states[count * width];
  const std::vector<T> expected = expected_of_buffers(buffers, z, kSteps, width);
  const std::vector<T> before = states;
  std::vector<T> apart(kSteps * (width + 2), T{7});
  kernel(buffers, {kSteps, z.data(), width, apart.data(), width + 2}, width);
  states = before;
  kernel(buffers, {kSteps, z.data(), width, z.data(), width}, width);
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t k = 0; k <= count; ++k) z.push_back(states[k * width + i]);
  EXPECT_EQ(z, expected) << count << " buffers, width " << width;
  for (std::size_t t = 0; t < kSteps; ++t)
    for (std::size_t i = 0; i < width + 2; ++i)
      EXPECT_EQ(apart[t * (width + 2) + i], i < width ? expected[t * width + i] : T{7});
}

TEST(Simd, buffers_are_their_operations_one_by_one) {
  for (const simd::Kernels* kernels : simd::all_kernels())
    for (std::size_t count = 1; count <= simd::kMaxBuffers; ++count)
      for (const std::size_t width : {1U, 5U, 16U, 39U}) {
        expect_buffers<double>(kernels->buffers_double, count, width);
        expect_buffers<float>(kernels->buffers_float, count, width);
      }
}

/// Runs `steps` steps of bands on z, one coordinate after another; returns rows, then history and
/// total.
template <class T>
std::vector<T> expected_of_bands(const simd::Bands<T>& bands, const std::vector<T>& z,
                                 std::size_t steps, std::size_t width) {
  std::vector<T> out(z);
  for (std::size_t i = 0; i < width; ++i) {
    std::vector<T> history;
    for (std::size_t k = 0; k < bands.num_rows; ++k) history.push_back(bands.history[k][i]);
    T total = bands.total[i];
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t own = bands.next + t;
      T w = bands.factors[0] * z[t * width + i];
      for (std::size_t lag = 1; lag <= bands.num_lags; ++lag)
        w = w + bands.factors[lag] * history[(own + bands.num_rows - lag) % bands.num_rows];
      history[own % bands.num_rows] = bands.keeps_fresh ? z[t * width + i] : w;
      total = total + w;
      out[t * width + i] = total;
    }
    out.insert(out.end(), history.begin(), history.end());
    out.push_back(total);
  }
  return out;
}

struct BandCase {
  std::size_t num_lags;
  bool keeps_fresh;
  std::size_t steps;
  std::size_t width;
};

template <class T, class Kernel>
void expect_bands(Kernel kernel, const BandCase& how) {
  const auto [num_lags, keeps_fresh, steps, width] = how;
  const std::size_t num_rows = num_lags + (keeps_fresh ? 1 : 0);
  std::vector<T> z(steps * width), state((num_rows + 1) * width);
  fill_normals(Key::insecure_from_seed(3), Stream::test, 0, 0, std::span<T>(z));
  fill_normals(Key::insecure_from_seed(3), Stream::test, 1, 0, std::span<T>(state));
  simd::Bands<T> bands{};
  bands.num_lags = num_lags;
  bands.keeps_fresh = keeps_fresh;
  bands.num_rows = num_rows;
  bands.next = num_rows / 2;
  for (std::size_t lag = 0; lag <= num_lags; ++lag)
    bands.factors[lag] = static_cast<T>((lag % 3 == 1 ? 0.3 : -0.4) / static_cast<double>(lag + 1));
  for (std::size_t k = 0; k < num_rows; ++k) bands.history[k] = &state[k * width];
  bands.total = &state[num_rows * width];
  const std::vector<T> expected = expected_of_bands(bands, z, steps, width);
  const std::vector<T> before = state;
  std::vector<T> apart(steps * (width + 2), T{7});
  kernel(bands, {steps, z.data(), width, apart.data(), width + 2}, width);
  state = before;
  kernel(bands, {steps, z.data(), width, z.data(), width}, width);
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t k = 0; k <= num_rows; ++k) z.push_back(state[k * width + i]);
  EXPECT_EQ(z, expected) << num_lags << " lags, " << steps << " steps, width " << width;
  for (std::size_t t = 0; t < steps; ++t)
    for (std::size_t i = 0; i < width + 2; ++i)
      ASSERT_EQ(apart[t * (width + 2) + i], i < width ? expected[t * width + i] : T{7});
}

TEST(Simd, bands_are_their_operations_one_by_one) {
  for (const simd::Kernels* kernels : simd::all_kernels())
    for (const bool keeps_fresh : {false, true})
      for (const std::size_t num_lags :
           {std::size_t{1}, std::size_t{2}, std::size_t{15}, simd::kMaxLags})
        for (const std::size_t steps :
             {std::size_t{1}, std::size_t{3}, std::size_t{16}, simd::kMaxSteps})
          for (const std::size_t width : {1U, 32U, 71U}) {
            expect_bands<double>(kernels->bands_double, {num_lags, keeps_fresh, steps, width});
            expect_bands<float>(kernels->bands_float, {num_lags, keeps_fresh, steps, width});
          }
}

/// A pair whose exact value is a multiple of 2^-40, times an integer.
struct PairTerm {
  std::int64_t factor;
  std::int64_t high;
  std::int64_t low;  ///< in units of 2^-40
};

/// Exact error of the sum of p terms, computed in four equal coordinates, in units of (p + 3)^2
/// 2^-103 times the sum of the magnitudes.
double pair_error(const simd::Kernels& kernels, const std::vector<PairTerm>& terms) {
  __extension__ typedef __int128 Wide;
  std::vector<std::array<double, 8>> rows(terms.size());
  std::vector<simd::PairFactor> factors;
  Wide exact = 0;
  double magnitudes = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const PairTerm& term = terms[i];
    const double high = static_cast<double>(term.high);
    std::fill_n(rows[i].begin(), 4, high);
    std::fill_n(rows[i].begin() + 4, 4, std::ldexp(static_cast<double>(term.low), -40));
    factors.push_back({static_cast<double>(term.factor), 0, &rows[i][0], &rows[i][4]});
    exact += term.factor * ((Wide{term.high} << 40) + term.low);
    magnitudes += std::abs(factors.back().high * high);
  }
  std::array<double, 4> high{}, low{};
  kernels.combine_pair(high.data(), low.data(), factors.data(), factors.size(), 4);
  const Wide rest = exact - static_cast<Wide>(std::ldexp(high[3], 40)) -
                    static_cast<Wide>(std::ldexp(low[3], 40));
  const double error = std::ldexp(static_cast<double>(rest), -40);
  const double p = static_cast<double>(terms.size());
  return std::abs(error) / ((p + 3) * (p + 3) * 0x1p-103 * magnitudes);
}

/// Largest `pair_error` of sums of num_terms terms in which every second term nearly cancels the
/// one before.
double worst_pair_error(const simd::Kernels& kernels, std::size_t num_terms) {
  auto random = [state = std::uint64_t{num_terms}](int bits) mutable {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::int64_t>(state) >> (63 - bits);  // sign-extended
  };
  double worst = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<PairTerm> terms;
    for (std::size_t i = 0; i < num_terms; ++i)
      terms.push_back(
          i % 2 == 0 ? PairTerm{random(30), (std::int64_t{1} << 40) + random(39), random(25)}
                     : PairTerm{terms.back().factor + random(2), -terms.back().high, random(25)});
    worst = std::max(worst, pair_error(kernels, terms));
  }
  return worst;
}

TEST(Simd, sums_of_pairs_are_as_exact_as_their_bound_says) {
  double worst = 0;
  for (const std::size_t num_terms : {1U, 2U, 3U, 4U, 9U, 32U})
    for (const simd::Kernels* kernels : simd::all_kernels()) {
      const double error = worst_pair_error(*kernels, num_terms);
      EXPECT_LE(error, 1) << num_terms;
      worst = std::max(worst, error);
    }
  EXPECT_GE(worst, 0.001);  // plain doubles would have errors 2^50 times as large
}

TEST(NoiseRounding, no_bound_is_given_before_there_is_a_row) {
  NoiseStream stream(*rounded_strategy("blt", 4), rounding_options(2));
  EXPECT_ERROR(stream.row_error_bound(), "invalid_argument", "row must be one that was written");
  std::vector<double> row(2);
  stream.next(row);
  EXPECT_LE(stream.row_error_bound().absolute, 1e-13);
}

TEST(NoiseRounding, bad_calls_are_refused_and_change_nothing) {
  const auto strategy = rounded_strategy("tree", 4);
  NoiseStream stream(*strategy, rounding_options(2));
  std::vector<std::int64_t> integers(4);
  std::vector<double> rows(4);
  EXPECT_ERROR(stream.next_rounded(integers, 2, kInfinity), "invalid_argument",
               "scale must be between 0 and 2^60");
  EXPECT_ERROR(stream.next_rows(rows, 3), "wrong_length", "rows must have 6 entries, got 4");
  EXPECT_ERROR(stream.next_rows(rows, -1), "invalid_argument", "num_rows must be between 0 and 4");
  EXPECT_EQ(stream.step(), 0);
  stream.next_rows(rows, 2);
  EXPECT_ERROR(stream.rounded_entry({2, 0}, 1), "invalid_argument", "step must be between 0 and 1");
  stream.next_rows(rows, 2);
  EXPECT_ERROR(stream.next_rows(rows, 2), "past_horizon", "horizon 4");
}

}  // namespace
}  // namespace dpftrl
