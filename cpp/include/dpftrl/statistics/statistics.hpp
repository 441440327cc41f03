// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private statistics of a stream under one budget: moments (count, means, variances, covariances),
/// histograms (counts, total and shares of categories), and sums of several workloads (for example
/// a total and windows). Each statistic provides the columns of a RecordStream: it turns records
/// into rows, and reads its estimates off the private sums of the rows.
///
/// ```cpp
/// #include <array>
/// #include <cmath>
/// #include "dpftrl/release/stream.hpp"
/// const dpftrl::MechanismOptions year{.steps = 400,
///                                     .target = {.epsilon = 1, .delta = 1e-6}};
/// const dpftrl::PrefixSumOptions seeded{.key = dpftrl::Key::insecure_from_seed(1)};
/// dpftrl::RecordStream ages(dpftrl::MomentColumns({.ranges = {{.low = 0, .high = 100}}}), year,
///                           seeded);
/// dpftrl::Moments now;
/// for (int i = 0; i < 400; ++i) now = ages.release(std::array{30.0 + i % 20});
/// assert(now.mean[0].low <= 39.5 && 39.5 <= now.mean[0].high);
///
/// dpftrl::RecordStream drinks(dpftrl::HistogramColumns({.num_categories = 3}), year, seeded);
/// dpftrl::Histogram counts;
/// for (int i = 0; i < 400; ++i) counts = drinks.release(i % 4 == 0 ? 2 : 0);
/// assert(counts.count[2].low <= 100 && 100 <= counts.count[2].high);
///
/// dpftrl::RecordStream<dpftrl::HistogramColumns, dpftrl::People> guests(
///     dpftrl::HistogramColumns({.num_categories = 3}),
///     {.steps = 7,
///      .target = {.epsilon = 1, .delta = 1e-6},
///      .participation = dpftrl::Participation::min_separation(
///          {.times = 2, .apart = 1})},
///     seeded);
/// for (int day = 0; day < 7; ++day) guests.release("ann", /*category=*/day % 3);
/// assert(guests.counts().dropped == 5);
///
/// const dpftrl::StackOptions sums{.workloads = {dpftrl::Workload::prefix_sums(60),
///                                               dpftrl::Workload::sliding_window({60, 7})}};
/// dpftrl::RecordStream visits(dpftrl::SumColumns(sums),
///                             {.strategy = "optimal",
///                              .steps = 60,
///                              .target = {.epsilon = 1, .delta = 1e-6}},
///                             seeded);
/// std::vector<dpftrl::Estimates> found;
/// for (int day = 0; day < 60; ++day) found = visits.release(std::array{1.0});
/// assert(std::abs(found[0].values[0] - 60) <= found[0].half_width);  // all days
/// assert(std::abs(found[1].values[0] - 7) <= found[1].half_width);   // the last seven
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/columns.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

/// Sums after a step, as PrefixSum releases them, with the std of their noise.
struct NoisyColumns {
  std::span<const double> sums;
  double stddev;  ///< of the noise of each sum; may be 0
};

namespace detail {

/// @throws Error{invalid_argument} fixed_times with neighbours other than replace_one.
void require_times(std::string_view where, Neighbours neighbours, bool fixed_times);

struct ColumnScale {
  double distance;  ///< largest l2-distance between the columns of neighbours
  double grid;
  bool moves;  ///< see MechanismOptions::moving_records
};

/// The mechanism for columns that differ between neighbours by at most `columns.distance` in a
/// step, for any neighbouring relation.
/// @throws Error{invalid_argument} a workload that is neither prefix sums nor a window, an epsilon
///         whose noise does not fit the grid.
std::shared_ptr<const Mechanism> statistic_mechanism(MechanismOptions options,
                                                     const ColumnScale& columns,
                                                     std::string_view where);

/// The privacy guarantee of such a mechanism in terms of records, for the given neighbours and
/// distance.
Certificate statistic_certificate(const Mechanism& mechanism, const ColumnScale& columns,
                                  Neighbours neighbours, bool fixed_times);

/// The options of the sums, for columns that choose their own grid.
PrefixSumOptions statistic_options(PrefixSumOptions options, std::int64_t dimension, double grid,
                                   std::string_view where);

}  // namespace detail

/// Public range of a number; values outside are clipped to it.
struct ColumnRange {
  double low;
  double high;
};

