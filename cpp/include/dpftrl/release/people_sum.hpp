// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private running totals of what people contribute, of whom each is protected.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.num_steps = 24,
///      .target = {.epsilon = 1, .delta = 1e-6},
///      .participation = dpftrl::Participation::min_separation(
///          {.max_participations = 2, .min_separation = 1})});
/// dpftrl::PeopleSum visits(mechanism, {.key = dpftrl::Key::from_entropy()});
/// std::array<double, 1> total{};
/// for (int hour = 0; hour < 3; ++hour) {
///   const bool counts = visits.contribute(/*person=*/42, std::array{1.0});
///   assert(counts == (hour < 2));
///   visits.release(total);
/// }
/// ```

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/problem/participation.hpp"
#include "dpftrl/release/prefix_sum.hpp"

namespace dpftrl {

/// A step is the time until the next release, an hour say, and any number of people contribute to
/// it. Contributions of one person to a step are added up and clipped together.
///
///     person, values -> counts? -> added to the person's part of the open step
///     release        -> each part clipped and on the grid -> PrefixSum
class PeopleSum {
 public:
  /// @throws Error{invalid_argument} a mechanism for fixed epochs, and as PrefixSum.
  PeopleSum(std::shared_ptr<const Mechanism> mechanism, const PrefixSumOptions& options);

  /// Adds to a person's part of the open step.
  ///
  /// @param person  one number a person. Two persons with one number are not protected.
  /// @param values  dimension entries, input units. Sums beyond the doubles stay at the largest.
  /// @return        false: the pattern is used up, and this does not count. Not private.
  /// @throws Error{wrong_length, invalid_argument} refused; Error{past_horizon} after num_steps
  ///         releases. Nothing changes in any of these cases.
  bool contribute(std::int64_t person, std::span<const double> values);

  /// Ends the step.
  ///
  /// @param noisy   dimension entries: as of PrefixSum::release.
  /// @guarantee     given ideal random bits, mu-GDP for the mechanism's mu (in mode lattice what
  ///                its certificate claims) when all contributions
  ///                of one person are left out (zero-out), or their values changed (replace-one),
  ///                with nothing to add to delta, for contributions chosen after seeing releases.
  /// @exactness     that of PrefixSum::release.
  /// @throws        as PrefixSum::release; after Error{resource_exhausted} a second call goes on.
  /// @checked-by    people_sum_test "leaving one person out is within the sensitivity"
  void release(std::span<double> noisy);

  const Mechanism& mechanism() const { return sums_.mechanism(); }
  /// The same as those of PrefixSum.
  const LatticeMechanism* lattice() const { return sums_.lattice(); }
  std::optional<LaplaceNoise> laplace() const { return sums_.laplace(); }
  double release_stddev(std::int64_t step) const { return sums_.release_stddev(step); }
  double release_half_width(const StepProbability& wanted) const {
    return sums_.release_half_width(wanted);
  }
  std::int64_t dimension() const { return sums_.dimension(); }
  std::int64_t num_steps() const { return sums_.num_steps(); }
  /// Releases already made.
  std::int64_t step() const { return sums_.step(); }
  double grid() const { return sums_.grid(); }
  /// Contributions that did not count. Not private.
  std::int64_t num_dropped() const { return bound_.num_dropped(); }

 private:
  PrefixSum sums_;
  ContributionBound bound_;
  /// Contributions to the open step, by person; they never leave this object.
  std::unordered_map<std::int64_t, std::vector<double>> parts_;
};

}  // namespace dpftrl
