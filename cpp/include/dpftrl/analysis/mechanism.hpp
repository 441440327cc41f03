// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Mechanisms: the only place that combines workload, strategy, participation and privacy target.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "honaker", .steps = 100, .target = {.epsilon = 1, .delta = 1e-6}});
/// const dpftrl::Certificate& certificate = mechanism->certificate();
/// assert(certificate.exactness == dpftrl::Exactness::exact);
/// assert(mechanism->release_stddev(/*step=*/99) > 0);
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/strategy/catalogue.hpp"

namespace dpftrl {

struct MechanismOptions {
  std::string strategy = "square-root";
  std::int64_t steps = 0;  ///< horizon: releases allowed, 1..kMaxNumSteps
  ApproximateDp target{};  ///< epsilon > 0, 0 < delta < 1
  double clip = 1;         ///< l2-norm to which each record is clipped, input units
  Neighbours neighbours = Neighbours::zero_out;
  Participation participation = Participation::single();
  std::optional<Workload> workload = {};          ///< default: prefix sums
  std::optional<Workload> encoder_workload = {};  ///< see StrategyOptions
  StrategyParameters parameters = {};
  /// For statistics, where neighbouring streams replace one user's records by others, perhaps at
  /// other steps: the sensitivity is moving_sensitivity, which requires records of norm at most
  /// clip / sqrt(2), no two of which have a negative inner product. `neighbours` must be zero_out,
  /// because `clip` is already the largest distance between two records.
  bool moving_records = false;
};

/// Options for pure differential privacy: discrete Laplace noise on the nodes of a tree, or on
/// every step (docs/math/pure.md).
struct PureOptions {
  std::int64_t steps = 0;  ///< horizon, 1..kMaxNumSteps
  double epsilon = 0;      ///< > 0
  double clip = 1;         ///< l1-norm to which each record is clipped, input units
  Neighbours neighbours = Neighbours::zero_out;
  Participation participation = Participation::single();
  /// Prefix sums (the default), by a tree; or a window of one step, whose releases are the steps
  /// themselves, each with noise of its own.
  std::optional<Workload> workload = {};
  /// Parameters of tree-k. If neither is given, those with the least RMS error; else arity 7, not
  /// subtractive, by default.
  std::optional<std::int64_t> arity = {};
  std::optional<bool> subtractive = {};
};

/// Several workloads of one stream, released together: docs/math/stacks.md.
struct StackOptions {
  std::vector<Workload> workloads;  ///< over `steps` steps
  /// Positive weights of the workloads' squared errors in the mean that is minimised. Default:
  /// equal.
  std::vector<double> weights = {};
};

/// Norm of a record, taken over all its entries.
enum class RecordNorm { l2, l1 };

/// Parameters that distinguish a strategy from others of the same name: its own and, if given,
/// "normalize_columns" and "complete_epochs". Long lists are left out; its plan has them.
std::vector<PlanNumbers> effective_parameters(const Strategy& strategy,
                                              const StrategyParameters& given);

/// Everything a privacy guarantee rests on, in one place.
struct Certificate {
  std::string strategy;
  std::string workload;
  std::string participation;
  std::int64_t max_participations;  ///< of a user; 1 for single participation
  std::int64_t separation;          ///< of participations: exact for fixed epochs, else the minimum
  /// Runs of active steps, for active people; `max_participations` and `separation` then describe
  /// changes, not the pattern.
  std::optional<ActivePattern> active = {};
  /// Present for active people without a horizon: the events of one person in this many consecutive
  /// steps are protected, not all of them.
  std::optional<std::int64_t> protected_steps = {};
  std::int64_t steps;
  Neighbours neighbours;
  double epsilon;
  double delta;         ///< 0 for pure DP
  double mu;            ///< Gaussian DP parameter; for pure DP, the one implied by epsilon
  double rho;           ///< zCDP parameter, mu^2 / 2; for pure DP, the one implied by epsilon
  double clip;          ///< input units
  double sensitivity;   ///< of C under the participation schema, in clip norms at distance 1
  Exactness exactness;  ///< of `sensitivity`
  std::string_view sensitivity_method;
  double noise_multiplier;  ///< noise_stddev / (sensitivity * clip * neighbour distance)
  double noise_stddev;      ///< std of each entry of Z, input units
  double max_error;         ///< sensitivity * max_t ||B_t||, unit noise multiplier
  double mean_error;        ///< sensitivity * ||B||_F / sqrt(steps)
  Objective objective;      ///< error that the mechanism minimises; max if it has no objective
  std::vector<PlanNumbers> parameters;  ///< of the strategy, including those that it chose
  /// Participation that the mechanism is optimised for, if it is not the requested one; else empty.
  std::string_view optimised_for = {};
  /// Norm in which `clip` and the sensitivity are measured.
  RecordNorm record_norm = RecordNorm::l2;
  /// True if replace-one neighbours replace records at the same steps only.
  bool fixed_times = false;
};

/// max |A - B C| over the first `steps` steps.
struct DecoderResidual {
  double value;
  std::int64_t steps;
};

/// Residual of a strategy made with these options for the leading block of the workload, of at most
/// 256 steps.
DecoderResidual decoder_residual(const StrategyOptions& options);
/// The same for a strategy made with these options, which is used itself if it is short enough.
DecoderResidual decoder_residual(const Strategy& strategy, const StrategyOptions& options);

/// Evidence of how good a mechanism is, and that its factors multiply to its workload. No privacy
/// guarantee rests on it.
struct Proof {
  /// Lower bound on the error that the mechanism minimises, for every factorization, at unit noise
  /// multiplier; see certified_lower_bound.
  std::optional<LowerBound> lower_bound;
  DecoderResidual residual;
};

class Mechanism {
 public:
  /// @throws Error{invalid_argument} an option out of range; the message names it.
  static std::shared_ptr<const Mechanism> make(const MechanismOptions& options);

