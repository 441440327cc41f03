// SPDX-License-Identifier: Apache-2.0
// The kernel of every decoder form, compared with the matrix that the form defines.
#include <limits>
#include <memory>

#include "dense_decoder.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "form_strategy.hpp"
#include "random/gaussian.hpp"
#include "special_values.hpp"
#include "strategy/varying_bands.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using testing::FormStrategy;
using testing::kInfinity;
using testing::kNan;
using testing::LongDouble;
using testing::LongMatrix;
using testing::LongVector;

NoiseStreamOptions kernel_options(std::int64_t dimension, std::int64_t first_coordinate = 0) {
  return {.key = Key::insecure_from_seed(77),
          .dimension = dimension,
          .first_coordinate = first_coordinate};
}

struct FormCase {
  const char* name;
  DecoderForm form;
  /// Error bound of the later rows at 130 steps, relative to the bound for the normals alone.
  /// Recursions run in plain doubles where that is accurate enough, at the price of a looser bound.
  /// In filters every row has the error of the base's longest row, and these scales and rates vary
  /// widely.
  double max_looseness;
};

std::shared_ptr<const DecoderForm> share(DecoderForm form) {
  return std::make_shared<const DecoderForm>(std::move(form));
}

std::vector<double> wavy(std::int64_t size, double scale, double wave) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i)
    values.push_back(scale * (1 + wave * std::sin(0.7 * static_cast<double>(i))));
  return values;
}

DyadicDecoder dyadic(std::int64_t num_levels) {
  DyadicDecoder decoder{{1}};
  for (std::int64_t l = 1; l < num_levels; ++l)
    decoder.node_weights.push_back(0.5 + 0.3 / static_cast<double>(l));
  return decoder;
}

KaryDecoder kary_form(std::int64_t arity, bool subtractive, std::int64_t steps) {
  std::int64_t num_levels = 0;
  const std::int64_t digit = subtractive ? (arity - 1) / 2 : arity - 1;
  for (std::int64_t largest = 0; largest < steps; ++num_levels) largest = largest * arity + digit;
  return {.arity = arity, .subtractive = subtractive, .num_levels = num_levels};
}

HaarDecoder haar(std::int64_t steps) {
  HaarDecoder decoder{.mean_scale = 0.3, .scales = {}};
  while (std::int64_t{1} << decoder.scales.size() < steps)
    decoder.scales.push_back(decoder.scales.size() == 2
                                 ? -0.45
                                 : 0.9 / (1 + static_cast<double>(decoder.scales.size())));
  return decoder;
}

BandedDecoder banded_form() {
  return {{1.25, 0.5, 0.375, -0.3, 0.28}};
}
BandedInverseDecoder banded_inverse() {
  return {{1, -0.5, -0.125, -0.07, 0.1}};
}
/// Recursion of the optimum, before its columns are scaled.
DecoderForm varying(std::int64_t steps) {
  const Workload workload = Workload::prefix_sums(steps);
  const OptimalStrategy strategy(workload, plan_optimal(workload, {.buffers = 4}).plan);
  return *std::get<FilteredDecoder>(strategy.decoder_form()).base;
}

DecoderForm varying_bands(std::int64_t steps) {
  const Matrix columns = Matrix::NullaryExpr(testing::index_of(steps), 5, [](auto j, auto m) {
    return 1 / static_cast<double>(1 + m * (2 + j % 3)) * (m == 2 ? -1 : 1);
  });
  return VaryingBandedStrategy("bands", steps, columns).decoder_form();
}

BufferedDecoder buffered() {
  return {.decays = {0.97, 0.4, 0}, .weights = {0.15, 0.3, -0.1}};
}

BlockDecoder blocks(std::int64_t steps) {
  BlockDecoder decoder;
  const auto identity = share(IdentityDecoder{});
  const auto tree = share(dyadic(3));
  const auto recursion = share(banded_form());
  const auto digits = share(kary_form(3, true, 6));
  const auto convolution = share(ToeplitzDecoder{wavy(4, 1, 0.5)});
  for (std::int64_t done = 0; done < steps; done += 17) {
    decoder.blocks.push_back(
        {.steps = 2, .form = identity, .num_measurements = 2, .closing_row = 1});
    // A tree of five steps, completed to seven.
    decoder.blocks.push_back({.steps = 5, .form = tree, .num_measurements = 11, .closing_row = 6});
    decoder.blocks.push_back(
        {.steps = 3, .form = recursion, .num_measurements = 3, .closing_row = 1});
    decoder.blocks.push_back(
        {.steps = 4, .form = digits, .num_measurements = 14, .closing_row = 3});
    decoder.blocks.push_back(
        {.steps = 3, .form = convolution, .num_measurements = 3, .closing_row = 2});
  }
  return decoder;
}

