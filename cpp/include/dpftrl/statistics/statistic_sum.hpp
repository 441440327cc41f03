// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The common part of private statistics: columns of records, private sums of them, and a reading.
///
/// ```cpp
/// #include <type_traits>
/// #include "dpftrl/statistics/histograms.hpp"
/// static_assert(std::is_same_v<dpftrl::HistogramSum,
///                              dpftrl::StatisticSum<dpftrl::HistogramColumns>>);
/// ```

#include <cstdint>
#include <memory>
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

}  // namespace detail

/// A private statistic of a stream, with the verbs of PrefixSum. For those that survive their
/// process, give a ReleaseLedger the mechanism and the grid of this, and as records what the
/// columns make of them.
///
/// @tparam Columns  turns a Record into columns by `write`, whose neighbours are at most `distance`
///                  apart, and sums of them into a Reading by `read`.
template <class Columns>
class StatisticSum {
 public:
  using Options = typename Columns::Options;
  using Record = typename Columns::Record;
  using Reading = typename Columns::Reading;

  /// @param mechanism  clip_norm and neighbours are replaced: the latter by those of the statistic.
  /// @throws as Mechanism::make, Columns and PrefixSum.
  StatisticSum(const MechanismOptions& mechanism, Options statistic, const Key& key)
      : columns_(std::move(statistic)),
        sums_(detail::statistic_mechanism(
                  mechanism, {.distance = columns_.distance(), .grid = columns_.grid()},
                  Columns::kName),
              {.key = key, .dimension = columns_.dimension(), .grid = columns_.grid()}),
        row_(static_cast<std::size_t>(columns_.dimension())),
        noisy_(row_) {}

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
    columns_.write(record, row_);
    sums_.release(row_, noisy_);
    return read();
  }

  /// Adds a record to the step that the next `release` ends. The caller ensures that of one user
  /// there is at most one in a step.
  /// @throws as PrefixSum::contribute.
  void contribute(Record record) {
    columns_.write(record, row_);
    sums_.contribute(row_);
  }

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
  const PrefixSum& sums() const { return sums_; }
  /// Sums of the columns that the last release was made of; zeros before there is one.
  std::span<const double> noisy_sums() const { return noisy_; }
  std::int64_t step() const { return sums_.step(); }
  std::int64_t num_steps() const { return sums_.num_steps(); }

 private:
  Reading read() const {
    return columns_.read({.sums = noisy_, .stddev = sums_.release_stddev(step() - 1)});
  }

  Columns columns_;
  PrefixSum sums_;
  std::vector<double> row_;  ///< columns of a record
  std::vector<double> noisy_;
};

}  // namespace dpftrl
