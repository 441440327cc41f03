// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// Each row of noise subtracts a fraction of the previous row: C^-1 = 1 - lambda x, c_j = lambda^j.
/// With counter-based noise, the previous row can be generated again instead of being kept. Closed
/// forms serve any horizon:
///
///     ||C_j||^2 = (1 - lambda^(2(n-j))) / (1 - lambda^2)      ||B_t||^2 = 1 + t (1 - lambda)^2
///
/// @source  "DP-lambda-CGD", arXiv 2601.22334.
class LambdaCgdStrategy final : public Strategy {
 public:
  static constexpr std::string_view kName = "lambda-cgd";
  /// @param lambda  0 <= lambda < 1.
  LambdaCgdStrategy(std::int64_t steps, double lambda);

  std::string_view name() const override { return kName; }
  std::int64_t num_measurements() const override { return steps(); }
  double column_norm_squared(std::int64_t step) const override;
  double max_column_norm_squared() const override { return column_norm_squared(0); }
  double row_norm_squared(std::int64_t step) const override;
  RowNorms row_norms() const override;
  Matrix encoder() const override;
  Matrix decoder() const override;
  DecoderForm decoder_form() const override { return BandedInverseDecoder{{1, -lambda_}}; }
  /// Available up to ToeplitzStrategy::kMaxSteps steps; empty beyond.
  std::span<const double> toeplitz_encoder() const override { return coefficients_; }
  bool has_nonnegative_gram() const override { return true; }
  std::vector<PlanNumbers> parameters() const override { return {{"lambda", {lambda_}}}; }

 private:
  double lambda_;
  std::vector<double> coefficients_;
};

/// Lambda of least max error for prefix sums, about 1 - 1/sqrt(steps), with the same bits on every
/// platform.
double best_lambda(std::int64_t steps);

/// Default lambda: best_lambda, for every workload.
std::shared_ptr<const Strategy> lambda_cgd_strategy(const ToeplitzRequest& request,
                                                    std::optional<double> lambda);

}  // namespace dpftrl
