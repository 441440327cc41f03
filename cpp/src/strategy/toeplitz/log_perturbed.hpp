// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// Encoder with finite norm over an infinite horizon, so that noise need not be scaled for the
/// horizon in use. The error after t steps is O(log^(1+alpha) t):
///
///     C = (1-x)^(-1/2) L^(-1/2-alpha) (2 ln(L) / x)^delta,      L = -ln(1-x) / x,
///     B = (1-x)^(-1/2) L^( 1/2+alpha) (2 ln(L) / x)^-delta.
///
/// The norm approaches its limit so slowly that the limit is useless (for alpha = 0.01, its square
/// is 16.6 for delta = 0 and thousands for delta = 0.6). Here noise is scaled for a stated number
/// of steps, horizon_cap, and there are no releases beyond it: max_column_norm_squared() is the
/// squared norm at the cap for every horizon.
/// @source  Jacobsen, Fawaz, arXiv 2506.15018.
inline constexpr std::string_view kLogPerturbed = "log-perturbed";
inline constexpr std::int64_t kMaxLogPerturbedSteps = std::int64_t{1} << 20;

struct LogPerturbedOptions {
  std::optional<double> alpha = {};              ///< default 0.01; in (0, 1]
  std::optional<double> loglog_power = {};       ///< delta, default 0; in [0, 1]
  std::optional<std::int64_t> horizon_cap = {};  ///< default `steps`; `steps` .. 2^20
};
std::shared_ptr<const Strategy> log_perturbed_strategy(const ToeplitzRequest& request,
                                                       const LogPerturbedOptions& options);

}  // namespace dpftrl
