// SPDX-License-Identifier: Apache-2.0
#include "optimal/anderson.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "math/linear_algebra.hpp"

namespace dpftrl::detail {
namespace {

/// Vectors are processed in pieces that stay in the cache.
constexpr auto kPiece = static_cast<Eigen::Index>(PackedSeries::kLength);
/// Vectors of at least this size are packed; unpacking takes a fifth of the time of an evaluation.
constexpr Eigen::Index kPackedSize = Eigen::Index{1} << 17;

template <class Visit>
void for_every_piece(Eigen::Index size, Visit&& visit) {
  for (Eigen::Index first = 0; first < size; first += kPiece)
    visit(first, std::min(kPiece, size - first));
}

}  // namespace

AndersonMixing::Difference::Difference(Eigen::Index size)
    : whole_(size < kPackedSize ? size : 0),
      packed_(size < kPackedSize ? 0 : static_cast<std::size_t>((size + kPiece - 1) / kPiece)) {}

void AndersonMixing::Difference::set_piece(Eigen::Index first, const Vector& piece) {
  if (whole_.size() > 0)
    whole_.segment(first, piece.size()) = piece;
  else
    packed_.pack(static_cast<std::size_t>(first / kPiece), piece.data(),
                 static_cast<std::size_t>(piece.size()));
}

Eigen::Map<const Vector> AndersonMixing::Difference::piece(Eigen::Index first, Eigen::Index count,
                                                           Vector& scratch) const {
  if (whole_.size() > 0) return {whole_.data() + first, count};
  packed_.unpack(static_cast<std::size_t>(first / kPiece), scratch.data());
  return {scratch.data(), count};
}

void AndersonMixing::advance(Vector& x, Vector residual) {
  if (last_x_.size() > 0) add_difference(x, residual);
  last_x_ = x;
  last_residual_ = std::move(residual);
  const Vector gamma = least_squares();
  double largest = 0;
  Vector scratch(kPiece);
  for_every_piece(x.size(), [&](Eigen::Index first, Eigen::Index count) {
    auto step = x.segment(first, count);
    step = options_.mixing * last_residual_.segment(first, count);
    for (std::size_t i = 0; i < moves_.size(); ++i)
      step -= gamma(static_cast<Eigen::Index>(i)) * moves_[i].piece(first, count, scratch);
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
  Vector change, move, scratch(kPiece);
  for_every_piece(x.size(), [&](Eigen::Index first, Eigen::Index count) {
    const auto f = residual.segment(first, count);
    change = f - last_residual_.segment(first, count);
    move = x.segment(first, count) - last_x_.segment(first, count) + options_.mixing * change;
    changes_[newest_].set_piece(first, change);
    moves_[newest_].set_piece(first, move);
    for (Eigen::Index i = 0; i < size; ++i) {
      const Eigen::Map<const Vector> other =
          changes_[static_cast<std::size_t>(i)].piece(first, count, scratch);
      products(i) += other.dot(change);
      right_(i) += other.dot(f);
    }
  });
  products_.col(newest) = products;
  products_.row(newest) = products.transpose();
}

Vector AndersonMixing::least_squares() const {
  // Normal equations with columns scaled to norm 1; directions in which the differences are
  // dependent to double precision are left out.
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
