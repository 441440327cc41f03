// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Strategies that the laws run over: every family with its defaults, with parameters, with
/// normalised columns and with restarts, for every kind of workload.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "dpftrl/base/error.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/problem/workload.hpp"
#include "dpftrl/strategy/catalogue.hpp"
#include "support.hpp"

namespace dpftrl::testing {

struct Variant {
  std::string title;
  StrategyOptions options;
};

/// A lower-triangular matrix without structure, some entries negative.
Matrix rough_matrix(std::int64_t steps);

/// A lower-triangular Toeplitz matrix with a negative diagonal.
Matrix rough_toeplitz_matrix(std::int64_t steps);

/// One workload of every kind except prefix sums.
std::vector<Workload> other_workloads(std::int64_t steps);

/// Every family for prefix sums: with defaults, with parameters, with normalised columns, and
/// restarted every 5 steps.
std::vector<Variant> prefix_variants(std::int64_t steps);

/// Every family for every other kind of workload: with defaults and, except for `optimal`, with
/// normalised columns.
std::vector<Variant> workload_variants(std::int64_t steps);

inline std::shared_ptr<const Strategy> strategy_of(const Variant& variant) {
  return remembered(variant.title, [&] { return make_strategy(variant.options); });
}

/// Every kind of participation that fits the horizon.
std::vector<Participation> participations(std::int64_t steps);

}  // namespace dpftrl::testing