FilteredDecoder filtered(DecoderForm base, std::vector<double> scales, Workload workload) {
  return {share(std::move(base)), std::move(scales), std::move(workload)};
}

Matrix awkward_matrix(std::int64_t steps) {
  Matrix matrix = Matrix::Zero(testing::index_of(steps), testing::index_of(steps));
  for (Eigen::Index t = 0; t < matrix.rows(); ++t)
    for (Eigen::Index i = 0; i <= t; ++i)
      matrix(t, i) = 1 + std::cos(0.3 * static_cast<double>(t)) / static_cast<double>(1 + t - i);
  return matrix;
}

std::vector<FormCase> form_cases(std::int64_t n) {
  std::vector<double> few_rates = wavy(n, 0.5, 0.6);
  for (std::size_t i = 0; i < few_rates.size(); i += 3) few_rates[i] = -few_rates[i];
  return {
      {"identity", IdentityDecoder{}, 1.1},
      {"running sum", RunningSumDecoder{}, 1.1},
      {"dyadic", dyadic(40), 16},
      {"binary", kary_form(2, false, n), 1.3},
      {"4-ary", kary_form(4, false, n), 1.3},
      {"1000-ary", kary_form(1000, false, n), 1.3},
      {"ternary subtractive", kary_form(3, true, n), 1.3},
      {"7-ary subtractive", kary_form(7, true, n), 1.3},
      {"haar", haar(n), 16},
      {"toeplitz, more than needed", ToeplitzDecoder{wavy(n + 9, 1, 0.5)}, 64},
      {"toeplitz", ToeplitzDecoder{wavy(n, 0.2, 0.9)}, 64},
      {"banded", banded_form(), 50},
      {"banded, a number", BandedDecoder{{-0.75}}, 25},
      {"banded inverse", banded_inverse(), 64},
      {"moving sum", MovingSumDecoder{banded_inverse().coefficients}, 64},
      {"autoregressive", AutoregressiveDecoder{0.3, 0.97, 0.25}, 64},
      {"autoregressive, offset alone", AutoregressiveDecoder{2, 0, 1}, 64},
      {"buffered", buffered(), 64},
      {"buffered, none", BufferedDecoder{}, 25},
      {"varying buffers", varying(n), 300},
      {"varying bands", varying_bands(n), 300},
      {"varying bands, one",
       VaryingBandedStrategy("bands", n, Matrix::Constant(testing::index_of(n), 1, 1.5))
           .decoder_form(),
       64},
      {"blocks", blocks(n), 10},
      {"base alone", filtered(banded_form(), {}, Workload::prefix_sums(n)), 50},
      {"column scales", filtered(dyadic(40), wavy(n, 1, 0.4), Workload::prefix_sums(n)), 1300},
      {"momentum", filtered(kary_form(4, false, n), {}, Workload::momentum({n, 0.9, 0.97})), 6},
      {"momentum, no decay",
       filtered(banded_inverse(), wavy(n, 1, 0.4), Workload::momentum({n, 0.5, 1})), 40},
      {"window", filtered(banded_form(), wavy(n, 2, 0.4), Workload::sliding_window({n, 5})), 600},
      {"rates", filtered(buffered(), {}, Workload::learning_rates({few_rates, 0})), 50},
      {"rates and momentum",
       filtered(haar(n), wavy(n, 1, 0.2), Workload::learning_rates({few_rates, 0.8})), 600},
      {"matrix",
       filtered(kary_form(3, true, n), wavy(n, 1, 0.2),
                Workload::lower_triangular(awkward_matrix(n))),
       10},
      {"window over blocks", filtered(blocks(n), {}, Workload::sliding_window({n, 3})), 4000},
      {"block of filters",
       BlockDecoder{
           {{.steps = n,
             .form = share(filtered(dyadic(40), wavy(n, 1, 0.4), Workload::prefix_sums(n))),
             .num_measurements = 2 * n,
             .closing_row = n - 1},
            {.steps = 1,
             .form = share(IdentityDecoder{}),
             .num_measurements = 1,
             .closing_row = 0}}},
       150},
  };
}

