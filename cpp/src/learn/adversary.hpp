// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A stream chosen in response to the released iterates.

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/losses/loss.hpp"
#include "dpftrl/learn/rules/domain.hpp"

namespace dpftrl {

struct AdversaryOptions {
  std::int64_t dimension = 1;
  std::shared_ptr<const Domain> domain;  ///< domain of the comparators; must be bounded
  std::shared_ptr<const Loss> loss;      ///< loss of the learner
  double clip = 1;                       ///< clip norm of the learner's gradients
};

/// Reads the iterates, and with them the noise. Let s be the sum of the gradients so far and w* the
/// point of the domain with the least <s, w*>. The features point from w* to the learner's iterate,
/// with norm 1 and the label -1, so that every move away from w* adds to the loss and the noise
/// counts in full. For linear losses over the whole space this is the greedy choice: the regret
/// after n steps is the sum of <g_t, w_t - w'_t> plus n L^2 / (2 lambda) plus D ||s|| - ||s||^2 /
/// (2 lambda), where w' has no noise, and w_t - w* is the sum of w_t - w'_t and the gradient of
/// that potential in s.
///
/// @checked-by  adversary_test
class Adversary {
 public:
  /// @throws Error{invalid_argument} loss or domain missing, domain unbounded, an option out of
  ///         range.
  explicit Adversary(const AdversaryOptions& options);

  /// Writes features of norm 1 (or slightly less) for a learner that is about to play `iterate`,
  /// and returns the label.
  /// @throws Error{wrong_length} iterate or features.
  double example(const Vector& iterate, std::span<double> features);

 private:
  AdversaryOptions options_;
  Vector sum_;
  Vector best_;  ///< w*, initially where learners start
  std::vector<double> gradient_;
};

}  // namespace dpftrl
