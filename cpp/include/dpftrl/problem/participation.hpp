// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Participation schemas and neighbouring relations.
///
/// ```cpp
/// const auto weekly =
///     dpftrl::Participation::min_separation({.times = 3, .apart = 7});
/// assert(weekly.times_within(/*steps=*/10) == 2);
/// dpftrl::ContributionBound bound(weekly);
/// dpftrl::ContributionBound::Counted ann;
/// assert(bound.admits(ann, /*step=*/0));
/// assert(!bound.admits(ann, 3));  // too soon: does not count
/// assert(bound.admits(ann, 7));
/// // People who are active for 30 steps from each of their events on.
/// const auto monthly = dpftrl::Participation::active({.window = 30});
/// assert(monthly.pattern()->has_open_start);
/// ```

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dpftrl/base/error.hpp"

namespace dpftrl {

/// Neighbouring relation. `zero_out` replaces one user's contributions by zeros (the convention of
/// the DP-FTRL literature, close to add/remove); `replace_one` replaces them by any other
/// contributions of norm at most the clip norm, which doubles the distance.
enum class Neighbours { zero_out, replace_one };

std::string_view to_string(Neighbours neighbours);
/// Parses "zero-out" or "replace-one".
/// @throws Error{invalid_argument} any other name.
Neighbours neighbours_from_string(std::string_view name);

/// Largest distance by which one contribution differs between neighbouring streams, in clip norms:
/// 1 or 2.
double neighbour_distance(Neighbours neighbours);

/// Steps in which a person counts as active: the step of each event and the `window` - 1 steps
/// after it, so active steps form runs of at least `window` steps. The last run may be cut by the
/// end of the stream, and the first one by its start.
///
///     step     0 1 2 3 4 5 6 7 8 9      window 3
///     events       x         x x
///     active   . . 1 1 1 . . 1 1 1      records (changes): +1 at step 2, -1 at 5, +1 at 7
struct ActivePattern {
  std::int64_t window;                    ///< W >= 1
  std::optional<std::int64_t> runs = {};  ///< most runs per person, at least 1; default: no limit
  bool has_open_start = true;             ///< people may have been active before step 0
  /// `zero_out` removes all events of a person; `replace_one` replaces them by others.
  Neighbours neighbours = Neighbours::zero_out;

  bool operator==(const ActivePattern&) const = default;
};

/// Participation schema: the sets of steps to which one user may contribute.
///
///     single            any one step
///     fixed epoch       s, s + b, ..., s + (k-1) b for some s < b; steps = k b
///     min separation    at most k steps, any two at least b apart: j - i >= b for steps i < j
///     active            the steps at which the user's activity changes; records are the changes of
///                       the number of active people, whose prefix sums are released
class Participation {
 public:
  enum class Kind { single, fixed_epoch, min_separation, active };
  struct FixedEpoch {
    std::int64_t epochs;        ///< k
    std::int64_t epoch_length;  ///< b
  };
  struct MinSeparation {
    std::int64_t times;  ///< k
    std::int64_t apart;  ///< b, the smallest j - i
  };

  static Participation single() { return {Kind::single, 1, 1}; }
  /// @throws Error{invalid_argument} a number outside 1..kMaxNumSteps, or k b > kMaxNumSteps.
  static Participation fixed_epoch(const FixedEpoch& schema);
  /// @throws Error{invalid_argument} a number outside 1..kMaxNumSteps.
  static Participation min_separation(const MinSeparation& schema);
  /// The contributions of a user are 1 where a run begins and -1 after its end. min_separation with
  /// a separation of one step and two participations per run allows them too, but has a far larger
  /// sensitivity.
  /// @throws Error{invalid_argument} a number outside 1..kMaxNumSteps.
  static Participation active(const ActivePattern& pattern);

  Kind kind() const { return kind_; }
  std::int64_t times() const { return times_; }
  /// b, the exact or smallest distance between consecutive participations.
  std::int64_t apart() const { return apart_; }
  /// The pattern, for kind `active` only.
  const std::optional<ActivePattern>& pattern() const { return pattern_; }
  /// "single", "fixed-epoch", "min-separation" or "active".
  std::string_view name() const;
  /// Description in words: "at most 3 steps, at least 8 apart".
  std::string description() const;

  /// Largest number of participations of a user within a horizon: min(k, ceil(steps / b)).
  std::int64_t times_within(std::int64_t steps) const;
  /// @throws Error{invalid_argument} a fixed-epoch schema whose k b is not steps.
  void require_horizon(std::int64_t steps) const;
  /// True if a user may contribute to this set of steps (0-based, increasing). Every subset of an
  /// allowed set is allowed, except for kind `active`.
  /// @throws Error{invalid_argument} a fixed-epoch schema whose k b is not steps.
  bool allows(std::span<const std::int64_t> chosen, std::int64_t steps) const;

  bool operator==(const Participation&) const = default;

 private:
  Participation(Kind kind, std::int64_t times, std::int64_t apart)
      : kind_(kind), times_(times), apart_(apart) {}

  Kind kind_;
  std::int64_t times_;
  std::int64_t apart_;
  std::optional<ActivePattern> pattern_ = {};
};

/// Conversions from the conventions of other libraries. Here, `apart` is j - i, and `bands`
/// counts the non-zero diagonals including the main one.
///
/// Converts from the number of steps strictly between two participations, j - i - 1
/// (tensorflow/privacy's tree sensitivity).
std::int64_t apart_from_steps_between(std::int64_t steps_between);
/// Converts from the number of diagonals below the main one.
std::int64_t bands_from_off_diagonals(std::int64_t num_off_diagonals);
/// "add-remove", "add-or-remove", "add-or-remove-one", "zero-out" -> zero_out; "replace",
/// "replace-one", "change-one", "substitution" -> replace_one. Add/remove has the sensitivity of
/// zero-out, as an absent record contributes zero to the sum.
Neighbours neighbours_from_convention(std::string_view name);

/// Decides which steps of each person count: the first, and then each that is at least `apart()`
/// steps after the last one that counted, up to `times()` steps in all.
///
/// @guarantee   the steps that count for one person do not depend on other people, so leaving a
///              person out changes nothing else; and the steps that count are allowed by the
///              participation schema.
/// @checked-by  contribution_bound_test
class ContributionBound {
 public:
  /// @throws Error{invalid_argument} fixed epochs or active people, which no rule of this kind can
  ///         enforce.
  explicit ContributionBound(const Participation& participation);

  struct Counted {
    std::int64_t times = 0;  ///< number of steps at which the person has counted
    std::int64_t last = 0;   ///< the last of these steps, if `times` > 0
  };
  /// Whether the person's contribution at this step counts. Several records of a person at one step
  /// are one contribution. The answer depends on the data and is not private.
  /// @param person  the person's steps so far, kept by the caller and updated here.
  /// @param step    not smaller than in any earlier call, for any person.
  /// @throws Error{invalid_argument} a step before that of an earlier call.
  bool admits(Counted& person, std::int64_t step);

 private:
  std::int64_t times_;
  std::int64_t apart_;
  std::int64_t latest_ = 0;
};

}  // namespace dpftrl
