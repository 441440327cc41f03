// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/banded.hpp"

#include <algorithm>

#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"
#include "optimal/family_optimum.hpp"
#include "strategy/family_row.hpp"
#include "strategy/toeplitz/filtered.hpp"
#include "strategy/toeplitz/square_root.hpp"

namespace dpftrl {
namespace {

/// First `bands` coefficients of a root of the workload, at most one per step.
std::vector<double> leading_root(std::string_view name, const Workload& workload, bool inverse,
                                 std::optional<std::int64_t> bands) {
  require_between(name, "steps", workload.steps(), 1, ToeplitzStrategy::kMaxSteps);
  const std::int64_t diagonals =
      require_between(name, "bands", bands.value_or(kDefaultBands), 1, kMaxBands);
  return workload_root_coefficients(workload.leading(std::min(diagonals, workload.steps())),
                                    {.inverse = inverse});
}

std::vector<double> padded(std::vector<double> coefficients, std::int64_t size) {
  coefficients.resize(static_cast<std::size_t>(size));
  return coefficients;
}

std::shared_ptr<const Strategy> banded_strategy(std::string_view name, const Workload& workload,
                                                const std::vector<double>& bands) {
  const std::int64_t n = workload.steps();
  return std::make_shared<const ToeplitzStrategy>(
      workload,
      ToeplitzStrategy::Parts{
          .name = name,
          .encoder = padded(bands, n),
          .decoder = workload.apply(reciprocal_series(bands, n)),
          .form = form_for_workload(BandedDecoder{.coefficients = bands}, workload),
          .bands = std::ssize(bands),
          .parameters = {{"bands", {static_cast<double>(bands.size())}}, {"coefficients", bands}}});
}

}  // namespace

std::shared_ptr<const Strategy> banded_square_root_strategy(const ToeplitzRequest& request,
                                                            std::optional<std::int64_t> bands) {
  return banded_strategy(kBandedSquareRoot, request.workload,
                         leading_root(kBandedSquareRoot, request.designed_for, false, bands));
}

std::shared_ptr<const Strategy> banded_toeplitz_strategy(const ToeplitzRequest& request,
                                                         std::optional<std::int64_t> bands,
                                                         Objective objective) {
  const std::int64_t n = require_between(kBandedToeplitz, "steps", request.workload.steps(), 1,
                                         kMaxBandedToeplitzSteps);
  const std::int64_t diagonals =
      require_between(kBandedToeplitz, "bands", bands.value_or(kDefaultBands), 1, kMaxBands);
  const BandedToeplitzOptimum best =
      find_banded_toeplitz_optimum({.steps = n,
                                    .bands = std::min(diagonals, n),
                                    .objective = objective,
                                    .participation = request.participation});
  return banded_toeplitz_strategy(request, best.coefficients);
}

std::shared_ptr<const Strategy> banded_toeplitz_strategy(const ToeplitzRequest& request,
                                                         const std::vector<double>& coefficients) {
  const std::int64_t n = require_between(kBandedToeplitz, "steps", request.workload.steps(), 1,
                                         kMaxBandedToeplitzSteps);
  require_count(kBandedToeplitz, "coefficients", "entries", std::ssize(coefficients), 1,
                std::min(n, kMaxBands));
  require_all_finite(kBandedToeplitz, "coefficients", coefficients);
  require_positive(kBandedToeplitz, "coefficients[0]", coefficients[0]);
  return banded_strategy(kBandedToeplitz, request.workload, coefficients);
}

std::shared_ptr<const Strategy> banded_inverse_square_root_strategy(
    const ToeplitzRequest& request, std::optional<std::int64_t> bands) {
  const Workload& workload = request.workload;
  const std::int64_t n = workload.steps();
  const std::vector<double> coefficients =
      leading_root(kBandedInverseSquareRoot, request.designed_for, true, bands);
  return std::make_shared<const ToeplitzStrategy>(
      workload,
      ToeplitzStrategy::Parts{
          .name = kBandedInverseSquareRoot,
          .encoder = reciprocal_series(coefficients, n),
          .decoder = workload.apply(padded(coefficients, n)),
          .form = form_for_workload(BandedInverseDecoder{.coefficients = coefficients}, workload),
          .parameters = {{"bands", {static_cast<double>(coefficients.size())}},
                         {"coefficients", coefficients}}});
}

namespace {

FamilyRow row_of_bands(std::string_view name, std::string_view summary,
                       StrategyPointer (*make)(const ToeplitzRequest&, const StrategyParameters&)) {
  return {.info = {.name = name,
                   .summary = summary,
                   .step_cost = "O(bands)",
                   .memory_cost = "bands vectors",
                   .parameters = "bands",
                   .workloads = WorkloadSupport::adapted,
                   .max_steps = ToeplitzStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = make};
}

}  // namespace

FamilyRow banded_square_root_family() {
  return row_of_bands(kBandedSquareRoot, "C = the first bands of the square root",
                      [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
                        return banded_square_root_strategy(request, parameters.bands);
                      });
}

FamilyRow banded_inverse_square_root_family() {
  return row_of_bands(kBandedInverseSquareRoot,
                      "inverse of C = the first bands of the inverse square root",
                      [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
                        return banded_inverse_square_root_strategy(request, parameters.bands);
                      });
}

FamilyRow banded_toeplitz_family() {
  return {.info = {.name = kBandedToeplitz,
                   .summary = "C of few bands, optimised",
                   .step_cost = "O(bands)",
                   .memory_cost = "bands vectors",
                   .parameters = "bands, objective",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = ToeplitzStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make =
              [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
                return banded_toeplitz_strategy(request, parameters.bands,
                                                objective_of(parameters));
              },
          .plan_lists = {"coefficients"},
          .from_plan =
              [](const StrategyPlan& plan, const Workload& workload) {
                return decoded_toeplitz_strategy(workload, [&](const ToeplitzRequest& request) {
                  return banded_toeplitz_strategy(request, plan.list("coefficients"));
                });
              }};
}

}  // namespace dpftrl
