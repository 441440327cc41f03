// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares the columns of statistics with the noise made for them, by enumeration.

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpftrl/release/stream.hpp"
#include "dpftrl/statistics/statistics.hpp"
#include "support.hpp"

namespace dpftrl::testing {

/// Columns whose reading comes with the noisy sums that it was made from.
template <class C>
class WithSums : public C {
 public:
  struct Reading {
    std::vector<double> sums;
    typename C::Reading reading;
  };
  explicit WithSums(const C& columns) : C(columns) {}
  Reading read(const NoisySums& sums) const {
    return {.sums = {sums.values.begin(), sums.values.end()}, .reading = C::read(sums)};
  }
};

/// A stream of records, or of people with numbers for names, that also gives its noisy sums and its
/// certificate.
template <class C, class Who = Records>
class StatisticStream {
 public:
  using Record = typename C::Record;
  using Reading = typename C::Reading;

  StatisticStream(const MechanismOptions& mechanism, typename C::Options what, const Key& key)
      : stream_(WithSums<C>(C(std::move(what))), mechanism, {.key = key}),
        noisy_(static_cast<std::size_t>(columns().dimension())) {}

  Reading release(Record record) { return kept(stream_.release(record)); }
  Reading release() { return kept(stream_.end()); }
  void contribute(Record record) { stream_.add(record); }
  /// True if the record counts.
  bool contribute(std::int64_t person, Record record) {
    const std::int64_t before = num_dropped();
    stream_.add(std::to_string(person), record);
    return num_dropped() == before;
  }

  const C& columns() const { return stream_.columns(); }
  const PrefixSum& sums() const { return stream_.sums(); }
  Certificate certificate() const { return columns().certificate(stream_.mechanism()); }
  /// Sums of the columns at the last release; zeros before the first.
  std::span<const double> noisy_sums() const { return noisy_; }
  std::int64_t step() const { return stream_.step(); }
  std::int64_t num_dropped() const { return stream_.counts().dropped; }

 private:
  Reading kept(typename WithSums<C>::Reading all) {
    noisy_ = std::move(all.sums);
    return std::move(all.reading);
  }

