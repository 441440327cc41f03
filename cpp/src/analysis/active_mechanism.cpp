// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

/// Encoders that are better than offset-ar for a run or two.
constexpr const char* kOfFewRuns[] = {"square-root", "optimal"};

/// True if the sensitivity of other encoders takes less than about a second: about n^4 / 24
/// operations for runs of at least `window` steps, and n^2 for a single run.
bool is_quick(std::int64_t steps, const ActivePattern& pattern) {
  constexpr std::int64_t kMostSteps = 1024;
  constexpr double kMostPairs = 0x1p28;
  if (steps > kMostSteps) return false;
  const double places = static_cast<double>(std::max<std::int64_t>(1, steps - pattern.window + 2));
  return pattern.runs == 1 || std::pow(places, 4) / 24 <= kMostPairs;
}

}  // namespace

std::shared_ptr<const Mechanism> Mechanism::make_active(const MechanismOptions& options) {
  const auto& pattern = options.participation.pattern();
  if (!pattern)
    fail_argument("make_active", "participation", "active",
                  std::string(options.participation.name()));
  MechanismOptions candidate = options;
  candidate.strategy = "offset-ar";
  std::shared_ptr<const Mechanism> best = make(candidate);
  if (!is_quick(options.steps, *pattern)) return best;
  for (const char* const name : kOfFewRuns) {
    candidate.strategy = name;
    std::shared_ptr<const Mechanism> other = make(candidate);
    if (other->certificate().max_error < best->certificate().max_error) best = std::move(other);
  }
  return best;
}

}  // namespace dpftrl
