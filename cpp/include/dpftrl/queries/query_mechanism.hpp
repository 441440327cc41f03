// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The factorization mechanism: answers to linear queries on one histogram, released with noise.
///
///     measurements  y = M h + integer noise        answers  R y = F h + R noise
///
/// With replace_one, the number n of records is public, so a row of M whose entries all equal c
/// measures c n, and gets no noise.
///
/// M and h are integers, so privacy rests on integer arithmetic alone; everything computed from y
/// in floating point is post-processing.
///
/// ```cpp
/// const dpftrl::QueryMechanism mechanism(
///     dpftrl::factorize_queries(dpftrl::QueryWorkload::prefix(4)), {.epsilon = 1, .delta = 1e-6});
/// const std::vector<std::int64_t> histogram{10, 0, 3, 7};
/// const dpftrl::QueryRelease release =
///     mechanism.release(histogram, dpftrl::Key::from_entropy());
/// assert(release.answers.size() == 4);
/// const dpftrl::Vector counts = dpftrl::consistent_histogram(mechanism, release);
/// assert(counts.minCoeff() >= 0);
/// ```

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/dense_optimum.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/queries/query_workload.hpp"
#include "dpftrl/random/random.hpp"

namespace dpftrl {

// Factorizations F = R M of linear queries: M defines the noisy measurements, and R combines them
// into answers. M is a matrix of integers, so measurements of counts are exact integers and
// releases have no rounding to account for.

using IntegerMatrix = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Choice of measurements.
enum class QueryStrategy {
  optimal,   ///< least error, certified for Gaussian noise
  identity,  ///< every count of the histogram
  queries,   ///< every answer individually; up to kMaxQueryValues per factor
};

enum class QueryNoise { gaussian, laplace };

/// Measurements of your own: F = R M, with any number of measurements.
struct OwnMeasurements {
  Matrix measure;  ///< M, one measurement per row
  /// R. Default: F M^+, the R of least error.
  std::optional<Matrix> reconstruct = {};
};

struct QueryFactorizationOptions {
  QueryStrategy strategy = QueryStrategy::optimal;
  /// Measurements to use instead of `strategy`, for all factors together. M is scaled by a power of
  /// two and rounded to integers of 24 bits; if rounding changes M, further rows measure
  /// the difference of F and R M coarsely.
  std::optional<OwnMeasurements> own = {};
  /// Noise of the measurements. With laplace, whose scale is proportional to the largest l1 norm of
  /// a column, QueryStrategy::optimal is the best of several strategies and not proved optimal.
  QueryNoise noise = QueryNoise::gaussian;
  /// Neighbours for which the factorization is optimised. With replace_one, the noise scale is
  /// proportional to the largest distance between two columns, and the number of records is public.
  /// Supported for one factor with up to 512 different columns, or a product of up to 512 values
  /// and kMaxQueryEntries / 4 entries; larger workloads get the optimum for zero_out.
  Neighbours neighbours = Neighbours::zero_out;
  /// mean: RMS error over the queries; max: error of the worst query.
  Objective objective = Objective::mean;
  OptimumOptions solver = {.gap = 1e-6};
};

/// Largest distance between the measurements of two neighbouring histograms, in units of M.
///
/// @exactness   add_remove is exact. replace_one is exact for up to kMaxQueryValues values (l2), or
///              if num_values^2 num_measurements <= 2^30 (l1); else it is the textbook bound.
///              Squares of l2 are rounded up by at most 2^-32 of the largest squared column norm.
/// @guarantee   never below the true value.
/// @checked-by  query_factorization_test "sensitivity is that of all neighbouring histograms"
struct QuerySensitivity {
  double add_remove;   ///< one record more or less: largest norm of a column
  double replace_one;  ///< one record changes its value: largest distance between two columns
  /// Usual bound for replace_one: twice the largest norm of a column. With a single factor, rows
  /// whose entries are all equal are left out.
  double textbook;
};

/// F = R M, stored as a product of factorizations of the factors of F.
struct QueryFactorization {
  struct Factor {
    IntegerMatrix encoder;  ///< M
    Matrix decoder;         ///< R: R M = F to rounding, about 1e-11 of the largest entry
    /// The decoder yields prefix sums, and the answers are prefix sum j minus prefix sum i - 1 for
    /// all i <= j.
    bool is_ranges = false;
  };
  std::vector<Factor> factors;

