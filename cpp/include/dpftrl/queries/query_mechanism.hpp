// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The factorization mechanism: answers to linear queries on one histogram, released with noise.
///
///     measurements  y = M h + integer noise        answers  R y = F h + R noise
///
/// With replace_one the number n of records is public: what is c n for a constant c, a row of M
/// that is alike in all columns, gets no noise.
///
/// M and h are integers, so that everything that privacy rests on happens in integers; what is made
/// of y afterwards, in floating point, is post-processing.

#include <cstdint>
#include <span>
#include <vector>

#include "dpftrl/problem/participation.hpp"
#include "dpftrl/queries/query_factorization.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

struct QueryPrivacy {
  double epsilon;  ///< > 0
  /// 0: pure differential privacy, by discrete Laplace noise; else by Gaussian noise.
  double delta;
  /// zero_out: one record more or less, so that their number is protected, too. replace_one: one
  /// record of another value; the number of records is public then.
  Neighbours neighbours = Neighbours::zero_out;
  /// Number of records that one person may have: neighbours are a person more or less, with up to
  /// so many. The caller must enforce it. replace_one takes 1 only: persons with several records
  /// can have different numbers of them, and the number of all records is released without noise.
  std::int64_t max_contributions = 1;

  QueryNoise noise() const { return delta == 0 ? QueryNoise::laplace : QueryNoise::gaussian; }
  /// @throws Error{invalid_argument} epsilon or delta out of range, max_contributions not 1 ..
  /// 2^20, or above 1 with replace_one.
  /// @checked-by  query_mechanism_test "replace_one is refused for persons with several records"
  void require_sound() const;
};

struct QueryRelease {
  std::vector<std::int64_t> measurements;  ///< y
  Vector answers;                          ///< R y
};

class QueryMechanism {
 public:
  /// @throws Error{invalid_argument} epsilon or delta out of range, one value only or columns alike
  ///         with replace_one, a factorization that require_sound refuses; Error{unsupported} so
  ///         much privacy that the noise leaves the integers.
  QueryMechanism(QueryFactorization factorization, const QueryPrivacy& privacy);

  /// One release. Every release takes a key of its own: two with the same one have the same noise,
  /// and their difference none.
  ///
  /// @param histogram  counts, one a value.
  /// @guarantee   delta > 0: y is a rounded Gaussian mechanism on integers, mu()-GDP
  ///              (round(M h + sigma z) = M h + round(sigma z)), so (epsilon, delta)-DP with
  ///              nothing added to delta; but for an event of probability below 2^-400 a
  ///              measurement, in which 512 bits leave the rounding open. delta = 0: exactly
  ///              epsilon-DP, but with probability e^-16384 a measurement nothing is released. All
  ///              given ideal random bits.
  /// @throws as QueryFactorization::measure. That a histogram is refused tells about it.
  /// @cost   2 us a measurement (Gaussian).
  /// @checked-by  query_mechanism_test "likelihood ratios", "noise has the law it claims"
  QueryRelease release(std::span<const std::int64_t> histogram, const Key& key) const;

  const QueryFactorization& factorization() const { return factorization_; }
  const QueryPrivacy& privacy() const { return privacy_; }
  QueryNoise noise() const { return noise_; }
  /// Sensitivity that the noise was made for, in units of M: l2 (Gaussian) or l1 (Laplace).
  /// max_contributions times that of one record, which for zero_out is exact.
  double sensitivity() const { return sensitivity_; }
  /// The textbook bound for the same neighbours.
  double textbook_sensitivity() const { return textbook_; }
  /// Error at unit noise (standard deviation / distance by one record, in l2 for Gaussian noise and
  /// in l1 for Laplace noise), by the objective of the factorization, and a lower bound on that of
  /// any factorization. With Laplace noise that bound holds, as l1 norms are the larger ones, and
  /// is not tight.
  double unit_error() const { return unit_error_; }
  double lower_bound() const;
  /// mu of Gaussian differential privacy; for Laplace noise the mu of every epsilon-DP mechanism.
  double mu() const { return mu_; }
  /// Standard deviation of the Gaussian before rounding, or scale of the discrete Laplace law.
  double noise_scale() const { return noise_scale_; }
  /// Standard deviation of one measurement's noise, unless it is public: rounding included.
  /// @checked-by  query_mechanism_test "the predicted std is that of the measurements"
  double noise_stddev() const;
  /// Standard deviations of the answers, one a query.
  Vector standard_errors() const;

 private:
  QueryFactorization factorization_;
  QueryPrivacy privacy_;
  QueryNoise noise_;
  double sensitivity_ = 0;
  double textbook_ = 0;
  double unit_error_ = 0;
  Vector row_norms_;             ///< of R, over what gets noise
  std::vector<bool> is_public_;  ///< measurements that get none
  double mu_ = 0;
  double noise_scale_ = 0;
};

}  // namespace dpftrl
