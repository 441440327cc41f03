// SPDX-License-Identifier: Apache-2.0
#include "learn/losses/average_loss.hpp"

#include <Eigen/Core>
#include <utility>

#include "dpftrl/base/error.hpp"
#include "learn/rules/ftrl.hpp"

namespace dpftrl {
namespace {

/// Adds scale * x x^T.
void add_outer(Matrix& sum, double scale, std::span<const double> x) {
  for (std::size_t a = 0; a < x.size(); ++a)
    for (std::size_t b = 0; b < x.size(); ++b)
      sum(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) += scale * x[a] * x[b];
}

}  // namespace

AverageLoss::AverageLoss(std::shared_ptr<const VectorLoss> loss, std::int64_t dimension)
    : loss_(std::move(loss)), dimension_(dimension) {
  if (!loss_) fail(ErrorCode::invalid_argument, "comparator", "loss", "must be given");
  require_between("comparator", "dimension", dimension, 1,
                  kMaxModelDimension / loss_->num_scores());
  scalar_ = std::dynamic_pointer_cast<const Loss>(loss_);
}

void AverageLoss::append(std::span<const double> features, double label) {
  require_length("comparator", "features", static_cast<std::int64_t>(features.size()), dimension_);
  require_all_finite("comparator", "features", features);
  require_finite("comparator", "label", label);
  features_.insert(features_.end(), features.begin(), features.end());
  labels_.push_back(label);
  for (const double x : features) sum_of_squares_ += x * x;
}

double AverageLoss::mean_square() const {
  return sum_of_squares_ / static_cast<double>(labels_.size());
}

double AverageLoss::at(const Vector& point, Vector& gradient) const {
  const Eigen::Index rows = static_cast<Eigen::Index>(labels_.size());
  const Eigen::Index columns = static_cast<Eigen::Index>(dimension_);
  const Eigen::Index num_scores = static_cast<Eigen::Index>(loss_->num_scores());
  const Eigen::Map<const Matrix> features(features_.data(), rows, columns);
  // Computes one score at a time, so that the library needs only one kind of matrix-vector product.
  Eigen::MatrixXd scores(rows, num_scores);
  for (Eigen::Index k = 0; k < num_scores; ++k)
    scores.col(k).noalias() = features * point.segment(k * columns, columns);
  std::vector<double> row(static_cast<std::size_t>(num_scores));
  std::vector<double> slopes(row.size());
  double total = 0;
  for (Eigen::Index i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = scores(i, static_cast<Eigen::Index>(k));
    total += loss_->evaluate(row, labels_[static_cast<std::size_t>(i)], slopes);
    for (std::size_t k = 0; k < row.size(); ++k)
      scores(i, static_cast<Eigen::Index>(k)) = slopes[k];
  }
  gradient.resize(point.size());
  for (Eigen::Index k = 0; k < num_scores; ++k)
    gradient.segment(k * columns, columns).noalias() =
        features.transpose() * scores.col(k) / static_cast<double>(rows);
  return total / static_cast<double>(rows);
}

AverageLoss::Envelope AverageLoss::envelope(const Vector& point,
                                            const EnvelopeOptions& options) const {
  Envelope found;
  if (!is_scalar()) {
    found.actual = found.value = at(point, found.gradient);
    return found;
  }
  const Eigen::Index rows = static_cast<Eigen::Index>(labels_.size());
  const Eigen::Map<const Matrix> features(features_.data(), rows,
                                          static_cast<Eigen::Index>(dimension_));
  const double share = 1 / static_cast<double>(rows);
  Vector slopes = features * point;
  if (options.with_hessian) found.hessian = Matrix::Zero(point.size(), point.size());
  for (Eigen::Index i = 0; i < rows; ++i) {
    const double label = labels_[static_cast<std::size_t>(i)];
    found.actual += scalar_->value(slopes(i), label) * share;
    const SmoothedLossAt smooth = scalar_->smoothed(slopes(i), label, options.width);
    found.value += smooth.value * share;
    found.excess += smooth.excess * share;
    slopes(i) = smooth.slope * share;
    // Most examples are far from their kink and have no curvature.
    if (options.with_hessian && smooth.curvature != 0)
      add_outer(found.hessian, smooth.curvature * share,
                {features.row(i).data(), static_cast<std::size_t>(dimension_)});
  }
  found.gradient.noalias() = features.transpose() * slopes;
  return found;
}

}  // namespace dpftrl
