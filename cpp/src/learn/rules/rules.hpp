// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Chooses the update rule for the options of a learner.

#include <cstdint>
#include <memory>
#include <optional>

#include "learn/rules/descent.hpp"
#include "learn/rules/ftrl.hpp"

namespace dpftrl {

struct RuleOptions {
  std::int64_t dimension = 1;
  double lambda = 0;
  std::shared_ptr<const Domain> domain;
  std::optional<DescentSchedule> descent = {};  ///< gradient descent instead of FTRL
  bool doubling = false;                        ///< for FTRL only, like the options below
  Penalty penalty = {};
  std::int64_t num_scores = 1;
};

/// @throws Error{invalid_argument} doubling with descent; otherwise as `Ftrl` and `Descent`.
std::unique_ptr<UpdateRule> make_rule(const RuleOptions& options);

}  // namespace dpftrl
