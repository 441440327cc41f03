// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/analysis/unit_error.hpp"

#include <Eigen/Core>
#include <cmath>

#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"

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
  if (strategy.steps() > kMaxSteps)
    fail(ErrorCode::unsupported, "unit_error_per_step", "steps",
         "must be at most " + to_text(kMaxSteps), to_text(strategy.steps()));
  const double distance = sensitivity(strategy, participation).value;
  std::vector<double> errors(static_cast<std::size_t>(strategy.steps()));
  for (std::size_t t = 0; t < errors.size(); ++t)
    errors[t] = distance * std::sqrt(strategy.row_norm_squared(static_cast<std::int64_t>(t)));
  return errors;
}

std::vector<double> increment_variances(const Strategy& strategy) {
  const std::int64_t steps = strategy.steps();
  if (!strategy.workload().is_prefix())
    fail(ErrorCode::unsupported, "increment_variances", "strategy", "must be one for prefix sums",
         strategy.workload().name());
  std::vector<double> variances(static_cast<std::size_t>(steps));
  if (const std::span<const double> encoder = strategy.toeplitz_encoder(); !encoder.empty()) {
    std::size_t bands = encoder.size();
    while (bands > 1 && encoder[bands - 1] == 0) --bands;
    constexpr double kMostProducts = 0x1p26;
    const bool is_quick = static_cast<double>(bands) * static_cast<double>(steps) < kMostProducts;
    const std::span<const double> nonzero = encoder.first(bands);
    const std::vector<double> inverse =
        is_quick ? reciprocal_series(nonzero, steps) : reciprocal_series_by_fft(nonzero, steps);
    double sum = 0;
    for (std::size_t t = 0; t < variances.size(); ++t)
      variances[t] = sum += inverse[t] * inverse[t];
    return variances;
  }
  if (steps > kMaxDenseSteps)
    fail(ErrorCode::unsupported, "increment_variances", "steps",
         "must be at most " + to_text(kMaxDenseSteps) + " for an encoder that is not Toeplitz",
         to_text(steps));
  const Matrix rows = strategy.decoder();
  for (Eigen::Index t = 0; t < rows.rows(); ++t)
    variances[static_cast<std::size_t>(t)] =
        t == 0 ? rows.row(0).squaredNorm() : (rows.row(t) - rows.row(t - 1)).squaredNorm();
  return variances;
}

}  // namespace dpftrl
