// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "dpftrl/analysis/unit_error.hpp"
#include "dpftrl/queries/query_mechanism.hpp"

namespace dpftrl {
namespace {

/// Covers the errors of functions of the C++ library.
constexpr double kRoundDown = 1 - 0x1p-40;

/// Square root of the chi-squared divergence that epsilon-DP allows.
double root_chi(double epsilon) {
  return 2 * std::sinh(epsilon / 2) / kRoundDown;
}

/// Maximum over L of L times the Schatten bound, divided by 1 + root_chi(L epsilon).
double best_of_records(double schatten, double epsilon) {
  constexpr double kMostRecords = 0x1p40;
  double best = 0;
  for (double records = 1; records < kMostRecords; records += std::ceil(records / 8)) {
    const double bound = records * schatten / (1 + root_chi(records * epsilon)) * kRoundDown;
    if (bound > best) best = bound;
    if (!(bound > best / 4)) break;
  }
  return best;
}

}  // namespace

QueryBounds any_mechanism_bounds(const QueryWorkload& workload, const QueryMechanism& mechanism) {
  const auto& [epsilon, delta, neighbours, max_contributions] = mechanism.privacy();
  const double person = static_cast<double>(max_contributions) * kRoundDown;
  const double unit = mechanism.lower_bound() * person;
  const double variance = least_added_variance({.epsilon = epsilon, .delta = delta});
  QueryBounds bounds{.added_noise = unit * std::sqrt(variance), .unbiased = {}, .every = {}};
  if (delta > 0) return bounds;
  bounds.unbiased = unit / root_chi(epsilon);
  if (neighbours == Neighbours::zero_out)
    bounds.every = best_of_records(schatten_query_bound(workload) * person, epsilon);
  return bounds;
}

}  // namespace dpftrl