struct Streamed {
  Matrix rows;
  std::vector<RowErrorBound> bounds;
};

Streamed stream_rows(const DecoderForm& form, std::int64_t n, const NoiseStreamOptions& how) {
  NoiseStream stream(FormStrategy(form, n), how);
  Streamed streamed{Matrix(testing::index_of(n), testing::index_of(how.dimension)), {}};
  for (Eigen::Index t = 0; t < streamed.rows.rows(); ++t) {
    stream.next({streamed.rows.row(t).data(), static_cast<std::size_t>(how.dimension)});
    streamed.bounds.push_back(stream.row_error_bound());
  }
  return streamed;
}

/// Largest error of an entry in units of its bound, at most 1 if rows are correct. The oracle uses
/// the computed normals, so the bound must leave room for their own error.
LongDouble worst_kernel_error(const Streamed& streamed, const LongMatrix& b, const LongMatrix& z) {
  const LongMatrix exact = b * z.topRows(b.cols());
  LongDouble worst = 0;
  for (Eigen::Index t = 0; t < exact.rows(); ++t) {
    const RowErrorBound& bound = streamed.bounds[static_cast<std::size_t>(t)];
    const LongDouble normals = 0.999L * kNormalErrorBound * b.row(t).cwiseAbs().sum();
    for (Eigen::Index i = 0; i < exact.cols(); ++i) {
      const LongDouble entry = streamed.rows(t, i);
      const LongDouble error = std::abs(exact(t, i) - entry) + normals;
      worst = std::max(worst, error / (bound.absolute + bound.relative * std::abs(entry)));
    }
  }
  return worst;
}

LongMatrix normals_for(const NoiseStreamOptions& how, Eigen::Index num_measurements) {
  return noise_matrix(how, static_cast<std::int64_t>(num_measurements)).cast<LongDouble>();
}

TEST(NoiseKernels, rows_are_the_matrix_of_the_form_times_the_normals_within_the_bound) {
  for (const std::int64_t n : testing::sizes(
           {.full = {1, 2, 3, 7, 8, 9, 16, 27, 28, 64, 130}, .elsewhere = {1, 2, 8, 27, 66}}))
    for (const FormCase& c : form_cases(n)) {
      const LongMatrix b = testing::dense_decoder(c.form, n);
      const Streamed streamed = stream_rows(c.form, n, kernel_options(3));
      EXPECT_LE(worst_kernel_error(streamed, b, normals_for(kernel_options(3), b.cols())), 1)
          << c.name << ", n = " << n;
    }
}

TEST(NoiseKernels, bounds_are_not_much_larger_than_what_the_normals_alone_need) {
  const std::int64_t n = 130;
  for (const FormCase& c : form_cases(n)) {
    const LongMatrix b = testing::dense_decoder(c.form, n);
    const Streamed streamed = stream_rows(c.form, n, kernel_options(3));
    LongDouble looseness = 0;
    for (Eigen::Index t = b.rows() / 2; t < b.rows(); ++t) {
      const RowErrorBound& bound = streamed.bounds[static_cast<std::size_t>(t)];
      const LongDouble entry = streamed.rows.row(t).cwiseAbs().maxCoeff();
      looseness = std::max(looseness, (bound.absolute + bound.relative * entry) /
                                          (kNormalErrorBound * b.row(t).cwiseAbs().sum()));
    }
    EXPECT_LE(looseness, c.max_looseness) << c.name;
  }
}

