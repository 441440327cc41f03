// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Decides which records of a person count, so that one person's part in a stream is bounded.

#include <cstdint>
#include <unordered_map>

#include "dpftrl/problem/participation.hpp"

namespace dpftrl {

/// Decides which steps of each person count: the earliest ones that keep the pattern, that is, the
/// first, and then each that comes at least `separation()` steps after the last one that counted,
/// until there are `max_participations()`.
///
/// @guarantee   what counts of one person depends on nobody else, so leaving a person out changes
///              nothing else; and the steps that count are allowed by the participation schema.
/// @checked-by  contribution_bound_test
class ContributionBound {
 public:
  /// @throws Error{invalid_argument} a fixed-epoch schema: no rule of this kind keeps it.
  explicit ContributionBound(const Participation& participation);

  /// Whether the person's contribution at this step counts. Several records of a person at one step
  /// are one contribution. The answer depends on data: it is not private.
  /// @param person  one number a person. Two persons with one number are not protected.
  /// @param step    not before that of an earlier call.
  /// @throws Error{invalid_argument} a step that goes back.
  bool admits(std::int64_t person, std::int64_t step);

  /// How often the answer was no. Not private.
  std::int64_t num_dropped() const { return num_dropped_; }

 private:
  struct Counted {
    std::int64_t times;
    std::int64_t last;
  };

  std::int64_t max_participations_;
  std::int64_t separation_;
  std::int64_t latest_ = 0;
  std::int64_t num_dropped_ = 0;
  std::unordered_map<std::int64_t, Counted> counted_;
};

}  // namespace dpftrl
