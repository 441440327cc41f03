// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private statistics of a stream, of one budget: moments (count, means, variances, covariances),
/// histograms (counts, total and shares of categories), and sums of several workloads (a total and
/// windows, say). Each is columns of records, private sums of them, and a reading.
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
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/random/random.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

/// A number with an interval for what it would be without noise.
struct Estimate {
  double value;
  double low;
  double high;
  double stddev;  ///< of the noise in `value`, predicted; for ratios to first order
};

/// Sums after a step, as PrefixSum releases them, and what was added.
struct NoisyColumns {
  std::span<const double> sums;
  double stddev;  ///< of the noise of each, which may be 0
};

namespace detail {

struct ColumnScale {
  double distance;  ///< of the columns of neighbours
  double grid;
};

/// The mechanism for columns whose neighbours are that far apart, whatever neighbours are.
/// @throws Error{invalid_argument} a workload that is neither prefix sums nor a window, an epsilon
///         whose noise has no room on the grid.
std::shared_ptr<const Mechanism> statistic_mechanism(MechanismOptions options,
                                                     const ColumnScale& columns,
                                                     std::string_view where);

/// The common part of statistics: columns of records, private sums of them, and a reading.
template <class Columns, class Sums>
class StatisticOf {
 public:
  using Options = typename Columns::Options;
  using Record = typename Columns::Record;
  using Reading = typename Columns::Reading;

  /// Ends the step of what was contributed since the last release.
  Reading release() {
    sums_.release(noisy_);
    return read();
  }

  /// Returns the claim about records: for replace-one clip_norm is half their largest distance.
  Certificate certificate() const {
    Certificate certificate = sums_.mechanism().certificate();
    certificate.neighbours = columns_.neighbours();
    certificate.clip_norm = columns_.distance() / neighbour_distance(columns_.neighbours());
    return certificate;
  }

  const Columns& columns() const { return columns_; }
  const Sums& sums() const { return sums_; }
  /// Sums of the columns that the last release was made of; zeros before there is one.
  std::span<const double> noisy_sums() const { return noisy_; }
  std::int64_t step() const { return sums_.step(); }
  std::int64_t num_steps() const { return sums_.num_steps(); }

 protected:
  StatisticOf(const MechanismOptions& mechanism, Options statistic, const Key& key)
      : columns_(std::move(statistic)),
        sums_(statistic_mechanism(mechanism,
                                  {.distance = columns_.distance(), .grid = columns_.grid()},
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

/// A private statistic of a stream, with the verbs of PrefixSum. For those that survive their
/// process, give a ReleaseLedger the mechanism and the grid of this, and as records what the
/// columns make of them.
///
/// @tparam Columns  turns a Record into columns by `write`, whose neighbours are at most `distance`
///                  apart, and sums of them into a Reading by `read`.
template <class Columns>
class StatisticSum : public detail::StatisticOf<Columns, PrefixSum> {
  using Base = detail::StatisticOf<Columns, PrefixSum>;

 public:
  using Base::release;
  using typename Base::Reading;
  using typename Base::Record;

  /// @param mechanism  clip_norm and neighbours are replaced: the latter by those of the statistic.
  /// @throws as Mechanism::make, Columns and PrefixSum.
  StatisticSum(const MechanismOptions& mechanism, typename Base::Options statistic, const Key& key)
      : Base(mechanism, std::move(statistic), key) {}

  /// Takes one record, and returns what all so far say, or those in the window.
  ///
  /// @guarantee   mu-GDP for the mechanism's mu, and so (epsilon, delta)-DP, of all releases
  ///              together, for streams that differ in records of one user as the participation
  ///              allows, each against none (zero-out) or against any other or none (replace-one);
  ///              for records chosen in the light of releases; nothing to add to delta.
  /// @exactness   of the sums: that of PrefixSum::release.
  /// @throws      as PrefixSum::release, and nothing has changed.
  /// @checked-by  moments_test, histograms_test
  Reading release(Record record) {
    this->sums_.release(this->columns_of(record), this->noisy_);
    return this->read();
  }

  /// Adds a record to the step that the next `release` ends. The caller ensures that of one user
  /// there is at most one in a step; PeopleStatisticSum ensures it by itself.
  /// @throws as PrefixSum::contribute.
  void contribute(Record record) { this->sums_.contribute(this->columns_of(record)); }
};

/// A private statistic of people's records, with the verbs of PeopleSum: of each person count the
/// earliest records that keep the participation, and of several to one step the first.
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
  /// @param person  one number a person. Two persons with one number are not protected.
  /// @return        false: it does not count. Not private.
  /// @guarantee     that of StatisticSum for streams in which all records of one person are left
  ///                out (zero-out), or those that count replaced by any others or none
  ///                (replace-one).
  /// @throws        as PeopleSum::contribute and the columns, and nothing has changed.
  /// @checked-by    people_statistics_test
  bool contribute(std::int64_t person, Record record) {
    return this->sums_.contribute_first(person, this->columns_of(record));
  }
};

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
  /// Roots of the variances, input units: as confident as they are, but their values are not
  /// unbiased where the noise is large beside them.
  std::vector<Estimate> standard_deviation;
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
  ///              the means, wider by some percent; those of standard deviations are their
  ///              roots, and fail when they do.
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

/// The private moments of a stream, of records or of people.
using MomentSum = StatisticSum<MomentColumns>;
using PeopleMomentSum = PeopleStatisticSum<MomentColumns>;

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

/// The private counts of categories of a stream, of records or of people.
using HistogramSum = StatisticSum<HistogramColumns>;
using PeopleHistogramSum = PeopleStatisticSum<HistogramColumns>;

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

/// Records of a stack: d numbers, then zeros, as PrefixSum takes them with a mechanism for k
/// workloads; and k d private sums as estimates.
class StackColumns {
 public:
  struct Options {
    std::int64_t record_size = 1;     ///< d, numbers of a record
    std::optional<double> grid = {};  ///< default: the finest of those of the workloads
    double confidence = 0.95;         ///< of each interval by itself, between 0 and 1
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

  /// Estimates of the sums of a step: those of the first workload, then of the second, ...
  /// @param sums     dimension() entries, as they were released at the step.
  /// @guarantee      each interval by itself contains the sum without noise of the clipped records
  ///                 on the grid, with the confidence of the options at least.
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

/// Private sums of several workloads of one stream, of one budget and one noise.
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
