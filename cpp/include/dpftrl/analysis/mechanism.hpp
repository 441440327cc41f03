// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The only place that couples workload, strategy, participation and privacy target.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .num_steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// const dpftrl::Certificate& certificate = mechanism->certificate();
/// assert(certificate.exactness == dpftrl::Exactness::exact);
/// assert(mechanism->release_stddev(/*step=*/99) > 0);
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/strategy/catalogue.hpp"

namespace dpftrl {

struct MechanismOptions {
  std::string strategy = "square-root";
  std::int64_t num_steps = 0;  ///< horizon: releases allowed, 1..kMaxNumSteps
  ApproximateDp target{};      ///< epsilon > 0, 0 < delta < 1
  double clip_norm = 1;        ///< l2-norm to which each record is clipped, input units
  Neighbours neighbours = Neighbours::zero_out;
  Participation participation = Participation::single();
  std::optional<Workload> workload = {};          ///< default: prefix sums
  std::optional<Workload> encoder_workload = {};  ///< see StrategyOptions
  StrategyParameters parameters = {};
};

/// A target without a delta: discrete Laplace noise on the nodes of a tree (docs/math/pure.md).
struct PureOptions {
  std::int64_t num_steps = 0;  ///< horizon, 1..kMaxNumSteps
  double epsilon = 0;          ///< > 0
  double clip_norm = 1;        ///< l1-norm to which each record is clipped, input units
  Neighbours neighbours = Neighbours::zero_out;
  Participation participation = Participation::single();
  /// Select the tree of tree-k; by default the one with the least root mean square error.
  std::optional<std::int64_t> arity = {};
  std::optional<bool> subtractive = {};
};

/// Several workloads of one stream, released together: docs/math/stacks.md.
struct StackOptions {
  std::vector<Workload> workloads;  ///< each of num_steps steps
  /// Weights of their squared errors in the mean that is minimised, one a workload, positive.
  /// Default: equal.
  std::vector<double> weights = {};
};

/// Norm of a record, over all its entries.
enum class RecordNorm { l2, l1 };

/// Parameters that identify a strategy among those of its name: its own and, if they were given,
/// "normalize_columns" and "complete_epochs". Long lists are in its plan.
std::vector<PlanNumbers> effective_parameters(const Strategy& strategy,
                                              const StrategyParameters& given);

/// Everything a privacy claim rests on, in one place.
struct Certificate {
  std::string strategy;
  std::string workload;
  std::string participation;
  std::int64_t max_participations;  ///< of a user; 1: one participation
  std::int64_t separation;          ///< of participations: for epochs exactly, else at least
  std::int64_t num_steps;
  Neighbours neighbours;
  double epsilon;
  double delta;         ///< 0: pure
  double mu;            ///< Gaussian DP parameter; pure: what epsilon implies
  double rho;           ///< zCDP parameter, mu^2 / 2; pure: what epsilon implies
  double clip_norm;     ///< input units
  double sensitivity;   ///< of C under the participation schema, in clip norms at distance 1
  Exactness exactness;  ///< of `sensitivity`
  std::string_view sensitivity_method;
  double noise_multiplier;  ///< noise_stddev / (sensitivity * clip_norm * neighbour distance)
  double noise_stddev;      ///< std of each entry of Z, input units
  double max_error;         ///< sensitivity * max_t ||B_t||, unit noise multiplier
  double mean_error;        ///< sensitivity * ||B||_F / sqrt(num_steps)
  Objective objective;      ///< the error that the mechanism is made for; max where it has none
  std::vector<PlanNumbers> parameters;  ///< of the strategy, including those chosen for it
  std::string_view optimised_for = {};  ///< the participation, if it is another one; else empty
  /// Measures clip_norm and sensitivity.
  RecordNorm record_norm = RecordNorm::l2;
};

/// max |A - B C| over some leading steps.
struct DecoderResidual {
  double value;
  std::int64_t num_steps;
};

/// Residual of the dense strategy with the same parameters, for the leading block of the workload.
DecoderResidual decoder_residual(const StrategyOptions& options);
/// The same for callers that have the strategy with these options: short ones are not made again.
DecoderResidual decoder_residual(const Strategy& strategy, const StrategyOptions& options);

/// How good a mechanism is, and that its factors belong together: no privacy claim rests on it.
struct Proof {
  /// Lower bound on the error of its objective, for every factorization, at unit noise multiplier;
  /// see certified_lower_bound.
  std::optional<LowerBound> lower_bound;
  DecoderResidual residual;
};

class Mechanism {
 public:
  /// @throws Error{invalid_argument} any option out of range, the message names it.
  static std::shared_ptr<const Mechanism> make(const MechanismOptions& options);

  /// A mechanism without a delta, for PrefixSum and what is built on it.
  ///
  /// @guarantee  noise_stddev is that of Laplace noise of scale sensitivity * clip_norm *
  ///             neighbour_distance / epsilon, sensitivity never below the l1 sensitivity of the
  ///             tree: epsilon-DP, for records chosen in the light of releases, too.
  /// @throws Error{invalid_argument} any option out of range, the message names it.
  /// @cost   without an arity 10 ms, for the search among all arities up to 1023.
  /// @source docs/math/pure.md; Andersson, Pagh, Steiner, Torkamani, arXiv 2408.07021.
  /// @checked-by pure_mechanism_test, pure_sum_test
  static std::shared_ptr<const Mechanism> make_pure(const PureOptions& options);

