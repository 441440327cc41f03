// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpftrl/strategy/strategy.hpp"
#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// Input perturbation: C = I, B = A. Every record gets its own noise; row t is the sum of t + 1
/// normals.
class IndependentStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "independent";
  explicit IndependentStrategy(std::int64_t steps) : Strategy(Workload::prefix_sums(steps)) {}

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return 1; }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override { return RunningSumDecoder{}; }
  std::int64_t bands() const override { return 1; }
  bool has_nonnegative_gram() const override { return true; }
};

/// `independent` for any Toeplitz workload: B = A_workload.
std::shared_ptr<const Strategy> independent_strategy(const ToeplitzRequest& request);

}  // namespace dpftrl
