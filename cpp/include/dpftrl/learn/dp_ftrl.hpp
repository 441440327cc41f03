// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Private online learning: clipped gradients into a private prefix sum, its releases into FTRL.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/learn/domain.hpp"
#include "dpftrl/learn/ftrl.hpp"
#include "dpftrl/learn/loss.hpp"
#include "dpftrl/mechanism.hpp"
#include "dpftrl/prefix_sum.hpp"
#include "dpftrl/random.hpp"

namespace dpftrl {

struct DpFtrlOptions {
  std::shared_ptr<const Mechanism> mechanism;
  Key key;                     ///< of the noise
  std::int64_t dimension = 1;  ///< features of an example
  std::shared_ptr<const Loss> loss;
  std::shared_ptr<const Domain> domain;
  double radius = 1;             ///< D of the regret theorem, > 0
  std::optional<double> lambda;  ///< > 0; default: `theorem_lambda` for `radius`
  std::optional<double> grid;    ///< see PrefixSumOptions, as the following
  ReleaseMode mode = ReleaseMode::grid;
  LatticeNoise lattice_noise = LatticeNoise::discrete_gaussian;
  std::optional<int> precision_bits = {};
};

/// A learner that is private for the whole stream of examples.
///
///     example -> predict <w, x> -> clipped gradient -> PrefixSum -> release -> next iterate
///
/// The iterates are a function of the releases alone, so everything this object shows except
/// `prediction` (which uses the example it is given) has the privacy of the releases. It never
/// holds a true sum outside its PrefixSum and has no way to ask for one.
class DpFtrl {
 public:
  /// @throws Error{invalid_argument} a missing part or an option out of range.
  explicit DpFtrl(const DpFtrlOptions& options);

  /// Predicts, then learns from the example.
  ///
  /// @param features  x, dimension() entries, finite, of finite norm.
  /// @param label     as the loss knows it; 0 is taken as -1 by classification losses.
  /// @return          <w, x> with the w from before this example.
  /// @guarantee       examples are per-step records of the mechanism: see PrefixSum::release.
  /// @throws Error{wrong_length, invalid_argument} the example is refused and nothing changes;
  ///         Error{past_horizon} after num_steps() examples.
  double step(std::span<const double> features, double label);

  /// <w, x> with the current w. Learns nothing.
  double predict(std::span<const double> features) const;

  const Vector& iterate() const { return ftrl_.iterate(); }
  Vector average() const { return ftrl_.average(); }
  /// The latest release; zeros before the first step.
  std::span<const double> release() const { return release_; }

  const Mechanism& mechanism() const { return sums_.mechanism(); }
  const LatticeMechanism* lattice() const { return sums_.lattice(); }
  const Loss& loss() const { return *loss_; }
  std::int64_t dimension() const { return sums_.dimension(); }
  std::int64_t num_steps() const { return sums_.num_steps(); }
  /// Examples learned from.
  std::int64_t steps_done() const { return sums_.step(); }
  double lambda() const { return ftrl_.lambda(); }
  double grid() const { return sums_.grid(); }

 private:
  std::shared_ptr<const Loss> loss_;
  PrefixSum sums_;
  Ftrl ftrl_;
  std::vector<double> gradient_;
  std::vector<double> release_;
  std::vector<double> next_release_;
};

}  // namespace dpftrl
