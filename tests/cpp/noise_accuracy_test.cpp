// SPDX-License-Identifier: Apache-2.0
// Rows against the same entries in 256 bits: how far they are off, beside what they claim.
// The short form runs always; with DPFTRL_LONG=1 in the environment millions of entries.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "catalogue.hpp"
#include "dpftrl/noise_stream.hpp"
#include "exact_forms.hpp"
#include "exact_rows.hpp"
#include "form_strategy.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::Enclosure;
using detail::FixedPoint;

std::int64_t num_coordinates() {
  const char* value = std::getenv("DPFTRL_LONG");
  return value != nullptr && std::string_view(value) == "1" ? 2048 : 24;
}

/// A double as it is, of either sign.
Enclosure exactly(const FixedPoint& fixed, double x) {
  Enclosure value = fixed.from_double(std::abs(x));
  value.negative = x < 0;
  return value;
}

struct Accuracy {
  double worst = 0;  ///< error / bound
  std::int64_t num_entries = 0;
};

/// Of all rows of a strategy at so many coordinates.
Accuracy accuracy_of(const Strategy& strategy, std::int64_t dimension) {
  const NoiseStreamOptions options{
      .key = Key::insecure_from_seed(91), .dimension = dimension, .first_coordinate = 5};
  const std::int64_t n = strategy.num_steps();
  const auto width = static_cast<std::size_t>(dimension);
  NoiseStream stream(strategy, options);
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(n), std::vector<double>(width));
  std::vector<RowErrorBound> bounds;
  for (std::vector<double>& row : rows) {
    stream.next(row);
    bounds.push_back(stream.row_error_bound());
  }
  const DecoderForm form = strategy.decoder_form();
  Accuracy accuracy;
  for (std::int64_t coordinate = 0; coordinate < dimension; ++coordinate) {
    detail::Normals normals(options, coordinate, 4);
    normals.remember();
    const FixedPoint& fixed = normals.fixed();
    const auto exact = detail::make_exact_rows(form, normals, 0);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const double computed = rows[t][static_cast<std::size_t>(coordinate)];
      const Enclosure rest =
          fixed.subtract(exact->row(static_cast<std::int64_t>(t)), exactly(fixed, computed));
      // Units of the last digit: nothing beside what doubles are off by.
      EXPECT_LT(rest.error, 0x1p100);
      const double bound = bounds[t].absolute + bounds[t].relative * std::abs(computed);
      accuracy.worst = std::max(accuracy.worst, fixed.to_double(rest.digits) / bound);
      ++accuracy.num_entries;
    }
  }
  return accuracy;
}

TEST(NoiseAccuracy, no_entry_of_any_form_is_off_by_more_than_its_bound) {
  std::int64_t num_entries = 0;
  for (const testing::NamedForm& named : testing::named_forms()) {
    const Accuracy found =
        accuracy_of(testing::FormStrategy(named.form, named.num_steps), num_coordinates());
    EXPECT_LE(found.worst, 1) << named.name;
    // Far below it the check would see no wrong bound.
    EXPECT_GE(found.worst, 1e-6) << named.name;
    num_entries += found.num_entries;
  }
  for (const StrategyInfo& info : strategy_catalogue()) {
    if (testing::is_optimised(info)) continue;
    const Accuracy found = accuracy_of(*testing::make_known(info.name, 64), num_coordinates());
    EXPECT_LE(found.worst, 1) << info.name;
    EXPECT_GE(found.worst, 1e-6) << info.name;
    num_entries += found.num_entries;
  }
  if (num_coordinates() > 1000) {
    EXPECT_GT(num_entries, 4'000'000);
  }
}

}  // namespace
}  // namespace dpftrl
