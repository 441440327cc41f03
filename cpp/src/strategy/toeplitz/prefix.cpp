// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/prefix.hpp"

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/workload.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {

OutputStrategy::OutputStrategy(std::int64_t steps) : Strategy(Workload::prefix_sums(steps)) {
  if (steps <= ToeplitzStrategy::kMaxSteps) coefficients_ = workload().coefficients();
}

double OutputStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return static_cast<double>(steps() - step);
}

double OutputStrategy::max_column_norm_squared() const {
  return static_cast<double>(steps());
}

double OutputStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return 1;
}

Matrix OutputStrategy::encoder() const {
  return Workload::prefix_sums(steps()).matrix();
}

Matrix OutputStrategy::decoder() const {
  return Matrix::Identity(dense_size(), dense_size());
}

std::shared_ptr<const Strategy> output_strategy(const ToeplitzRequest& request) {
  const Workload& workload = request.workload;
  if (workload.is_prefix()) return std::make_shared<const OutputStrategy>(workload.steps());
  require_between(OutputStrategy::kName, "steps", workload.steps(), 1, ToeplitzStrategy::kMaxSteps);
  std::vector<double> decoder(static_cast<std::size_t>(workload.steps()));
  decoder[0] = 1;
  return std::make_shared<const ToeplitzStrategy>(
      workload, ToeplitzStrategy::Parts{.name = OutputStrategy::kName,
                                        .encoder = workload.coefficients(),
                                        .decoder = std::move(decoder),
                                        .form = IdentityDecoder{}});
}

FamilyRow output_family() {
  return row_of_one_vector(OutputStrategy::kName,
                           "independent noise on every total (output perturbation, C = A)",
                           [](const ToeplitzRequest& request, const StrategyParameters&) {
                             return output_strategy(request);
                           });
}

}  // namespace dpftrl
