// SPDX-License-Identifier: Apache-2.0
#include "noise/exact/exact_rows.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dpftrl/noise/noise_stream.hpp"
#include "exact_forms.hpp"
#include "math/exact_convolution.hpp"
#include "noise/exact/exact_entry.hpp"
#include "random/gaussian.hpp"
#include "support.hpp"

namespace dpftrl {
namespace testing {

/// B by definition in long double: nodes are numbered by enumerating them in order, inverses are
/// solved for, and sums are written out.
struct NaiveRows {
  std::int64_t num_rows;
  std::vector<NaiveRow> rows = std::vector<NaiveRow>(static_cast<std::size_t>(num_rows));

  NaiveRow& row(std::int64_t step) { return rows[static_cast<std::size_t>(step)]; }

  void operator()(const IdentityDecoder&) {
    for (std::int64_t t = 0; t < num_rows; ++t) row(t)[t] = 1;
  }
  void operator()(const RunningSumDecoder&) { add_inverse({1}); }

  using NodeNumbers = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;
  static NodeNumbers post_order(std::int64_t arity, std::int64_t num_levels) {
    NodeNumbers numbers;
    std::int64_t num_leaves = 1;
    for (std::int64_t l = 1; l < num_levels; ++l) num_leaves *= arity;
    for (std::int64_t s = 0; s < num_leaves * arity; ++s) {
      std::int64_t size = 1;
      for (std::int64_t level = 0; level < num_levels && (s + 1) % size == 0; ++level) {
        numbers.insert({{level, s / size}, std::ssize(numbers)});
        size *= arity;
      }
    }
    return numbers;
  }

  static NaiveRow estimate(const DyadicDecoder& decoder, const NodeNumbers& numbers,
                           std::int64_t level, std::int64_t index) {
    const long double own = decoder.node_weights[static_cast<std::size_t>(level)];
    NaiveRow sum{{numbers.at({level, index}), own}};
    if (level == 0) return sum;
    for (const std::int64_t child : {2 * index, 2 * index + 1})
      add_scaled(sum, 1 - own, estimate(decoder, numbers, level - 1, child));
    return sum;
  }
  void operator()(const DyadicDecoder& decoder) {
    const std::int64_t num_levels = std::ssize(decoder.node_weights);
    const NodeNumbers numbers = post_order(2, num_levels);
    for (std::int64_t t = 0; t < num_rows; ++t) {
      std::int64_t begin = 0;
      for (std::int64_t level = num_levels; level-- > 0;) {
        if (((t + 1) >> level & 1) == 0) continue;
        add_scaled(row(t), 1, estimate(decoder, numbers, level, begin >> level));
        begin += std::int64_t{1} << level;
      }
    }
  }

  void operator()(const KaryDecoder& decoder) {
    const NodeNumbers numbers = post_order(decoder.arity, decoder.num_levels);
    for (std::int64_t t = 0; t < num_rows; ++t) {
      std::int64_t rest = t + 1, end = 0;
      for (std::int64_t level = decoder.num_levels; level-- > 0;) {
        std::int64_t size = 1;
        for (std::int64_t l = 0; l < level; ++l) size *= decoder.arity;
        for (; rest > (decoder.subtractive ? (size - 1) / 2 : size - 1); rest -= size, end += size)
          row(t)[numbers.at({level, end / size})] += 1;
        for (; decoder.subtractive && rest < -(size - 1) / 2; rest += size, end -= size)
          row(t)[numbers.at({level, end / size - 1})] -= 1;
      }
    }
  }

  void operator()(const HaarDecoder& decoder) {
    const std::int64_t num_levels = std::ssize(decoder.scales);
    for (std::int64_t t = 0; t < num_rows; ++t)
      for (std::int64_t s = 0; s <= t; ++s) {  // prefix sums of the Haar functions
        row(t)[0] += decoder.mean_scale;
        for (std::int64_t level = 1; level <= num_levels; ++level) {
          const bool rises = s % (std::int64_t{1} << level) < std::int64_t{1} << (level - 1);
          row(t)[(std::int64_t{1} << (num_levels - level)) + (s >> level)] +=
              (rises ? 1 : -1) * decoder.scales[static_cast<std::size_t>(level - 1)];
        }
      }
  }

