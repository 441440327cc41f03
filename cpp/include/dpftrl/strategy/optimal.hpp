// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The certified optimum as a streaming strategy: a recursion with few buffers.
///
/// ```cpp
/// const auto strategy = dpftrl::optimal_strategy(
///     dpftrl::Workload::prefix_sums(100), /*buffers=*/4, dpftrl::Objective::mean,
///     dpftrl::Participation::single());
/// assert(std::abs(strategy->max_column_norm_squared() - 1) < 1e-9);
/// ```

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/optimal/optimum.hpp"
#include "dpftrl/strategy/strategy.hpp"
#include "dpftrl/strategy/strategy_info.hpp"

namespace dpftrl {

/// A recursion with few buffers whose coefficients change from step to step, with scaled columns.
///
///     C = [c0              ]    C_ij = c_i gains_i . (factors_{i-1} * ... * factors_j) for i > j,
///         [.  c1           ]    then column j divided by column_scales_j
///         [.  .  c2        ]
///
/// The coefficients are not trusted: the column norms, on which the sensitivity rests, and the
/// variances of the rows are recomputed from them and the scales. Coefficients from a wrong
/// recursion define another strategy, whose norms and variances are stated correctly.
///
/// @exactness   norms by a recursion over all steps; encoder_slack() bounds the effect of its
///              rounding
/// @checked-by  optimum_test "a wrong term of the Riccati recursion does not pass", "factorizes
///              with unit columns and its stated row norms", "long double recursions agree at a
///              long horizon"
class VaryingBufferedStrategy : public Strategy {
 public:
  struct Parts {
    std::string_view name;  ///< static storage
    std::shared_ptr<const VaryingBuffers> numbers;
    std::vector<double> column_scales = {};  ///< D, one per step, positive; empty: norms become 1
    std::vector<PlanNumbers> parameters = {};
  };
  /// @param workload  prefix sums, decay without momentum, rates without momentum.
  /// @throws Error{wrong_length} not one scale per step; Error{invalid_argument} a scale that is
  ///         not positive and finite; Error{unsupported} another workload, or numbers of both signs
  ///         that cancel to within rounding.
  VaryingBufferedStrategy(Workload workload, Parts parts);

  const VaryingBuffers& numbers() const { return *parts_.numbers; }
  const std::vector<double>& column_scales() const { return parts_.column_scales; }
  std::string_view name() const override { return parts_.name; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return max_column_norm_squared_; }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override;
  bool has_nonnegative_gram() const override { return is_nonnegative_; }
  double encoder_slack() const override { return encoder_slack_; }
  std::vector<PlanNumbers> parameters() const override { return parts_.parameters; }
  std::vector<double> epoch_norms_squared(std::int64_t separation) const override;
  std::vector<double> later_products(std::int64_t lag) const override;

  /// True for workloads whose row variances a recursion computes.
  static bool serves(const Workload& workload);

 private:
  [[noreturn]] void refuse_numbers() const;

  Parts parts_;
  std::vector<double> column_norms_squared_;
  std::vector<double> row_variances_;
  double max_column_norm_squared_;
  double encoder_slack_;
  bool is_nonnegative_;
  bool has_growing_factors_;
  mutable std::once_flag are_products_made_;
  mutable std::vector<double> largest_products_;  ///< of columns, computed on first use
};

/// The numbers that define an `optimal` strategy. Only + - * / and sqrt are applied to them, so a
/// saved plan gives the same bits everywhere.
struct OptimalPlan {
  Objective objective = Objective::max;
  double decay = 1;
  std::vector<double> column_weights;  ///< v, times the squared rates, if any; one per step
  std::vector<double> row_weights;     ///< u, one per step
  std::vector<double> shifts;          ///< of the rational inverse root, positive
  std::vector<double> weights;         ///< as many as shifts, positive
  double direct = 0;                   ///< its constant term, positive
};

struct OptimalPlanOptions {
  Objective objective = Objective::max;
  /// Buffers of the recursion; 0 means as many as full accuracy needs (30 to 60).
  std::int64_t buffers = 8;
  bool use_solver = true;  ///< false: weights in closed form, no certificate beyond the general one
  OptimumOptions solver = {};
};

struct OptimalPlanResult {
  OptimalPlan plan;
  SolverStatus status;
  std::int64_t iterations;
  double gap;          ///< of the certified optimum: upper bound / lower bound - 1
  double lower_bound;  ///< from the solver, on the error of every factorization; 0 without a solver
};

/// True for workloads whose optimum has a recursion: prefix sums, decay without momentum, positive
/// rates without momentum (mean objective). For other workloads, see is_densely_optimal.
bool has_optimum(const Workload& workload, Objective objective);

/// The problem in the form that the solver takes.
/// @throws Error{unsupported} a workload without a recursion, or rates that are not positive.
OptimumProblem optimum_problem(const Workload& workload, Objective objective);

/// Plan for the weights of a solver, or for closed-form weights if `optimum` is null.
OptimalPlan plan_for_weights(const OptimumProblem& problem, std::int64_t buffers,
                             const Optimum* optimum);

/// @param workload  prefix sums; momentum 0 with decay; rates without momentum (mean objective).
/// @throws Error{unsupported} any other workload, or rates with the max objective.
[[nodiscard]] OptimalPlanResult plan_optimal(const Workload& workload,
                                             const OptimalPlanOptions& options);

/// The certified optimum, streamed with a few buffers: a time-varying recursion whose encoder has
/// columns of norm 1, to rounding. The norms are recomputed from the stored numbers.
///
/// @source  docs/math/optimal.md; the optimum: Denisov et al., arXiv 2202.08312.
class OptimalStrategy final : public VaryingBufferedStrategy {
 public:
  static constexpr std::string_view kName = "optimal";
  /// Largest horizon of strategies made by name, because of the time and memory that the solver
  /// takes.
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 22;
  static constexpr std::int64_t kMaxBuffers = 64;
  /// The plan must have as many steps as the workload.
  /// @throws Error{invalid_argument, wrong_length} numbers out of range.
  OptimalStrategy(Workload workload, OptimalPlan plan);

