// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private count, means, variances and covariances of a stream, of one budget.
///
/// ```cpp
/// #include <array>
/// #include <cmath>
/// dpftrl::MomentSum ages({.num_steps = 400, .target = {.epsilon = 1, .delta = 1e-6}},
///                        {.ranges = {{.low = 0, .high = 100}}},
///                        dpftrl::Key::insecure_from_seed(1));
/// dpftrl::Moments now;
/// for (int i = 0; i < 400; ++i) now = ages.release(std::array{30.0 + i % 20});
/// assert(now.mean[0].low <= 39.5 && 39.5 <= now.mean[0].high);
/// ```

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "dpftrl/problem/participation.hpp"
#include "dpftrl/statistics/statistic_sum.hpp"

namespace dpftrl {

/// Numbers outside are clipped to it. It is public.
struct ColumnRange {
  double low;
  double high;
};

struct MomentsOptions {
  std::vector<ColumnRange> ranges;  ///< one a number of a record
  bool covariance = false;          ///< of every two of them
  double confidence = 0.95;         ///< of each interval by itself, between 0 and 1
  /// zero_out: a record against none. replace_one: a record against any other, or none.
  Neighbours neighbours = Neighbours::zero_out;
};

struct Moments {
  Estimate count;
  std::vector<Estimate> mean;      ///< input units
  std::vector<Estimate> variance;  ///< divided by the count, not by one less
  /// Pairs (0, 1), (0, 2), ..., (1, 2), ...; empty where they are not asked for.
  std::vector<Estimate> covariance;
};

/// Turns records into columns whose private sums tell all moments: with u = x mapped from its range
/// to [-1, 1], clipped,
///
///     (kappa;  u_1, ..., u_d;  lambda (u_1^2 - c), ...;  nu u_1 u_2, nu u_1 u_3, ...)
///
///                                   kappa   lambda^2   c       nu^2
///     zero-out                      1       4          5/8     2 / (d - 1)
///     replace-one, variances alone  3/2     11/4       15/22
///     replace-one, covariances too  3/2     2          3/4     1 / (d - 1)
class MomentColumns {
 public:
  using Options = MomentsOptions;
  using Record = std::span<const double>;
  using Reading = Moments;
  static constexpr std::string_view kName = "moments";
  static constexpr std::int64_t kMaxColumns = 1000;

  /// @throws Error{invalid_argument} no range or more than kMaxColumns; one that is empty, beyond
  ///         1e150, or shorter than 1e-6 of its ends; a confidence that is not between 0 and 1.
  explicit MomentColumns(MomentsOptions options);

  /// Numbers of a record.
  std::int64_t num_columns() const { return static_cast<std::int64_t>(options_.ranges.size()); }
  Neighbours neighbours() const { return options_.neighbours; }
  /// Entries of what a record becomes: 1 + 2 d, and d (d - 1) / 2 with covariances.
  std::int64_t dimension() const;
  /// Largest l2-distance of what PrefixSum makes of two neighbouring records on `grid()`, where
  /// neighbours are those of the options.
  ///
  /// @exactness   the supremum over all records, times 1 + 2^-14, which covers roundings.
  /// @guarantee   an upper bound for the integers themselves, also against no record.
  /// @source      docs/math/moments.md; arXiv 2502.06597 has the idea for records in a ball.
  /// @checked-by  moments_test "no two records are farther apart than the distance, and some are
  ///              that far"
  double distance() const { return distance_; }
  /// Spacing of the sums: a power of two, at most 2^-16 distance() / sqrt(dimension()).
  double grid() const { return grid_; }
  /// kappa, entry 0 of every record: noise of that std / kappa is in the count.
  double count_weight() const { return count_weight_; }

  /// @param record   num_columns() entries, input units.
  /// @param columns  dimension() entries.
  /// @throws Error{wrong_length, invalid_argument} the record is refused.
  void write(std::span<const double> record, std::span<double> columns) const;

  /// Moments of all records that are in the sums, clipped to their ranges.
  ///
  /// @guarantee   post-processing. Each interval by itself contains what it would be without noise
  ///              with the confidence of the options at least, whatever the records are, if there
  ///              is one at all; it covers the rounding of records to the grid.
  /// @exactness   the interval of a count is that of the Gaussian, and that of a mean Fieller's but
  ///              for the grid; those of variances and covariances are a union over intervals of
  ///              the means, wider by some percent.
  /// @throws Error{wrong_length, invalid_argument}.
  /// @source      docs/math/moments.md, section 4.
  /// @checked-by  moments_test "intervals cover what they are for"
  Moments read(const NoisyColumns& columns) const;

 private:
  MomentsOptions options_;
  double count_weight_;   ///< kappa
  double square_weight_;  ///< lambda
  double centre_;         ///< c, for which both ends of u^2 are as long
  double pair_weight_;    ///< nu
  double distance_;
  double grid_;
};

/// The private moments of a stream.
using MomentSum = StatisticSum<MomentColumns>;

}  // namespace dpftrl