TEST(NoiseKernels, wrong_matrices_are_rejected) {
  const std::int64_t n = 27;
  for (const FormCase& c : form_cases(n)) {
    const LongMatrix b = testing::dense_decoder(c.form, n);
    const LongMatrix z = normals_for(kernel_options(3), b.cols() + 1);
    const Streamed streamed = stream_rows(c.form, n, kernel_options(3));
    ASSERT_LE(worst_kernel_error(streamed, b, z), 1) << c.name;

    LongMatrix wrong = b;  // uses the normals of the neighbouring measurements
    wrong.rightCols(b.cols() - 1) = b.leftCols(b.cols() - 1);
    EXPECT_GT(worst_kernel_error(streamed, wrong, z), 1) << c.name;
    wrong = b;  // one step late
    wrong.bottomRows(n - 1) = b.topRows(n - 1);
    EXPECT_GT(worst_kernel_error(streamed, wrong, z), 1) << c.name;
    if (std::string(c.name) != "identity") {
      wrong = b;  // loses the state at every step: only the new normals remain
      for (Eigen::Index t = 1; t < b.rows(); ++t)
        for (Eigen::Index m = 0; m < b.cols(); ++m)
          if (b(t - 1, m) != 0) wrong(t, m) = 0;
      EXPECT_GT(worst_kernel_error(streamed, wrong, z), 1) << c.name;
    }
    // One entry in the middle row is negated, missing, or off by a factor 1 + 2^-30.
    for (const LongDouble factor : {-1.0L, 0.0L, 1 + 0x1p-30L}) {
      wrong = b;
      Eigen::Index place = 0;
      b.row(n / 2).cwiseAbs().maxCoeff(&place);
      wrong(n / 2, place) *= factor;
      EXPECT_GT(worst_kernel_error(streamed, wrong, z), 1) << c.name << " times " << factor;
    }
  }
}

TEST(NoiseKernels, forms_that_differ_a_little_are_told_apart) {
  const std::int64_t n = 27;
  const auto differ = [&](const DecoderForm& form, const DecoderForm& other) {
    const LongMatrix b = testing::dense_decoder(other, n);
    const Streamed streamed = stream_rows(form, n, kernel_options(3));
    return worst_kernel_error(streamed, b, normals_for(kernel_options(3), b.cols())) > 1;
  };
  EXPECT_FALSE(differ(kary_form(3, true, n), kary_form(3, true, n)));
  EXPECT_TRUE(differ(kary_form(3, true, n), kary_form(3, false, n)));
  KaryDecoder more_levels = kary_form(3, true, n);
  ++more_levels.num_levels;  // the added nodes end after these steps, and are numbered there
  EXPECT_FALSE(differ(more_levels, kary_form(3, true, n)));
  HaarDecoder other_scales = haar(n);
  std::swap(other_scales.scales[0], other_scales.scales[1]);
  EXPECT_TRUE(differ(haar(n), other_scales));
  ToeplitzDecoder other_lag{wavy(n, 1, 0.5)};
  std::swap(other_lag.coefficients[n - 1], other_lag.coefficients[n - 2]);
  EXPECT_TRUE(differ(ToeplitzDecoder{wavy(n, 1, 0.5)}, other_lag));
  EXPECT_TRUE(differ(banded_form(), BandedInverseDecoder{banded_form().coefficients}));
  EXPECT_TRUE(differ(banded_inverse(), MovingSumDecoder{banded_inverse().coefficients}));
  BufferedDecoder swapped = buffered();
  std::swap(swapped.decays[0], swapped.decays[1]);
  EXPECT_TRUE(differ(buffered(), swapped));
  for (const std::size_t block : {0u, 1u, 2u}) {
    BlockDecoder wrong = blocks(n);
    --wrong.blocks[block].closing_row;
    EXPECT_TRUE(differ(blocks(n), wrong)) << block;
    wrong = blocks(n);
    ++wrong.blocks[block].num_measurements;
    EXPECT_TRUE(differ(blocks(n), wrong)) << block;
  }
  const auto window = [&](std::int64_t width) {
    return filtered(banded_form(), {}, Workload::sliding_window({n, width}));
  };
  EXPECT_TRUE(differ(window(5), window(6)));
}

TEST(NoiseKernels, a_shard_has_the_same_bits_as_the_whole) {
  for (const FormCase& c : form_cases(37)) {
    const Matrix whole = stream_rows(c.form, 37, kernel_options(70)).rows;
    for (const std::int64_t first : {0, 1, 33})
      for (const std::int64_t dimension : {1, 4, 5, 37}) {
        const Matrix shard = stream_rows(c.form, 37, kernel_options(dimension, first)).rows;
        EXPECT_EQ(whole.middleCols(testing::index_of(first), testing::index_of(dimension)), shard)
            << c.name << " " << first << " " << dimension;
      }
  }
}