  const OptimalPlan& plan() const { return plan_; }
  /// Bound that the weights of the plan prove as dual variables, whatever their origin. It is
  /// recomputed at every call, in O(steps) for each of about 30 nodes.
  OwnBound certified_lower_bound(Objective objective,
                                 const Participation& participation) const override;

 private:
  OptimalPlan plan_;
};

inline constexpr std::int64_t kDefaultPlanBuffers = 8;
/// Gap of the certificate of a strategy made by name, up to 2^17 steps or at full accuracy. The
/// error with the usual number of buffers differs from the optimum by more, and a smaller gap costs
/// a third more time.
inline constexpr double kPlanGap = 1e-7;

/// Makes the strategy of a given plan, which is for the workload if that has a recursion
/// (has_optimum), and else for prefix sums, which are decoded further.
std::shared_ptr<const Strategy> strategy_of_plan(const Workload& workload, OptimalPlan plan);

/// Largest horizon at which `optimal` for prefix sums and decay with the mean objective is the
/// optimum for up to 64 fixed epochs.
inline constexpr std::int64_t kMaxEpochSteps = kMaxDenseOptimumColumns;

/// True if `optimal` is the dense optimum for these arguments. If `buffers` is unset or 0,
/// workloads without a recursion (plan_optimal) use the dense optimum up to 2048 steps, and fixed
/// epochs use it up to 1024 steps, or up to kMaxEpochSteps for prefix sums and decay with the mean
/// objective. Beyond that, or with buffers, workloads without a recursion use the encoder for
/// prefix sums, and fixed epochs the encoder for one participation.
bool is_densely_optimal(const Workload& workload, std::optional<std::int64_t> buffers,
                        Objective objective, const Participation& participation);

/// Participation for which the dense optimum at this horizon is found: fixed epochs if a method is
/// known, else one participation.
Participation densely_optimised_for(const Workload& workload, Objective objective,
                                    const Participation& participation);

/// Participation, in words, that `optimal` is optimised for if it is not the requested one: "single
/// participation" with a number of buffers, for fixed epochs beyond their dense optimum, and for a
/// minimum separation. Empty for other mechanisms, for saved plans, and if it is the requested
/// participation.
std::string_view optimised_for(const StrategyOptions& options);

/// @throws Error{unsupported} full accuracy (0 buffers) for a workload without a recursion.
void require_recursion(const Workload& workload, std::optional<std::int64_t> buffers,
                       Objective objective);

/// Checks, before the search for a mechanism, that its errors can be computed. Those of `optimal`
/// for a workload without a recursion (has_optimum) take dense matrices. Accepts all other
/// mechanisms and all saved plans.
/// @throws Error{unsupported} a workload without a recursion beyond 2048 steps.
void require_known_errors(const StrategyOptions& options);

/// Makes a strategy of the family; 8 buffers by default, 0 for full accuracy.
///
/// @throws Error{unsupported} full accuracy for a workload without a recursion beyond 2048 steps.
/// @cost    a dense optimum: seconds at 256 steps, minutes at 1024; long epochs of prefix sums take
///          13 s of processor time at 16 epochs of 128 steps. A Planner does the same
///          incrementally, reports progress and can be cancelled.
std::shared_ptr<const Strategy> optimal_strategy(const Workload& workload,
                                                 std::optional<std::int64_t> buffers,
                                                 Objective objective,
                                                 const Participation& participation);

/// The encoder of optimal_strategy, with a decoder for the prefix sums.
/// @throws as optimal_strategy; Error{unsupported} a workload that has no encoder of its own.
std::shared_ptr<const Strategy> prefix_sums_of_optimum(const Workload& workload,
                                                       std::optional<std::int64_t> buffers,
                                                       Objective objective,
                                                       const Participation& participation);

}  // namespace dpftrl
