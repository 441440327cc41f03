// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/strategy_info.hpp"

#include <Eigen/Core>
#include <algorithm>

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kPlanFunction = "plan";

}  // namespace

bool StrategyPlan::has(std::string_view name) const {
  return std::ranges::find(numbers, name, &PlanNumbers::name) != numbers.end();
}

double StrategyPlan::number(std::string_view name) const {
  const std::vector<double>& values = list(name);
  require_length(kPlanFunction, name, std::ssize(values), 1);
  return values.front();
}

Matrix StrategyPlan::columns(std::int64_t steps, std::int64_t most_bands) const {
  const std::vector<double>& columns = list("columns");
  const std::int64_t size = std::ssize(columns);
  if (size == 0 || size % steps != 0)
    fail_argument(kPlanFunction, "columns",
                  "as many numbers for each of " + to_text(steps) + " steps", to_text(size));
  const std::int64_t bands =
      require_count(kPlanFunction, "columns", "bands", size / steps, 1, most_bands);
  return Eigen::Map<const Matrix>(columns.data(), static_cast<Eigen::Index>(steps),
                                  static_cast<Eigen::Index>(bands));
}

const std::vector<double>& StrategyPlan::list(std::string_view name) const {
  const auto found = std::ranges::find(numbers, name, &PlanNumbers::name);
  if (found == numbers.end()) fail_argument(kPlanFunction, name, "a list of numbers", "nothing");
  return found->values;
}

StrategyPlan StrategyPlan::leading(std::int64_t steps, std::int64_t of_steps) const {
  StrategyPlan plan = *this;
  std::erase_if(plan.numbers, [](const PlanNumbers& list) {
    return list.name == kColumnDuals || list.name == kRowDuals;
  });
  for (PlanNumbers& list : plan.numbers) {
    const std::int64_t size = std::ssize(list.values);
    const std::int64_t kept = size > of_steps ? size / of_steps * steps : steps;
    list.values.resize(static_cast<std::size_t>(std::min(size, kept)));
  }
  return plan;
}

}  // namespace dpftrl
