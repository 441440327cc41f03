// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One encoder for several workloads of one stream: docs/math/stacks.md. Internal to the core.

#include <span>
#include <vector>

#include "strategy/family_row.hpp"

namespace dpftrl {

/// Workloads A_i, and the weights of their squared errors.
struct Stack {
  std::vector<Workload> workloads;
  std::vector<double> weights;  ///< one a workload, positive; their sum is 1

  std::int64_t num_steps() const { return workloads.front().num_steps(); }
  Stack leading(std::int64_t num_steps) const;
};

/// The lower-triangular matrix A with A^T A = sum_i weights_i A_i^T A_i: every encoder has the root
/// mean square error for it that it has for the stack.
/// @throws Error{unsupported} more than kMaxDenseSteps steps, or a sum that is singular to
/// rounding.
Workload workload_of_stack(const Stack& stack);

/// The Toeplitz matrix of the first column of that: where A_i are Toeplitz matrices with a memory
/// short against the horizon, the outer factor of sum_i weights_i |a_i|^2.
Workload toeplitz_workload_of_stack(const Stack& stack);

/// Strategies of all workloads, whose decoders are A_i times one and the same matrix, so that their
/// encoder is one, too.
struct Readers {
  std::vector<StrategyPointer> strategies;
  Strategy::OwnBound lower_bound = {};  ///< on the mean error of every encoder for the stack
};

/// Is `optimal` the dense optimum of the stack for these options?
bool is_dense_optimum_of_stack(const StrategyOptions& options);

/// Readers of the encoder that the options name, made for `designed_for`; for the dense optimum,
/// for the stack itself.
///
/// @param options  `workload` and `encoder_workload` are not looked at.
/// @guarantee      B_i = A_i A^-1 B of the strategy for prefix sums, in real arithmetic, for the
///                 numbers that the forms store.
/// @throws         as make_strategy.
/// @checked-by     stack_test "decoders are the workloads times one matrix"
Readers readers_of(StrategyOptions options, const Stack& stack, const Workload& designed_for);

/// Workloads that the encoder of these options may be made for: prefix sums, those of the stack,
/// and what they have in common.
std::vector<Workload> designs_for(const StrategyOptions& options, const Stack& stack);

}  // namespace dpftrl
