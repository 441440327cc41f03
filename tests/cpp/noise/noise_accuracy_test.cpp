// SPDX-License-Identifier: Apache-2.0
// Errors of noise rows, measured in 256 bits, compared with their claimed bounds. The short form
// always runs; DPFTRL_LONG=1 in the environment selects millions of entries and more long horizons.
#include <cmath>

#include "catalogue.hpp"
#include "dpftrl/noise/noise_stream.hpp"
#include "exact_forms.hpp"
#include "form_strategy.hpp"
#include "noise/exact/exact_rows.hpp"
#include "noise/programs/program.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::Enclosure;
using detail::FixedPoint;

std::int64_t num_coordinates() {
  if (testing::is_long()) return 2048;
  return testing::is_full_size() ? 24 : 9;
}

/// The exact value of a double of either sign.
Enclosure exact_value(const FixedPoint& fixed, double x) {
  Enclosure value = fixed.from_double(std::abs(x));
  value.negative = x < 0;
  return value;
}

struct Extent {
  std::int64_t dimension = 1;
  std::int64_t stride = 1;    ///< distance of the rows to check, from row 0 on
  std::int64_t num_last = 0;  ///< number of final rows to check in addition
};

constexpr std::int64_t kFirstCoordinate = 5;

NoiseStreamOptions stream_options(std::int64_t dimension) {
  return {.key = Key::insecure_from_seed(91),
          .dimension = dimension,
          .first_coordinate = kFirstCoordinate};
}

struct NoiseRow {
  std::int64_t step;
  std::vector<double> entries;
  RowErrorBound bound;
};

std::vector<NoiseRow> noise_rows_of(const Strategy& strategy, const Extent& extent) {
  const std::int64_t n = strategy.steps();
  NoiseStream stream(strategy, stream_options(extent.dimension));
  std::vector<NoiseRow> rows;
  std::vector<double> row(static_cast<std::size_t>(extent.dimension));
  for (std::int64_t t = 0; t < n; ++t) {
    stream.next(row);
    if (t % extent.stride == 0 || t >= n - extent.num_last)
      rows.push_back({t, row, stream.row_error_bound()});
  }
  return rows;
}

struct Accuracy {
  double worst = 0;  ///< error / bound
  std::int64_t num_entries = 0;
};

Accuracy accuracy_of(const std::vector<NoiseRow>& rows, const Strategy& strategy) {
  const DecoderForm form = strategy.decoder_form();
  const std::size_t dimension = rows.front().entries.size();
  const NoiseStreamOptions options = stream_options(static_cast<std::int64_t>(dimension));
  Accuracy accuracy;
  for (std::size_t coordinate = 0; coordinate < dimension; ++coordinate) {
    detail::Normals normals(options, static_cast<std::int64_t>(coordinate), 4);
    normals.remember();
    const FixedPoint& fixed = normals.fixed();
    const auto exact = detail::make_exact_rows(form, normals, 0);
    for (const NoiseRow& row : rows) {
      const double computed = row.entries[coordinate];
      const Enclosure rest = fixed.subtract(exact->row(row.step), exact_value(fixed, computed));
      // In units of the last digit, negligible compared with errors of doubles.
      EXPECT_LT(rest.error, 0x1p100);
      const double bound = row.bound.absolute + row.bound.relative * std::abs(computed);
      accuracy.worst = std::max(accuracy.worst, fixed.to_double(rest.digits) / bound);
      ++accuracy.num_entries;
    }
  }
  return accuracy;
}

Accuracy accuracy_of_all(const Strategy& strategy) {
  return accuracy_of(noise_rows_of(strategy, {.dimension = num_coordinates()}), strategy);
}

noise::Precision precision_of(const Strategy& strategy) {
  return noise::choose_precision({.key = Key::insecure_from_seed(91),
                                  .dimension = 1,
                                  .first_coordinate = kFirstCoordinate,
                                  .num_rows = strategy.steps()},
                                 strategy.decoder_form())
      .precision;
}

TEST(NoiseAccuracy, no_entry_of_any_form_is_off_by_more_than_its_bound) {
  std::int64_t num_entries = 0;
  for (const testing::NamedForm& named : testing::named_forms()) {
    const Accuracy found = accuracy_of_all(testing::FormStrategy(named.form, named.steps));
    EXPECT_LE(found.worst, 1) << named.name;
    // If errors were far below the bound, the check could not detect a wrong one.
    EXPECT_GE(found.worst, 1e-6) << named.name;
    num_entries += found.num_entries;
  }
  for (const StrategyInfo& info : strategy_catalogue()) {
    if (testing::is_optimised(info)) continue;
    const Accuracy found = accuracy_of_all(*testing::make_known(info.name, 64));
    EXPECT_LE(found.worst, 1) << info.name;
    EXPECT_GE(found.worst, 1e-6) << info.name;
    num_entries += found.num_entries;
  }
  if (testing::is_long()) {
    EXPECT_GT(num_entries, 4'000'000);
  }
}

/// Recursions accumulate the rounding errors of all earlier steps, and switch their number format
/// at 2^16 and 2^17 steps.
TEST(NoiseAccuracy, no_row_of_a_long_stream_is_off_by_more_than_its_bound) {
  using noise::Precision;
  struct Run {
    const char* name;
    std::int64_t steps;
    Precision precision;
  };
  constexpr std::int64_t kExtended = 70'000, kRefined = (std::int64_t{1} << 17) + 1000;
  std::vector<Run> all = {{"optimal", 3000, Precision::extended},
                          {"blt-rational", kExtended, Precision::extended},
                          {"lambda-cgd", kExtended, Precision::extended}};
  if (!testing::is_sanitized()) {
    all.push_back({"blt-rational", kRefined, Precision::refined});
    all.push_back({"lambda-cgd", kRefined, Precision::refined});
  }
  if (testing::is_long()) {
    all.push_back({"honaker", kExtended, Precision::plain});
    all.push_back({"honaker", kRefined, Precision::refined});
    all.push_back({"optimal", kExtended, Precision::extended});
    all.push_back({"optimal", kRefined, Precision::refined});
  }
  for (const Run& run : all) {
    const auto strategy = testing::make_known(run.name, run.steps);
    EXPECT_EQ(precision_of(*strategy), run.precision) << run.name << " " << run.steps;
    // Few and many coordinates are computed by different code, with the same bits.
    const auto narrow = noise_rows_of(*strategy, {.dimension = 1, .stride = 1000, .num_last = 20});
    const auto wide = noise_rows_of(*strategy, {.dimension = 8, .stride = 1000, .num_last = 20});
    for (std::size_t i = 0; i < narrow.size(); ++i)
      EXPECT_EQ(narrow[i].entries[0], wide[i].entries[0]) << run.name << " " << narrow[i].step;
    const Accuracy found = accuracy_of(narrow, *strategy);
    EXPECT_LE(found.worst, 1) << run.name << " " << run.steps;
    EXPECT_GE(found.worst, 1e-6) << run.name << " " << run.steps;
  }
}

}  // namespace
}  // namespace dpftrl
