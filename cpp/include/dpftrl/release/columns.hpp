// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Columns: how a record becomes a row of numbers to add up, and how the noisy sums of a step
/// become a reading. Columns hold neither records nor noise.
///
///     record --write--> row of dimension() numbers ... noisy sums of a step --read--> reading
///
/// ```cpp
/// const dpftrl::Numbers columns(/*size=*/2);
/// const std::array<double, 2> record{3, 4};
/// std::array<double, 2> row{};
/// assert(columns.write(record, row).data() == record.data());  // the identity
/// ```

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

/// A number, with a confidence interval for its value without noise.
struct Estimate {
  double value;
  double low;
  double high;
  double stddev;  ///< predicted std of the noise in `value`; to first order for ratios
};

/// Numbers with equal noise, each with a confidence interval of its own.
struct Estimates {
  std::vector<double> values;
  double stddev;
  double half_width;  ///< of the interval around each value
};

/// Noisy sums after a step, and the PrefixSum that knows their noise.
struct NoisySums {
  std::int64_t step;
  std::span<const double> values;
  const PrefixSum& noise;
};

/// The columns of a RecordStream (stream.hpp).
///
///     check(record)       throws unless `write` accepts the record
///     write(record, row)  writes the row to `row` and returns it, or returns the record itself
///                         if it already is a row; or returns a ProductRecord
///     read(sums)          the reading of a step
///     adds()              true if the rows of one person in one step add up to one contribution,
///                         false if a contribution must be the row of a single record
///     mechanism(options)  the mechanism for these columns
///     release_options(o)  the options of the sums of these columns
template <class C>
concept Columns =
    requires(C& columns, typename C::Record record, std::span<double> row, const NoisySums& sums,
             const MechanismOptions& mechanism, const PrefixSumOptions& options) {
      { columns.dimension() } -> std::convertible_to<std::int64_t>;
      columns.check(record);
      columns.write(record, row);
      { columns.read(sums) } -> std::same_as<typename C::Reading>;
      { columns.adds() } -> std::convertible_to<bool>;
      { columns.mechanism(mechanism) } -> std::same_as<std::shared_ptr<const Mechanism>>;
      { columns.release_options(options) } -> std::same_as<PrefixSumOptions>;
    };

/// Columns whose rows and readings depend on the noisy sums of all earlier steps: see Examples.
///
///     begin(sums)            before the first step
///     follow(noisy)          takes the sums of the next step
///     require_going()        throws if no step can follow
///     seek(step, sums)       prepares to read a step again; sums(t) returns the sums of step t
///     identity(record, row)  numbers that identify a record; without it, those of its row
template <class C>
concept FollowingColumns =
    Columns<C> && requires(C& columns, std::span<const double> noisy, const PrefixSum& sums) {
      columns.begin(sums);
      columns.follow(noisy);
      columns.require_going();
    };

/// Records of one number, clipped to `clip`; reads the running total, or whichever sum the
/// mechanism's workload defines.
class Number {
 public:
  using Record = double;
  using Reading = Estimate;
  /// Fits any mechanism: records are clipped to its norm.
  static constexpr bool kClips = true;

  /// @param confidence  of each interval individually, between 0 and 1.
  explicit Number(double confidence = 0.95);

  std::int64_t dimension() const { return 1; }
  static constexpr bool adds() { return true; }
  void check(double record) const { require_finite("stream", "record", record); }
  std::span<const double> write(double record, std::span<double> row) const {
    row[0] = record;
    return row;
  }
  /// @guarantee   the interval contains the noiseless sum of the clipped records on the grid, with
  ///              at least the confidence: PrefixSum::release_half_width.
  /// @checked-by  half_width_test "readings have intervals that hold"
  Estimate read(const NoisySums& sums) const;
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const {
    return Mechanism::make(options);
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const;

 private:
  double beyond_;  ///< probability of a value outside its interval
};

/// Records of several numbers, clipped together in l2-norm (in l1-norm without a delta).
class Numbers {
 public:
  using Record = std::span<const double>;
  using Reading = Estimates;
  static constexpr bool kClips = true;

  explicit Numbers(std::int64_t size, double confidence = 0.95);

  std::int64_t dimension() const { return size_; }
  static constexpr bool adds() { return true; }
  void check(std::span<const double> record) const;
  std::span<const double> write(std::span<const double> record, std::span<double>) const {
    return record;
  }
  /// @guarantee   as Number::read, for each value individually.
  /// @checked-by  half_width_test "readings have intervals that hold"
  Estimates read(const NoisySums& sums) const;
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const {
    return Mechanism::make(options);
  }
  PrefixSumOptions release_options(PrefixSumOptions options) const;

 private:
  std::int64_t size_;
  double beyond_;
};

}  // namespace dpftrl