  /// Certified lower bound on the error of ANY factorization with noise scaled to its largest
  /// column in l2, and hence also in l1. Mean: gamma_F / sqrt(num_queries), max: gamma_2.
  /// Strategies other than `optimal`, own measurements and optima for replace_one have the Schatten
  /// bound, ||F||_* / sqrt(num_queries num_values).
  /// @guarantee   never above that error, rounding included. For products, gamma_F and gamma_2 are
  ///              multiplicative, and so are the proofs.
  /// @checked-by  query_factorization_test "known optima", dense_optimum_test
  double lower_bound;
  /// Lower bound for noise scaled to the largest distance between two columns, with a public number
  /// of records. Tight if the factorization is optimal for replace_one; else the best known error
  /// is 1.05 to 2 times as large.
  /// @checked-by  query_factorization_test "the bound for replace_one holds ..."
  double replace_one_lower_bound;
  /// Error of this factorization with noise scaled to its largest column.
  double unit_error;
  Objective objective;

  /// Checks the properties that sensitivities, measurements and noise rely on.
  /// @throws Error{invalid_argument} not 1 to 3 factors, sizes that do not fit, an entry of M
  ///         beyond 2^30 or columns whose l1 norms multiply to more than 2^60, an R that is not
  ///         finite.
  void require_sound() const;

  std::int64_t num_measurements() const;
  std::int64_t num_values() const;
  /// M and R, each as one matrix.
  /// @throws Error{resource_exhausted} more than kMaxQueryEntries entries.
  IntegerMatrix encoder() const;
  Matrix decoder() const;
  /// Norms of the rows of R; for replace_one, only over the measurements that get noise.
  Vector row_norms(Neighbours neighbours = Neighbours::zero_out) const;
  /// Marks the measurements that depend only on the number of records, because all entries of their
  /// row of M are equal. With replace_one, they are public and get no noise.
  /// @exactness   exact.
  /// @checked-by  query_mechanism_test "what gets no noise is the same for all neighbours"
  std::vector<bool> public_measurements() const;
  QuerySensitivity l2_sensitivity() const;
  QuerySensitivity l1_sensitivity() const;

  /// M h.
  /// @exactness   exact.
  /// @throws Error{wrong_length}; Error{invalid_argument} a negative count; Error{unsupported} so
  ///         many records that the integers could overflow.
  std::vector<std::int64_t> measure(std::span<const std::int64_t> histogram) const;
  /// R y.
  Vector decode(std::span<const double> measurements) const;
};

struct QueryFactorizerProgress {
  std::int64_t iterations;  ///< on the current factor
  double fraction;          ///< progress, 0 to 1
};

/// Search that runs one iteration at a time, so that the caller can do other work in between.
/// @throws as factorize_queries, during the search or at its end.
class QueryFactorizer {
 public:
  QueryFactorizer(QueryWorkload workload, const QueryFactorizationOptions& options);
  ~QueryFactorizer();
  QueryFactorizer(QueryFactorizer&&) noexcept;
  QueryFactorizer& operator=(QueryFactorizer&&) noexcept;

