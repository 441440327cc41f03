// SPDX-License-Identifier: Apache-2.0
#include "exact_forms.hpp"

#include <cmath>
#include <utility>

#include "dpftrl/strategy/optimal.hpp"
#include "strategy/varying_bands.hpp"

namespace dpftrl::testing {
namespace {

/// Bands whose entries vary with the column, some negative.
DecoderForm varying_bands_form(int steps, int bands) {
  const Matrix columns = Matrix::NullaryExpr(steps, bands, [](auto j, auto m) {
    const double sign = (j + m) % 3 == 0 && m > 0 ? -1 : 1;
    return sign * (1.0 + 0.25 * static_cast<double>(j % 4)) / static_cast<double>(1 + 2 * m);
  });
  return VaryingBandedStrategy("bands", steps, columns).decoder_form();
}

}  // namespace

DyadicDecoder honaker_form(int num_levels) {
  DyadicDecoder decoder;
  for (int l = 0; l < num_levels; ++l)
    decoder.node_weights.push_back(1 / (2 * (1 - std::ldexp(1.0, -l - 1))));
  return decoder;
}

std::shared_ptr<const DecoderForm> shared(DecoderForm form) {
  return std::make_shared<const DecoderForm>(std::move(form));
}

BlockDecoder block_form() {
  return {{{5, shared(KaryDecoder{3, false, 2}), 12, 7},  // its closing row is past its steps
           {4, shared(HaarDecoder{0.5, {0.6, 0.7}}), 4, 3},
           {6, shared(RunningSumDecoder{}), 6, 3},
           {10, shared(BandedDecoder{{-1.3, 0.7, 0.4, 0.1}}), 10, 9}}};
}

std::vector<double> numbers(int count, double (*number)(int)) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(number(i));
  return result;
}

Workload alternating_rates(int steps) {
  return Workload::learning_rates({.rates = numbers(steps,
                                                    [](int t) {
                                                      const double rate = 0.5 + t * 0.25;
                                                      return t % 2 == 0 ? rate : -rate;
                                                    }),
                                   .momentum = 0.5});
}

Workload some_matrix(int steps) {
  Matrix matrix = Matrix::Zero(steps, steps);
  for (int t = 0; t < steps; ++t)
    for (int i = 0; i <= t; ++i) matrix(t, i) = ((t * 7 + i * 3) % 5 - 1.5) * 0.3;
  return Workload::lower_triangular(matrix);
}

DecoderForm varying_form(int steps, int buffers) {
  const Workload workload = Workload::prefix_sums(steps);
  const OptimalPlanOptions options{.objective = Objective::max, .buffers = buffers};
  const OptimalStrategy strategy(workload, plan_optimal(workload, options).plan);
  return *std::get<FilteredDecoder>(strategy.decoder_form()).base;
}

std::vector<NamedForm> named_forms() {
  const auto reciprocal = [](int i) { return 1.0 / (1 + i); };
  const DecoderForm banded = BandedDecoder{{-1.3, 0.7, 0.4, 0.1}};
  const DecoderForm buffered = BufferedDecoder{{0.9, 0.5, 0.0}, {0.3, 0.4, 0.2}};
  const DecoderForm subtractive = KaryDecoder{5, true, 4};
  const DecoderForm slow_columns =
      FilteredDecoder{shared(ToeplitzDecoder{numbers(30, reciprocal)}), numbers(30, reciprocal),
                      Workload::prefix_sums(30)};
  const DecoderForm momentum =
      FilteredDecoder{shared(honaker_form(7)),
                      {},
                      Workload::momentum({.steps = 64, .momentum = 0.9, .decay = 0.95})};
  ToeplitzDecoder signed_toeplitz;
  for (int j = 0; j < 30; ++j) signed_toeplitz.coefficients.push_back(std::pow(-1.5, j) * 0.1);
  return {
      {"identity", 64, IdentityDecoder{}},
      {"running_sum", 64, RunningSumDecoder{}},
      {"tree", 63, DyadicDecoder{std::vector<double>(6, 1.0)}},
      {"honaker", 63, honaker_form(6)},
      {"signed_toeplitz", 30, signed_toeplitz},
      {"kary", 200, KaryDecoder{3, false, 5}},
      {"kary_subtractive", 200, subtractive},
      {"haar", 32, HaarDecoder{0.17, {0.9, 0.7, 0.55, 0.41, 0.3}}},
      {"banded", 64, banded},
      {"banded_growing", 64, BandedDecoder{{1.0, -1.2}}},
      {"banded_inverse", 64, BandedInverseDecoder{{0.9, -0.5, 0.3, -0.7, 0.1}}},
      {"moving_sum", 64, MovingSumDecoder{{0.9, -0.5, 0.3, -0.7, 0.1}}},
      {"buffered", 64, buffered},
      {"autoregressive", 64, AutoregressiveDecoder{0.3, 0.625, 0.8}},
      {"varying", 50, varying_form(50, 5)},
      {"varying_bands", 50, varying_bands_form(50, 4)},
      {"block", 25, block_form()},
      {"filtered_prefix", 30, slow_columns},
      {"filtered_momentum", 64, momentum},
      {"filtered_window", 25,
       FilteredDecoder{shared(block_form()), numbers(25, [](int t) { return 1 + t / 8.0; }),
                       Workload::sliding_window({.steps = 25, .window = 6})}},
      {"filtered_plain_window", 100,
       FilteredDecoder{
           shared(subtractive), {}, Workload::sliding_window({.steps = 100, .window = 5})}},
      {"filtered_rates", 40, FilteredDecoder{shared(buffered), {}, alternating_rates(40)}},
      {"filtered_matrix", 20,
       FilteredDecoder{shared(banded), numbers(20, reciprocal), some_matrix(20)}},
      // Nested forms, which have no golden entry.
      {"filtered_filtered", 30,
       FilteredDecoder{shared(slow_columns), numbers(30, [](int t) { return 2 - t / 64.0; }),
                       Workload::sliding_window({.steps = 30, .window = 7})}},
      {"filtered_plain_prefix", 25,
       FilteredDecoder{shared(block_form()), {}, Workload::prefix_sums(25)}},
      {"filtered_kary", 34,
       FilteredDecoder{shared(subtractive), numbers(34, reciprocal), Workload::prefix_sums(34)}},
      {"block_of_filtered", 30,
       BlockDecoder{{{10, shared(momentum), 127, 40},
                     {7, shared(block_form()), 34, 2},
                     {13, shared(slow_columns), 30, 12}}}},
  };
}

void add_scaled(NaiveRow& sum, long double factor, const NaiveRow& row, std::int64_t first) {
  for (const auto& [measurement, weight] : row) sum[first + measurement] += factor * weight;
}

}  // namespace dpftrl::testing