TEST(NoiseKernels, a_stream_that_is_moved_goes_on_where_it_was) {
  for (const FormCase& c : form_cases(37)) {
    const Matrix rows = stream_rows(c.form, 37, kernel_options(2)).rows;
    auto first = std::make_unique<NoiseStream>(FormStrategy(c.form, 37), kernel_options(2));
    std::vector<double> row(2);
    for (int t = 0; t < 20; ++t) first->next(row);
    NoiseStream second = std::move(*first);
    first.reset();
    for (Eigen::Index t = 20; t < 37; ++t) {
      second.next(row);
      EXPECT_EQ(rows(t, 1), row[1]) << c.name << " " << t;
    }
  }
}

TEST(NoiseKernels, long_runs_of_toeplitz_and_recursive_forms_stay_within_their_bounds) {
  for (const std::int64_t n : {4095, 4096, 4097}) {
    const BufferedDecoder slow{.decays = {0.9999, 0.8}, .weights = {0.02, 0.3}};
    for (const DecoderForm& form :
         {DecoderForm(ToeplitzDecoder{wavy(n, 0.2, 0.9)}), DecoderForm(banded_form()),
          DecoderForm(banded_inverse()), DecoderForm(slow)}) {
      const LongVector by_lag = testing::impulse_response(form, n);
      const LongMatrix z = normals_for(kernel_options(1), testing::index_of(n));
      const Streamed streamed = stream_rows(form, n, kernel_options(1));
      for (const Eigen::Index t : {Eigen::Index{0}, Eigen::Index{2047}, streamed.rows.rows() - 2,
                                   streamed.rows.rows() - 1}) {
        LongDouble exact = 0, normals = 0;
        for (Eigen::Index j = 0; j <= t; ++j) {
          exact += by_lag[static_cast<std::size_t>(t - j)] * z(j, 0);
          normals += std::abs(by_lag[static_cast<std::size_t>(t - j)]) * kNormalErrorBound;
        }
        const RowErrorBound& bound = streamed.bounds[static_cast<std::size_t>(t)];
        const LongDouble entry = streamed.rows(t, 0);
        const LongDouble allowed = bound.absolute + bound.relative * std::abs(entry);
        EXPECT_LE(std::abs(exact - entry) + 0.999L * normals, allowed)
            << form.index() << " " << n << " " << t;
        if (!std::holds_alternative<ToeplitzDecoder>(form)) {
          EXPECT_LE(allowed, 2 * normals + 0x1p-50L * std::abs(entry)) << form.index() << " " << t;
        }
      }
    }
  }
}

TEST(NoiseKernels, trees_and_haar_stay_right_over_a_thousand_steps) {
  const std::int64_t n = 1300;
  for (const DecoderForm& form : {DecoderForm(kary_form(3, true, n)),
                                  DecoderForm(kary_form(6, false, n)), DecoderForm(haar(n))}) {
    const LongMatrix b = testing::dense_decoder(form, n);
    EXPECT_LE(worst_kernel_error(stream_rows(form, n, kernel_options(1)), b,
                                 normals_for(kernel_options(1), b.cols())),
              1)
        << form.index();
  }
}

TEST(NoiseKernels, a_bound_that_cannot_be_vouched_for_is_infinite) {
  // w grows by a factor of 4 per step, and so do its rounding errors.
  const BandedDecoder unstable{{1, 4}};
  const Streamed streamed = stream_rows(unstable, 600, kernel_options(1));
  EXPECT_LE(streamed.bounds[5].absolute, 1e-10);
  EXPECT_EQ(streamed.bounds[100].absolute, kInfinity);
  EXPECT_FALSE(streamed.bounds.back().absolute < kInfinity);
}

TEST(NoiseKernels, a_bound_that_is_not_known_stays_unknown_behind_a_filter) {
  // No error bound is known for the last rows of the first block, but one is for the row that the
  // block leaves.
  const BlockDecoder blocks{
      {{.steps = 600,
        .form = share(BandedDecoder{{1, 4}}),
        .num_measurements = 600,
        .closing_row = 0},
       {.steps = 3, .form = share(IdentityDecoder{}), .num_measurements = 3, .closing_row = 2}}};
  const FilteredDecoder window = filtered(blocks, {}, Workload::sliding_window({603, 2}));
  EXPECT_LE(stream_rows(blocks, 603, kernel_options(1)).bounds.back().absolute, 1e-10);
  EXPECT_FALSE(stream_rows(window, 603, kernel_options(1)).bounds.back().absolute < kInfinity);
}

