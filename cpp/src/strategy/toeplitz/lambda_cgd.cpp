// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/lambda_cgd.hpp"

#include <algorithm>
#include <cmath>

#include "base/double_double.hpp"
#include "base/toeplitz_matrix.hpp"
#include "dpftrl/base/error.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

double require_lambda(double lambda) {
  if (!(lambda >= 0 && lambda < 1))
    fail_argument(LambdaCgdStrategy::kName, "lambda", "at least 0 and below 1", to_text(lambda));
  return lambda;
}

DoubleDouble product(const DoubleDouble& a, const DoubleDouble& b) {
  return add(multiply(a, b.high), a.high * b.low);
}

/// 1 + q + ... + q^(n-1), q = lambda^2, by doubling, so that nothing cancels near q = 1.
double geometric_sum(double lambda, std::int64_t n) {
  const DoubleDouble q = two_product(lambda, lambda);
  DoubleDouble sum, power{1, 0};  // for the leading bits of n read so far
  for (int bit = 62; bit >= 0; --bit) {
    sum = product(sum, add(power, 1));
    power = product(power, power);
    if ((n >> bit & 1) != 0) {
      sum = add(product(sum, q), 1);
      power = product(power, q);
    }
    if (power.high < 0x1p-400) power = {};
  }
  return sum.high;
}

std::vector<double> powers(double lambda, std::int64_t num_coefficients) {
  std::vector<double> coefficients;
  coefficients.reserve(static_cast<std::size_t>(num_coefficients));
  DoubleDouble power{1, 0};
  for (std::int64_t j = 0; j < num_coefficients; ++j) {
    coefficients.push_back(power.high);
    power = multiply(power, lambda);
    if (power.high < 0x1p-800) power = {};
  }
  return coefficients;
}

}  // namespace

LambdaCgdStrategy::LambdaCgdStrategy(std::int64_t steps, double lambda)
    : Strategy(Workload::prefix_sums(steps)), lambda_(require_lambda(lambda)) {
  if (steps <= ToeplitzStrategy::kMaxSteps) coefficients_ = powers(lambda, steps);
}

double LambdaCgdStrategy::column_norm_squared(std::int64_t step) const {
  require_step(step);
  return geometric_sum(lambda_, steps() - step);
}

double LambdaCgdStrategy::row_norm_squared(std::int64_t step) const {
  require_step(step);
  return 1 + static_cast<double>(step) * (1 - lambda_) * (1 - lambda_);
}

RowNorms LambdaCgdStrategy::row_norms() const {
  const double last = static_cast<double>(steps() - 1) * (1 - lambda_) * (1 - lambda_);
  return {1, 1 + last, 1 + last / 2};
}

Matrix LambdaCgdStrategy::encoder() const {
  (void)dense_size();
  return lower_triangular_toeplitz(coefficients_);
}

Matrix LambdaCgdStrategy::decoder() const {
  std::vector<double> decoder(static_cast<std::size_t>(dense_size()), 1 - lambda_);
  decoder[0] = 1;
  return lower_triangular_toeplitz(decoder);
}

double best_lambda(std::int64_t steps) {
  require_between("best_lambda", "steps", steps, 1, kMaxNumSteps);
  // Golden-section search in e = 1 - lambda for the squared max error, which falls and then rises.
  // The minimum lies at e <= 1.2 / sqrt(n) and is flat, so lambda is found to about half of its
  // digits.
  const auto error = [steps](double e) {
    return geometric_sum(1 - e, steps) * (1 + static_cast<double>(steps - 1) * e * e);
  };
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double low = 0, high = std::min(1.0, 2 / std::sqrt(static_cast<double>(steps)));
  for (int i = 0; i < 60; ++i) {
    const double left = high - golden * (high - low), right = low + golden * (high - low);
    if (error(left) <= error(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return 1 - (low + high) / 2;
}

std::shared_ptr<const Strategy> lambda_cgd_strategy(const ToeplitzRequest& request,
                                                    std::optional<double> lambda) {
  const Workload& workload = request.workload;
  const std::int64_t n = workload.steps();
  const double chosen = require_lambda(lambda ? *lambda : best_lambda(n));
  if (workload.is_prefix()) return std::make_shared<const LambdaCgdStrategy>(n, chosen);
  require_between(LambdaCgdStrategy::kName, "steps", n, 1, ToeplitzStrategy::kMaxSteps);
  std::vector<double> inverse(static_cast<std::size_t>(n));
  inverse[0] = 1;
  if (n > 1) inverse[1] = -chosen;
  return std::make_shared<const ToeplitzStrategy>(
      workload, ToeplitzStrategy::Parts{
                    .name = LambdaCgdStrategy::kName,
                    .encoder = powers(chosen, n),
                    .decoder = workload.apply(std::move(inverse)),
                    .form = form_for_workload(BandedInverseDecoder{{1, -chosen}}, workload),
                    .parameters = {{"lambda", {chosen}}}});
}

FamilyRow lambda_cgd_family() {
  return {.info = {.name = LambdaCgdStrategy::kName,
                   .summary = "each row of noise takes back part of the one before",
                   .step_cost = "O(1)",
                   .memory_cost = "2 vectors",
                   .parameters = "lambda",
                   .workloads = WorkloadSupport::decoded,
                   .max_steps = kMaxNumSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = [](const ToeplitzRequest& request, const StrategyParameters& parameters) {
            return lambda_cgd_strategy(request, parameters.lambda);
          }};
}

}  // namespace dpftrl
