// SPDX-License-Identifier: Apache-2.0
#include "noise/exact/exact_entry.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "dpftrl/noise/noise_stream.hpp"
#include "exact_forms.hpp"
#include "golden/exact_entry_golden.hpp"
#include "noise/exact/exact_rows.hpp"
#include "random/gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::Digits;
using detail::Enclosure;
using detail::FixedPoint;

constexpr std::uint64_t kGoldenSeed = 20;  // seed of the golden values
constexpr std::size_t kPlanes[] = {2, 4, 8};

NoiseStreamOptions entry_options(std::int64_t dimension, std::int64_t first_coordinate = 0) {
  return {.key = Key::insecure_from_seed(kGoldenSeed),
          .dimension = dimension,
          .first_coordinate = first_coordinate};
}

DecoderForm exact_entry_form(const std::string& name) {
  for (testing::NamedForm& named : testing::named_forms())
    if (name == named.name) return std::move(named.form);
  EXPECT_EQ(name, "square_root");
  return make_strategy({.name = "square-root", .steps = 64})->decoder_form();
}

/// Forms that differ in one number that row `step` uses, by one unit in the last place, or in one
/// address.
struct SlightlyWrong {
  std::int64_t step;
  std::vector<DecoderForm> forms = {};

  template <class Form, class Change>
  void add(Form form, Change&& change) {
    change(form);
    forms.push_back(form);
  }
  static void next(double& x) { x = std::nextafter(x, 2 * x); }

  void operator()(const ToeplitzDecoder& form) {
    if (step >= 3) add(form, [](auto& f) { next(f.coefficients[3]); });
    if (step == 29) add(form, [](auto& f) { next(f.coefficients[29]); });
  }
  void operator()(const DyadicDecoder& form) {
    if (step > 0 && form.node_weights[1] != 1) add(form, [](auto& f) { next(f.node_weights[1]); });
  }
  void operator()(const KaryDecoder& form) {
    add(form, [](auto& f) { f.subtractive = !f.subtractive; });
  }
  void operator()(const HaarDecoder& form) {
    add(form, [](auto& f) { next(f.mean_scale); });
    add(form, [](auto& f) { next(f.scales[1]); });
  }
  void operator()(const BandedDecoder& form) {
    add(form, [](auto& f) { next(f.coefficients[0]); });
    if (step > 0) add(form, [](auto& f) { next(f.coefficients[1]); });
  }
  void operator()(const BandedInverseDecoder& form) {
    add(form, [](auto& f) { next(f.coefficients[2]); });
  }
  void operator()(const MovingSumDecoder& form) {
    add(form, [](auto& f) { next(f.coefficients[0]); });
    if (step > 1) add(form, [](auto& f) { next(f.coefficients[2]); });
  }
  void operator()(const AutoregressiveDecoder& form) {
    add(form, [](auto& f) { next(f.offset); });
    if (step > 0) add(form, [](auto& f) { next(f.decay); });
    if (step > 0) add(form, [](auto& f) { next(f.innovation); });
  }
  void operator()(const BufferedDecoder& form) {
    if (step > 0) add(form, [](auto& f) { next(f.weights[2]); });
    if (step > 1) add(form, [](auto& f) { next(f.decays[1]); });
  }
  void operator()(const BlockDecoder& form) {
    if (step < form.blocks[0].steps) return;
    add(form, [](auto& f) { ++f.blocks[0].num_measurements; });
    add(form, [](auto& f) { --f.blocks[0].closing_row; });
    if (step < 9) return;
    add(form, [](auto& f) { --f.blocks[1].closing_row; });
  }
  void operator()(const FilteredDecoder& form) {
    const auto t = static_cast<std::size_t>(step);
    if (!form.column_scales.empty()) add(form, [&](auto& f) { next(f.column_scales[t]); });
    SlightlyWrong base{step};
    // Windows may not use the changed number.
    if (form.workload.kind() != Workload::Kind::window) std::visit(base, *form.base);
    for (const DecoderForm& wrong : base.forms)
      add(form, [&](auto& f) { f.base = testing::shared(wrong); });
    const std::int64_t steps = form.workload.steps();
    switch (form.workload.kind()) {
      case Workload::Kind::momentum:
        add(form, [&](auto& f) {
          f.workload = Workload::momentum(
              {.steps = steps, .momentum = std::nextafter(0.9, 1), .decay = 0.95});
        });
        add(form, [&](auto& f) {
          f.workload = Workload::momentum(
              {.steps = steps, .momentum = 0.9, .decay = std::nextafter(0.95, 1)});
        });
        break;
      case Workload::Kind::window:
        if (step < 5) break;
        add(form, [&](auto& f) {
          f.workload =
              Workload::sliding_window({.steps = steps, .window = form.workload.window() + 1});
        });
        break;
      case Workload::Kind::rates:
        add(form, [&](auto& f) {
          std::vector<double> rates = form.workload.rates();
          next(rates[t]);
          f.workload = Workload::learning_rates({.rates = rates, .momentum = 0.5});
        });
        break;
      case Workload::Kind::matrix:
        add(form, [&](auto& f) {
          Matrix matrix = form.workload.matrix();
          next(matrix(testing::index_of(step), 2));
          f.workload = Workload::lower_triangular(matrix);
        });
        break;
      default:
        break;
    }
  }
  template <class Form>
  void operator()(const Form&) {}
};