TEST(NoiseKernels, what_fades_away_does_not_disturb) {
  // The impulse response of the recursion underflows within 2500 steps.
  const BandedDecoder short_memory{{1, 0.6, -0.1}};
  const std::int64_t n = 2500;
  const LongMatrix b = testing::dense_decoder(short_memory, n);
  EXPECT_LE(worst_kernel_error(stream_rows(short_memory, n, kernel_options(1)), b,
                               normals_for(kernel_options(1), n)),
            1);
}

std::string refusal(const DecoderForm& form, std::int64_t steps = 8, std::int64_t dimension = 2) {
  return testing::error_text(
      [&] { const NoiseStream stream(FormStrategy(form, steps), kernel_options(dimension)); });
}

void expect_refusal(const DecoderForm& form, const std::string& part) {
  const std::string text = refusal(form);
  EXPECT_TRUE(text.starts_with("invalid_argument | noise_stream: ") ||
              text.starts_with("wrong_length | noise_stream: "))
      << part << " got: " << text;
  EXPECT_NE(text.find(part), std::string::npos) << "got: " << text;
}

TEST(NoiseKernels, malformed_trees_and_haar_forms_are_refused) {
  expect_refusal(DyadicDecoder{{1, 1, 1}}, "node_weights must be of at least 4 entries, got 3");
  expect_refusal(DyadicDecoder{{1, 1, 0.4, 1}}, "node_weights[2] must be between 1/2 and 1");
  expect_refusal(KaryDecoder{1, false, 4}, "arity must be between 2 and 1048576, got 1");
  expect_refusal(KaryDecoder{4, true, 4}, "arity must be odd for subtractive expansions, got 4");
  expect_refusal(KaryDecoder{3, false, 0}, "num_levels must be between 1 and 62");
  expect_refusal(KaryDecoder{2, false, 3},
                 "num_levels must be enough for the expansions of 1 .. 8, got 3");
  expect_refusal(KaryDecoder{3, true, 2}, "num_levels must be enough");
  EXPECT_EQ(refusal(KaryDecoder{3, false, 2}), "");
  expect_refusal(HaarDecoder{kNan, {1, 1, 1}}, "mean_scale must be at most 2^20 in magnitude");
  expect_refusal(HaarDecoder{1, {1, kInfinity, 1}}, "scales[1] must be at most 2^20");
  expect_refusal(HaarDecoder{1, {1, 1}}, "scales must be k numbers with steps <= 2^k <= 2^62");
}

TEST(NoiseKernels, malformed_toeplitz_and_recursive_forms_are_refused) {
  expect_refusal(ToeplitzDecoder{wavy(7, 1, 0)},
                 "coefficients must be of at least 8 entries, got 7");
  expect_refusal(ToeplitzDecoder{wavy(8, kNan, 0)}, "coefficients must be at most 2^20");
  expect_refusal(BandedDecoder{}, "coefficients must be of at least 1 entries, got 0");
  expect_refusal(BandedDecoder{{0, 1}}, "coefficients[0] must be at least 2^-20 in magnitude");
  expect_refusal(BandedDecoder{{kNan}}, "coefficients[0] must be at most 2^20");
  expect_refusal(BandedInverseDecoder{}, "coefficients must be of at least 1 entries");
  expect_refusal(BandedInverseDecoder{{1, -kInfinity}}, "coefficients[1] must be at most 2^20");
  expect_refusal(MovingSumDecoder{}, "coefficients must be of at least 1 entries");
  expect_refusal(MovingSumDecoder{wavy((1 << 14) + 1, 1, 0)},
                 "coefficients must have between 1 and 16384 entries, got 16385");
  expect_refusal(MovingSumDecoder{{kNan}}, "coefficients[0] must be at most 2^20");
  expect_refusal(AutoregressiveDecoder{kNan, 0.5, 1}, "offset must be at most 2^20");
  expect_refusal(AutoregressiveDecoder{1, 1, 1}, "decay must be at least 0 and below 1, got 1");
  expect_refusal(AutoregressiveDecoder{1, kNan, 1}, "decay must be at least 0 and below 1");
  expect_refusal(AutoregressiveDecoder{1, 0.5, kInfinity}, "innovation must be at most 2^20");
  expect_refusal(BufferedDecoder{{0.5}, {}}, "weights must have 1 entry, got 0");
  expect_refusal(BufferedDecoder{{1}, {0.5}}, "decays[0] must be at least 0 and below 1, got 1");
  expect_refusal(BufferedDecoder{{kNan}, {0.5}}, "decays[0] must be at least 0");
  expect_refusal(BufferedDecoder{{0.5}, {kNan}}, "weights[0] must be at most 2^20");
}

