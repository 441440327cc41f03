// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who may contribute when, and which streams count as neighbours.
///
/// ```cpp
/// const auto weekly =
///     dpftrl::Participation::min_separation({.max_participations = 3, .min_separation = 7});
/// assert(weekly.max_participations_within(/*num_steps=*/10) == 2);
/// dpftrl::ContributionBound bound(weekly);
/// assert(bound.admits(/*person=*/42, /*step=*/0));
/// assert(!bound.admits(42, 3));  // too soon: does not count
/// assert(bound.admits(42, 7));
/// ```

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dpftrl {

/// Neighbouring relation. `zero_out` replaces one user's contributions by zeros (the convention of
/// the DP-FTRL literature, close to add/remove); `replace_one` replaces them by any other
/// contributions of norm at most the clip norm, which doubles the distance.
enum class Neighbours { zero_out, replace_one };

std::string_view to_string(Neighbours neighbours);
/// "zero-out" or "replace-one"; anything else throws Error{invalid_argument}.
Neighbours neighbours_from_string(std::string_view name);

/// Largest distance of one contribution between neighbouring streams, in clip norms: 1 or 2.
double neighbour_distance(Neighbours neighbours);

/// Participation schema: the sets of steps to which one user may contribute.
///
///     single            any one step
///     fixed epoch       s, s + b, ..., s + (k-1) b for some s < b; num_steps = k b
///     min separation    at most k steps, any two at least b apart (b = j - i; 1 allows every step)
class Participation {
 public:
  enum class Kind { single, fixed_epoch, min_separation };
  struct FixedEpoch {
    std::int64_t num_epochs;    ///< k
    std::int64_t epoch_length;  ///< b
  };
  struct MinSeparation {
    std::int64_t max_participations;  ///< k
    std::int64_t min_separation;      ///< b = j - i
  };

  static Participation single() { return {Kind::single, 1, 1}; }
  /// @throws Error{invalid_argument} a number outside 1..kMaxNumSteps, or k b > kMaxNumSteps.
  static Participation fixed_epoch(const FixedEpoch& schema);
  /// @throws Error{invalid_argument} a number outside 1..kMaxNumSteps.
  static Participation min_separation(const MinSeparation& schema);

  Kind kind() const { return kind_; }
  std::int64_t max_participations() const { return max_participations_; }
  /// b: the distance of consecutive participations, or the least that is allowed.
  std::int64_t separation() const { return separation_; }
  /// "single", "fixed-epoch" or "min-separation".
  std::string_view name() const;
  /// In words: "at most 3 participations, at least 8 steps apart".
  std::string description() const;

  /// How often a user can take part within a horizon: min(k, ceil(num_steps / b)).
  std::int64_t max_participations_within(std::int64_t num_steps) const;
  /// @throws Error{invalid_argument} a fixed-epoch schema whose k b is not num_steps.
  void require_horizon(std::int64_t num_steps) const;
  /// Is this set of steps (0-based, increasing) one that a user may contribute to? A part of an
  /// allowed set is allowed.
  /// @throws Error{invalid_argument} a fixed-epoch schema whose k b is not num_steps.
  bool allows(std::span<const std::int64_t> steps, std::int64_t num_steps) const;

  bool operator==(const Participation&) const = default;

 private:
  Participation(Kind kind, std::int64_t max_participations, std::int64_t separation)
      : kind_(kind), max_participations_(max_participations), separation_(separation) {}

  Kind kind_;
  std::int64_t max_participations_;
  std::int64_t separation_;
};

/// Conventions of other libraries. Ours: `min_separation` is j - i, `num_bands` counts the non-zero
/// diagonals with the main one.
///
/// Steps strictly between two participations (tensorflow/privacy's tree sensitivity): j - i - 1.
std::int64_t min_separation_from_steps_between(std::int64_t steps_between);
/// Diagonals below the main one.
std::int64_t num_bands_from_off_diagonals(std::int64_t num_off_diagonals);
/// "add-remove", "add-or-remove-one", "zero-out" -> zero_out; "replace", "replace-one",
/// "change-one", "substitution" -> replace_one. Add/remove has the sensitivity of zero-out, as an
/// absent record contributes zero to the sum.
Neighbours neighbours_from_convention(std::string_view name);

// Decides which records of a person count, so that one person's part in a stream is bounded.

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

  /// Says how often a person counted, and when last.
  struct Counted {
    std::int64_t times = 0;
    std::int64_t last = 0;  ///< step, if there was one
  };
  /// The same for a person whose record the caller keeps: all zeros at first.
  bool admits(Counted& person, std::int64_t step);

  /// How often the answer was no. Not private.
  std::int64_t num_dropped() const { return num_dropped_; }

 private:
  std::int64_t max_participations_;
  std::int64_t separation_;
  std::int64_t latest_ = 0;
  std::int64_t num_dropped_ = 0;
  std::unordered_map<std::int64_t, Counted> counted_;
};

}  // namespace dpftrl