Digits parse(const char* text) {
  Digits digits{};
  for (std::uint64_t& digit : digits) {
    char* end = nullptr;
    digit = std::strtoull(text, &end, 16);
    text = end;
  }
  return digits;
}

/// |a - b| in units of digit p, for two numbers of the same sign.
double entry_distance(const FixedPoint& fixed, const Digits& a, const Digits& b) {
  const Digits one_way = fixed.subtract(a, b), other_way = fixed.subtract(b, a);
  const double difference = std::min(fixed.to_double(one_way), fixed.to_double(other_way));
  return std::ldexp(difference, static_cast<int>(64 * fixed.num_digits()));
}

bool contains(const FixedPoint& fixed, const Enclosure& enclosure, const Digits& value,
              bool negative) {
  // Given values are rounded down, so one more unit is allowed.
  return enclosure.negative == negative &&
         entry_distance(fixed, enclosure.digits, value) <= enclosure.error + 1;
}

TEST(ExactEntry, enclosures_contain_the_values_of_an_independent_program) {
  for (const golden::exact_entry::Entries& known : golden::exact_entry::entries) {
    const DecoderForm form = exact_entry_form(known.form);
    const Digits value = parse(known.digits);
    for (const std::size_t planes : kPlanes) {
      const FixedPoint fixed(planes);
      const Enclosure entry =
          enclose_entry(form, entry_options(2000), known.step, known.coordinate, planes);
      EXPECT_TRUE(contains(fixed, entry, value, known.negative))
          << known.form << " " << known.step << " with " << planes << " planes";
      // Rejects bounds that are uselessly large, above 2^32 of the 2^64p units in 1 (a single tiny
      // u1 or 1 - u1 costs its own leading zeros, 2^15 here).
      EXPECT_LE(entry.error, 0x1p32) << known.form << " " << known.step;
    }
  }
}