  /// Runs one iteration, or finishes a factor, which takes as long as about five iterations.
  /// Returns false at the end.
  bool advance();
  QueryFactorizerProgress progress() const;
  const QueryWorkload& workload() const;
  /// Finishes the search if it has not ended, and returns the factorization.
  QueryFactorization result();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// @cost    per factor, a few matrix products for orthogonal columns or rows and for prefixes (1 s
///          at 1024 values, 9 s at 2048); else its optimum (find_dense_optimum) and at most eight
///          products (3 s at 512, 20 s at 1024). Laplace noise: up to thirteen more
///          eigendecompositions. replace_one: an eigendecomposition for each of 15 to 200
///          iterations (2 s at 256 values, 10 s at 512).
/// @throws Error{unsupported} Objective::max for all ranges of more than 361 values, whose rows it
///         needs; more than three factors (combine small ones with to_matrix()), too many queries
///         for QueryStrategy::queries; as find_dense_optimum. Own measurements: Error{wrong_length}
///         another number of values, queries or measurements; Error{invalid_argument} an entry that
///         is not finite, only zeros, an R for which R M differs from F (by 1e-6 of the largest
///         entry of F), queries that M does not determine.
/// @source  Edmonds, Nikolov, Ullman, arXiv 1911.08339; Henzinger, Upadhyay, Upadhyay, arXiv
///          2211.05006 (Lemmas 1, 45, 48). Proofs: docs/math/queries.md.
[[nodiscard]] QueryFactorization factorize_queries(const QueryWorkload& workload,
                                                   const QueryFactorizationOptions& options = {});

/// ||F||_* / sqrt(num_queries num_values): a lower bound on the error of any factorization, for
/// both objectives.
/// @guarantee  never above it, rounding included.
/// @checked-by query_factorization_test "lemma 1 bounds hold and any proof beats no optimum"
double schatten_query_bound(const QueryWorkload& workload);

struct QueryPrivacy {
  double epsilon;  ///< > 0
  /// 0 for pure differential privacy, with discrete Laplace noise; else Gaussian noise is used.
  double delta;
  /// zero_out: one record more or less, so the number of records is also protected. replace_one:
  /// one record changes its value, and the number of records is public.
  Neighbours neighbours = Neighbours::zero_out;
  /// Largest number of records of one person. Neighbours differ by one person with up to that many
  /// records. The caller must enforce it. replace_one requires 1, because people can have different
  /// numbers of records, and the total number of records is released without noise.
  std::int64_t max_contributions = 1;

  QueryNoise noise() const { return delta == 0 ? QueryNoise::laplace : QueryNoise::gaussian; }
  /// @throws Error{invalid_argument} epsilon or delta out of range, max_contributions not 1 ..
  ///         2^20, or above 1 with replace_one.
  /// @checked-by  query_mechanism_test "replace_one is refused for persons with several records"
  void require_sound() const;
};

struct QueryRelease {
  std::vector<std::int64_t> measurements;  ///< y
  Vector answers;                          ///< R y
};

class QueryMechanism {
 public:
  /// @throws Error{invalid_argument} epsilon or delta out of range, a single value or all columns
  ///         equal with replace_one, a factorization that require_sound refuses; Error{unsupported}
  ///         so much privacy that the noise overflows integers.
  QueryMechanism(QueryFactorization factorization, const QueryPrivacy& privacy);

  /// Makes one release. Every release needs a fresh key: two releases with the same key have the
  /// same noise, so their difference has none.
  ///
  /// @param histogram  counts, one per value.
  /// @guarantee   delta > 0: y is the rounded output of a Gaussian mechanism, because round(M h +
  ///              sigma z) = M h + round(sigma z). So it is mu()-GDP, and (epsilon, delta)-DP with
  ///              nothing added to delta, except for an event of probability below 2^-400 per
  ///              measurement, in which 512 bits leave the rounding open. delta = 0: exactly
  ///              epsilon-DP; with probability e^-16384 per measurement, nothing is released. Both
  ///              hold given ideal random bits.
  /// @throws as QueryFactorization::measure. A refusal reveals something about the histogram.
  /// @cost   2 us per measurement (Gaussian).
  /// @checked-by  query_mechanism_test "likelihood ratios", "noise has the law it claims"
  QueryRelease release(std::span<const std::int64_t> histogram, const Key& key) const;