  /// A mechanism for several workloads A_i of one stream: one encoder C and one noise C x + z, of
  /// which every release is post-processing, A_i C^-1 (C x + z). One budget covers all of them.
  ///
  ///     optimal             up to 2048 steps the optimum of the stack: least weighted mean square
  ///     families that have encoders for Toeplitz workloads
  ///                         the best of those for prefix sums, for each workload, and for what
  ///                         they have in common, by the errors of up to 2048 steps
  ///     others              the encoder for prefix sums
  ///
  /// @param options  `workload` and `encoder_workload` are not given; objective mean, if any.
  /// @guarantee      sensitivity and noise are those of C: that of all releases together.
  /// @throws Error{invalid_argument} no workload or more than kMaxStack, one of another horizon,
  ///         weights that are not positive or not as many, the max objective; as make.
  /// @cost           the dense optimum that of `optimal` for a matrix; else one of row norms a
  ///                 workload.
  /// @source         docs/math/stacks.md
  /// @checked-by     stack_test
  static std::shared_ptr<const Mechanism> make_stack(const MechanismOptions& options,
                                                     const StackOptions& stack);
  static constexpr std::int64_t kMaxStack = 64;

  /// Workloads that are released together; 1 but for a stack.
  std::int64_t num_readers() const {
    return stack_ ? static_cast<std::int64_t>(stack_->strategies.size()) : 1;
  }
  /// The mechanism of a stack as one for a workload by itself: the same encoder, noise and claim,
  /// errors of its own.
  /// @param index  0 .. num_readers() - 1.
  std::shared_ptr<const Mechanism> reader(std::int64_t index) const;
  /// Lower bound on the weighted root mean square error of a stack for every encoder, at unit noise
  /// multiplier: that of the search, or of each workload by itself, whichever is more.
  /// @cost  that of certified_lower_bound for each workload.
  double stack_lower_bound() const;

  /// The same for records of another norm; nothing is searched for again.
  /// @throws Error{invalid_argument} clip_norm not positive.
  std::shared_ptr<const Mechanism> with_clip_norm(double clip_norm) const;

  /// For a stack, that of its first workload: the others differ in B alone.
  const Strategy& strategy() const { return *strategy_; }
  const Certificate& certificate() const { return certificate_; }
  /// Found anew at every call; for one workload.
  /// @cost  that of certified_lower_bound, and of a strategy of 256 steps with its dense factors.
  Proof proof() const;
  /// No delta: Laplace noise, and records clipped in l1-norm.
  bool is_pure() const { return certificate_.delta == 0; }
  /// Whose contributions the noise hides.
  const Participation& participation() const { return options_.participation; }
  std::int64_t num_steps() const { return strategy_->num_steps(); }
  double clip_norm() const { return certificate_.clip_norm; }
  /// Std of each entry of Z, input units.
  double noise_stddev() const { return certificate_.noise_stddev; }
  /// Std of each coordinate of the release at a step, input units (before rounding to the grid).
  double release_stddev(std::int64_t step) const;

 private:
  /// Strategies and weights of a stack, which has them beside its first one.
  struct Stacked {
    std::vector<std::shared_ptr<const Strategy>> strategies;  ///< of all workloads
    std::vector<double> weights;                              ///< their sum is 1
    double lower_bound;                                       ///< of the search, or 0
  };

  /// The claim of a strategy with such errors.
  static Certificate claim(const MechanismOptions& options, const Strategy& strategy,
                           const UnitError& error);

  Mechanism(std::shared_ptr<const Strategy> strategy, StrategyOptions options,
            Certificate certificate);
  std::shared_ptr<const Strategy> strategy_;
  StrategyOptions options_;  // that `strategy_` was made with
  Certificate certificate_;
  std::shared_ptr<const Stacked> stack_;  ///< null for one workload
};

/// Errors that all steps of all workloads keep to together with probability 1 - beta, unit noise:
/// one entry a workload, each with a level of its own.
///
/// The sets of Z in which a workload keeps to its level are convex and symmetric, so that all of
/// them hold with at least the product of their probabilities. Each of k has (1 - beta)^(1 / k).
///
/// @exactness  upper bounds, as simultaneous_error.
/// @guarantee  the values of all workloads hold together with probability at least 1 - beta, and so
///             do the norms, and the Frobenius norms. `union_bound` is that of a workload by
///             itself.
/// @throws Error{unsupported} a mechanism without a delta, whose noise is not normal:
///         PrefixSum::simultaneous_half_width; as simultaneous_error.
/// @source     Royen, arXiv 1408.1028; docs/math/simultaneous.md.
/// @checked-by stack_test "all workloads keep to their levels together"
std::vector<SimultaneousError> simultaneous_errors(const Mechanism& mechanism,
                                                   const SimultaneousOptions& options);

}  // namespace dpftrl
