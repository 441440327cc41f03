// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private counts of categories over time.
///
/// ```cpp
/// dpftrl::HistogramSum drinks({.num_steps = 400, .target = {.epsilon = 1, .delta = 1e-6}},
///                             {.num_categories = 3}, dpftrl::Key::insecure_from_seed(1));
/// dpftrl::Histogram now;
/// for (int i = 0; i < 400; ++i) now = drinks.release(i % 4 == 0 ? 2 : 0);
/// assert(now.count[2].low <= 100 && 100 <= now.count[2].high);
/// ```

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/problem/participation.hpp"
#include "dpftrl/statistics/statistic_sum.hpp"

namespace dpftrl {

struct HistogramOptions {
  std::int64_t num_categories = 0;  ///< of a domain that is public
  /// Measures the number of all records, too: with zero_out it is more precise by about the fourth
  /// root of the number of categories, and counts less by up to 7.1 %; with replace_one it always
  /// is.
  bool total = false;
  double confidence = 0.95;  ///< of each interval by itself, between 0 and 1
  /// zero_out: a record against none. replace_one: a record against one of another category, or
  /// none.
  Neighbours neighbours = Neighbours::zero_out;
};

/// Numbers are unbiased, and may be negative; shares are in [0, 1].
struct Histogram {
  std::vector<Estimate> count;  ///< one a category
  Estimate total;               ///< its value is the sum of the counts
  std::vector<Estimate> share;  ///< a count by the total
};

/// Turns a category j into columns, `a` in entry j and, where there is one, `b` in the last:
///
///                                    a^2               b^2                           distance
///     zero-out                       1                                               1
///     zero-out, the total, too       m / (m - 1 + s)   a^2 (s - 1) / m               1
///     replace-one                    1                 1                             sqrt 2
///
/// for m categories and `s = sqrt(m + 1)`, rounded down to multiples of the grid.
class HistogramColumns {
 public:
  using Options = HistogramOptions;
  using Record = std::int64_t;
  using Reading = Histogram;
  static constexpr std::string_view kName = "histogram";
  static constexpr std::int64_t kMaxCategories = 1 << 16;

  /// @throws Error{invalid_argument} no category or more than kMaxCategories; a confidence that is
  ///         not between 0 and 1.
  explicit HistogramColumns(const HistogramOptions& options);

  std::int64_t num_categories() const { return options_.num_categories; }
  Neighbours neighbours() const { return options_.neighbours; }
  /// Entries of what a record becomes: the categories, and the total where it is measured.
  std::int64_t dimension() const { return num_categories() + (total_weight_ > 0 ? 1 : 0); }
  /// Largest l2-distance of what PrefixSum makes of two neighbouring records.
  ///
  /// @exactness   exact but for zero-out with a total, where it is above by less than 2^-14.
  /// @guarantee   an upper bound for the integers themselves, also against no record.
  /// @source      docs/math/histograms.md
  /// @checked-by  histograms_test "all streams of three steps are within the noise of their
  ///              neighbours"
  double distance() const;
  /// Spacing of the sums, of which weights are multiples: no record is rounded.
  double grid() const { return 0x1p-16; }

  /// @param category  0 to num_categories() - 1.
  /// @param columns   dimension() entries.
  /// @throws Error{wrong_length, invalid_argument} the record is refused.
  void write(std::int64_t category, std::span<double> columns) const;

  /// Counts, total and shares of all records that are in the sums.
  ///
  /// @guarantee   post-processing, which is linear for counts and total, the best that is unbiased.
  ///              Each interval by itself contains what it would be without noise with the
  ///              confidence of the options at least, whatever the records are; those of shares if
  ///              there is a record at all.
  /// @exactness   intervals are those of the Gaussian, and for shares Fieller's, but for the grid.
  /// @throws Error{wrong_length, invalid_argument}.
  /// @source      docs/math/histograms.md
  /// @checked-by  histograms_test "intervals cover what they are for"
  Histogram read(const NoisyColumns& columns) const;

 private:
  HistogramOptions options_;
  double category_weight_ = 1;  ///< a
  double total_weight_ = 0;     ///< b
};

/// The private counts of categories of a stream.
using HistogramSum = StatisticSum<HistogramColumns>;

/// Non-negative numbers that never fall from one step to the next, closest to these counts of one
/// category in prefix sums: post-processing, which makes them consistent and biased.
///
/// @param counts  values of all steps from the first on. What is returned for a step depends on
/// all.
/// @guarantee     neither the sum of squared errors over the steps nor the largest error is more
///                than that of `counts`, whatever the noise was.
/// @throws Error{invalid_argument} a count that is not finite.
/// @cost          O(steps).
/// @source        docs/math/histograms.md; pool adjacent violators.
/// @checked-by    histograms_test "monotone counts are the closest, and never farther from the
/// truth"
std::vector<double> monotone_counts(std::span<const double> counts);

}  // namespace dpftrl
