// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string_view>
#include <vector>

#include "dpftrl/optimal/dense_optimum.hpp"
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
/// Each row of noise is a sum over all past rows: O(n) time per step, n vectors of memory.
///
/// @guarantee   encoder_slack() bounds the distance of C from the exact encoder of the stored B. It
///              is computed from the residuals A - B C and I - G B, G = C A^-1, and includes their
///              rounding.
/// @checked-by  dense_test "the slack covers the encoder of the stored decoder"
class DenseStrategy final : public Strategy {
 public:
  static constexpr std::int64_t kMaxSteps = kMaxDenseOptimumColumns;

  /// Lower bound on the least error, from the search that found the encoder: either its value, or
  /// dual variables from which every call proves it again.
  struct Bound {
    Objective objective;
    Participation participation;
    DenseLowerBounds value = {};
    DenseDuals duals = {};  ///< used if the value is 0
  };
  struct Parts {
    std::string_view name;  ///< static storage
    Matrix encoder;         ///< C, lower triangular, positive diagonal
    std::int64_t bands = 0;
    std::optional<Bound> lower_bound = {};
  };
  /// @throws Error{wrong_length} an encoder of another size; Error{invalid_argument} an encoder
  ///         that is not finite, not lower triangular or has a diagonal entry that is not positive,
  ///         or more than kMaxSteps steps; Error{unsupported} a workload or encoder too close to
  ///         singular for double precision.
  DenseStrategy(Workload workload, Parts parts);

  std::string_view name() const override { return parts_.name; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return column_norms_squared_.maxCoeff(); }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override { return parts_.encoder; }
  Matrix decoder() const override { return decoder_->matrix(); }
  /// Running sums filtered by B as the workload, a form that fits any lower-triangular B.
  DecoderForm decoder_form() const override;
  std::int64_t bands() const override { return parts_.bands; }
  std::vector<PlanNumbers> parameters() const override;
  std::optional<StreamCost> stream_cost() const override { return {{"O(n)", "n vectors"}}; }
  bool has_nonnegative_gram() const override { return is_nonnegative_; }
  double encoder_slack() const override { return encoder_slack_; }
  /// Known for the long epochs that the encoder was made for, in O(n^2 k); else empty.
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

/// Lower-triangular matrix with positive diagonal that has the Gram matrix of C. It is causal and
/// has the same noise and sensitivity.
/// @throws Error{unsupported} C^T C is not positive definite to rounding.
Matrix lower_triangular_encoder(const Matrix& encoder);

struct DenseOptimalOptions {
  Objective objective = Objective::max;
  /// Single participation or fixed epochs; every other pattern is treated as single participation.
  Participation participation = Participation::single();
  /// Default 1e-4. The mean objective uses at most 5e-7, because its gap shrinks fast.
  std::optional<double> gap = std::nullopt;
  /// Default 60, or 100 with epochs.
  std::optional<std::int64_t> max_iterations = std::nullopt;
};

/// Input of find_dense_optimum for a dense strategy.
struct DenseSearch {
  DenseOptimumProblem problem;
  OptimumOptions solver;
};
/// Prepares a search, which for one participation starts from the result of find_optimum if that
/// supports the workload.
/// @throws Error{invalid_argument} more than DenseStrategy::kMaxSteps steps.
DenseSearch dense_search(const Workload& workload, const DenseOptimalOptions& options);

/// Result of a search as a lower-triangular encoder of sensitivity 1.
Matrix optimal_encoder(const DenseOptimumProblem& problem, const DenseOptimum& optimum);

/// `optimal_encoder` for fixed epochs that are too long for find_dense_optimum.
/// @param options  with a participation for which has_long_epochs is true.
EpochSearch epoch_search(const Workload& workload, const DenseOptimalOptions& options);
Matrix optimal_encoder(const EpochOptimumProblem& problem, const EpochOptimum& optimum);

/// True for fixed epochs that only find_epoch_optimum supports: the RMS error of prefix sums and
/// decay, for more than kMaxFixedEpochOptimumSteps and at most kMaxEpochSteps steps. False for the
/// largest error, where that search can fail.
bool has_long_epochs(const Workload& workload, Objective objective,
                     const Participation& participation);

/// The result of find_dense_optimum as a strategy called "optimal": any workload up to 2048 steps
/// and fixed epochs up to 1024. Uses find_epoch_optimum if has_long_epochs is true.
///
/// The sensitivity is 1. For the mean objective and one participation, the loss is of second order
/// in the gap at which the solver stopped, because every user's columns are scaled to sensitivity
/// 1; otherwise it is at most that gap.
std::shared_ptr<const Strategy> dense_optimal_strategy(const Workload& workload,
                                                       const DenseOptimalOptions& options);

/// Dense strategy from columns in the layout of find_banded_optimum: row j holds C_jj, C_{j+1,j},
/// ...; entries below the matrix are ignored.
/// @param name  static storage
/// @throws Error{invalid_argument} as DenseStrategy
std::shared_ptr<const Strategy> strategy_of_columns(
    std::string_view name, const Workload& workload, const Matrix& columns,
    std::optional<DenseStrategy::Bound> lower_bound = {});
/// The inverse of strategy_of_columns: all columns of a lower-triangular matrix in the same layout,
/// with 0 below the matrix.
Matrix columns_of(const Matrix& encoder);

}  // namespace dpftrl
