// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Columns of increments: the noisy sum of each single step, for optimisers outside this library.
///
/// ```cpp
/// const auto mechanism = dpftrl::Mechanism::make(
///     {.strategy = "blt-rational", .steps = 100, .target = {.epsilon = 4, .delta = 1e-6}});
/// dpftrl::RecordStream gradients(
///     dpftrl::Increments(/*size=*/2), mechanism,
///     {.key = dpftrl::Key::from_entropy(), .clipped_by_caller = true});
/// const std::array<double, 2> sum{3, -4};  // of a batch of gradients, each clipped to norm 1
/// const dpftrl::Estimates noisy = gradients.release(sum);
/// assert(noisy.values.size() == 2 && noisy.stddev > 0);
/// ```

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/release/columns.hpp"
#include "dpftrl/release/stream.hpp"

namespace dpftrl {

/// Records of several numbers, as Numbers takes them. The reading of a step is the difference of
/// the noisy running totals after and before it: the sum of the step's records plus a row of sigma
/// C^-1 Z, up to rounding (docs/math/grid.md, section 8).
///
/// @guarantee   as for the running totals, of which the readings are a function. The sum of the
///              readings up to a step has the error of the running total.
/// @checked-by  increments_test
class Increments {
 public:
  using Record = std::span<const double>;
  using Reading = Estimates;
  static constexpr bool kClips = true;

  explicit Increments(std::int64_t size, double confidence = 0.95);

  std::int64_t dimension() const { return numbers_.dimension(); }
  static constexpr bool adds() { return true; }
  void check(std::span<const double> record) const { numbers_.check(record); }
  std::span<const double> write(std::span<const double> record, std::span<double> row) const {
    return numbers_.write(record, row);
  }
  std::shared_ptr<const Mechanism> mechanism(const MechanismOptions& options) const {
    return Mechanism::make(options);
  }
  PrefixSumOptions release_options(const PrefixSumOptions& options) const {
    return numbers_.release_options(options);
  }

  /// @throws Error{unsupported} a mechanism without a delta, or mode lattice; as
  ///         increment_variances.
  void begin(const PrefixSum& sums);
  void follow(std::span<const double> noisy);
  static void require_going() {}
  void seek(std::int64_t step,
            const std::function<std::span<const double>(std::int64_t)>& released) const;
  /// @guarantee  each interval contains the noiseless sum of the step's records on the grid, with
  ///             at least the confidence.
  /// @checked-by increments_test "keep to their half widths"
  Estimates read(const NoisySums& sums) const;

  /// Std of the noise of each entry of the reading of a step, rounding included.
  /// @exactness  exact where the noise of the total before the step, given the increment, is
  ///             uniform modulo the grid. It is, to 1e-8, if its std is at least the grid.
  double stddev(std::int64_t step) const;
  /// x such that the noise of an entry exceeds x in magnitude with at most this probability.
  /// @exactness  the normal tail, plus one grid for the rounding of two totals.
  double half_width(const StepProbability& wanted) const;
  /// x such that with at most this probability the noise of some entry of some step exceeds x in
  /// magnitude.
  /// @exactness  an upper bound: a union bound over steps and entries.
  /// @throws     as PrefixSum::simultaneous_half_width; half_width as release_half_width.
  double simultaneous_half_width(double probability) const;

 private:
  double stddev_before_rounding(std::int64_t step) const;
  double width_of(std::int64_t step, double deviations) const;

  Numbers numbers_;
  double deviations_;  ///< half-width of an interval, in stds of the noise before rounding
  double grid_ = 0;
  std::vector<double> stddevs_;         ///< of the noise of each step before rounding
  std::vector<double> current_;         ///< totals after the latest step
  mutable std::vector<double> before_;  ///< totals before the step to be read
};

}  // namespace dpftrl