TEST(NoiseKernels, malformed_blocks_and_filters_are_refused) {
  const auto one_block = [](BlockDecoder::Block block) { return BlockDecoder{{std::move(block)}}; };
  const auto identity = share(IdentityDecoder{});
  expect_refusal(BlockDecoder{}, "blocks must be of 8 steps or more, got 0");
  expect_refusal(one_block({8, nullptr, 8, 7}), "blocks[0].form must be a form, got none");
  expect_refusal(one_block({7, identity, 7, 6}), "blocks must be of 8 steps or more, got 7");
  expect_refusal(one_block({0, identity, 7, 6}), "blocks[0].steps must be between 1");
  expect_refusal(one_block({8, identity, 0, 7}), "blocks[0].num_measurements must be between 1");
  expect_refusal(one_block({8, identity, 8, -1}), "blocks[0].closing_row must be between 0");
  // The form must have its closing row, too.
  EXPECT_EQ(refusal(one_block({8, share(dyadic(4)), 30, 14})), "");
  expect_refusal(one_block({8, share(dyadic(4)), 30, 15}), "node_weights must be of at least 5");
  const std::int64_t many = (std::int64_t{1} << 48) - 1;
  expect_refusal(BlockDecoder{{{4, identity, many, 3}, {4, identity, many, 3}}},
                 "blocks[1].num_measurements must be between 1");

  const auto prefix = Workload::prefix_sums(8);
  expect_refusal(FilteredDecoder{nullptr, {}, prefix}, "base must be a form, got none");
  expect_refusal(filtered(IdentityDecoder{}, wavy(7, 1, 0), prefix),
                 "column_scales must be of at least 8 entries, got 7");
  expect_refusal(filtered(IdentityDecoder{}, wavy(8, -1, 0), prefix),
                 "column_scales[0] must be positive and at most 2^20, got -1");
  expect_refusal(filtered(IdentityDecoder{}, wavy(8, kNan, 0), prefix), "column_scales[0]");
  expect_refusal(filtered(IdentityDecoder{}, {}, Workload::prefix_sums(7)),
                 "workload must be of at least 8 steps, got 7");
  expect_refusal(filtered(BandedDecoder{}, {}, prefix), "coefficients must be");
  expect_refusal(filtered(IdentityDecoder{}, {}, Workload::learning_rates({wavy(8, 0x1p21, 0), 0})),
                 "rates[0] must be at most 2^20");
}

TEST(NoiseKernels, state_of_more_than_a_gibibyte_is_refused_before_anything_is_made) {
  const std::int64_t dimension = std::int64_t{1} << 24, n = 64;
  const auto expect_exhausted = [&](const DecoderForm& form, const std::string& part) {
    const std::string text = refusal(form, n, dimension);
    EXPECT_EQ(text.substr(0, text.find(" | ")), "resource_exhausted") << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_exhausted(
      BandedDecoder{wavy(5, 1, 0)},
      "dimension times the number of coefficients must be small enough for 1 GiB of state, "
      "got 5 * 16777216");
  expect_exhausted(BandedInverseDecoder{wavy(9, 1, 0)},
                   "dimension times the number of coefficients");
  expect_exhausted(BufferedDecoder{wavy(5, 0.5, 0), wavy(5, 1, 0)}, "number of buffers");
  expect_exhausted(filtered(IdentityDecoder{}, {}, Workload::sliding_window({n, 5})),
                   "dimension times the window");
  expect_exhausted(filtered(IdentityDecoder{}, {}, Workload::lower_triangular(awkward_matrix(n))),
                   "dimension times the steps");
  // A convolution in a later block of the stream.
  const auto convolution = share(ToeplitzDecoder{wavy(32, 1, 0)});
  expect_exhausted(
      BlockDecoder{{{32, share(IdentityDecoder{}), 32, 31}, {32, convolution, 32, 31}}},
      "dimension times steps must be small enough for 1 GiB of noise and scratch");
}

}  // namespace
}  // namespace dpftrl
