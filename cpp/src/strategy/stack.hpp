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
  std::vector<double> weights;  ///< one per workload, positive, with sum 1

  std::int64_t steps() const { return workloads.front().steps(); }
  Stack leading(std::int64_t steps) const;
};

/// The lower-triangular A with A^T A = sum_i weights_i A_i^T A_i. Every encoder has the same RMS
/// error for A as for the stack.
/// @throws Error{unsupported} more than kMaxDenseSteps steps, or a sum that is singular to
///         rounding.
Workload workload_of_stack(const Stack& stack);

/// Toeplitz matrix with the first column of workload_of_stack. If the A_i are Toeplitz matrices
/// whose memory is short compared with the horizon, it is the outer factor of sum_i weights_i
/// |a_i|^2.
Workload toeplitz_workload_of_stack(const Stack& stack);

/// Strategies of all workloads. Their decoders are A_i times the same matrix, so they share one
/// encoder.
struct Readers {
  std::vector<StrategyPointer> strategies;
  Strategy::OwnBound lower_bound = {};  ///< bound on the mean error of every encoder for the stack
};

/// True if these options select the dense optimum of the stack.
bool is_dense_optimum_of_stack(const StrategyOptions& options);

/// Readers of the encoder that the options name, made for `designed_for`, or for the stack itself
/// if it is the dense optimum.
///
/// @param options  `workload` and `encoder_workload` are ignored.
/// @guarantee      in real arithmetic, for the numbers that the forms store, B_i = A_i A^-1 B with
///                 the A and B of the strategy for prefix sums.
/// @throws         as make_strategy.
/// @checked-by     stack_test "decoders are the workloads times one matrix"
Readers readers_of(StrategyOptions options, const Stack& stack, const Workload& designed_for);

/// Workloads that the encoder of these options may be made for: prefix sums and, for families with
/// Toeplitz encoders, the Toeplitz workloads of the stack and toeplitz_workload_of_stack.
std::vector<Workload> designs_for(const StrategyOptions& options, const Stack& stack);

}  // namespace dpftrl