TEST(ExactEntry, exchanged_planes_wrong_weights_and_neighbouring_addresses_are_detected) {
  std::size_t num_wrong = 0;
  for (const golden::exact_entry::Entries& known : golden::exact_entry::entries) {
    const FixedPoint fixed(4);
    const DecoderForm form = exact_entry_form(known.form);
    const Digits value = parse(known.digits);
    const auto is_right = [&](const DecoderForm& decoder, std::int64_t step,
                              std::int64_t coordinate, const Digits& expected) {
      return contains(fixed, enclose_entry(decoder, entry_options(2000), step, coordinate, 4),
                      expected, known.negative);
    };
    ASSERT_TRUE(is_right(form, known.step, known.coordinate, value));
    EXPECT_FALSE(is_right(form, known.step, known.coordinate, parse(known.swapped)));
    EXPECT_FALSE(is_right(form, known.step, known.coordinate + 1, value));
    EXPECT_FALSE(is_right(form, known.step + 1, known.coordinate, value));
    SlightlyWrong wrong{known.step};
    std::visit(wrong, form);
    for (std::size_t i = 0; i < wrong.forms.size(); ++i)
      EXPECT_FALSE(is_right(wrong.forms[i], known.step, known.coordinate, value))
          << known.form << " " << known.step << ", change " << i;
    num_wrong += wrong.forms.size();
  }
  EXPECT_GE(num_wrong, 50u);
}

TEST(ExactEntry, single_normals_agree_with_the_sampler_within_its_bound) {
  const FixedPoint fixed(2);
  std::vector<double> z(70);
  double worst = 0;
  for (std::int64_t row = 0; row < 60; ++row) {
    fill_normals(entry_options(1).key, Stream::noise, static_cast<std::uint64_t>(row), 1000, z);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const Enclosure entry = enclose_entry(IdentityDecoder{}, entry_options(70, 1000), row,
                                            static_cast<std::int64_t>(i), 2);
      const double ideal = fixed.to_double(entry.digits) * (entry.negative ? -1 : 1);
      worst = std::max(worst, std::abs(ideal - z[i]));
    }
  }
  EXPECT_LE(worst, kNormalErrorBound + 0x1p-52);
  EXPECT_GE(worst, kNormalErrorBound / 50) << "too good to be an independent computation";
}

TEST(ExactEntry, equals_the_fast_path_wherever_that_is_certain) {
  for (const StrategyInfo& info : strategy_catalogue()) {
    const auto strategy = testing::make_known(info.name, 300);
    NoiseStream stream(*strategy, entry_options(2, 5));
    std::vector<double> row(2);
    std::int64_t num_certain = 0, num_entries = 0;
    for (std::int64_t t = 0; t < 300; ++t) {
      stream.next(row);
      if (t % 9 > 1) continue;  // recomputation takes a microsecond for each normal of the row
      const RowErrorBound bound = stream.row_error_bound();
      for (const double scale : {100.0, 0x1p20 / 3, 0x1p36}) {
        if (scale != 100 && t % 9 != 1) continue;
        for (std::size_t i = 0; i < 2; ++i) {
          const double scaled = scale * row[i];
          const double nearest = std::floor(scaled + 0.5);
          const double error = scale * (bound.absolute + bound.relative * std::abs(row[i])) +
                               0x1p-51 * std::abs(scaled);
          ++num_entries;
          if (0.5 - std::abs(scaled - nearest) <= error) continue;
          ++num_certain;
          ASSERT_EQ(static_cast<double>(stream.rounded(static_cast<std::int64_t>(i), scale)),
                    nearest)
              << info.name << " step " << t;
        }
      }
    }
    EXPECT_GE(num_certain, num_entries / 2) << info.name;
  }
}

/// The number whole + first_digit 2^-64, plus `units` units of the last digit.
Enclosure at(const FixedPoint& fixed, std::uint64_t whole, std::uint64_t first_digit,
             std::int64_t units, double error) {
  Enclosure x{.digits = {whole, first_digit}, .error = error};
  Digits step{};
  step[fixed.num_digits()] = static_cast<std::uint64_t>(std::abs(units));
  x.digits = units < 0 ? fixed.subtract(x.digits, step) : fixed.add(x.digits, step);
  return x;
}

