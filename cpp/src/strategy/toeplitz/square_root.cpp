// SPDX-License-Identifier: Apache-2.0
#include "strategy/toeplitz/square_root.hpp"

#include "dpftrl/base/error.hpp"
#include "math/toeplitz.hpp"
#include "strategy/family_row.hpp"

namespace dpftrl {
namespace {

std::vector<double> checked_coefficients(std::int64_t steps) {
  require_between(SquareRootStrategy::kName, "steps", steps, 1, ToeplitzStrategy::kMaxSteps);
  return square_root_coefficients(steps);
}

std::vector<double> column_of_matrix(const Workload& workload) {
  std::vector<double> column;
  for (std::int64_t t = 0; t < workload.steps(); ++t) column.push_back(workload.entry(t, 0));
  return column;
}

/// Root of the matrix divided by its diagonal; the decoder contains the diagonal.
std::vector<double> matrix_root(const Workload& workload, bool inverse) {
  std::vector<double> series = column_of_matrix(workload);
  const double diagonal = series[0];
  for (double& entry : series) entry /= diagonal;
  const std::vector<double> root = square_root_of_series(series);
  return inverse ? reciprocal_series(root, workload.steps()) : root;
}

double norm_squared(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// Squared largest error of a root for a matrix, up to rounding; not finite if the root is not.
double squared_error(const std::vector<double>& column, const std::vector<double>& root) {
  const auto n = static_cast<std::int64_t>(column.size());
  return norm_squared(root) * norm_squared(multiply_series(column, reciprocal_series(root, n)));
}

/// Streams with as many bands as steps, which is affordable because matrices have a limited number
/// of steps.
std::shared_ptr<const Strategy> matrix_root_strategy(const ToeplitzRequest& request) {
  const std::int64_t n = request.designed_for.steps();
  std::vector<double> root = matrix_root(request.designed_for, false);
  std::vector<double> decoder = request.workload.apply(reciprocal_series(root, n));
  return std::make_shared<const ToeplitzStrategy>(
      request.workload,
      ToeplitzStrategy::Parts{
          .name = SquareRootStrategy::kName,
          .encoder = root,
          .decoder = std::move(decoder),
          .form = form_for_workload(BandedDecoder{.coefficients = root}, request.workload)});
}

}  // namespace

SquareRootStrategy::SquareRootStrategy(std::int64_t steps)
    : ToeplitzStrategy(Workload::prefix_sums(steps),
                       {.name = kName, .encoder = checked_coefficients(steps)}) {}

DecoderForm SquareRootStrategy::decoder_form() const {
  const std::span<const double> c = toeplitz_encoder();
  return ToeplitzDecoder{.coefficients = std::vector<double>(c.begin(), c.end())};
}

bool has_better_root(const Workload& workload) {
  if (!workload.has_toeplitz_matrix()) return false;
  const std::vector<double> column = column_of_matrix(workload);
  const double own = squared_error(column, matrix_root(workload, false));
  return own <= squared_error(column, square_root_coefficients(workload.steps()));
}

std::vector<double> workload_root_coefficients(const Workload& workload, const WorkloadRoot& root) {
  const std::int64_t n = workload.steps();
  if (workload.has_toeplitz_matrix()) return matrix_root(workload, root.inverse);
  if (workload.kind() == Workload::Kind::window)
    return window_root_coefficients(
        {.width = workload.window(), .inverse = root.inverse, .summed = root.summed}, n);
  return quadratic_root_coefficients({.alpha = workload.decay(),
                                      .beta = workload.momentum(),
                                      .inverse = root.inverse,
                                      .summed = root.summed},
                                     n);
}

std::shared_ptr<const Strategy> square_root_strategy(const ToeplitzRequest& request) {
  const Workload& target = request.designed_for;
  if (target.is_prefix()) {
    if (request.workload.is_prefix())
      return std::make_shared<const SquareRootStrategy>(target.steps());
  }
  if (target.has_toeplitz_matrix()) return matrix_root_strategy(request);
  require_between(SquareRootStrategy::kName, "steps", target.steps(), 1,
                  ToeplitzStrategy::kMaxSteps);
  const bool for_prefix_sums = request.workload.is_prefix();
  ToeplitzStrategy::Parts parts{.name = SquareRootStrategy::kName,
                                .encoder = workload_root_coefficients(target, {})};
  if (for_prefix_sums)
    parts.decoder = workload_root_coefficients(target, {.inverse = true, .summed = true});
  const std::vector<double>& decoder = for_prefix_sums ? parts.decoder : parts.encoder;
  parts.form = ToeplitzDecoder{.coefficients = decoder};
  parts.encoder_slack = slack_of_rounded_decoder(request.workload, parts.encoder, decoder);
  return std::make_shared<const ToeplitzStrategy>(request.workload, std::move(parts));
}

FamilyRow square_root_family() {
  return {.info = {.name = SquareRootStrategy::kName,
                   .summary = "B = C = square root of the workload",
                   .step_cost = "O(log n) by FFT, generated in advance",
                   .memory_cost = "n vectors",
                   .parameters = "",
                   .workloads = WorkloadSupport::adapted,
                   .max_steps = ToeplitzStrategy::kMaxSteps,
                   .is_causal = true},
          .makes = Makes::toeplitz,
          .make = [](const ToeplitzRequest& request, const StrategyParameters&) {
            return square_root_strategy(request);
          }};
}

}  // namespace dpftrl