struct MomentsOptions {
  std::vector<ColumnRange> ranges;  ///< one for each number of a record
  bool covariance = false;          ///< also estimates the covariance of every pair of numbers
  double confidence = 0.95;         ///< of each interval individually, between 0 and 1
  /// zero_out: a record is removed. replace_one: it is replaced by any other, at any step, or
  /// removed.
  Neighbours neighbours = Neighbours::zero_out;
  /// Promises that times are public: a record is only replaced by others at the same step. Requires
  /// replace_one; with at most two numbers, second moments and the count are then more precise.
  bool fixed_times = false;
};

struct Moments {
  Estimate count;
  std::vector<Estimate> mean;      ///< input units
  std::vector<Estimate> variance;  ///< divided by the count, not by the count minus one
  /// Pairs (0, 1), (0, 2), ..., (1, 2), ...; empty unless requested.
  std::vector<Estimate> covariance;
  /// Square roots of the variances, in input units, with the same confidence. The values are biased
  /// if the noise is large compared with them.
  std::vector<Estimate> standard_deviation;
};

/// Turns records into columns whose private sums determine all moments. With u = x clipped and
/// mapped from its range to [-1, 1], the columns are
///
///     (kappa;  u_1, ..., u_d;  lambda (u_1^2 - c), ...;  nu u_1 u_2, nu u_1 u_3, ...)
///
///                                   kappa^2   lambda^2   c       nu^2
///     zero-out                      1         4          5/8     2 / (d - 1)
///     replace-one, variances alone  7 d / 8   2          3/4
///     replace-one, covariances too  d / 2     3/2        1       1 / (d - 1)
///     fixed_times, variances alone  9/4       11/4       15/22
///     fixed_times, covariances too  9/4       2          3/4     1 / (d - 1)
class MomentColumns {
 public:
  using Options = MomentsOptions;
  using Record = std::span<const double>;
  using Reading = Moments;
  static constexpr std::string_view kName = "moments";
  static constexpr std::int64_t kMaxColumns = 1000;

  /// @throws Error{invalid_argument} no range or more than kMaxColumns; a range that is empty,
  ///         beyond 1e150, or narrower than 1e-6 of its larger end; a confidence that is not
  ///         between 0 and 1; fixed_times without replace_one.
  explicit MomentColumns(MomentsOptions options);

  static constexpr bool kClips = false;

  /// Only the first record of a person in a step counts, because a sum of rows is not the row of
  /// any record.
  static constexpr bool adds() { return false; }
  /// @throws Error{wrong_length, invalid_argument} the record is refused.
  void check(std::span<const double> record) const;
  /// The mechanism for these columns; `clip` and neighbours are overridden.
  ///
  /// @guarantee   all readings of a RecordStream with this mechanism together are mu-GDP for its
  ///              mu, hence (epsilon, delta)-DP with nothing to add to delta, also for adaptively
  ///              chosen records. Neighbouring streams differ in the records of one user, at steps
  ///              that the participation allows. With zero-out, records are removed. With
  ///              replace-one, they are removed or replaced by any others, at any steps that the
  ///              participation allows or, with fixed_times, at the same steps. With People, the
  ///              guarantee covers all records of one person; those that count may change their
  ///              steps, except with fixed_times.
  /// @throws      as Mechanism::make.
  /// @checked-by  moments_test, histograms_test, moving_records_test, people_statistics_test
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const;
  /// The privacy guarantee of such a mechanism in terms of records. With replace-one, `clip` is
  /// half the largest distance between two records' columns.
  Certificate certificate(const Mechanism& mechanism) const;
  /// @throws Error{unsupported} mode lattice.
  PrefixSumOptions release_options(PrefixSumOptions options) const;

  /// Entries of a record.
  std::int64_t num_columns() const { return static_cast<std::int64_t>(options_.ranges.size()); }
  Neighbours neighbours() const { return options_.neighbours; }
  bool fixed_times() const { return options_.fixed_times; }
  /// True if neighbours may have a record at another step. The columns of two records then have no
  /// negative inner product, and no columns are longer than distance() / sqrt(2).
  bool moves() const { return neighbours() == Neighbours::replace_one && !fixed_times(); }
  /// 1 + 2 d columns, plus d (d - 1) / 2 with covariances.
  std::int64_t dimension() const;
  /// Largest l2-distance between the columns of two neighbouring records of a step, as PrefixSum
  /// rounds them to `grid()`, for the neighbours of the options.
  ///
  /// @exactness   the supremum over all records, times 1 + 2^-14, which covers rounding.
  /// @guarantee   an upper bound for the integers themselves, also for a removed record.
  /// @source      docs/math/moments.md; the idea, for records in a ball, is from arXiv 2502.06597.
  /// @checked-by  moments_test "no two records are farther apart than the distance, and some are
  ///              that far"
  double distance() const { return distance_; }
  /// Spacing of the sums: a power of two, at most 2^-17 distance() / sqrt(dimension()).
  double grid() const { return grid_; }