TEST(ExactEntry, roundings_are_decided_only_when_the_whole_interval_agrees) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  for (const std::size_t planes : kPlanes) {
    const FixedPoint fixed(planes);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 7, kHalf, 100, 10), 1), 8);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 7, kHalf, -100, 10), 1), 7);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 7, kHalf, 5, 10), 1), std::nullopt);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 7, kHalf, 0, 0), 1), std::nullopt);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 7, 0, 0, 1e30), 1), 7);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 7, 0, 0, kUnknown), 1), std::nullopt);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 0, 0, 0, kUnknown), 0), std::nullopt);
    // floor(x + 1/2): halves round up, also for negative numbers.
    Enclosure negative = at(fixed, 7, kHalf, 100, 10);
    negative.negative = true;
    EXPECT_EQ(fixed.round_scaled(negative, 1), -8);
    negative = at(fixed, 7, kHalf, -100, 10);
    negative.negative = true;
    EXPECT_EQ(fixed.round_scaled(negative, 1), -7);
    negative = at(fixed, 0, 1, 0, 1);
    negative.negative = true;
    EXPECT_EQ(fixed.round_scaled(negative, 1), 0);
    // The error grows with the scale; 2^40 * 2^(64p - 30) units are too many.
    const double large = std::ldexp(1.0, static_cast<int>(64 * planes) - 30);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 3, 0, 0, large), 1), 3);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 3, 0, 0, large), 0x1p40), std::nullopt);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 3, 0, 0, 1), 0x1p40), std::int64_t{3} << 40);
    EXPECT_EQ(fixed.round_scaled(at(fixed, 3, 0, 0, 1), 1e-300), 0);
    EXPECT_ERROR((void)fixed.round_scaled(at(fixed, 1 << 20, 0, 0, 1), 0x1p60), "unsupported",
                 "entries stay within 2^61 units");
  }
}

TEST(ExactEntry, scaling_by_powers_of_two_shows_the_binary_digits_of_the_entry) {
  for (const golden::exact_entry::Entries& known : golden::exact_entry::entries) {
    const Digits value = parse(known.digits);
    const auto rounded = static_cast<std::int64_t>(value[0] << 50 | value[1] >> 14) +
                         static_cast<std::int64_t>(value[1] >> 13 & 1);
    EXPECT_EQ(exact_rounded_entry(exact_entry_form(known.form), entry_options(2000), known.step,
                                  known.coordinate, 0x1p50),
              known.negative ? -rounded : rounded)
        << known.form << " " << known.step;
  }
}

TEST(FixedPoint, logarithms_roots_and_cosines_satisfy_their_equations) {
  for (const std::size_t planes : kPlanes) {
    const FixedPoint fixed(planes);
    for (std::uint64_t sample = 1; sample < 60; ++sample) {
      Digits u{};
      for (std::size_t i = 1; i <= planes; ++i) u[i] = (sample * 7 + i) * 0x9e3779b97f4a7c15;
      if (sample % 3 == 0) u[1] = sample % 2;                  // near zero
      if (sample % 5 == 0) u[1] = ~std::uint64_t{0} - sample;  // near one
      // ln(u^2) = 2 ln u.
      const Enclosure once = fixed.minus_log(u);
      const Enclosure twice = fixed.minus_log(fixed.multiply(u, u));
      const double lost = 1 / fixed.to_double(fixed.multiply(u, u));
      EXPECT_LE(entry_distance(fixed, fixed.shift_left(once.digits, 1), twice.digits),
                2 * once.error + twice.error + lost);
      // sqrt(a)^2 = a.
      const Enclosure root = fixed.square_root({.digits = once.digits});
      EXPECT_LE(entry_distance(fixed, fixed.multiply(root.digits, root.digits), once.digits),
                3 * (fixed.to_double(root.digits) + 1) * (root.error + 1));
      EXPECT_LE(root.error * std::min(1.0, fixed.to_double(root.digits)), 2000);
      // cos^2 + sin^2 = 1.
      Digits quarter_back = u;
      quarter_back[1] -= std::uint64_t{1} << 62;
      const Digits c = fixed.cosine_of_turn(u).digits;
      const Digits s = fixed.cosine_of_turn(quarter_back).digits;
      EXPECT_LE(entry_distance(fixed, fixed.add(fixed.multiply(c, c), fixed.multiply(s, s)), {1}),
                130);
    }
  }
}