  /// Makes the mechanism with the least max error for counts of active people, out of `offset-ar`,
  /// `square-root` and `optimal`. The last two can be better for a single run and, with a closed
  /// start, for windows of nearly half the horizon or more. The certificate states which one was
  /// chosen.
  ///
  /// @param options  `participation` must be active; `strategy` is ignored.
  /// @exactness      as the certificate states.
  /// @guarantee      releases of the counts, which are prefix sums of their changes, are mu-GDP for
  ///                 neighbours that leave out, or replace, all events of one person.
  /// @throws Error{invalid_argument} another participation; as make.
  /// @cost           strategies other than `offset-ar` are made only if that takes less than about
  ///                 a second.
  /// @source         docs/math/active.md
  /// @checked-by     active_sensitivity_test "the better encoder is chosen", active_people_test
  ///                 "the worst pattern is told apart as well as mu allows and no better"
  static std::shared_ptr<const Mechanism> make_active(const MechanismOptions& options);

  /// Makes a mechanism for several windows, which replace the window of the pattern. Each window
  /// has a mechanism and noise of its own. Records and releases have one number for each window.
  ///
  /// @param windows  at least one, at most kMaxStack.
  /// @exactness      an upper bound for several windows: the noise of each window is that of the
  ///                 window alone, times a common factor of at most sqrt(windows). The factor is
  ///                 smaller for `offset-ar` with zero_out, because no list of events is the worst
  ///                 for every window at once.
  /// @guarantee      releases of all windows together are mu-GDP, as above.
  /// @throws Error{invalid_argument} as above; a number of windows out of range; a clip other than
  ///         1.
  /// @source         docs/math/active.md, theorem 7
  /// @checked-by     joint_activity_test, active_stream_test "windows share one budget"
  static std::shared_ptr<const Mechanism> make_active(const MechanismOptions& options,
                                                      std::span<const std::int64_t> windows);

  /// Makes a mechanism for several windows without a horizon: `steps` of the options is ignored,
  /// and the stream ends after kEndlessSteps. Windows of 1, 7 and 30 steps only.
  ///
  /// @guarantee  releases are mu-GDP for neighbours that leave out the events of one person in any
  ///             365 consecutive steps and keep the person's other events. All events of a person
  ///             over several years together are protected less: docs/math/active.md.
  /// @throws Error{invalid_argument} another window, a cap on runs, replace-one neighbours, a
  ///         closed start, or a clip other than 1.
  /// @checked-by endless_ar_test
  static std::shared_ptr<const Mechanism> make_endless_active(
      const MechanismOptions& options, std::span<const std::int64_t> windows);
  static constexpr std::int64_t kEndlessSteps = std::int64_t{1} << 20;

  /// Makes a mechanism for pure differential privacy, for PrefixSum and the classes built on it.
  ///
  /// @guarantee  noise_stddev is at least that of Laplace noise of scale
  ///             sensitivity * clip * neighbour_distance / epsilon, where sensitivity is never
  ///             below the l1 sensitivity of the encoder. The releases are epsilon-DP, also for
  ///             adaptively chosen records.
  /// @throws Error{invalid_argument} an option out of range; the message names it.
  ///         Error{unsupported} another workload.
  /// @cost   10 ms if all arities up to 1023 are compared.
  /// @source docs/math/pure.md; Andersson, Pagh, Steiner, Torkamani, arXiv 2408.07021.
  /// @checked-by pure_mechanism_test, pure_sum_test
  static std::shared_ptr<const Mechanism> make_pure(const PureOptions& options);

  /// Makes a mechanism for several workloads A_i of one stream. They share an encoder C and one
  /// noisy measurement C x + z, of which every release is post-processing, B_i (C x + z) with
  /// B_i C = A_i, so one budget covers all of them. The encoder is
  ///
  ///     optimal             up to 2048 steps, the optimum of the stack (least weighted mean
  ///                         square)
  ///     families with encoders for Toeplitz workloads
  ///                         of those for prefix sums, for each Toeplitz workload, and for one
  ///                         Toeplitz matrix that represents the whole stack, the one with the
  ///                         least error over at most 2048 steps
  ///     all others          the encoder for prefix sums
  ///
  /// @param options  `workload` and `encoder_workload` must be unset, and the objective mean, if
  ///                 set.
  /// @guarantee      sensitivity and noise belong to C, so the guarantee covers all releases
  ///                 together.
  /// @throws Error{invalid_argument} no workload or more than kMaxStack, one with another horizon,
  ///         weights that are not positive, the max objective; Error{wrong_length} not one weight
  ///         per workload; as make.
  /// @cost           for the dense optimum, as `optimal` for a matrix; else the row norms of every
  ///                 workload for every encoder compared.
  /// @source         docs/math/stacks.md
  /// @checked-by     stack_test
  static std::shared_ptr<const Mechanism> make_stack(const MechanismOptions& options,
                                                     const StackOptions& stack);
  static constexpr std::int64_t kMaxStack = 64;

