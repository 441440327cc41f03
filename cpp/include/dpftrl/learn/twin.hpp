// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Twin of a learner, without noise: NOT private.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/rules/rules.hpp"

namespace dpftrl {

struct TwinOptions {
  std::int64_t num_steps = 1;  ///< horizon, for the default lambda only
  double clip_norm = 1;
  std::int64_t dimension = 1;  ///< features of an example
  std::shared_ptr<const VectorLoss> loss = {};
  std::shared_ptr<const Domain> domain = {};
  double radius = 1;                  ///< as DpFtrlOptions, like all that follow
  std::optional<double> lambda = {};  ///< default: that of the theorem without noise
  std::optional<DescentSchedule> descent = {};
  bool doubling = false;
  std::int64_t batch_size = 1;
};

/// The same algorithm as DpFtrl on exact sums of its own clipped gradients. Whatever it shows gives
/// its examples away.
/// @checked-by twin_test, simulation_test
class TwinLearner {
 public:
  /// @throws Error{invalid_argument} a missing part or an option out of range.
  explicit TwinLearner(const TwinOptions& options);

  /// Predicts, then learns from the example; the last one of a batch ends the step.
  /// @param label   as the loss knows it.
  /// @param scores  num_scores() entries: W x with the W from before this batch.
  /// @throws Error{wrong_length, invalid_argument} the example is refused and nothing changes.
  void step(std::span<const double> features, double label, std::span<double> scores);
  /// Ends the step before the batch is full.
  void end_batch();

  std::int64_t dimension() const { return dimension_; }
  std::int64_t num_scores() const { return loss_->num_scores(); }
  const UpdateRule& rule() const { return *rule_; }

 private:
  std::shared_ptr<const VectorLoss> loss_;
  std::int64_t dimension_;
  std::int64_t batch_size_;
  double clip_norm_;
  std::unique_ptr<UpdateRule> rule_;  ///< on sums, of lambda * batch_size_
  std::int64_t num_waiting_ = 0;
  std::vector<double> slopes_;
  std::vector<double> gradient_;
  std::vector<double> sums_;
};

}  // namespace dpftrl
