// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private statistics of a stream under one budget: moments (count, means, variances, covariances),
/// histograms (counts, total and shares of categories), and sums of several workloads (for example
/// a total and windows). Each statistic turns records into columns, sums the columns privately, and
/// reads its estimates off the sums.
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
///
/// dpftrl::HistogramSum drinks({.num_steps = 400, .target = {.epsilon = 1, .delta = 1e-6}},
///                             {.num_categories = 3}, dpftrl::Key::insecure_from_seed(1));
/// dpftrl::Histogram counts;
/// for (int i = 0; i < 400; ++i) counts = drinks.release(i % 4 == 0 ? 2 : 0);
/// assert(counts.count[2].low <= 100 && 100 <= counts.count[2].high);
///
/// dpftrl::PeopleHistogramSum guests({.num_steps = 7,
///                                    .target = {.epsilon = 1, .delta = 1e-6},
///                                    .participation = dpftrl::Participation::min_separation(
///                                        {.max_participations = 2, .min_separation = 1})},
///                                   {.num_categories = 3}, dpftrl::Key::insecure_from_seed(1));
/// for (int day = 0; day < 7; ++day) {
///   const bool counts_today = guests.contribute(/*person=*/42, /*category=*/day % 3);
///   assert(counts_today == (day < 2));
///   guests.release();
/// }
///
/// dpftrl::StackSum visits({.strategy = "optimal",
///                          .num_steps = 60,
///                          .target = {.epsilon = 1, .delta = 1e-6}},
///                         {.workloads = {dpftrl::Workload::prefix_sums(60),
///                                        dpftrl::Workload::sliding_window({60, 7})}},
///                         {.key = dpftrl::Key::insecure_from_seed(1)});
/// std::vector<dpftrl::Estimate> sums;
/// for (int day = 0; day < 60; ++day) sums = visits.release(std::array{1.0});
/// assert(sums[0].low <= 60 && 60 <= sums[0].high);  // all days
/// assert(sums[1].low <= 7 && 7 <= sums[1].high);    // the last seven
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

/// @throws Error{invalid_argument} fixed_times for neighbours whose records are not replaced.
void require_times(std::string_view where, Neighbours neighbours, bool fixed_times);

struct ColumnScale {
  double distance;  ///< of the columns of neighbours
  double grid;
  bool moves;  ///< see MechanismOptions::moving_records
};

/// The mechanism for columns that differ between neighbours by at most that distance in a step, for
/// any neighbouring relation.
/// @throws Error{invalid_argument} a workload that is neither prefix sums nor a window, an epsilon
///         whose noise does not fit the grid.
std::shared_ptr<const Mechanism> statistic_mechanism(MechanismOptions options,
                                                     const ColumnScale& columns,
                                                     std::string_view where);

/// The claim of such a mechanism for records, whose neighbours and distance are those given.
Certificate statistic_certificate(const Mechanism& mechanism, const ColumnScale& columns,
                                  Neighbours neighbours, bool fixed_times);

/// The options of the sums of columns that choose their grid.
PrefixSumOptions statistic_options(PrefixSumOptions options, std::int64_t dimension, double grid,
                                   std::string_view where);

/// Common base of the statistics: columns of records, private sums of them, and a reading.
template <class Columns, class Sums>
class StatisticOf {
 public:
  using Options = typename Columns::Options;
  using Record = typename Columns::Record;
  using Reading = typename Columns::Reading;

  /// Ends the step of the contributions since the last release.
  Reading release() {
    sums_.release(noisy_);
    return read();
  }

  /// Returns the privacy claim for records. With replace-one, clip_norm is half their largest
  /// distance.
  Certificate certificate() const {
    Certificate certificate = sums_.mechanism().certificate();
    certificate.neighbours = columns_.neighbours();
    certificate.fixed_times = columns_.fixed_times();
    certificate.clip_norm = columns_.distance() / neighbour_distance(columns_.neighbours());
    return certificate;
  }

  const Columns& columns() const { return columns_; }
  const Sums& sums() const { return sums_; }
  /// Private sums of the columns at the last release; zeros before the first.
  std::span<const double> noisy_sums() const { return noisy_; }
  std::int64_t step() const { return sums_.step(); }
  std::int64_t num_steps() const { return sums_.num_steps(); }

