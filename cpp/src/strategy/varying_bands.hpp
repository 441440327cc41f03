// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/strategy/strategy.hpp"
#include "optimal/family_optimum.hpp"

namespace dpftrl {

/// Bands with free entries that minimise the error with columns of norm 1 (find_banded_optimum),
/// for prefix sums.
inline constexpr std::string_view kBanded = "banded";

/// Encoder with few bands of free entries, for prefix sums. n = 4, two bands:
///
///     C = [c00            ]
///         [c10 c11        ]
///         [.   c21 c22    ]
///         [.   .   c32 c33]
///
/// Squared column norms are sums of p = bands squares. A row of noise needs the last p - 1 rows of
/// C^-1 Z.
///
/// @exactness   column norms up to p rounding errors; row norms by a recursion, confirmed
///              to 2^-10 by a proven upper bound. Error bounds of the noise use that upper bound.
/// @checked-by  varying_bands_test "norms are those of the dense factors", catalogue_test
class VaryingBandedStrategy final : public Strategy {
 public:
  /// @param columns  row j: C_jj, C_{j+1,j}, ...; entries below the matrix are ignored.
  /// @throws Error{wrong_length} not one row per step; Error{invalid_argument} more than 2^16 steps
  ///         or 2^24 entries, an entry that is not finite, a diagonal that is not positive;
  ///         Error{unsupported} columns for which double precision proves no bound.
  VaryingBandedStrategy(std::string_view name, std::int64_t steps, const Matrix& columns);

  std::string_view name() const override { return name_; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return max_column_norm_squared_; }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  std::int64_t bands() const override { return numbers_->bands; }
  bool has_nonnegative_gram() const override { return is_nonnegative_; }
  std::vector<double> later_products(std::int64_t lag) const override;
  std::vector<PlanNumbers> parameters() const override {
    return {{"bands", {static_cast<double>(numbers_->bands)}}};
  }

 private:
  /// `bands` numbers per step i; number m is at least |X_ij| for all j >= i + m.
  std::vector<double> largest_products() const;

  std::string_view name_;  ///< static storage
  std::shared_ptr<const VaryingBands> numbers_;
  std::vector<double> column_norms_squared_;
  std::vector<double> row_norms_squared_;
  double max_column_norm_squared_;
  bool is_nonnegative_;
  mutable std::once_flag are_products_made_;
  mutable std::vector<double> largest_products_;  ///< computed on first use
};

/// The problem of the search, by default with 16 bands, or with the separation if that is less.
/// More bands than the separation are optimised for one participation, because there is no search
/// for overlapping columns of one user.
/// @throws Error{invalid_argument} steps or bands out of range.
BandedProblem banded_problem(std::int64_t steps, std::optional<std::int64_t> bands,
                             Objective objective, const Participation& participation);

/// "banded" from its columns: streamed with `bands` vectors for prefix sums, or as a dense strategy
/// for other workloads (up to 2048 steps).
/// @throws as VaryingBandedStrategy, DenseStrategy.
std::shared_ptr<const Strategy> banded_strategy(const Workload& workload, const Matrix& columns);

}  // namespace dpftrl
