// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dpftrl/strategy/strategy.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// Output perturbation: C = A, B = I. Every prefix sum gets independent noise. The first record
/// enters all of these sums, so the sensitivity is sqrt(steps).
class OutputStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "output";
  explicit OutputStrategy(std::int64_t steps);

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override;
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override { return {1, 1, 1}; }
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override { return IdentityDecoder{}; }
  /// Available up to ToeplitzStrategy::kMaxSteps steps; empty beyond.
  std::span<const double> toeplitz_encoder() const override { return coefficients_; }
  bool has_nonnegative_gram() const override { return true; }

 private:
  std::vector<double> coefficients_;
};

/// C = A, B = I for any Toeplitz workload. If `workload` is the prefix sums, so is C, regardless of
/// `designed_for`.
std::shared_ptr<const Strategy> output_strategy(const ToeplitzRequest& request);

}  // namespace dpftrl
