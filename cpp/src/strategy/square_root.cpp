// SPDX-License-Identifier: Apache-2.0
#include "dpftrl/strategy/square_root.hpp"

#include "dpftrl/error.hpp"
#include "dpftrl/toeplitz.hpp"

namespace dpftrl {
namespace {

std::vector<double> checked_coefficients(std::int64_t num_steps) {
  require_between(SquareRootStrategy::kName, "num_steps", num_steps, 1,
                  ToeplitzStrategy::kMaxSteps);
  return square_root_coefficients(num_steps);
}

}  // namespace

SquareRootStrategy::SquareRootStrategy(std::int64_t num_steps)
    : ToeplitzStrategy(Workload::prefix_sums(num_steps),
                       {.name = kName, .encoder = checked_coefficients(num_steps)}) {}

DecoderForm SquareRootStrategy::decoder_form() const {
  const std::span<const double> c = toeplitz_encoder();
  return ToeplitzDecoder{.coefficients = std::vector<double>(c.begin(), c.end())};
}

std::vector<double> workload_root_coefficients(const Workload& workload, const WorkloadRoot& root) {
  const std::int64_t n = workload.num_steps();
  if (workload.kind() == Workload::Kind::window)
    return window_root_coefficients(
        {.width = workload.width(), .inverse = root.inverse, .summed = root.summed}, n);
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
      return std::make_shared<const SquareRootStrategy>(target.num_steps());
  }
  require_between(SquareRootStrategy::kName, "num_steps", target.num_steps(), 1,
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

}  // namespace dpftrl
