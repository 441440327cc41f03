// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/blt_scaled.hpp"

#include <cmath>
#include <string>

#include "dpftrl/base/error.hpp"
#include "dpftrl/strategy/optimal.hpp"
#include "optimal/realisation.hpp"
#include "strategy/family_row.hpp"
#include "strategy/toeplitz/filtered.hpp"

namespace dpftrl {
namespace {

/// Buffers as a recursion whose coefficients may change with t: w_t = z_t / lambda_t - gains . s, s
/// <- decays (s + w).
VaryingBuffers recursion(const ScaledBuffers& numbers) {
  const auto& [decays, weights] = numbers.buffers;
  const std::size_t n = numbers.row_scales.size(), d = decays.size();
  VaryingBuffers varying{.buffers = static_cast<std::int64_t>(d),
                         .inverse_scales = std::vector<double>(n),
                         .gains = std::vector<double>(n * d),
                         .factors = std::vector<double>(n * d),
                         .max_row_stddev = 0,
                         .max_state_stddev = 0};
  for (std::size_t t = 0; t < n; ++t) {
    varying.inverse_scales[t] = 1 / numbers.row_scales[t];
    for (std::size_t i = 0; i < d; ++i) {
      varying.gains[t * d + i] = weights[i] / decays[i];
      varying.factors[t * d + i] = decays[i];
    }
  }
  return detail::with_stddevs(std::move(varying));
}

void require_numbers(std::int64_t steps, const ScaledBuffers& numbers) {
  const auto& [decays, weights] = numbers.buffers;
  require_between(kBltScaled, "steps", steps, 1, kMaxScaledBltSteps);
  require_count(kBltScaled, "decays", "entries", std::ssize(decays), 1, kMaxGivenBuffers);
  require_length(kBltScaled, "weights", std::ssize(weights), std::ssize(decays));
  require_length(kBltScaled, "row_scales", std::ssize(numbers.row_scales), steps);
  for (std::size_t i = 0; i < decays.size(); ++i) {
    const std::string index = "[" + std::to_string(i) + "]";
    require_inside(kBltScaled, "decays" + index, decays[i], 0, 1);
    if (!(std::abs(weights[i]) <= kMaxBufferWeight * decays[i]))
      fail_argument(kBltScaled, "weights" + index, "at most 2^20 times its decay",
                    to_text(weights[i]));
  }
  for (const double scale : numbers.row_scales)
    if (!(scale >= 1 / kMaxBufferWeight && scale <= kMaxBufferWeight))
      fail_argument(kBltScaled, "row_scales", "between 2^-20 and 2^20", to_text(scale));
}

}  // namespace

ScaledBuffers scaled_buffers(const BltNormalizedOptimum& optimum, std::int64_t steps) {
  ScaledBuffers numbers{.buffers = {.decays = optimum.decays, .weights = optimum.weights},
                        .row_scales = {}};
  for (std::int64_t t = 0; t < steps; ++t)
    numbers.row_scales.push_back(row_scale(optimum.log_row_scales, steps, t));
  return numbers;
}

BltNormalizedProblem scaled_problem(std::int64_t steps, std::optional<std::int64_t> buffers,
                                    Objective objective) {
  require_between(kBltScaled, "steps", steps, 1, kMaxScaledBltSteps);
  return {.steps = steps,
          .objective = objective,
          .buffers = buffers.value_or(kDefaultScaledBuffers),
          .scale_rows = true};
}

ScaledBuffers scaled_buffers(const BltNormalizedProblem& problem) {
  return scaled_buffers(find_blt_normalized_optimum(problem), problem.steps);
}

std::shared_ptr<const Strategy> blt_scaled_strategy(const Workload& workload,
                                                    const ScaledBuffers& numbers) {
  require_numbers(workload.steps(), numbers);
  const auto for_workload = [&](const Workload& served) {
    const BufferParameters& buffers = numbers.buffers;
    return std::make_shared<const VaryingBufferedStrategy>(
        served, VaryingBufferedStrategy::Parts{
                    .name = kBltScaled,
                    .numbers = std::make_shared<const VaryingBuffers>(recursion(numbers)),
                    .parameters = {{"buffers", {static_cast<double>(buffers.decays.size())}},
                                   {"decays", buffers.decays},
                                   {"weights", buffers.weights}}});
  };
  if (VaryingBufferedStrategy::serves(workload)) return for_workload(workload);
  return decoded_strategy(for_workload(Workload::prefix_sums(workload.steps())), workload);
}

FamilyRow blt_scaled_family() {
  return {.info = {.name = kBltScaled,
                   .summary = "few buffers, rows scaled and columns of norm 1, optimised",
                   .step_cost = "O(buffers)",
                   .memory_cost = "buffers vectors",
                   .parameters = "buffers, objective",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = kMaxScaledBltSteps,
                   .is_causal = true},
          .makes = Makes::any,
          .make =
              [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
                return blt_scaled_strategy(
                    request.workload,
                    scaled_buffers(scaled_problem(request.workload.steps(), parameters.buffers,
                                                  objective_of(parameters))));
              },
          .plan_lists = {"decays", "weights", "row_scales"},
          .from_plan =
              [](const StrategyPlan& plan, const Workload& workload) {
                return blt_scaled_strategy(workload,
                                           {.buffers = {plan.list("decays"), plan.list("weights")},
                                            .row_scales = plan.list("row_scales")});
              }};
}

}  // namespace dpftrl