 protected:
  StatisticOf(const MechanismOptions& mechanism, Options statistic, const Key& key)
      : columns_(std::move(statistic)),
        sums_(statistic_mechanism(mechanism,
                                  {.distance = columns_.distance(),
                                   .grid = columns_.grid(),
                                   .moves = columns_.moves()},
                                  Columns::kName),
              {.key = key, .dimension = columns_.dimension(), .grid = columns_.grid()}),
        row_(static_cast<std::size_t>(columns_.dimension())),
        noisy_(row_) {}

  std::span<const double> columns_of(Record record) {
    columns_.write(record, row_);
    return row_;
  }
  Reading read() const {
    return columns_.read({.sums = noisy_, .stddev = sums_.release_stddev(step() - 1)});
  }

  Columns columns_;
  Sums sums_;
  std::vector<double> row_;  ///< columns of a record
  std::vector<double> noisy_;
};

}  // namespace detail

/// A private statistic of a stream, with the interface of PrefixSum. To survive a restart, use a
/// ReleaseLedger with the mechanism and grid of this object, and pass it the columns of the
/// records.
///
/// @tparam Columns  `write` turns a Record into columns, at most `distance` apart for neighbours;
///                  `read` turns sums of columns into a Reading.
template <class Columns>
class StatisticSum : public detail::StatisticOf<Columns, PrefixSum> {
  using Base = detail::StatisticOf<Columns, PrefixSum>;

 public:
  using Base::release;
  using typename Base::Reading;
  using typename Base::Record;

  /// @param mechanism  clip_norm and neighbours are overridden, the latter by those of the
  ///                   statistic.
  /// @throws as Mechanism::make, Columns and PrefixSum.
  StatisticSum(const MechanismOptions& mechanism, typename Base::Options statistic, const Key& key)
      : Base(mechanism, std::move(statistic), key) {}

  /// Takes one record, and returns the statistic of all records so far, or of those in the window.
  ///
  /// @guarantee   all releases together are mu-GDP for the mechanism's mu, hence (epsilon,
  ///              delta)-DP with nothing to add to delta, for streams that differ in records of one
  ///              user as the participation allows, removed (zero-out) or replaced by any others,
  ///              at any steps that it allows, or removed (replace-one; with fixed_times at the
  ///              same steps), also for adaptively chosen records.
  /// @exactness   the sums are as exact as those of PrefixSum::release.
  /// @throws      as PrefixSum::release, and nothing has changed.
  /// @checked-by  moments_test, histograms_test, moving_records_test
  Reading release(Record record) {
    this->sums_.release(this->columns_of(record), this->noisy_);
    return this->read();
  }

  /// Adds a record to the step that the next `release` ends. The caller must ensure that each user
  /// has at most one record per step; PeopleStatisticSum enforces it.
  /// @throws as PrefixSum::contribute.
  void contribute(Record record) { this->sums_.contribute(this->columns_of(record)); }
};

/// A private statistic of people's records, with the interface of PeopleSum. The records of a
/// person that count are the earliest ones that the participation allows; of several in one step,
/// the first.
template <class Columns>
class PeopleStatisticSum : public detail::StatisticOf<Columns, PeopleSum> {
  using Base = detail::StatisticOf<Columns, PeopleSum>;

 public:
  using typename Base::Record;

  /// @throws as StatisticSum and PeopleSum.
  PeopleStatisticSum(const MechanismOptions& mechanism, typename Base::Options statistic,
                     const Key& key)
      : Base(mechanism, std::move(statistic), key) {}

  /// Adds a record to the step that the next `release` ends, if it counts.
  ///
  /// @param person  a number that identifies the person. Two people who share a number are not
  ///                protected.
  /// @return        false if the record does not count. Not private.
  /// @guarantee     that of StatisticSum for streams in which all records of one person are left
  ///                out (zero-out), or replaced by any others, at any steps, or removed
  ///                (replace-one; with fixed_times, those that count stay at their steps).
  /// @throws        as PeopleSum::contribute and the columns, and nothing has changed.
  /// @checked-by    people_statistics_test, moving_records_test
  bool contribute(std::int64_t person, Record record) {
    return this->sums_.contribute_first(person, this->columns_of(record));
  }
};

