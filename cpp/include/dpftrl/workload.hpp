// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "dpftrl/types.hpp"

namespace dpftrl {

/// The linear map A that is released: row t is the answer after step t.
///
///     prefix sums:  [1      ]
///                   [1 1    ]      num_steps x num_steps
///                   [1 1 1  ]
class Workload {
 public:
  /// @throws Error{invalid_argument} num_steps outside 1..kMaxNumSteps.
  static Workload prefix_sums(std::int64_t num_steps);

  std::string_view name() const { return "prefix"; }
  std::int64_t num_steps() const { return num_steps_; }
  /// @throws Error{unsupported} more than kMaxDenseSteps steps.
  Matrix matrix() const;

 private:
  explicit Workload(std::int64_t num_steps) : num_steps_(num_steps) {}
  std::int64_t num_steps_;
};

}  // namespace dpftrl
