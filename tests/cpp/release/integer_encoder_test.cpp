// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/release/lattice/lattice.hpp"

#include <cmath>
#include <functional>
#include <vector>

#include "dpftrl/random/random.hpp"
#include "form_strategy.hpp"
#include "release/lattice/coder.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using Integers = std::vector<std::int64_t>;

/// All measurements in order, for one-dimensional records.
Integers measured(const IntegerEncoder& encoder, const Integers& records) {
  const std::unique_ptr<lattice::Coder> coder = lattice::make_coder(encoder, 1);
  Integers all;
  for (std::size_t t = 0; t < records.size(); ++t) {
    const auto step = static_cast<std::int64_t>(t);
    Integers row(static_cast<std::size_t>(coder->num_measurements(step)));
    coder->measure(step, std::span(records).subspan(t, 1), row);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

/// max over all patterns and signs of ||C u||^2, from the actual measurements of the coder.
std::int64_t brute_force_integers(const IntegerEncoder& encoder,
                                  const Participation& participation) {
  const std::int64_t n = encoder.steps();
  std::int64_t largest = 0;
  for (std::int64_t pattern = 1; pattern < std::int64_t{1} << n; ++pattern) {
    std::vector<std::int64_t> steps;
    for (std::int64_t t = 0; t < n; ++t)
      if ((pattern >> t & 1) != 0) steps.push_back(t);
    if (!participation.allows(steps, n)) continue;
    for (std::int64_t signs = 0; signs < std::int64_t{1} << (steps.size() - 1); ++signs) {
      Integers records(static_cast<std::size_t>(n), 0);
      for (std::size_t i = 0; i < steps.size(); ++i)
        records[static_cast<std::size_t>(steps[i])] = (signs >> i & 1) != 0 ? -1 : 1;
      std::int64_t squared = 0;
      for (const std::int64_t y : measured(encoder, records)) squared += y * y;
      largest = std::max(largest, squared);
    }
  }
  return largest;
}

std::vector<Participation> integer_participations(std::int64_t n) {
  std::vector<Participation> all = {Participation::single(),
                                    Participation::min_separation({.times = 3, .apart = 2}),
                                    Participation::min_separation({.times = 2, .apart = 3}),
                                    Participation::min_separation({.times = n, .apart = 1})};
  if (n % 2 == 0) all.push_back(Participation::fixed_epoch({.epochs = 2, .epoch_length = n / 2}));
  return all;
}

/// A Toeplitz strategy with arbitrary coefficients, whose decoder is not used.
ToeplitzStrategy toeplitz_strategy(std::vector<double> coefficients, std::int64_t n, bool is_band) {
  const auto bands = static_cast<std::int64_t>(coefficients.size());
  coefficients.resize(static_cast<std::size_t>(n));
  return {Workload::prefix_sums(n),
          {.name = "given",
           .encoder = coefficients,
           .decoder = coefficients,
           .form = BandedDecoder{{1}},
           .bands = is_band ? std::min(bands, n) : 0}};
}

IntegerEncoder buffers(std::vector<double> decays, std::vector<double> weights, std::int64_t n,
                       std::optional<int> bits = {}) {
  return IntegerEncoder::of(
      testing::FormStrategy(BufferedDecoder{std::move(decays), std::move(weights)}, n), bits);
}

void expect_judged(const IntegerEncoder& encoder, const std::string& title, int& num_exact) {
  for (const Participation& participation : integer_participations(encoder.steps())) {
    const std::int64_t truth = brute_force_integers(encoder, participation);
    const auto claim = encoder.sensitivity(participation);
    ASSERT_TRUE(claim) << title;
    EXPECT_EQ(claim->fraction_bits, encoder.precision_bits());
    EXPECT_GE(claim->squared, truth) << title << participation.description();
    if (claim->exactness == Exactness::exact) {
      EXPECT_EQ(claim->squared, truth) << title << participation.description();
      ++num_exact;
    }
  }
}

TEST(IntegerEncoder, sensitivity_is_that_of_all_patterns) {
  int num_exact = 0;
  for (const std::int64_t n : {1, 2, 3, 7, 8}) {
    for (const char* name :
         {"tree", "honaker", "square-root", "independent", "output", "banded-square-root",
          "banded-inverse-square-root", "lambda-cgd", "log-perturbed"}) {
      const auto strategy = make_strategy({.name = name, .steps = n});
      expect_judged(IntegerEncoder::of(*strategy), name + std::to_string(n), num_exact);
    }
    expect_judged(IntegerEncoder::of(toeplitz_strategy({1, -0.7}, n, true), 5), "signs", num_exact);
    expect_judged(IntegerEncoder::of(toeplitz_strategy({1, -0.5, -0.25}, n, true), 4), "apart",
                  num_exact);
    expect_judged(IntegerEncoder::of(toeplitz_strategy({0.5, 1, 0.25}, n, false), 4), "rises",
                  num_exact);
    expect_judged(IntegerEncoder::of(toeplitz_strategy({0.5, -1, 0.25}, n, false), 4), "both",
                  num_exact);
  }
  EXPECT_GE(num_exact, 150);
}

TEST(IntegerEncoder, over_epochs_signs_count_by_inner_products) {
  const auto epochs = Participation::fixed_epoch({.epochs = 4, .epoch_length = 2});
  for (const std::vector<double>& c :
       std::vector<std::vector<double>>{{1, 0.5, -0.5, 0.25}, {0.5, -1, 0.25, 0.75, -0.25}}) {
    const IntegerEncoder encoder = IntegerEncoder::of(toeplitz_strategy(c, 8, true), 2);
    std::vector<double> absolute = c;
    for (double& x : absolute) x = std::abs(x);
    const IntegerEncoder positive = IntegerEncoder::of(toeplitz_strategy(absolute, 8, true), 2);
    const auto claim = encoder.sensitivity(epochs);
    const auto of_absolute = positive.sensitivity(epochs);
    ASSERT_TRUE(claim && of_absolute);
    EXPECT_GE(claim->squared, brute_force_integers(encoder, epochs));
    EXPECT_LT(claim->squared, of_absolute->squared);
    EXPECT_EQ(claim->exactness, Exactness::upper_bound);
  }
}

TEST(IntegerEncoder, coefficients_that_rise_again_are_bounded_by_their_majorant) {
  // Columns of adjacent steps are orthogonal. Those two steps apart share one row, in which both
  // are 1, so their sum has the squared norm 1 + 4 + 1.
  const IntegerEncoder encoder = IntegerEncoder::of(toeplitz_strategy({1, 0, 1}, 5, false), 0);
  const auto twice = Participation::min_separation({.times = 2, .apart = 1});
  const auto claim = encoder.sensitivity(twice);
  ASSERT_TRUE(claim);
  EXPECT_EQ(brute_force_integers(encoder, twice), 6);
  EXPECT_GE(claim->squared, 6);
  EXPECT_EQ(claim->exactness, Exactness::upper_bound);
}

TEST(IntegerEncoder, no_two_steps_have_the_noise_of_one_measurement) {
  // Each noise row belongs to one measurement: every row is used exactly once.
  constexpr std::int64_t kSteps = 2048;
  for (const char* name : {"tree", "honaker", "independent", "banded-square-root"}) {
    const IntegerEncoder encoder =
        IntegerEncoder::of(*make_strategy({.name = name, .steps = kSteps}));
    const auto coder = lattice::make_coder(encoder, 1);
    std::int64_t before = 0;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      ASSERT_EQ(encoder.num_measurements_before(t), before) << name << " " << t;
      before += coder->num_measurements(t);
    }
    EXPECT_EQ(encoder.num_measurements(), before) << name;
  }
}

TEST(IntegerEncoder, sensitivity_of_buffers_is_above_that_of_all_patterns) {
  // At 28 bits, roundings are far below the coefficients.
  for (const std::int64_t n : {1, 2, 3, 8}) {
    const IntegerEncoder encoder = buffers({0.99, 0.4}, {0.2, 0.3}, n, 28);
    for (const Participation& participation : integer_participations(n)) {
      const double truth =
          std::sqrt(static_cast<double>(brute_force_integers(encoder, participation)));
      const auto claim = encoder.sensitivity(participation);
      ASSERT_TRUE(claim);
      EXPECT_EQ(claim->exactness, Exactness::upper_bound);
      const double bound = std::ldexp(std::sqrt(static_cast<double>(claim->squared)),
                                      encoder.precision_bits() - claim->fraction_bits);
      const double deviation = encoder.rounding_deviation() * std::sqrt(static_cast<double>(n));
      EXPECT_GE(bound + deviation, truth) << n << participation.description();
      EXPECT_LE(bound, truth * (1 + 1e-4)) << n << participation.description();
    }
  }
}

/// Random integers of magnitude at most `limit`.
Integers random_integers(std::int64_t n, std::int64_t limit, std::uint64_t row) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(n));
  fill_bits(Key::insecure_from_seed(3), Stream::test, row, 0, words);
  Integers values;
  for (const std::uint32_t word : words)
    values.push_back(static_cast<std::int64_t>(word) % (2 * limit + 1) - limit);
  return values;
}