  /// Number of workloads that are released together: 1 except for a stack and for several windows
  /// of active people. Each has its own mechanism, `reader(index)`.
  std::int64_t num_readers() const {
    if (!parts_.empty()) return static_cast<std::int64_t>(parts_.size());
    return stack_ ? static_cast<std::int64_t>(stack_->strategies.size()) : 1;
  }
  /// True if each reader has its own noise and its own number in a record.
  bool has_parts() const { return !parts_.empty(); }
  /// The mechanism for one workload of a stack: the same encoder, noise and guarantee, with the
  /// errors of that workload; or the mechanism for one of several windows.
  /// @param index  0 .. num_readers() - 1.
  std::shared_ptr<const Mechanism> reader(std::int64_t index) const;
  /// Lower bound on the weighted RMS error of a stack for every encoder, at unit noise multiplier:
  /// the larger of the bound from the search and the bound from the individual workloads.
  /// @throws Error{unsupported} several windows of active people.
  /// @cost   as certified_lower_bound, for each workload.
  double stack_lower_bound() const;

  /// This mechanism with another clip norm, without a new search.
  /// @throws Error{invalid_argument} clip not positive.
  std::shared_ptr<const Mechanism> with_clip(double clip) const;

  /// For a stack, the strategy of its first workload; the others differ only in B.
  const Strategy& strategy() const { return *strategy_; }
  const Certificate& certificate() const { return certificate_; }
  /// Recomputed at every call; for a stack, the proof of its first workload.
  /// @cost  as certified_lower_bound, and a strategy of 256 steps with its dense factors.
  Proof proof() const;
  /// True for pure differential privacy: Laplace noise, and records clipped in l1-norm.
  bool is_pure() const { return certificate_.delta == 0; }
  /// Participation schema that the privacy guarantee is for.
  const Participation& participation() const { return options_.participation; }
  std::int64_t steps() const { return strategy_->steps(); }
  double clip() const { return certificate_.clip; }
  /// Std of each entry of Z, in input units.
  double noise_stddev() const { return certificate_.noise_stddev; }
  /// Std of each coordinate of the release at a step, in input units, before rounding to the grid.
  double release_stddev(std::int64_t step) const;

 private:
  /// Strategies and weights of a stack.
  struct Stacked {
    std::vector<std::shared_ptr<const Strategy>> strategies;  ///< of all workloads
    std::vector<double> weights;                              ///< their sum is 1
    double lower_bound;                                       ///< of the search, or 0
  };

  /// Certificate of a strategy with these errors.
  static Certificate claim(const MechanismOptions& options, const Strategy& strategy,
                           const UnitError& error);

  /// Joins mechanisms, each with noise of its own.
  /// @param joint_energy  bound on the sum, over the mechanisms, of the squared distance by which
  ///                      one person moves C G, divided by the squared sensitivity.
  static std::shared_ptr<const Mechanism> with_parts(
      std::vector<std::shared_ptr<const Mechanism>> parts, double joint_energy);

  Mechanism(std::shared_ptr<const Strategy> strategy, StrategyOptions options,
            Certificate certificate);
  std::shared_ptr<const Strategy> strategy_;
  StrategyOptions options_;  ///< options of `strategy_`
  Certificate certificate_;
  std::shared_ptr<const Stacked> stack_;                 ///< null for one workload
  std::vector<std::shared_ptr<const Mechanism>> parts_;  ///< of several windows
};

/// Levels that the errors of all steps of all workloads together do not exceed with probability
/// 1 - beta, at unit noise. There is one entry per workload, each with its own level.
///
/// The set of Z for which a workload stays within its level is convex and symmetric, so all levels
/// hold together with at least the product of their probabilities. Each of the k workloads gets
/// probability (1 - beta)^(1 / k).
///
/// @exactness  upper bounds, as simultaneous_error.
/// @guarantee  the values of all workloads hold together with probability at least 1 - beta; so do
///             the norms, and the Frobenius norms. `union_bound` refers to its workload alone.
/// @throws Error{unsupported} a mechanism without a delta, whose noise is not normal (use
///         PrefixSum::simultaneous_half_width), or several windows of active people; as
///         simultaneous_error.
/// @source     Royen, arXiv 1408.1028; docs/math/simultaneous.md.
/// @checked-by stack_test "all workloads keep to their levels together"
std::vector<SimultaneousError> simultaneous_errors(const Mechanism& mechanism,
                                                   const SimultaneousOptions& options);

}  // namespace dpftrl