  /// @param record   num_columns() entries, in input units.
  /// @param columns  dimension() entries.
  /// @return         the columns.
  /// @throws Error{wrong_length, invalid_argument} the record is refused.
  std::span<const double> write(std::span<const double> record, std::span<double> columns) const;

  /// Moments of all records in the sums, clipped to their ranges.
  ///
  /// @guarantee   post-processing. Each interval individually contains the value without noise with
  ///              at least the confidence of the options, for any records, if there is at least
  ///              one; it covers the rounding of records to the grid.
  /// @exactness   intervals of counts are Gaussian, those of means are Fieller's, except for the
  ///              grid. Intervals of variances and covariances are unions over the intervals of the
  ///              means, a few percent wider. Intervals of standard deviations are square roots of
  ///              those of variances, and fail when those do.
  /// @throws Error{wrong_length, invalid_argument}.
  /// @source      docs/math/moments.md, section 4.
  /// @checked-by  moments_test "intervals cover what they are for"
  Moments read(const NoisyColumns& columns) const;
  Moments read(const NoisySums& sums) const {
    return read({.sums = sums.values, .stddev = sums.noise.release_stddev(sums.step)});
  }

 private:
  MomentsOptions options_;
  double count_weight_;   ///< kappa, entry 0 of every record
  double square_weight_;  ///< lambda
  double centre_;         ///< c
  double pair_weight_;    ///< nu
  double distance_;
  double grid_;
};

struct HistogramOptions {
  std::int64_t num_categories = 0;  ///< size of the public domain
  /// Also measures the total number of records. With zero_out, this makes the total more precise by
  /// a factor of about the fourth root of the number of categories, and the counts less precise by
  /// up to 7.1 %. With fixed_times the total is always measured.
  bool total = false;
  double confidence = 0.95;  ///< of each interval individually, between 0 and 1
  /// zero_out: a record is removed. replace_one: it is replaced by any other, at any step, or
  /// removed.
  Neighbours neighbours = Neighbours::zero_out;
  /// Promises that times are public: a record is only replaced by others at the same step. Requires
  /// replace_one; the total then costs nothing.
  bool fixed_times = false;
};

/// Counts and total are unbiased and may be negative; shares are in [0, 1].
struct Histogram {
  std::vector<Estimate> count;  ///< one per category
  Estimate total;               ///< its value is the sum of the counts
  std::vector<Estimate> share;  ///< count / total
};

/// Turns a category j into columns: `a` in entry j and, if the total is measured, `b` in the last
/// entry:
///
///                                    a^2               b^2                           distance
///     zero-out                       1                                               1
///     replace-one                    1                                               sqrt 2
///     either, with the total         m / (m - 1 + s)   a^2 (s - 1) / m               the same
///     fixed_times                    1                 1                             sqrt 2
///
/// for m categories and `s = sqrt(m + 1)`. Both weights are rounded down to multiples of the grid.
class HistogramColumns {
 public:
  using Options = HistogramOptions;
  using Record = std::int64_t;
  using Reading = Histogram;
  static constexpr std::string_view kName = "histogram";
  static constexpr std::int64_t kMaxCategories = 1 << 16;

  /// @throws Error{invalid_argument} no category or more than kMaxCategories; a confidence that is
  ///         not between 0 and 1; fixed_times without replace_one.
  explicit HistogramColumns(const HistogramOptions& options);

  static constexpr bool kClips = false;

  // As in MomentColumns.
  static constexpr bool adds() { return false; }
  void check(std::int64_t category) const;
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const;
  Certificate certificate(const Mechanism& mechanism) const;
  PrefixSumOptions release_options(PrefixSumOptions options) const;

