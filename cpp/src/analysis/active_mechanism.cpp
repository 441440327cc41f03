// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/sensitivity/joint_activity.hpp"
#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "strategy/endless_ar.hpp"

namespace dpftrl {
namespace {

/// Encoders that can be better than offset-ar for a run or two.
constexpr const char* kOfFewRuns[] = {"square-root", "optimal"};

/// True if the sensitivity of other encoders takes less than about a second: (n - window + 2)^4 /
/// 24 operations for n steps, n^2 for a single run.
bool is_quick(std::int64_t steps, const ActivePattern& pattern) {
  constexpr std::int64_t kMostSteps = 1024;
  constexpr double kMostPairs = 0x1p28;
  if (steps > kMostSteps) return false;
  const double places = static_cast<double>(std::max<std::int64_t>(1, steps - pattern.window + 2));
  return pattern.runs == 1 || std::pow(places, 4) / 24 <= kMostPairs;
}

const ActivePattern& require_pattern(const MechanismOptions& options) {
  const auto& pattern = options.participation.pattern();
  if (pattern) return *pattern;
  fail_argument("make_active", "participation", "active",
                std::string(options.participation.name()));
}

void require_windows(const MechanismOptions& options, std::span<const std::int64_t> windows) {
  require_between("make_active", "windows", std::ssize(windows), 1, Mechanism::kMaxStack);
  if (options.clip != 1)
    fail_argument("make_active", "clip", "1, for people", to_text(options.clip));
}

using Windows = std::vector<std::shared_ptr<const Mechanism>>;

/// Bound on the sum over windows of u^T X u / sensitivity^2 for the events of one person; each
/// summand is at most 1. Windows with replace-one neighbours, or with encoders other than
/// offset-ar, count as 1.
double joint_energy(const Windows& windows, std::int64_t steps) {
  double others = 0;
  std::vector<ActiveWindow> together;
  for (const auto& window : windows) {
    const Certificate& claim = window->certificate();
    if (claim.strategy != OffsetArStrategy::kName || claim.neighbours != Neighbours::zero_out) {
      ++others;
      continue;
    }
    const std::vector<PlanNumbers> found = window->strategy().parameters();
    together.push_back({.window = claim.active->window,
                        .parameters = {found[0].values[0], found[1].values[0]},
                        .sensitivity = claim.sensitivity});
  }
  const double count = static_cast<double>(together.size());
  if (count < 2) return others + count;
  const bool has_open_start = windows.front()->certificate().active->has_open_start;
  const double joint = joint_activity(steps, has_open_start, together);
  return others + std::min(count, joint * joint);
}

}  // namespace

std::shared_ptr<const Mechanism> Mechanism::make_active(const MechanismOptions& options) {
  const ActivePattern& pattern = require_pattern(options);
  MechanismOptions candidate = options;
  candidate.strategy = "offset-ar";
  std::shared_ptr<const Mechanism> best = make(candidate);
  if (!is_quick(options.steps, pattern)) return best;
  for (const char* const name : kOfFewRuns) {
    candidate.strategy = name;
    std::shared_ptr<const Mechanism> other = make(candidate);
    if (other->certificate().max_error < best->certificate().max_error) best = std::move(other);
  }
  return best;
}

std::shared_ptr<const Mechanism> Mechanism::with_parts(
    std::vector<std::shared_ptr<const Mechanism>> parts, double joint_energy) {
  if (parts.size() == 1) return parts.front();
  // Each window is calibrated for records of this norm, so its share of mu^2 is mu^2 /
  // joint_energy.
  for (auto& part : parts) part = part->with_clip(std::sqrt(joint_energy));
  const std::shared_ptr<Mechanism> whole(new Mechanism(*parts.front()));
  Certificate& claim = whole->certificate_;
  claim.exactness = Exactness::upper_bound;
  claim.sensitivity_method = "events of one person, in all windows together";
  double mean = 0;
  for (const auto& part : parts) {
    claim.max_error = std::max(claim.max_error, part->certificate().max_error);
    mean += part->certificate().mean_error * part->certificate().mean_error;
  }
  claim.mean_error = std::sqrt(mean / static_cast<double>(parts.size()));
  whole->parts_ = std::move(parts);
  return whole;
}

std::shared_ptr<const Mechanism> Mechanism::make_active(const MechanismOptions& options,
                                                        std::span<const std::int64_t> windows) {
  require_windows(options, windows);
  MechanismOptions own = options;
  Windows parts;
  for (const std::int64_t window : windows) {
    ActivePattern pattern = require_pattern(options);
    pattern.window = window;
    own.participation = Participation::active(pattern);
    parts.push_back(make_active(own));
  }
  const double energy = joint_energy(parts, options.steps);
  return with_parts(std::move(parts), energy);
}

std::shared_ptr<const Mechanism> Mechanism::make_endless_active(
    const MechanismOptions& options, std::span<const std::int64_t> windows) {
  const ActivePattern& given = require_pattern(options);
  if (given.runs || !given.has_open_start || given.neighbours != Neighbours::zero_out)
    fail_argument("make_endless_active", "participation",
                  "active with zero-out neighbours, an open start and no cap on runs",
                  options.participation.description());
  require_windows(options, windows);
  MechanismOptions own = options;
  own.strategy = EndlessArStrategy::kName;
  own.steps = kEndlessSteps;
  Windows parts;
  for (const std::int64_t window : windows) {
    own.participation = Participation::active({.window = window});
    auto strategy = std::make_shared<const EndlessArStrategy>(own.steps, window);
    const Sensitivity sensitivity{strategy->sensitivity(), Exactness::upper_bound,
                                  "dynamic program over any 365 consecutive steps of events"};
    const RowNorms rows = strategy->row_norms();
    Certificate certificate = claim(own, *strategy,
                                    {sensitivity, sensitivity.value * std::sqrt(rows.max_squared),
                                     sensitivity.value * std::sqrt(rows.mean_squared)});
    certificate.protected_steps = EndlessArStrategy::kProtectedSteps;
    StrategyOptions made{
        .name = own.strategy, .steps = own.steps, .participation = own.participation};
    parts.push_back(std::shared_ptr<const Mechanism>(
        new Mechanism(std::move(strategy), std::move(made), std::move(certificate))));
  }
  const double count = static_cast<double>(parts.size());
  return with_parts(std::move(parts), count);
}

}  // namespace dpftrl