/// Public range of a number; values outside are clipped to it.
struct ColumnRange {
  double low;
  double high;
};

struct MomentsOptions {
  std::vector<ColumnRange> ranges;  ///< one for each number of a record
  bool covariance = false;          ///< of every pair of numbers
  double confidence = 0.95;         ///< of each interval individually, between 0 and 1
  /// zero_out: a record is removed. replace_one: it is replaced by any other, at any step, or
  /// removed.
  Neighbours neighbours = Neighbours::zero_out;
  /// Promises that times are public: a record is only replaced by others of its step. With
  /// replace_one only; second moments and the count are then more precise.
  bool fixed_times = false;
};

struct Moments {
  Estimate count;
  std::vector<Estimate> mean;      ///< input units
  std::vector<Estimate> variance;  ///< divided by the count, not by one less
  /// Pairs (0, 1), (0, 2), ..., (1, 2), ...; empty unless requested.
  std::vector<Estimate> covariance;
  /// Square roots of the variances, input units, with the same confidence. The values are biased if
  /// the noise is large compared with them.
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
  ///         beyond 1e150, or shorter than 1e-6 of its ends; a confidence that is not between 0 and
  ///         1; fixed_times without replace_one.
  explicit MomentColumns(MomentsOptions options);

  static constexpr bool kClips = false;

  /// The first of several records of a person in a step counts: a sum of rows is no record's row.
  static constexpr bool adds() { return false; }
  /// @throws Error{wrong_length, invalid_argument} the record is refused.
  void check(std::span<const double> record) const;
  /// The mechanism for these columns; clip_norm and neighbours are overridden.
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const;
  /// The privacy claim of such a mechanism for records. With replace-one, clip_norm is half their
  /// largest distance.
  Certificate certificate(const Mechanism& mechanism) const;
  /// @throws Error{unsupported} mode lattice.
  PrefixSumOptions release_options(PrefixSumOptions options) const;

  /// Number of entries of a record.
  std::int64_t num_columns() const { return static_cast<std::int64_t>(options_.ranges.size()); }
  Neighbours neighbours() const { return options_.neighbours; }
  bool fixed_times() const { return options_.fixed_times; }
  /// True if neighbours may have a record at another step. No two records then have a negative
  /// inner product, and none is longer than distance() / sqrt(2).
  bool moves() const { return neighbours() == Neighbours::replace_one && !fixed_times(); }
  /// Number of columns: 1 + 2 d, plus d (d - 1) / 2 with covariances.
  std::int64_t dimension() const;
  /// Largest l2-distance between the columns of two neighbouring records of a step, as PrefixSum
  /// rounds them to `grid()`, for the neighbours of the options.
  ///
  /// @exactness   the supremum over all records, times 1 + 2^-14, which covers roundings.
  /// @guarantee   an upper bound for the integers themselves, also for a removed record.
  /// @source      docs/math/moments.md; the idea, for records in a ball, is from arXiv 2502.06597.
  /// @checked-by  moments_test "no two records are farther apart than the distance, and some are
  ///              that far"
  double distance() const { return distance_; }
  /// Spacing of the sums: a power of two, at most 2^-16 distance() / sqrt(dimension()).
  double grid() const { return grid_; }
  /// kappa, entry 0 of every record. The noise std of the count is that of this column / kappa.
  double count_weight() const { return count_weight_; }

  /// @param record   num_columns() entries, input units.
  /// @param columns  dimension() entries.
  /// @return         the columns.
  /// @throws Error{wrong_length, invalid_argument} the record is refused.
  std::span<const double> write(std::span<const double> record, std::span<double> columns) const;

