// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strategy/toeplitz/toeplitz_base.hpp"

namespace dpftrl {

/// B = C = the lower-triangular Toeplitz matrix of (1-x)^(-1/2), so B C = A (Bennett 1977;
/// Fichtenberger, Henzinger, Upadhyay 2022, arXiv 2202.11205). Best of all Toeplitz factorizations
/// in max error.
class SquareRootStrategy final : public ToeplitzStrategy {
 public:
  static constexpr std::string_view kName = "square-root";
  explicit SquareRootStrategy(std::int64_t steps);

  DecoderForm decoder_form() const override;
};

/// C = the square root of any Toeplitz workload: ((1-ax)(1-bx))^(-1/2) for momentum and decay,
/// ((1-x^W)/(1-x))^(1/2) for a sliding window, and the root of its first column, divided by its
/// diagonal, for a matrix.
/// @source  Kalinin, Lampert, arXiv 2405.13763 (momentum and decay).
std::shared_ptr<const Strategy> square_root_strategy(const ToeplitzRequest& request);

/// True if the workload is a Toeplitz matrix and the largest error of its own root is at most that
/// of the root of prefix sums. It can be larger because coefficients of a root can grow
/// exponentially.
bool has_better_root(const Workload& workload);

/// Selects the coefficients of the square root of a Toeplitz workload: the coefficients of its
/// inverse if `inverse`, divided by 1 - x if `summed` (workloads other than matrices).
struct WorkloadRoot {
  bool inverse = false;
  bool summed = false;
};
std::vector<double> workload_root_coefficients(const Workload& workload, const WorkloadRoot& root);

}  // namespace dpftrl
