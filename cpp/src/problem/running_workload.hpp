// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A workload applied step by step, to sums without noise (internal header).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/double_double.hpp"
#include "dpftrl/problem/workload.hpp"

namespace dpftrl::detail {

/// The entries of A w, each as soon as w_t is known. Sums are kept in two doubles, so that a record
/// that has left a window leaves no error behind.
class RunningWorkload {
 public:
  /// @param workload  must outlive this.
  explicit RunningWorkload(const Workload& workload)
      : workload_(&workload), kept_(static_cast<std::size_t>(num_kept(workload))) {}

  /// Takes w_t and returns entry t of A w. At most steps() calls. Does not throw.
  double next(double added) {
    const std::size_t t = step_++;
    if (workload_->kind() == Workload::Kind::matrix) return row_of_matrix(t, added);
    average_ = add(multiply(average_, workload_->momentum()), added);
    const double rate = workload_->rates().empty() ? 1 : workload_->rates()[t];
    const DoubleDouble step = multiply(average_, rate);
    total_ = add(add(multiply(total_, workload_->decay()), step.high), step.low);
    if (!kept_.empty()) {
      double& oldest = kept_[t % kept_.size()];
      total_ = add(total_, -oldest);
      oldest = added;
    }
    return total_.high;
  }

 private:
  static std::int64_t num_kept(const Workload& workload) {
    if (workload.kind() == Workload::Kind::matrix) return workload.steps();
    return workload.kind() == Workload::Kind::window ? workload.window() : 0;
  }

  double row_of_matrix(std::size_t t, double added) {
    kept_[t] = added;
    DoubleDouble sum;
    for (std::size_t j = 0; j <= t; ++j) {
      const DoubleDouble term = two_product(
          workload_->entry(static_cast<std::int64_t>(t), static_cast<std::int64_t>(j)), kept_[j]);
      sum = add(add(sum, term.high), term.low);
    }
    return sum.high;
  }

  const Workload* workload_;
  std::size_t step_ = 0;
  DoubleDouble average_, total_;
  std::vector<double> kept_;  ///< entries of w: of a window, as a ring buffer; for a matrix, all
};

}  // namespace dpftrl::detail