  /// Moments of all records that are in the sums, clipped to their ranges.
  ///
  /// @guarantee   post-processing. Each interval individually contains the value without noise with
  ///              at least the confidence of the options, for any records, if there is at least
  ///              one; it covers the rounding of records to the grid.
  /// @exactness   the interval of a count is the Gaussian one, and that of a mean Fieller's, except
  ///              for the grid; those of variances and covariances are a union over intervals of
  ///              the means, a few percent wider; those of standard deviations are their square
  ///              roots, and fail when they do.
  /// @throws Error{wrong_length, invalid_argument}.
  /// @source      docs/math/moments.md, section 4.
  /// @checked-by  moments_test "intervals cover what they are for"
  Moments read(const NoisyColumns& columns) const;
  Moments read(const NoisySums& sums) const {
    return read({.sums = sums.values, .stddev = sums.noise.release_stddev(sums.step)});
  }

 private:
  MomentsOptions options_;
  double count_weight_;   ///< kappa
  double square_weight_;  ///< lambda
  double centre_;         ///< c
  double pair_weight_;    ///< nu
  double distance_;
  double grid_;
};

/// Private moments of a stream of records, or of people's records.
using MomentSum = StatisticSum<MomentColumns>;
using PeopleMomentSum = PeopleStatisticSum<MomentColumns>;

struct HistogramOptions {
  std::int64_t num_categories = 0;  ///< of a public domain
  /// Also measures the total number of records. With zero_out, this makes the total more precise by
  /// about the fourth root of the number of categories, and the counts less precise by up to 7.1 %;
  /// with fixed_times it is always measured.
  bool total = false;
  double confidence = 0.95;  ///< of each interval individually, between 0 and 1
  /// zero_out: a record is removed. replace_one: it is replaced by any other, at any step, or
  /// removed.
  Neighbours neighbours = Neighbours::zero_out;
  /// Promises that times are public: a record is only replaced by others of its step. With
  /// replace_one only; the total then costs nothing.
  bool fixed_times = false;
};

/// Counts and total are unbiased and may be negative; shares are in [0, 1].
struct Histogram {
  std::vector<Estimate> count;  ///< one per category
  Estimate total;               ///< its value is the sum of the counts
  std::vector<Estimate> share;  ///< count / total
};

/// Turns a category j into columns: `a` in entry j and, if the total is measured, `b` in the last:
///
///                                    a^2               b^2                           distance
///     zero-out                       1                                               1
///     replace-one                    1                                               sqrt 2
///     either, the total, too         m / (m - 1 + s)   a^2 (s - 1) / m               the same
///     fixed_times                    1                 1                             sqrt 2
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
  ///         not between 0 and 1; fixed_times without replace_one.
  explicit HistogramColumns(const HistogramOptions& options);

  static constexpr bool kClips = false;

  // As those of MomentColumns.
  static constexpr bool adds() { return false; }
  void check(std::int64_t category) const;
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const;
  Certificate certificate(const Mechanism& mechanism) const;
  PrefixSumOptions release_options(PrefixSumOptions options) const;

  std::int64_t num_categories() const { return options_.num_categories; }
  Neighbours neighbours() const { return options_.neighbours; }
  bool fixed_times() const { return options_.fixed_times; }
  /// True if neighbours may have a record at another step. No two records then have a negative
  /// inner product, and none is longer than distance() / sqrt(2).
  bool moves() const { return neighbours() == Neighbours::replace_one && !fixed_times(); }
  /// Number of columns: the categories, and the total if it is measured.
  std::int64_t dimension() const { return num_categories() + (total_weight_ > 0 ? 1 : 0); }
  /// Largest l2-distance between the columns of two neighbouring records of a step, as PrefixSum
  /// rounds them.
  ///
  /// @exactness   exact, except with a total, where for zero-out it is too large by less than
  ///              2^-14, and for records that move it is that of two records of distant steps.
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

  /// Counts, total and shares of all records that are in the sums.
  ///
  /// @guarantee   post-processing, which for counts and total is the best linear unbiased estimate.
  ///              Each interval individually contains the value without noise with at least the
  ///              confidence of the options, for any records; those of shares if there is at least
  ///              one record.
  /// @exactness   intervals are Gaussian, and for shares Fieller's, except for the grid.
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