TEST(FixedPoint, doubles_are_taken_exactly_where_the_digits_reach) {
  for (const std::size_t planes : kPlanes) {
    const FixedPoint fixed(planes);
    for (const double x : {0.0, 1.0, 0.1, 3.75, 0x1p-60, 0x1.fffffffffffffp61}) {
      const Enclosure exact = fixed.from_double(x);
      EXPECT_EQ(fixed.to_double(exact.digits), x);
      EXPECT_EQ(exact.error, 0) << x;
    }
    const double tiny = std::ldexp(1.5, -static_cast<int>(64 * planes));
    EXPECT_EQ(fixed.from_double(tiny).error, 1);
    EXPECT_EQ(fixed.from_double(tiny).digits[planes], 1u);
    EXPECT_EQ(fixed.from_double(5e-324).error, 1);
  }
}

TEST(FixedPoint, sums_and_products_keep_their_signs_and_errors) {
  for (const std::size_t planes : kPlanes) {
    const FixedPoint fixed(planes);
    const auto number = [&](double x) {
      Enclosure result = fixed.from_double(std::abs(x));
      result.negative = x < 0;
      return result;
    };
    const auto back = [&](const Enclosure& x) {
      return fixed.to_double(x.digits) * (x.negative ? -1 : 1);
    };
    for (const double a : {0.0, 1.5, -1.5, 0.1, -7.25, 0x1p-40, -0x1.23456789abcdfp30})
      for (const double b : {1.5, -0.25, 3e-7, -0x1p-100, 0x1.fp29}) {
        EXPECT_EQ(back(fixed.add(number(a), number(b))), a + b);
        EXPECT_EQ(back(fixed.subtract(number(a), number(b))), a - b);
        const Enclosure product = fixed.multiply(number(a), b);
        EXPECT_NEAR(back(product), a * b, std::abs(a * b) * 0x1p-49 + fixed.unit())
            << a << " " << b;
        const Enclosure general = fixed.multiply(number(a), number(b));
        EXPECT_LE(entry_distance(fixed, product.digits, general.digits),
                  product.error + general.error);
        EXPECT_LE(product.error, 1 + std::abs(b));
      }
    EXPECT_EQ(fixed.multiply({.digits = {1}}, 5e-324).digits, Digits{});
    // An error is multiplied by the factor.
    EXPECT_EQ(fixed.multiply({.digits = {1}, .error = 10}, -3.0).error, 31);
    EXPECT_EQ(fixed.add({.digits = {1}, .error = 10}, {.digits = {2}, .error = 5}).error, 15);
  }
}

TEST(FixedPoint, reciprocals_times_their_number_are_one) {
  for (const std::size_t planes : kPlanes) {
    const FixedPoint fixed(planes);
    for (const double x : {1.0, -1.3, 2.0, 0.7, 3.9999, 0x1p-60, -0x1.23456789abcdfp59}) {
      const Enclosure inverse = fixed.reciprocal(x);
      const Enclosure one = fixed.multiply(inverse, x);
      EXPECT_FALSE(one.negative) << x;
      EXPECT_LE(entry_distance(fixed, one.digits, {1}), one.error) << x;
      EXPECT_LE(inverse.error, 8 * (1 + 1 / std::abs(x))) << x;
    }
    for (const double x : {0.0, 0x1p-61, 0x1p61, std::numeric_limits<double>::quiet_NaN()})
      EXPECT_FALSE(std::isfinite(fixed.reciprocal(x).error)) << x;
  }
}

