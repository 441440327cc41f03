// SPDX-License-Identifier: Apache-2.0
#include "optimal/anderson.hpp"

#include <algorithm>
#include <cmath>

#include "math/linear_algebra.hpp"

namespace dpftrl::detail {
namespace {

/// Vectors are combined in pieces that stay in the cache.
constexpr Eigen::Index kPiece = 1024;

template <class Visit>
void for_every_piece(Eigen::Index size, Visit&& visit) {
  for (Eigen::Index first = 0; first < size; first += kPiece)
    visit(first, std::min(kPiece, size - first));
}

}  // namespace

void AndersonMixing::advance(Vector& x, const Vector& residual) {
  if (last_x_.size() > 0) add_difference(x, residual);
  last_x_ = x;
  last_residual_ = residual;
  const Vector gamma = least_squares();
  double largest = 0;
  for_every_piece(x.size(), [&](Eigen::Index first, Eigen::Index count) {
    auto step = x.segment(first, count);
    step = options_.mixing * residual.segment(first, count);
    for (std::size_t i = 0; i < moves_.size(); ++i)
      step -= gamma(static_cast<Eigen::Index>(i)) * moves_[i].segment(first, count);
    largest = std::max(largest, step.cwiseAbs().maxCoeff());
  });
  x = last_x_ + std::min(1.0, options_.max_step / largest) * x;
}

void AndersonMixing::add_difference(const Vector& x, const Vector& residual) {
  if (std::ssize(changes_) < options_.depth) {
    newest_ = changes_.size();
    changes_.emplace_back(x.size());
    moves_.emplace_back(x.size());
    const Eigen::Index size = std::ssize(changes_);
    products_.conservativeResize(size, size);
  } else {
    newest_ = (newest_ + 1) % changes_.size();
  }
  const Eigen::Index size = products_.rows(), newest = static_cast<Eigen::Index>(newest_);
  Vector products = Vector::Zero(size);
  right_ = Vector::Zero(size);
  for_every_piece(x.size(), [&](Eigen::Index first, Eigen::Index count) {
    auto change = changes_[newest_].segment(first, count);
    auto move = moves_[newest_].segment(first, count);
    const auto f = residual.segment(first, count);
    change = f - last_residual_.segment(first, count);
    move = x.segment(first, count) - last_x_.segment(first, count) + options_.mixing * change;
    for (Eigen::Index i = 0; i < size; ++i) {
      const auto other = changes_[static_cast<std::size_t>(i)].segment(first, count);
      products(i) += other.dot(change);
      right_(i) += other.dot(f);
    }
  });
  products_.col(newest) = products;
  products_.row(newest) = products.transpose();
}

Vector AndersonMixing::least_squares() const {
  // Normal equations with columns scaled to norm 1; directions that double precision cannot tell
  // from the others are left out.
  if (changes_.empty()) return {};
  const Eigen::Index size = products_.rows();
  Vector scale(size);
  for (Eigen::Index i = 0; i < size; ++i)
    scale(i) = 1 / std::sqrt(std::max(products_(i, i), 1e-300));
  const Matrix scaled = scale.asDiagonal() * products_ * scale.asDiagonal();
  const auto [values, vectors] = symmetric_eigen(scaled);
  Vector coordinates = vectors.transpose() * scale.cwiseProduct(right_);
  const double smallest = 1e-14 * values(size - 1);
  for (Eigen::Index i = 0; i < size; ++i)
    coordinates(i) = values(i) > smallest ? coordinates(i) / values(i) : 0;
  return scale.asDiagonal() * (vectors * coordinates);
}

}  // namespace dpftrl::detail
