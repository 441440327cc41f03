// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// The square root of the prefix sums with damped coefficients: C = (1 - (1-nu) x)^(-1/2), c_j =
/// f_j (1-nu)^j. nu = 0 is `square-root`; a small nu lowers the mean error and raises the max error
/// a little. C is defined by 1 - nu, rounded to a double.
/// @source  "nu-DP-FTRL": Choquette-Choo, Dvijotham, Pillutla, Ganesh, Steinke, Thakurta, arXiv
///          2310.06771.
inline constexpr std::string_view kNu = "nu";
/// Default nu: 0.75 / steps, close to the least mean error.
/// @param nu  0 <= nu < 1.
std::shared_ptr<const Strategy> nu_strategy(const ToeplitzRequest& request,
                                            std::optional<double> nu);

}  // namespace dpftrl
