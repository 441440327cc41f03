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

/// Sees the iterates, and so the noise in them. Let s be the sum of the gradients so far and w* the
/// point of the domain with the least <s, w*>. The features point from w* to the learner's iterate,
/// with norm 1 and the label -1, so that every move away from w* adds to the loss and the noise
/// counts in full. For linear losses, gradients g_t of norm L, a learner over the whole space and
/// comparators of norm at most D, this is the greedy choice: with w'_t the iterates without noise,
/// the regret after n steps is the sum of <g_t, w_t - w'_t> plus n L^2 / (2 lambda) plus the
/// potential D ||s|| - ||s||^2 / (2 lambda), and w_t - w* is w_t - w'_t plus the gradient of the
/// potential in s.
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
  Vector best_;  ///< w*; at first, the starting point of learners
  std::vector<double> gradient_;
};

}  // namespace dpftrl
