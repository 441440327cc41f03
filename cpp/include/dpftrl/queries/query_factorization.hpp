// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Factorizations F = R M of linear queries: M says what is measured with noise, R how the answers
/// are put together from that. M is a matrix of integers, so that measurements of counts are exact
/// integers, and releases have no rounding to account for.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/queries/query_workload.hpp"

namespace dpftrl {

using IntegerMatrix = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Choice of the measurements.
enum class QueryStrategy {
  optimal,   ///< of least error, for Gaussian noise with a proof
  identity,  ///< every count of the histogram
  queries,   ///< every answer by itself; up to kMaxQueryValues of them a factor
};

enum class QueryNoise { gaussian, laplace };

struct QueryFactorizationOptions {
  QueryStrategy strategy = QueryStrategy::optimal;
  /// Noise that the measurements will get. With laplace, as large as the l1 norm of a column,
  /// QueryStrategy::optimal is the best of several that are known to be good, and not proved to be
  /// the best of all.
  QueryNoise noise = QueryNoise::gaussian;
  /// Neighbours it is optimal for. replace_one: noise is as large as the largest distance of two
  /// columns, and the number of records is public. For one factor with up to 512 different columns,
  /// or a product of up to 512 values (kMaxQueryEntries / 4 numbers); else what is optimal for
  /// zero_out.
  Neighbours neighbours = Neighbours::zero_out;
  /// mean: root mean square over queries; max: the worst one.
  Objective objective = Objective::mean;
  OptimumOptions solver = {.gap = 1e-6};
};

/// How far apart the measurements of two neighbouring histograms can be, in units of M.
///
/// @exactness   add_remove exact. replace_one exact for up to kMaxQueryValues values (l2), or while
///              num_values^2 num_measurements <= 2^30 (l1); else it is the textbook bound. Squares
///              of l2 are rounded up by at most 2^-37 of the largest squared column.
/// @guarantee   never below the true value.
/// @checked-by  query_factorization_test "sensitivity is that of all neighbouring histograms"
struct QuerySensitivity {
  double add_remove;   ///< one record more or less: norm of the largest column
  double replace_one;  ///< one record of another value: largest distance of two columns
  /// Usual bound for replace_one: twice the norm of the largest column, here without rows that are
  /// alike in all columns.
  double textbook;
};

/// F = R M, kept as a product of factorizations of the factors of F.
struct QueryFactorization {
  struct Factor {
    IntegerMatrix encoder;  ///< M
    Matrix decoder;         ///< R: R M = F to rounding, about 1e-11 of the largest entry
    /// The decoder makes prefix sums, and answers are row j less row i - 1 of them for all i <= j.
    bool is_ranges = false;
  };
  std::vector<Factor> factors;

  /// Certified: the error of ANY factorization, with noise as large as its largest column in l2,
  /// and all the more in l1, is at least this. Mean: gamma_F / sqrt(num_queries), max: gamma_2.
  /// Strategies that are not optimal have the Schatten bound, ||F||_* / sqrt(num_queries
  /// num_values).
  /// @guarantee   never above it, rounding included; products: gamma_F and gamma_2 are
  ///              multiplicative, and so are the proofs.
  /// @checked-by  query_factorization_test "known optima", dense_optimum_test
  double lower_bound;
  /// The same for noise as large as the largest distance of two columns, where the number of
  /// records is public. Tight where this is optimal for replace_one; else 1.05 to 2 times below
  /// what is known.
  /// @checked-by  query_factorization_test "the bound for replace_one holds ..."
  double replace_one_lower_bound;
  /// Error of this factorization with noise as large as its largest column.
  double unit_error;
  Objective objective;

  /// Checks what sensitivities, measurements and noise rely on.
  /// @throws Error{invalid_argument} not 1 to 3 factors, sizes that do not fit, an entry of M
  ///         beyond 2^30 or columns whose l1 norms multiply to more than 2^60, an R that is not
  ///         finite.
  void require_sound() const;

  std::int64_t num_measurements() const;
  std::int64_t num_values() const;
  /// M and R as one matrix each.
  /// @throws Error{resource_exhausted} more than kMaxQueryEntries entries.
  IntegerMatrix encoder() const;
  Matrix decoder() const;
  /// Norms of the rows of R; for replace_one over the measurements that get noise.
  Vector row_norms(Neighbours neighbours = Neighbours::zero_out) const;
  /// Marks the measurements that tell the number of records and nothing else, their row of M being
  /// alike in all columns: with replace_one they are public, and get no noise.
  /// @exactness   exact.
  /// @checked-by  query_mechanism_test "what gets no noise is the same for all neighbours"
  std::vector<bool> public_measurements() const;
  QuerySensitivity l2_sensitivity() const;
  QuerySensitivity l1_sensitivity() const;

  /// M h.
  /// @exactness   exact.
  /// @throws Error{wrong_length}; Error{invalid_argument} a negative count; Error{unsupported} so
  ///         many records that integers could overflow.
  std::vector<std::int64_t> measure(std::span<const std::int64_t> histogram) const;
  /// R y.
  Vector decode(std::span<const double> measurements) const;
};

struct QueryFactorizerProgress {
  std::int64_t iterations;  ///< of the factor that is worked on
  double fraction;          ///< part of the way to the end, 0 to 1
};

/// The search, one iteration at a time, so that the caller can do something else in between.
/// @throws as factorize_queries, at the latest by the end.
class QueryFactorizer {
 public:
  QueryFactorizer(QueryWorkload workload, const QueryFactorizationOptions& options);
  ~QueryFactorizer();
  QueryFactorizer(QueryFactorizer&&) noexcept;
  QueryFactorizer& operator=(QueryFactorizer&&) noexcept;

  /// One iteration, or what ends a factor (about five). False when nothing is left to do.
  bool advance();
  QueryFactorizerProgress progress() const;
  const QueryWorkload& workload() const;
  /// Finishes the search, if it has not ended.
  QueryFactorization result();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// @cost    of every factor: a few products where columns or rows are orthogonal and for prefixes
///          (1 s at 1024 values, 9 s at 2048); else its optimum (find_dense_optimum) and up to
///          eight products (3 s at 512, 20 s at 1024). Laplace noise: up to thirteen
///          eigendecompositions more. replace_one: an eigendecomposition for each of 15 to 200
///          iterations (2 s at 256 values, 10 s at 512).
/// @throws Error{unsupported} Objective::max for more than 361 ranges, whose rows it needs; more
///         than three factors (combine small ones by to_matrix()), too many
///         queries for QueryStrategy::queries; as find_dense_optimum.
/// @source  Edmonds, Nikolov, Ullman, arXiv 1911.08339; Henzinger, Upadhyay, Upadhyay, arXiv
///          2211.05006 (Lemmas 1, 45, 48). Proofs: docs/math/queries.md.
[[nodiscard]] QueryFactorization factorize_queries(const QueryWorkload& workload,
                                                   const QueryFactorizationOptions& options = {});

/// ||F||_* / sqrt(num_queries num_values): a lower bound on the error of any factorization, for
/// both objectives.
/// @guarantee  never above it, rounding included.
double schatten_query_bound(const QueryWorkload& workload);

}  // namespace dpftrl