  const QueryFactorization& factorization() const { return factorization_; }
  const QueryPrivacy& privacy() const { return privacy_; }
  QueryNoise noise() const { return noise_; }
  /// Sensitivity to which the noise is scaled, in units of M: l2 (Gaussian) or l1 (Laplace). It is
  /// max_contributions times that of one record, which is exact for zero_out.
  double sensitivity() const { return sensitivity_; }
  /// The textbook bound on the sensitivity for the same neighbours.
  double textbook_sensitivity() const { return textbook_; }
  /// Error at unit noise (a standard deviation equal to the distance by which one record moves the
  /// measurements, in l2 for Gaussian noise and in l1 for Laplace noise), for the objective of the
  /// factorization, and a lower bound on the error of any factorization. With Laplace noise, the
  /// bound holds because l1 norms are larger, and is not tight.
  double unit_error() const { return unit_error_; }
  double lower_bound() const;
  /// mu of Gaussian differential privacy; for Laplace noise, the mu that epsilon-DP implies.
  double mu() const { return mu_; }
  /// Standard deviation of the Gaussian before rounding, or scale of the discrete Laplace law.
  double noise_scale() const { return noise_scale_; }
  /// Standard deviation of the noise of a measurement that is not public, rounding included.
  /// @checked-by  query_mechanism_test "the predicted std is that of the measurements"
  double noise_stddev() const;
  /// Standard deviations of the answers, one per query.
  Vector standard_errors() const;

 private:
  QueryFactorization factorization_;
  QueryPrivacy privacy_;
  QueryNoise noise_;
  double sensitivity_ = 0;
  double textbook_ = 0;
  double unit_error_ = 0;
  Vector row_norms_;             ///< of R, over measurements that get noise
  std::vector<bool> is_public_;  ///< marks measurements that get no noise
  double mu_ = 0;
  double noise_scale_ = 0;
};

/// Lower bounds on the errors, in counts and for the objective of the factorization, of mechanisms
/// that need not be factorizations, for the same privacy.
struct QueryBounds {
  double added_noise;              ///< F h + Z, for Z with any law that does not depend on h
  std::optional<double> unbiased;  ///< any law with mean F h for every h; only with delta = 0
  /// Any mechanism, at its worst histogram; only with delta = 0 and zero_out.
  std::optional<double> every;
};

/// @guarantee  no mechanism of that kind has a smaller error, rounding included.
/// @cost       O(1); for `every` as schatten_query_bound.
/// @source     docs/math/mechanism-bounds.md, section 4.
/// @checked-by query_bounds_test
QueryBounds any_mechanism_bounds(const QueryWorkload& workload, const QueryMechanism& mechanism);

// Histograms consistent with noisy measurements: post-processing, which costs no privacy.

struct ConsistencyOptions {
  bool integer = false;  ///< rounds the counts to integers with the same sum
  /// Sum of the counts. Only with replace_one, where the number of records is public. Default: that
  /// number, if a single factor measures it (QueryFactorization::public_measurements).
  std::optional<std::int64_t> total = std::nullopt;
};

/// The non-negative histogram x with the least ||M x - y||, so that the answers F x are consistent
/// with each other.
///
/// @return     one count per value; if the measurements do not determine x, one of the best.
/// @exactness  an approximation: projected gradients with momentum, until a step moves no count by
///             more than 1e-7 of a standard error, or for 2000 steps. The errors are not those of
///             QueryMechanism::standard_errors(), and the counts are biased upwards near 0.
/// @throws Error{wrong_length} wrong number of measurements; Error{invalid_argument} a negative
///         total; Error{unsupported} a total with zero_out, where it would be secret.
/// @cost       4 num_measurements num_values operations per step, fewer for products.
Vector consistent_histogram(const QueryMechanism& mechanism, const QueryRelease& release,
                            const ConsistencyOptions& options = {});

}  // namespace dpftrl
