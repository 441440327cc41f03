// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Optimised strategies as numbers that can be kept, sent and made into strategies again.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/optimal/optimum.hpp"

namespace dpftrl {

/// A list of numbers of a plan, by the name of what they are.
struct PlanNumbers {
  std::string name;
  std::vector<double> values;
};

/// Lists of dual variables, which prove a lower bound.
inline constexpr std::string_view kColumnDuals = "column_duals";
inline constexpr std::string_view kRowDuals = "row_duals";

/// All that defines a strategy whose parameters were searched for. From these numbers on there is
/// only + - * / and sqrt, so that a plan gives the same noise, bit for bit, wherever it is used.
///
///     mechanism              lists, in this order
///     optimal                column_weights, row_weights (one number a step), shifts, weights (one
///                            a buffer), direct, decay (one number); or columns, where it was
///                            found with dense matrices (num_steps a step), alone or with what
///                            proves its lower bound: column_duals (one a step; k a step for k
///                            epochs), row_duals (max: one a step)
///     blt, blt-normalized    decays, weights (one a buffer)
///     blt-scaled             the same, row_scales (one a step)
///     banded-toeplitz        coefficients (one a band)
///     banded                 columns (one a band, of the first step, the second, ...)
///
/// @guarantee   The column norms of the strategy are computed from these very numbers: a plan that
///              was damaged or invented costs accuracy, never privacy. Bounds are proved again from
///              the dual variables, whatever they are: damaged ones prove less.
/// @checked-by  plan_test
struct StrategyPlan {
  Objective objective = Objective::max;  ///< what was minimised
  std::vector<PlanNumbers> numbers;

  /// The list of that name. @throws Error{invalid_argument} there is none.
  const std::vector<double>& list(std::string_view name) const;
  bool has(std::string_view name) const;
  /// The only number of a list. @throws Error{wrong_length} there are more.
  double number(std::string_view name) const;
  /// The columns of an encoder: as many numbers a step, at most `most_bands`.
  Matrix columns(std::int64_t num_steps, std::int64_t most_bands) const;
  /// For the leading block of matrices of `of_steps` steps: lists with several numbers a step keep
  /// those of the first steps, all others at most so many entries. Dual variables of dense matrices
  /// prove nothing there and are left out.
  [[nodiscard]] StrategyPlan leading(std::int64_t num_steps, std::int64_t of_steps) const;
};

}  // namespace dpftrl
