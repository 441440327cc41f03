// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// Banded strategies keep only a few past rows, 15 or 16 by default. For single participation, the
/// error grows like sqrt(n / bands). They pay off with repeated participation, where as many bands
/// as the separation is a good choice.
inline constexpr std::int64_t kDefaultBands = 16;
inline constexpr std::int64_t kMaxBands = 4096;

/// BSR: C = the first `bands` coefficients of the square root of the workload.
/// @source  Kalinin, Lampert, arXiv 2405.13763.
inline constexpr std::string_view kBandedSquareRoot = "banded-square-root";
std::shared_ptr<const Strategy> banded_square_root_strategy(const ToeplitzRequest& request,
                                                            std::optional<std::int64_t> bands);

/// BISR: C^-1 = the first `bands` coefficients of the inverse of that square root.
/// @source  Kalinin, McKenna, Upadhyay, Lampert, arXiv 2505.12128.
inline constexpr std::string_view kBandedInverseSquareRoot = "banded-inverse-square-root";
std::shared_ptr<const Strategy> banded_inverse_square_root_strategy(
    const ToeplitzRequest& request, std::optional<std::int64_t> bands);

/// The bands that minimise the error for prefix sums (find_banded_toeplitz_optimum).
inline constexpr std::string_view kBandedToeplitz = "banded-toeplitz";
std::shared_ptr<const Strategy> banded_toeplitz_strategy(const ToeplitzRequest& request,
                                                         std::optional<std::int64_t> bands,
                                                         Objective objective);
/// `banded_toeplitz_strategy` with given coefficients: 1 .. min(steps, kMaxBands) of them, finite,
/// the first positive.
std::shared_ptr<const Strategy> banded_toeplitz_strategy(const ToeplitzRequest& request,
                                                         const std::vector<double>& coefficients);

}  // namespace dpftrl
