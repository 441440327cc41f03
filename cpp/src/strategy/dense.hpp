// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/strategy/strategy.hpp"

namespace dpftrl {

struct EpochOptimum;
struct EpochOptimumProblem;
struct EpochSearch;

/// A strategy given by the entries of a lower-triangular encoder, for any workload. n = 3:
///
///     C = [c00        ]    B = A C^-1, lower triangular, stored as well
///         [c10 c11    ]
///         [c20 c21 c22]
///
/// Rows of noise are made as sums over the past: O(n) a step, n vectors of memory.
///
/// @guarantee   encoder_slack() bounds the distance of C from the encoder of the stored B, computed
///              from the residuals A - B C and I - G B, G = C A^-1, with their
///              rounding.
/// @checked-by  dense_test "the slack covers the encoder of the stored decoder"
class DenseStrategy final : public Strategy {
 public:
  static constexpr std::int64_t kMaxSteps = kMaxDenseOptimumColumns;

  /// Lower bound on the least error, from the search that found the encoder: its value, or the dual
  /// variables that prove it anew on every call.
  struct Bound {
    Objective objective;
    Participation participation;
    DenseLowerBounds value = {};
    DenseDuals duals = {};  ///< where the value is 0
  };
  struct Parts {
    std::string_view name;  ///< static storage
    Matrix encoder;         ///< C, lower triangular, positive diagonal
    std::int64_t num_bands = 0;
    std::optional<Bound> lower_bound = {};
  };
  /// @throws Error{invalid_argument} an encoder of another size, not lower triangular, with a
  ///         diagonal entry that is not positive, not finite; Error{unsupported} more than
  ///         kMaxSteps steps, or a decoder that rounding leaves unknown.
  DenseStrategy(Workload workload, Parts parts);

  std::string_view name() const override { return parts_.name; }
  std::int64_t num_measurements() const override { return num_steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return column_norms_squared_.maxCoeff(); }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override { return parts_.encoder; }
  Matrix decoder() const override { return decoder_->matrix(); }
  /// Running sums filtered by a workload that is B: the form for any lower-triangular B.
  DecoderForm decoder_form() const override;
  std::int64_t num_bands() const override { return parts_.num_bands; }
  std::vector<PlanNumbers> parameters() const override;
  std::optional<StreamCost> stream_cost() const override { return {{"O(n)", "n vectors"}}; }
  bool has_nonnegative_gram() const override { return is_nonnegative_; }
  double encoder_slack() const override { return encoder_slack_; }
  /// For long epochs that the encoder was made for, in O(n^2 k).
  std::vector<double> epoch_norms_squared(std::int64_t separation) const override;
  OwnBound certified_lower_bound(Objective objective,
                                 const Participation& participation) const override;

 private:
  Parts parts_;
  std::optional<Workload> decoder_;  ///< B
  Vector column_norms_squared_;
  Vector row_norms_squared_;
  double encoder_slack_;
  bool is_nonnegative_;
};

/// The lower-triangular matrix with positive diagonal and the Gram matrix of C: the same noise and
/// sensitivity, and causal.
/// @throws Error{unsupported} C^T C is not positive definite to rounding.
Matrix lower_triangular_encoder(const Matrix& encoder);

struct DenseOptimalOptions {
  Objective objective = Objective::max;
  /// Single or fixed epochs; any other is taken as single.
  Participation participation = Participation::single();
  /// Default 1e-4. The mean optimum is always found to 5e-7, as its gap shrinks fast.
  std::optional<double> gap = std::nullopt;
  /// Default 60, and 100 with epochs.
  std::optional<std::int64_t> max_iterations = std::nullopt;
};

/// Input of find_dense_optimum for such a strategy.
struct DenseSearch {
  DenseOptimumProblem problem;
  OptimumOptions solver;
};
/// Starts from the optimum of the solver in linear time, if it takes the workload.
/// @throws Error{invalid_argument} more than DenseStrategy::kMaxSteps steps.
DenseSearch dense_search(const Workload& workload, const DenseOptimalOptions& options);

/// Result of a search as an encoder of sensitivity 1, lower triangular.
Matrix optimal_encoder(const DenseOptimumProblem& problem, const DenseOptimum& optimum);

/// The same for epochs beyond find_dense_optimum.
/// @param options  its participation is one that has_long_epochs.
EpochSearch epoch_search(const Workload& workload, const DenseOptimalOptions& options);
Matrix optimal_encoder(const EpochOptimumProblem& problem, const EpochOptimum& optimum);

/// True for fixed epochs that only find_epoch_optimum takes: mean error of prefix sums and decay,
/// more than kMaxFixedEpochOptimumSteps and at most kMaxEpochSteps steps. For the largest error
/// that search can fail there.
bool has_long_epochs(const Workload& workload, Objective objective,
                     const Participation& participation);

/// find_dense_optimum as a strategy called "optimal": any workload up to 2048 steps, fixed epochs
/// up to 1024, or find_epoch_optimum where it has_long_epochs.
///
/// Sensitivity 1. For the mean objective and one participation the loss is of second order in the
/// gap where the solver stopped, as every user's columns are scaled to sensitivity 1; else it is at
/// most that gap.
std::shared_ptr<const Strategy> dense_optimal_strategy(const Workload& workload,
                                                       const DenseOptimalOptions& options);

/// A dense strategy from columns as find_banded_optimum gives them: row j holds C_jj, C_{j+1,j},
/// ...; entries below the matrix are ignored.
/// @param name  static storage
/// @throws Error{invalid_argument} as DenseStrategy
std::shared_ptr<const Strategy> strategy_of_columns(
    std::string_view name, const Workload& workload, const Matrix& columns,
    std::optional<DenseStrategy::Bound> lower_bound = {});
/// The other way round: all columns of a lower-triangular matrix, 0 below it.
Matrix columns_of(const Matrix& encoder);

}  // namespace dpftrl
