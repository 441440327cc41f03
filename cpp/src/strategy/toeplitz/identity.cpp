// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/identity.hpp"

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/workload.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {

double IndependentStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return 1;
}

double IndependentStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return static_cast<double>(step + 1);
}

RowNorms IndependentStrategy::row_norms() const {
  const double n = static_cast<double>(steps());
  return {1, n, (n + 1) / 2};
}

Matrix IndependentStrategy::encoder() const {
  return Matrix::Identity(dense_size(), dense_size());
}

Matrix IndependentStrategy::decoder() const {
  return Workload::prefix_sums(steps()).matrix();
}

std::shared_ptr<const Strategy> independent_strategy(const ToeplitzRequest& request) {
  const Workload& workload = request.workload;
  if (workload.is_prefix()) return std::make_shared<const IndependentStrategy>(workload.steps());
  require_between(IndependentStrategy::kName, "steps", workload.steps(), 1,
                  ToeplitzStrategy::kMaxSteps);
  std::vector<double> encoder(static_cast<std::size_t>(workload.steps()));
  encoder[0] = 1;
  return std::make_shared<const ToeplitzStrategy>(
      workload, ToeplitzStrategy::Parts{.name = IndependentStrategy::kName,
                                        .encoder = std::move(encoder),
                                        .decoder = workload.coefficients(),
                                        .form = form_for_workload(RunningSumDecoder{}, workload),
                                        .bands = 1});
}

FamilyRow independent_family() {
  return row_of_one_vector(IndependentStrategy::kName,
                           "noise on every record (input perturbation, C = I)",
                           [](const ToeplitzRequest& request, const StrategyParameters&) {
                             return independent_strategy(request);
                           });
}

FamilyRow plain_independent_family() {
  FamilyRow row = independent_family();
  row.make = [](const ToeplitzRequest& request, const StrategyParameters&) -> StrategyPointer {
    return std::make_shared<const IndependentStrategy>(request.workload.steps());
  };
  return row;
}

}  // namespace dpftrl
