// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/nu.hpp"

#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {

std::shared_ptr<const Strategy> nu_strategy(const ToeplitzRequest& request,
                                            std::optional<double> nu) {
  const Workload& workload = request.workload;
  const std::int64_t n = workload.steps();
  require_between(kNu, "steps", n, 1, ToeplitzStrategy::kMaxSteps);
  const double chosen = nu.value_or(0.75 / static_cast<double>(n));
  if (!(chosen >= 0 && chosen < 1))
    fail_argument(kNu, "nu", "at least 0 and below 1", to_text(chosen));
  const double damping = 1 - chosen;
  std::vector<double> encoder = quadratic_root_coefficients({.alpha = damping}, n);
  std::vector<double> decoder =
      quadratic_root_coefficients({.alpha = damping, .inverse = true, .summed = true}, n);
  const double slack = slack_of_rounded_decoder(Workload::prefix_sums(n), encoder, decoder);
  DecoderForm form = form_for_workload(ToeplitzDecoder{.coefficients = decoder}, workload);
  if (!workload.is_prefix())
    decoder = workload.apply(quadratic_root_coefficients({.alpha = damping, .inverse = true}, n));
  return std::make_shared<const ToeplitzStrategy>(
      workload, ToeplitzStrategy::Parts{.name = kNu,
                                        .encoder = std::move(encoder),
                                        .decoder = std::move(decoder),
                                        .form = std::move(form),
                                        .encoder_slack = slack,
                                        .parameters = {{"nu", {chosen}}}});
}

FamilyRow nu_family() {
  return {.info = {.name = kNu,
                   .summary = "square root with damped coefficients",
                   .step_cost = "O(log n) by FFT, generated in advance",
                   .memory_cost = "n vectors",
                   .parameters = "nu",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = ToeplitzStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
            return nu_strategy(request, parameters.nu);
          }};
}

}  // namespace dpftrl