  void operator()(const ToeplitzDecoder& decoder) {
    for (std::int64_t t = 0; t < num_rows; ++t)
      for (std::int64_t lag = 0; lag <= t; ++lag)
        row(t)[t - lag] = decoder.coefficients[static_cast<std::size_t>(lag)];
  }

  /// Adds the rows of A G, where G is Toeplitz with the given first column, padded with zeros.
  void add_inverse(const std::vector<long double>& g) {
    for (std::int64_t t = 0; t < num_rows; ++t)
      for (std::int64_t s = 0; s <= t; ++s)
        for (std::int64_t j = 0; j <= s; ++j)
          if (s - j < std::ssize(g)) row(t)[j] += g[static_cast<std::size_t>(s - j)];
  }
  std::vector<long double> solved(const std::vector<long double>& c) const {
    std::vector<long double> g;
    for (std::size_t t = 0; t < static_cast<std::size_t>(num_rows); ++t) {
      long double rest = t == 0 ? 1 : 0;
      for (std::size_t k = 1; k <= t && k < c.size(); ++k) rest -= c[k] * g[t - k];
      g.push_back(rest / c[0]);
    }
    return g;
  }
  void operator()(const BandedDecoder& decoder) {
    add_inverse(solved({decoder.coefficients.begin(), decoder.coefficients.end()}));
  }
  void operator()(const BandedInverseDecoder& decoder) {
    add_inverse({decoder.coefficients.begin(), decoder.coefficients.end()});
  }
  void operator()(const MovingSumDecoder& decoder) {
    for (std::int64_t t = 0; t < num_rows; ++t)
      for (std::int64_t lag = 0; lag <= t && lag < std::ssize(decoder.coefficients); ++lag)
        row(t)[t - lag] = decoder.coefficients[static_cast<std::size_t>(lag)];
  }
  void operator()(const AutoregressiveDecoder& decoder) {
    for (std::int64_t t = 0; t < num_rows; ++t) {
      if (t > 0) add_scaled(row(t), decoder.decay, row(t - 1));
      row(t)[0] = decoder.offset;
      row(t)[t + 1] = t == 0 ? 1 : decoder.innovation;
    }
  }
  void operator()(const BufferedDecoder& decoder) {
    std::vector<long double> c{1}, powers = {decoder.weights.begin(), decoder.weights.end()};
    for (std::int64_t j = 1; j < num_rows; ++j) {
      c.push_back(0);
      for (std::size_t i = 0; i < powers.size(); ++i) {
        c.back() += powers[i];
        powers[i] *= decoder.decays[i];
      }
    }
    add_inverse(solved(c));
  }

  /// Entry j of all rows is the response to z_j = 1 alone.
  void operator()(const VaryingBufferedDecoder& decoder) {
    const VaryingBuffers& numbers = *decoder.numbers;
    const auto q = static_cast<std::size_t>(numbers.buffers);
    for (std::int64_t j = 0; j < num_rows; ++j) {
      std::vector<long double> states(q, 0);
      long double total = 0;
      for (std::int64_t t = j; t < num_rows; ++t) {
        const std::size_t first = static_cast<std::size_t>(t) * q;
        long double w = t == j ? numbers.inverse_scales[static_cast<std::size_t>(t)] : 0;
        for (std::size_t k = 0; k < q; ++k) w -= numbers.gains[first + k] * states[k];
        for (std::size_t k = 0; k < q; ++k)
          states[k] = numbers.factors[first + k] * (states[k] + w);
        row(t)[j] = total += w;
      }
    }
  }