  std::int64_t num_categories() const { return options_.num_categories; }
  Neighbours neighbours() const { return options_.neighbours; }
  bool fixed_times() const { return options_.fixed_times; }
  /// True if neighbours may have a record at another step. The columns of two records then have no
  /// negative inner product, and no columns are longer than distance() / sqrt(2).
  bool moves() const { return neighbours() == Neighbours::replace_one && !fixed_times(); }
  /// One column for each category, and one for the total if it is measured.
  std::int64_t dimension() const { return num_categories() + (total_weight_ > 0 ? 1 : 0); }
  /// Largest l2-distance between the columns of two neighbouring records of a step, as PrefixSum
  /// rounds them.
  ///
  /// @exactness   exact, except with a total: for zero-out it is then too large by less than 2^-14,
  ///              and for records that move it is the distance between two records at distant
  ///              steps.
  /// @guarantee   an upper bound for the integers themselves, also for a removed record.
  /// @source      docs/math/histograms.md
  /// @checked-by  histograms_test "all streams of up to eight steps are within the noise of their
  ///              neighbours"
  double distance() const;
  /// Spacing of the sums. The weights are multiples of it, so no record is rounded.
  double grid() const { return 0x1p-16; }

  /// @param category  0 to num_categories() - 1.
  /// @param columns   dimension() entries.
  /// @return          the columns.
  /// @throws Error{wrong_length, invalid_argument} the record is refused.
  std::span<const double> write(std::int64_t category, std::span<double> columns) const;

  /// Counts, total and shares of all records in the sums.
  ///
  /// @guarantee   post-processing, which for counts and total is the best linear unbiased estimate.
  ///              Each interval individually contains the value without noise with at least the
  ///              confidence of the options, for any records; intervals of shares do so if there is
  ///              at least one record.
  /// @exactness   intervals of counts and total are Gaussian, those of shares are Fieller's, except
  ///              for the grid.
  /// @throws Error{wrong_length, invalid_argument}.
  /// @source      docs/math/histograms.md
  /// @checked-by  histograms_test "intervals cover what they are for"
  Histogram read(const NoisyColumns& columns) const;
  Histogram read(const NoisySums& sums) const {
    return read({.sums = sums.values, .stddev = sums.noise.release_stddev(sums.step)});
  }

 private:
  HistogramOptions options_;
  double category_weight_ = 1;  ///< a
  double total_weight_ = 0;     ///< b
};

/// Closest non-negative, non-decreasing sequence to the prefix-sum counts of one category over the
/// steps. This is post-processing, which makes the counts consistent and biased.
///
/// @param counts  values of all steps from the first on. The result for each step depends on all of
///                them.
/// @guarantee     neither the sum of squared errors over the steps nor the largest error exceeds
///                that of `counts`, for any noise.
/// @throws Error{invalid_argument} a count that is not finite.
/// @cost          O(steps).
/// @source        docs/math/histograms.md; pool adjacent violators.
/// @checked-by    histograms_test "monotone counts are the closest, and never farther from the
///                truth"
std::vector<double> monotone_counts(std::span<const double> counts);

/// Records of d numbers for several workloads of one stream, which share one budget and the same
/// noise. The row of a record is the record itself; PrefixSum applies the workloads.
class SumColumns {
 public:
  using Record = std::span<const double>;
  /// The sums of each workload, in the order given.
  using Reading = std::vector<Estimates>;
  static constexpr bool kClips = false;

  /// @throws Error{invalid_argument} a record size of 0, a confidence that is not between 0 and 1.
  explicit SumColumns(StackOptions stack, std::int64_t record_size = 1, double confidence = 0.95);

  std::int64_t num_workloads() const { return std::ssize(stack_.workloads); }
  std::int64_t dimension() const { return record_size_; }
  static constexpr bool adds() { return true; }
  void check(std::span<const double> record) const;
  std::span<const double> write(std::span<const double> record, std::span<double>) const {
    return record;
  }
  /// @guarantee      each interval individually contains the noiseless sum of the clipped records
  ///                 on the grid, with at least the confidence of the options.
  /// @checked-by     half_width_test "readings have intervals that hold"
  std::vector<Estimates> read(const NoisySums& sums) const;
  /// Mechanism::make_stack; the workload of the options is ignored.
  std::shared_ptr<const Mechanism> mechanism(MechanismOptions options) const;
  PrefixSumOptions release_options(PrefixSumOptions options) const;

 private:
  StackOptions stack_;
  std::int64_t record_size_;
  double beyond_;  ///< probability of a value outside its interval
};

}  // namespace dpftrl