TEST(FixedPoint, an_offset_is_rounded_with_the_number_and_so_is_its_error) {
  const FixedPoint fixed(4);
  const Enclosure half{.digits = {0, std::uint64_t{1} << 63}};
  Enclosure below = half;
  below.digits = {0, (std::uint64_t{1} << 63) - 1};
  const Enclosure seven{.digits = {7}};
  const Enclosure minus{.digits = {7}, .negative = true};
  EXPECT_EQ(fixed.round_scaled(seven, 1, {}), 7);
  EXPECT_EQ(fixed.round_scaled(seven, 2, {.digits = {0, std::uint64_t{3} << 62}}), 15);
  EXPECT_EQ(fixed.round_scaled(seven, 1, below), 7);
  EXPECT_EQ(fixed.round_scaled(minus, 1, below), -7);
  EXPECT_EQ(fixed.round_scaled(minus, 1, {.digits = {0, std::uint64_t{3} << 62}}), -6);
  // Exactly at the edge, and with an error that reaches it.
  EXPECT_EQ(fixed.round_scaled(seven, 1, half), std::nullopt);
  below.error = 0x1p190;
  EXPECT_EQ(fixed.round_scaled(seven, 1, below), 7);
  below.error = 0x1p192;
  EXPECT_EQ(fixed.round_scaled(seven, 1, below), std::nullopt);
}

TEST(FixedPoint, numbers_out_of_range_are_not_trusted) {
  const FixedPoint fixed(2);
  const Enclosure large{.digits = {std::uint64_t{1} << 62}}, below{.digits = {large.digits[0] - 1}};
  EXPECT_EQ(fixed.add(below, below).error, 0);
  EXPECT_FALSE(std::isfinite(fixed.add(large, below).error));
  EXPECT_FALSE(std::isfinite(fixed.multiply(below, 2.0).error));
  EXPECT_FALSE(std::isfinite(fixed.multiply(below, Enclosure{.digits = {2}}).error));
  EXPECT_FALSE(std::isfinite(fixed.multiply(below, std::nan("")).error));
  EXPECT_TRUE(std::isfinite(fixed.multiply(below, 0.5).error));
  EXPECT_EQ(fixed.round_scaled({.digits = below.digits, .error = INFINITY}, 1), std::nullopt);
}

TEST(ExactEntry, arguments_out_of_range_are_refused) {
  const DecoderForm toeplitz = ToeplitzDecoder{{1, 0.5}};
  const DecoderForm tree = DyadicDecoder{{1, 1}};
  const auto refused = [](const DecoderForm& form, std::int64_t step, std::int64_t coordinate,
                          double scale) {
    return testing::error_text(
        [&] { (void)exact_rounded_entry(form, entry_options(3), step, coordinate, scale); });
  };
  EXPECT_EQ(refused(toeplitz, 0, 0, 1), "");
  EXPECT_NE(refused(toeplitz, 2, 0, 1).find("step must be between 0 and 1"), std::string::npos);
  EXPECT_NE(refused(tree, 3, 0, 1).find("step must be between 0 and 2"), std::string::npos);
  EXPECT_NE(refused(tree, -1, 0, 1).find("step"), std::string::npos);
  for (const testing::NamedForm& named : testing::named_forms()) {
    const std::int64_t num_rows = detail::num_exact_rows(named.form);
    EXPECT_GE(num_rows, named.steps);
    const std::string range = "step must be between 0 and " + to_text(num_rows - 1);
    EXPECT_NE(refused(named.form, num_rows, 0, 1).find(range), std::string::npos) << named.name;
    EXPECT_NE(refused(named.form, -1, 0, 1).find(range), std::string::npos) << named.name;
  }
  EXPECT_NE(refused(tree, 0, 3, 1).find("coordinate must be between 0 and 2"), std::string::npos);
  EXPECT_NE(refused(tree, 0, -1, 1).find("coordinate"), std::string::npos);
  for (const double scale : {-1.0, 0x1p61, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()})
    EXPECT_NE(refused(tree, 0, 0, scale).find("scale must be between 0 and 2^60"),
              std::string::npos);
  const auto strategy = make_strategy({.name = "tree", .steps = 3});
  const NoiseStream unused(*strategy, entry_options(1));
  EXPECT_ERROR((void)unused.rounded(0, 1), "invalid_argument", "step must be between 0 and 2");
}

}  // namespace
}  // namespace dpftrl