  void operator()(const VaryingBandedDecoder& decoder) {
    const VaryingBands& numbers = *decoder.numbers;
    const auto bands = static_cast<std::size_t>(numbers.bands);
    for (std::size_t j = 0; j < static_cast<std::size_t>(num_rows); ++j) {
      std::vector<long double> w(static_cast<std::size_t>(num_rows), 0);
      long double total = 0;
      for (std::size_t t = j; t < w.size(); ++t) {
        long double rest = t == j ? 1 : 0;
        for (std::size_t m = 1; m < bands && m <= t - j; ++m)
          rest -= static_cast<long double>(numbers.entries[t * bands + m]) * w[t - m];
        w[t] = rest / numbers.entries[t * bands];
        row(static_cast<std::int64_t>(t))[static_cast<std::int64_t>(j)] = total += w[t];
      }
    }
  }

  void operator()(const BlockDecoder& decoder) {
    NaiveRow carried;
    std::int64_t step = 0, first = 0;
    for (const BlockDecoder::Block& block : decoder.blocks) {
      const std::int64_t num_inner = std::max(block.steps, block.closing_row + 1);
      const std::vector<NaiveRow> inner = naive_rows(*block.form, num_inner);
      for (std::int64_t t = 0; t < block.steps && step < num_rows; ++t, ++step) {
        row(step) = carried;
        add_scaled(row(step), 1, inner[static_cast<std::size_t>(t)], first);
      }
      add_scaled(carried, 1, inner[static_cast<std::size_t>(block.closing_row)], first);
      first += block.num_measurements;
    }
  }