  RecordStream<WithSums<C>, Who> stream_;
  std::vector<double> noisy_;
};

using MomentStream = StatisticStream<MomentColumns>;
using HistogramStream = StatisticStream<HistogramColumns>;
using PeopleMomentStream = StatisticStream<MomentColumns, People>;
using PeopleHistogramStream = StatisticStream<HistogramColumns, People>;

/// Vector that a record adds to the released sums, in the units of the columns, found from two
/// streams with the same noise.
template <class Columns>
Vector added(const Columns& columns, typename Columns::Record record) {
  const auto mechanism = Mechanism::make({.strategy = "tree",
                                          .steps = 1,
                                          .target = {.epsilon = 1, .delta = 1e-6},
                                          .clip = columns.distance()});
  const PrefixSumOptions options{
      .key = Key::insecure_from_seed(5), .dimension = columns.dimension(), .grid = columns.grid()};
  PrefixSum sums(mechanism, options), silent(mechanism, options);
  std::vector<double> with(static_cast<std::size_t>(columns.dimension())), without(with);
  columns.write(record, with);
  sums.release(with, with);
  silent.release(without);
  Vector difference(index_of(columns.dimension()));
  for (Eigen::Index i = 0; i < difference.size(); ++i)
    difference[i] = with[static_cast<std::size_t>(i)] - without[static_cast<std::size_t>(i)];
  return difference;
}

/// Lists all vectors by which a step of two neighbouring streams can differ if its record changes,
/// each once: a record and none or, where records are replaced, also any two records.
template <class Columns>
std::vector<Vector> step_differences(const Columns& columns,
                                     const std::vector<typename Columns::Record>& records) {
  std::vector<Vector> differences;
  const auto keep = [&](const Vector& difference) {
    const auto is_same = [&](const Vector& known) { return known == difference; };
    if (std::ranges::none_of(differences, is_same)) differences.push_back(difference);
  };
  std::vector<Vector> vectors;
  for (const auto& record : records) vectors.push_back(added(columns, record));
  for (const Vector& from : vectors) {
    keep(from);
    if (columns.neighbours() == Neighbours::zero_out) continue;
    keep(-from);
    for (const Vector& to : vectors) keep(from - to);
  }
  return differences;
}

/// Largest norm of encoded + C D, where D has one of the differences in each row of `changed` and
/// zeros elsewhere.
inline double farthest(const Matrix& encoder, std::span<const std::int64_t> changed,
                       const std::vector<Vector>& differences, const Matrix& encoded) {
  if (changed.empty()) return encoded.norm();
  double largest = 0;
  for (const Vector& difference : differences) {
    const Matrix more = encoder.col(index_of(changed[0])) * difference.transpose();
    largest = std::max(largest, farthest(encoder, changed.subspan(1), differences, encoded + more));
  }
  return largest;
}

/// Largest distance between the encoded streams of two neighbours, each with one of the records or
/// none in every step. The noise is made for a distance of noise_stddev * mu of the certificate.
///
/// Enumerates differences instead of pairs of streams, with the same result. The encoder C is
/// linear, so the distance of C X and C Y is the norm of C (X - Y), and pairs with the same
/// difference are equally far apart. Row t of X - Y is zero where both streams have the same
/// record, and a step_difference where they do not; the steps of the second kind are a set that the
/// participation allows. Conversely, each choice of an allowed set, and independently of a
/// difference for each of its steps, is X - Y of some neighbours: those that have the two records
/// of that difference there, and none elsewhere.
template <class Columns>
double farthest_streams(const StatisticStream<Columns>& sum,
                        const std::vector<typename Columns::Record>& records) {
  const auto& mechanism = sum.sums().mechanism();
  const Matrix encoder = mechanism.strategy().encoder();
  const std::int64_t steps = encoder.cols();
  const std::vector<Vector> differences = step_differences(sum.columns(), records);
  const Matrix none = Matrix::Zero(encoder.rows(), index_of(sum.columns().dimension()));
  double largest = 0;
  for (std::int64_t subset = 0; subset < std::int64_t{1} << steps; ++subset) {
    std::vector<std::int64_t> changed;
    for (std::int64_t t = 0; t < steps; ++t)
      if (subset >> t & 1) changed.push_back(t);
    if (mechanism.participation().allows(changed, steps))
      largest = std::max(largest, farthest(encoder, changed, differences, none));
  }
  return largest;
}

/// Expects no neighbouring streams to be further apart than the noise is made for and, if the
/// sensitivity is exact, some to be nearly that far; the slack is due to the coarse grid.
template <class Columns>
void expect_farthest(const StatisticStream<Columns>& sum,
                     const std::vector<typename Columns::Record>& records, double slack) {
  const Certificate claim = sum.certificate();
  const double largest = farthest_streams(sum, records);
  EXPECT_LE(largest, claim.noise_stddev * claim.mu * (1 + 1e-12));
  const double least = claim.exactness == Exactness::exact ? 1 - slack : 0.5;
  EXPECT_GE(largest, claim.noise_stddev * claim.mu * least);
}

/// Participation patterns possible in streams of this many steps, up to 8.
inline std::vector<Participation> patterns_of(std::int64_t steps) {
  std::vector<Participation> patterns = {Participation::single(), separated(2, 2), separated(2, 5),
                                         separated(3, 1)};
  if (steps % 2 == 0)
    patterns.push_back(Participation::fixed_epoch({.epochs = 2, .epoch_length = steps / 2}));
  return patterns;
}

/// Expects the claim about records to agree with the actual noise.
template <class Columns>
void expect_certified(const StatisticStream<Columns>& sum, Neighbours neighbours) {
  const Certificate claim = sum.certificate();
  EXPECT_EQ(claim.neighbours, neighbours);
  EXPECT_NEAR(
      claim.noise_stddev,
      claim.noise_multiplier * claim.sensitivity * claim.clip * neighbour_distance(neighbours),
      1e-9);
}

inline void expect_refused(const std::function<void()>& act, ErrorCode code,
                           std::string_view parameter) {
  try {
    act();
    ADD_FAILURE() << "accepted " << parameter;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.parameter(), parameter);
  }
}

/// Counts for each estimate the cases in which its interval misses the true value.
inline void add_misses(std::span<const std::pair<Estimate, double>> all, std::span<int> missed) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [estimate, value] = all[i];
    EXPECT_LE(estimate.low, estimate.value);
    EXPECT_LE(estimate.value, estimate.high);
    if (value < estimate.low - 1e-9 || value > estimate.high + 1e-9) ++missed[i];
  }
}

/// Allowed excess over the expected number of misses at confidence 0.9, 4.5 standard deviations. If
/// the claim is true, 1000 trials exceed it with probability 1.1e-5, and 100 with 4e-5.
inline double tolerance(int num_trials) {
  return 4.5 * std::sqrt(0.09 * num_trials);
}

}  // namespace dpftrl::testing