/// Private counts of categories of a stream of records, or of people's records.
using HistogramSum = StatisticSum<HistogramColumns>;
using PeopleHistogramSum = PeopleStatisticSum<HistogramColumns>;

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
///             truth"
std::vector<double> monotone_counts(std::span<const double> counts);

/// Records of d numbers for several workloads of one stream, under one budget and one noise. A row
/// is the record; what each workload makes of it is the business of PrefixSum.
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
  /// @guarantee      each interval individually contains the sum without noise of the clipped
  ///                 records on the grid, with at least the confidence of the options.
  /// @checked-by     half_width_test "readings have intervals that hold"
  std::vector<Estimates> read(const NoisySums& sums) const;
  /// Mechanism::make_stack; the workload of the options is not used.
  std::shared_ptr<const Mechanism> mechanism(MechanismOptions options) const;
  PrefixSumOptions release_options(PrefixSumOptions options) const;

 private:
  StackOptions stack_;
  std::int64_t record_size_;
  double beyond_;  ///< probability of a value outside its interval
};

/// Columns of a stack: records of d numbers followed by zeros, as PrefixSum takes them with a
/// mechanism for k workloads; reads the k d private sums as estimates.
class StackColumns {
 public:
  struct Options {
    std::int64_t record_size = 1;     ///< d, entries of a record
    std::optional<double> grid = {};  ///< default: the finest of the workloads' grids
    double confidence = 0.95;         ///< of each interval individually, between 0 and 1
  };
  /// @throws Error{invalid_argument} a record size of 0, a confidence that is not between 0 and 1.
  StackColumns(std::shared_ptr<const Mechanism> mechanism, const Options& options);

  const std::shared_ptr<const Mechanism>& mechanism() const { return mechanism_; }
  std::int64_t num_workloads() const { return std::ssize(readers_); }
  std::int64_t record_size() const { return options_.record_size; }
  std::int64_t dimension() const { return num_workloads() * record_size(); }
  double grid() const { return *options_.grid; }
  /// Predicted std of the noise of the sums of a workload.
  double stddev(std::int64_t step, std::int64_t workload) const;

  /// @param columns  dimension() entries.
  /// @throws Error{wrong_length}.
  void write(std::span<const double> record, std::span<double> columns) const;

  /// Estimates of the sums at a step: those of the first workload, then of the second, ...
  /// @param sums     dimension() entries, as they were released at the step.
  /// @guarantee      each interval individually contains the sum without noise of the clipped
  ///                 records on the grid, with at least the confidence of the options.
  /// @checked-by     stack_sum_test "intervals cover what they are for"
  std::vector<Estimate> read(std::int64_t step, std::span<const double> sums) const;

 private:
  std::shared_ptr<const Mechanism> mechanism_;
  std::vector<std::shared_ptr<const Mechanism>> readers_;
  Options options_;
  double normal_;  ///< half-width of the interval of a standard normal
};

struct StackSumOptions {
  Key key;
  StackColumns::Options columns = {};
};

/// Private sums of several workloads of one stream, with one budget and one noise.
class StackSum {
 public:
  /// @throws as Mechanism::make_stack, StackColumns and PrefixSum.
  StackSum(const MechanismOptions& mechanism, const StackOptions& stack,
           const StackSumOptions& options);

  /// Takes one record of d numbers, and returns k d estimates: StackColumns::read.
  ///
  /// @guarantee   that of PrefixSum::release for all sums of all steps together: they are functions
  ///              of one C x + z.
  /// @throws      as PrefixSum::release, and nothing has changed.
  /// @checked-by  stack_test, stack_sum_test
  std::vector<Estimate> release(std::span<const double> record);
  /// Adds a record to the step that the next `release` ends: PrefixSum::contribute.
  void contribute(std::span<const double> record);
  std::vector<Estimate> release();

  const StackColumns& columns() const { return columns_; }
  const PrefixSum& sums() const { return sums_; }
  std::int64_t step() const { return sums_.step(); }
  std::int64_t num_steps() const { return sums_.num_steps(); }

 private:
  StackColumns columns_;
  PrefixSum sums_;
  std::vector<double> row_;  ///< columns of a record
  std::vector<double> noisy_;
};

}  // namespace dpftrl