  void operator()(const FilteredDecoder& decoder) {
    const std::vector<NaiveRow> base = naive_rows(*decoder.base, num_rows);
    const Matrix workload = decoder.workload.matrix();
    for (std::int64_t t = 0; t < num_rows; ++t)
      for (std::size_t s = 0; s <= static_cast<std::size_t>(t); ++s) {
        const long double scale = decoder.column_scales.empty() ? 1 : decoder.column_scales[s];
        const long double weight =
            scale * workload(index_of(t), index_of(static_cast<std::int64_t>(s)));
        add_scaled(row(t), weight, base[s]);
        if (s > 0) add_scaled(row(t), -weight, base[s - 1]);
      }
  }
};

std::vector<NaiveRow> naive_rows(const DecoderForm& form, std::int64_t num_rows) {
  NaiveRows naive{.num_rows = num_rows};
  std::visit(naive, form);
  return naive.rows;
}

}  // namespace testing

namespace {

using detail::Enclosure;
using detail::FixedPoint;
using testing::NaiveRow;
using testing::NamedForm;

NoiseStreamOptions exact_rows_options() {
  return {.key = Key::insecure_from_seed(7), .dimension = 1, .first_coordinate = 3};
}

double value(const FixedPoint& fixed, const Enclosure& x) {
  return fixed.to_double(x.digits) * (x.negative ? -1 : 1);
}

/// max over steps of |entry - naive row z| / (1 + |naive row| |z|).
double worst_deviation(const DecoderForm& form, const std::vector<NaiveRow>& naive) {
  std::int64_t num_measurements = 0;
  for (const NaiveRow& row : naive)
    for (const auto& [measurement, weight] : row)
      num_measurements = std::max(num_measurements, measurement + 1);
  const Matrix z = noise_matrix(exact_rows_options(), num_measurements);
  detail::Normals normals(exact_rows_options(), 0, 2);
  const auto rows = detail::make_exact_rows(form, normals, 0);
  double worst = 0;
  for (std::int64_t t = 0; t < std::ssize(naive); ++t) {
    long double sum = 0, size = 1;
    for (const auto& [measurement, weight] : naive[static_cast<std::size_t>(t)]) {
      sum += weight * z(testing::index_of(measurement), 0);
      size += std::abs(weight * z(testing::index_of(measurement), 0));
    }
    const double entry = value(normals.fixed(), rows->row(t));
    worst = std::max(worst, std::abs(entry - static_cast<double>(sum)) / static_cast<double>(size));
  }
  return worst;
}

TEST(ExactRows, equal_the_definition_of_b_times_the_normals) {
  for (const NamedForm& named : testing::named_forms()) {
    const std::vector<NaiveRow> naive = testing::naive_rows(named.form, named.steps);
    EXPECT_LE(worst_deviation(named.form, naive), 1e-13) << named.name;
  }
}

TEST(ExactRows, a_weight_off_by_one_part_in_a_million_is_noticed) {
  for (const NamedForm& named : testing::named_forms()) {
    std::vector<NaiveRow> naive = testing::naive_rows(named.form, named.steps);
    NaiveRow& last = naive.back();
    const auto largest = std::ranges::max_element(
        last, {}, [](const auto& entry) { return std::abs(entry.second); });
    largest->second *= 1 + 1e-6L;
    EXPECT_GE(worst_deviation(named.form, naive), 1e-9) << named.name;
    NaiveRow shifted;
    testing::add_scaled(shifted, 1, naive.front(), 1);
    naive.back() = naive[naive.size() - 2];
    naive.front() = shifted;
    EXPECT_GE(worst_deviation(named.form, naive), 1e-3) << named.name;
  }
}

TEST(ExactRows, do_not_depend_on_the_order_in_which_they_are_asked_for) {
  for (const NamedForm& named : testing::named_forms()) {
    detail::Normals normals(exact_rows_options(), 0, 2);
    const auto rows = detail::make_exact_rows(named.form, normals, 0);
    std::vector<Enclosure> upwards;
    for (std::int64_t t = 0; t < named.steps; ++t) upwards.push_back(rows->row(t));
    const std::int64_t last = named.steps - 1;
    for (const std::int64_t t :
         {last, last, last - 1, std::int64_t{5}, std::int64_t{0}, last / 2, last}) {
      const Enclosure again = rows->row(t);
      const Enclosure& known = upwards[static_cast<std::size_t>(t)];
      EXPECT_EQ(again.digits, known.digits) << named.name << " " << t;
      EXPECT_EQ(again.error, known.error) << named.name << " " << t;
    }
  }
}

TEST(ExactRows, enclosures_of_more_planes_lie_within_those_of_fewer) {
  for (const NamedForm& named : testing::named_forms()) {
    for (std::int64_t t = 0; t < named.steps; t += 6) {
      const Enclosure coarse = enclose_entry(named.form, exact_rows_options(), t, 0, 2);
      Enclosure fine = enclose_entry(named.form, exact_rows_options(), t, 0, 8);
      const FixedPoint fixed(8);
      fine.error = 0;
      const Enclosure difference =
          fixed.subtract(fine, {.digits = coarse.digits, .negative = coarse.negative});
      EXPECT_LE(fixed.to_double(difference.digits), coarse.error * 0x1p-128)
          << named.name << " " << t;
      EXPECT_LE(coarse.error, 0x1p40) << named.name << " " << t;
    }
  }
}

TEST(ExactRows, errors_of_a_growing_recursion_are_covered) {
  const DecoderForm growing = BandedDecoder{{1.3, -2.0}};
  const FixedPoint fixed(8);
  const Enclosure coarse = enclose_entry(growing, exact_rows_options(), 79, 0, 2);
  Enclosure fine = enclose_entry(growing, exact_rows_options(), 79, 0, 8);
  fine.error = 0;
  const Enclosure difference =
      fixed.subtract(fine, {.digits = coarse.digits, .negative = coarse.negative});
  const double deviation = std::ldexp(fixed.to_double(difference.digits), 128);
  EXPECT_LE(deviation, coarse.error);
  EXPECT_LE(coarse.error, 0x1p110);
  // 80 normals and divisions have errors below 2^20 units; the recursion amplifies them by 2^50.
  EXPECT_GE(deviation, 0x1p40) << "the response to an error has no part in this";
}

TEST(ExactRows, rows_out_of_range_are_never_certain) {
  const DecoderForm exploding[] = {BandedDecoder{{1, -4}}, BandedDecoder{{0x1p-61, 1}},
                                   BufferedDecoder{{0.99}, {-20}},
                                   ToeplitzDecoder{std::vector<double>(60, 0x1p61)}};
  for (const DecoderForm& form : exploding)
    for (const std::size_t planes : {2u, 4u, 8u}) {
      const Enclosure entry = enclose_entry(form, exact_rows_options(), 50, 0, planes);
      EXPECT_FALSE(std::isfinite(entry.error)) << form.index() << " with " << planes;
      EXPECT_EQ(FixedPoint(planes).round_scaled(entry, 1), std::nullopt) << form.index();
      // At so small a scale, digits that are all error would look like noise.
      EXPECT_ERROR((void)exact_rounded_entry(form, exact_rows_options(), 50, 0, 0x1p-60),
                   "unsupported", "noise stays within 2^62 throughout its recursion");
    }
}

TEST(ExactRows, convolutions_are_exact_but_for_the_last_cut) {
  using detail::Digits;
  const FixedPoint twice(4);
  for (const std::size_t length : {1u, 2u, 31u, 32u, 33u, 65u, 200u, 333u}) {
    std::vector<Digits> a(length), b(length);
    std::uint64_t state = length;
    const auto random = [&] { return state = state * 0x5851f42d4c957f2d + 0x14057b7ef767814f; };
    for (std::size_t i = 0; i < length; ++i) {
      a[i] = {random() >> 34, random(), random()};
      b[i] = {random() >> 56, random(), random()};
      if (i % 3 != 0) a[i] = twice.subtract({}, a[i]);
      if (i % 5 != 1) b[i] = twice.subtract({}, b[i]);
      for (std::size_t k = 3; k < a[i].size(); ++k) a[i][k] = b[i][k] = 0;
    }
    const std::vector<Digits> product = detail::convolve(a, b, 2);
    for (std::size_t i = 0; i < length; i += 1 + length / 40) {
      Digits sum{};  // exact: numbers of 2 digits, products of 4
      for (std::size_t j = 0; j <= i; ++j) {
        const bool negative = (a[j][0] ^ b[i - j][0]) >> 63 != 0;
        const auto size = [&](const Digits& x) {
          return x[0] >> 63 != 0 ? twice.subtract({}, x) : x;
        };
        const Digits term = twice.multiply(size(a[j]), size(b[i - j]));
        sum = negative ? twice.subtract(sum, term) : twice.add(sum, term);
      }
      sum[3] = sum[4] = 0;
      EXPECT_EQ(product[i], sum) << length << ", entry " << i;
    }
  }
}

TEST(ExactRows, prepared_toeplitz_rows_agree_with_single_ones) {
  ToeplitzDecoder toeplitz;
  for (int j = 0; j < 300; ++j)
    toeplitz.coefficients.push_back(std::cos(j) * (j % 7 == 0 ? 100 : 1) / (1 + j));
  const DecoderForm form = toeplitz;
  for (const std::size_t planes : {2u, 4u, 8u}) {
    detail::Normals normals(exact_rows_options(), 0, planes);
    const FixedPoint& fixed = normals.fixed();
    const auto single = detail::make_exact_rows(form, normals, 4);
    const auto prepared = detail::make_exact_rows(form, normals, 4);
    prepared->prepare(280);
    int num_equal = 0;
    for (std::int64_t t = 0; t < 290; t += 9) {
      const Enclosure a = single->row(t), b = prepared->row(t);
      const Enclosure difference = fixed.subtract(a, b);
      EXPECT_LE(fixed.to_double(difference.digits), 2 * fixed.unit() * difference.error) << t;
      EXPECT_LE(b.error, 0x1p32) << t;
      num_equal += a.digits == b.digits ? 1 : 0;
    }
    EXPECT_LE(num_equal, 16) << "not prepared at all";
  }
}

TEST(ExactRows, filters_of_many_toeplitz_rows_equal_the_definition) {
  ToeplitzDecoder toeplitz;
  for (int j = 0; j < 200; ++j) toeplitz.coefficients.push_back(1 / std::sqrt(1.0 + j));
  const std::vector<double> scales = testing::numbers(200, [](int t) { return 2 - t / 256.0; });
  const Workload workloads[] = {Workload::prefix_sums(200), testing::alternating_rates(200),
                                Workload::sliding_window({.steps = 200, .window = 90}),
                                testing::some_matrix(200)};
  for (const Workload& workload : workloads) {
    const DecoderForm form = FilteredDecoder{testing::shared(toeplitz), scales, workload};
    const std::vector<NaiveRow> naive = testing::naive_rows(form, 200);
    const Matrix z = noise_matrix(exact_rows_options(), 200);
    for (const std::int64_t step : {63, 64, 199}) {
      long double sum = 0, size = 1;
      for (const auto& [measurement, weight] : naive[static_cast<std::size_t>(step)]) {
        sum += weight * z(testing::index_of(measurement), 0);
        size += std::abs(weight * z(testing::index_of(measurement), 0));
      }
      const double entry =
          value(FixedPoint(2), enclose_entry(form, exact_rows_options(), step, 0, 2));
      EXPECT_NEAR(entry, static_cast<double>(sum), static_cast<double>(size) * 1e-13)
          << workload.name() << " " << step;
    }
  }
}

TEST(ExactRows, there_are_as_many_as_the_form_defines) {
  const auto num_rows = [](const DecoderForm& form) { return detail::num_exact_rows(form); };
  EXPECT_EQ(num_rows(IdentityDecoder{}), kMaxNumSteps);
  EXPECT_EQ(num_rows(BandedDecoder{{1, 2}}), kMaxNumSteps);
  EXPECT_EQ(num_rows(DyadicDecoder{{1, 1, 1}}), 7);
  EXPECT_EQ(num_rows(KaryDecoder{3, false, 4}), 80);
  EXPECT_EQ(num_rows(KaryDecoder{3, true, 4}), 40);
  EXPECT_EQ(num_rows(KaryDecoder{7, true, 1}), 3);
  EXPECT_EQ(num_rows(KaryDecoder{2, false, 40}), kMaxNumSteps - 1);
  EXPECT_EQ(num_rows(KaryDecoder{3, true, 60}), kMaxNumSteps);
  EXPECT_EQ(num_rows(HaarDecoder{1, {1, 1, 1}}), 8);
  EXPECT_EQ(num_rows(ToeplitzDecoder{{1, 2, 3}}), 3);
  EXPECT_EQ(num_rows(testing::block_form()), 25);
  EXPECT_EQ(num_rows(FilteredDecoder{
                testing::shared(HaarDecoder{1, {1, 1, 1}}), {}, Workload::prefix_sums(5)}),
            5);
}

TEST(ExactRows, far_steps_of_trees_are_sums_of_few_nodes) {
  // Compared through different code: row t of a tree of arity 2 is row t of the dyadic tree.
  const DecoderForm kary = KaryDecoder{2, false, 40};
  const DecoderForm tree = DyadicDecoder{std::vector<double>(40, 1.0)};
  for (const std::int64_t step : {std::int64_t{1} << 39, (std::int64_t{1} << 40) - 2,
                                  std::int64_t{0x5a5a5a5a5a}, std::int64_t{123456789}}) {
    const Enclosure a = enclose_entry(kary, exact_rows_options(), step, 0, 2);
    const Enclosure b = enclose_entry(tree, exact_rows_options(), step, 0, 2);
    EXPECT_EQ(a.digits, b.digits) << step;
    EXPECT_EQ(a.negative, b.negative) << step;
  }
}

}  // namespace
}  // namespace dpftrl