TEST(IntegerEncoder, roundings_deviate_by_no_more_than_the_bound) {
  // Differences of two streams, compared with the recursion in long double, whose error is far
  // smaller.
  constexpr std::int64_t kSteps = 400;
  double largest = 0;
  const std::vector<double> decays = {0.9999, 0.9}, weights = {0.05, 0.6};
  const IntegerEncoder encoder = buffers(decays, weights, kSteps, 3);
  const auto& form = std::get<BufferedEncoder>(encoder.form());
  for (std::uint64_t row = 0; row < 20; ++row) {
    const Integers a = random_integers(kSteps, 1000, 2 * row);
    const Integers b = random_integers(kSteps, 1000, 2 * row + 1);
    const Integers ya = measured(encoder, a), yb = measured(encoder, b);
    std::vector<long double> states(2, 0);
    for (std::size_t t = 0; t < a.size(); ++t) {
      const auto input = static_cast<long double>(a[t] - b[t]) * 8;
      long double y = input;
      for (std::size_t i = 0; i < 2; ++i) {
        y += static_cast<long double>(form.weights[i]) / 0x1p31L * states[i];
        states[i] = static_cast<long double>(form.decays[i]) / 0x1p31L * states[i] + input;
      }
      const double off = std::abs(static_cast<double>(static_cast<long double>(ya[t] - yb[t]) - y));
      largest = std::max(largest, off);
    }
  }
  EXPECT_LE(largest, encoder.rounding_deviation());
  // The test is not vacuous: rounding errors add up beyond a single one.
  EXPECT_GT(largest, 2);
}

