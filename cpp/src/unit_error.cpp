// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/unit_error.hpp"

#include <cmath>

#include "dpftrl/error.hpp"
#include "dpftrl/sensitivity.hpp"

namespace dpftrl {

UnitError unit_error(const Strategy& strategy, const Participation& participation) {
  const Sensitivity distance = sensitivity(strategy, participation);
  const RowNorms rows = strategy.row_norms();
  return {distance, distance.value * std::sqrt(rows.max_squared),
          distance.value * std::sqrt(rows.mean_squared)};
}

std::vector<double> unit_error_per_step(const Strategy& strategy,
                                        const Participation& participation) {
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 26;
  if (strategy.num_steps() > kMaxSteps)
    fail(ErrorCode::unsupported, "unit_error_per_step: num_steps must be at most " +
                                     to_text(kMaxSteps) + ", got " + to_text(strategy.num_steps()));
  const double distance = sensitivity(strategy, participation).value;
  std::vector<double> errors(static_cast<std::size_t>(strategy.num_steps()));
  for (std::size_t t = 0; t < errors.size(); ++t)
    errors[t] = distance * std::sqrt(strategy.row_norm_squared(static_cast<std::int64_t>(t)));
  return errors;
}

}  // namespace dpftrl
