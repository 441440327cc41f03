// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The average loss of a fixed model on the examples so far.

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/losses/loss.hpp"

namespace dpftrl {

/// f(w) = (1/t) sum_{s<=t} l(W x_s, y_s) for a growing list of examples, where W has one row of
/// weights for each score of the loss, and w is the concatenation of these rows.
/// @cost  memory t (d + 1) doubles.
class AverageLoss {
 public:
  /// @throws Error{invalid_argument} no loss; dimension (of the features) out of range.
  AverageLoss(std::shared_ptr<const VectorLoss> loss, std::int64_t dimension);

  /// @param label  as VectorLoss::label returns it.
  /// @throws Error{wrong_length, invalid_argument}. After either of these nothing has changed.
  void append(std::span<const double> features, double label);

  const VectorLoss& loss() const { return *loss_; }
  std::int64_t num_examples() const { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t model_size() const { return dimension_ * loss_->num_scores(); }
  /// Mean of ||x||^2; times a curvature bound of the loss, it bounds the curvature of f.
  double mean_square() const;
  /// True if the curvature of the loss has no bound.
  bool has_kinks() const { return !loss_->curvature().has_value(); }
  /// True if the loss has one score, so that `envelope` supports second derivatives and kinks.
  bool is_scalar() const { return scalar_ != nullptr; }

  /// Returns f and writes its gradient (a subgradient at a kink). Needs at least one example.
  /// @cost  O(t d) per score.
  double at(const Vector& point, Vector& gradient) const;

  /// Result of `envelope` at a point.
  struct Envelope {
    double value = 0;   ///< value of the smoothed f
    double actual = 0;  ///< value of f itself
    /// Mean of l(p) + l*(a) - a p over the examples, a the slope of the envelope at p.
    double excess = 0;
    Vector gradient;  ///< mean of a x
    Matrix hessian;   ///< Hessian of the smoothed f; empty for several scores or if not requested
  };
  struct EnvelopeOptions {
    double width = 1;  ///< > 0, see Loss::smoothed
    bool with_hessian = true;
  };
  /// Evaluates the smoothed f at a point; for losses without kinks, f itself for every width.
  /// @cost  O(t d) per score, with the Hessian O(t d^2).
  Envelope envelope(const Vector& point, const EnvelopeOptions& options) const;

 private:
  std::shared_ptr<const VectorLoss> loss_;
  std::shared_ptr<const Loss> scalar_;
  std::int64_t dimension_;
  std::vector<double> features_;  ///< row by row
  std::vector<double> labels_;
  double sum_of_squares_ = 0;
};

}  // namespace dpftrl