TEST(IntegerEncoder, scaled_integers_are_rounded_exactly) {
  constexpr std::int64_t kOne = std::int64_t{1} << kFactorBits;
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, kOne - 1, -kOne,
        std::int64_t{123456789012345}, -(std::int64_t{1} << 61) + 7})
    for (const std::int64_t factor : {std::int64_t{0}, std::int64_t{1}, kOne / 2, kOne - 1, kOne}) {
      const long double exact =
          static_cast<long double>(value) * static_cast<long double>(factor) / 0x1p31L;
      const long double off = static_cast<long double>(scale_rounded(value, factor)) - exact;
      // Within half a unit, plus the 2^-3 by which a long double of this size may be off.
      EXPECT_LE(std::abs(off), 0.5L + 0.125L) << value << " * " << factor;
    }
  EXPECT_EQ(scale_rounded(3, kOne / 2), 2);    // 1.5 up
  EXPECT_EQ(scale_rounded(-3, kOne / 2), -1);  // -1.5 up
}

TEST(IntegerEncoder, no_integer_on_the_way_exceeds_its_bound) {
  constexpr std::int64_t kSteps = 64;
  std::vector<IntegerEncoder> encoders = {
      buffers({0.9999, 0.9}, {0.05, 0.6}, kSteps, 10),
      IntegerEncoder::of(toeplitz_strategy({1, -0.7}, kSteps, true))};
  for (const char* name : {"tree", "honaker", "square-root", "output"})
    encoders.push_back(IntegerEncoder::of(*make_strategy({.name = name, .steps = kSteps})));
  for (const IntegerEncoder& encoder : encoders)
    for (const bool alternate : {false, true}) {
      Integers records(kSteps, 1);
      if (alternate)
        for (std::size_t t = 1; t < records.size(); t += 2) records[t] = -1;
      for (const std::int64_t y : measured(encoder, records))
        EXPECT_LE(std::abs(static_cast<double>(y)), encoder.largest_number());
    }
}

TEST(IntegerEncoder, a_sensitivity_beyond_62_bits_is_none) {
  EXPECT_FALSE(IntegerEncoder::of(toeplitz_strategy({1, 1, 1, 1}, 4, false), 30)
                   .sensitivity(Participation::single()));
  EXPECT_TRUE(IntegerEncoder::of(toeplitz_strategy({1, 1, 1, 1}, 4, false), 29)
                  .sensitivity(Participation::single()));
}

TEST(IntegerEncoder, refuses_what_it_has_no_integers_for) {
  const auto of = [](const char* name) {
    return IntegerEncoder::of(*make_strategy({.name = name, .steps = 8}));
  };
  for (const char* name : {"haar", "tree-k", "normalized-square-root"})
    EXPECT_ERROR(of(name), "unsupported", "strategy must be tree, honaker, blt or another with");
  EXPECT_ERROR(IntegerEncoder::of(*make_strategy({.name = "tree", .steps = 8}), 1),
               "invalid_argument", "precision_bits must be between 0 and 0, got 1");
  EXPECT_ERROR(IntegerEncoder::of(toeplitz_strategy({1, 0.5}, 8, true), 31), "invalid_argument",
               "precision_bits must be between 0 and 30, got 31");
  EXPECT_ERROR(IntegerEncoder::of(toeplitz_strategy({0.01, 0.5}, 8, true), 2), "invalid_argument",
               "so many that the first coefficient 0.01 is not lost");
  EXPECT_ERROR(buffers({0.5}, {-0.1}, 8), "unsupported", "weights must be between 0 and 1");
  EXPECT_ERROR(IntegerEncoder::of(*make_strategy(
                   {.name = "square-root",
                    .steps = 8,
                    .workload = Workload::momentum({.steps = 8, .momentum = 0.9, .decay = 1})})),
               "unsupported", "workload must be prefix");
}

TEST(IntegerEncoder, a_longer_horizon_than_the_integers_have_is_refused) {
  StrategyParameters parameters;
  parameters.horizon_cap = 1000;
  const auto capped =
      make_strategy({.name = "log-perturbed", .steps = 64, .parameters = parameters});
  EXPECT_ERROR((void)IntegerEncoder::of(*capped, 20), "unsupported",
               "horizon_cap must be at most steps = 64 for an integer encoder");
}

}  // namespace
}  // namespace dpftrl
