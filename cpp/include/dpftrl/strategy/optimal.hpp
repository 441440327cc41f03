// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/strategy.hpp"

namespace dpftrl {

/// All that defines an `optimal` strategy: from these numbers on there is only + - * / and sqrt, so
/// a saved plan gives the same bits everywhere.
struct OptimalPlan {
  Objective objective = Objective::max;
  double decay = 1;
  std::vector<double> column_weights;  ///< v of the prefix sums, rates included; one a step
  std::vector<double> row_weights;     ///< u, one a step
  std::vector<double> shifts;          ///< of the rational inverse root, positive
  std::vector<double> weights;         ///< as many, positive
  double direct = 0;                   ///< its constant term, positive
  /// Certified lower bound on the error of every factorization, for the objective; 0: none.
  double lower_bound = 0;
};

struct OptimalPlanOptions {
  Objective objective = Objective::max;
  /// Buffers of the recursion; 0: as many as full accuracy takes (30 to 60).
  std::int64_t num_buffers = 8;
  bool use_solver = true;  ///< false: weights in closed form, no certificate beyond the general one
  OptimumOptions solver = {};
};

struct OptimalPlanResult {
  OptimalPlan plan;
  SolverStatus status;
  std::int64_t iterations;
  double gap;  ///< of the certified optimum: upper bound / lower bound - 1
};

/// @param workload  prefix sums; momentum 0 with decay; rates without momentum (mean objective).
/// @throws Error{unsupported} any other workload, or rates with the max objective.
[[nodiscard]] OptimalPlanResult plan_optimal(const Workload& workload,
                                             const OptimalPlanOptions& options);

/// The certified optimum, streamed with a few buffers: a time-varying recursion whose encoder has
/// columns of norm 1 (to rounding), recomputed from the numbers that are kept.
///
///     C = [c0              ]    rows: c_i gains_i . (factors_{i-1} * ... * factors_j), then every
///         [.  c1           ]    column divided by its norm
///         [.  .  c2        ]
///
/// @source  docs/math/optimal.md; the optimum: Denisov et al., arXiv 2202.08312.
class OptimalStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "optimal";
  /// Of those that are made by name: what the solver takes in time and memory sets it.
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 21;
  /// The plan must have as many steps as the workload.
  /// @throws Error{invalid_argument, wrong_length} numbers out of range.
  OptimalStrategy(Workload workload, OptimalPlan plan);

  const OptimalPlan& plan() const { return plan_; }
  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return num_steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return max_column_norm_squared_; }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  bool has_nonnegative_gram() const override { return is_nonnegative_; }

 private:
  OptimalPlan plan_;
  std::shared_ptr<const VaryingBuffers> buffers_;
  std::vector<double> column_norms_squared_;  ///< before normalisation
  std::vector<double> column_scales_;         ///< D: their square roots
  std::vector<double> row_variances_;
  double max_column_norm_squared_;
  bool is_nonnegative_;
};

/// The family; 8 buffers by default, 0 for full accuracy. Workloads for which there is no optimum
/// here (plan_optimal) get the encoder for prefix sums.
std::shared_ptr<const Strategy> optimal_strategy(const Workload& workload,
                                                 std::optional<std::int64_t> num_buffers,
                                                 Objective objective);

}  // namespace dpftrl
