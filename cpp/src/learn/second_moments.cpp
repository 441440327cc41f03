// SPDX-License-Identifier: Apache-2.0

/// Second moments of features, released before a learner: docs/math/learning.md, section 13.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/dp_ftrl.hpp"
#include "dpftrl/problem/privacy.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "learn/learner_options.hpp"
#include "strategy/toeplitz/identity.hpp"

namespace dpftrl {
namespace {

/// Share of the squared mu that is spent on the moments.
constexpr double kMomentsShare = 0.1;
/// Moments are released first if their noise is at most this, relative to their mean size.
constexpr double kMostNoise = 0.5;
/// Covers rounding of the parts, so that both together cost no more than the target.
constexpr double kHair = 0.999999999;

/// Writes the products of the entries of a row, each in [-1, 1], scaled so that their norm is at
/// most 1.
void write_products(std::span<const double> row, std::span<double> products) {
  const double width = static_cast<double>(row.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    products[next++] = row[i] * row[i] / width;
    for (std::size_t j = i + 1; j < row.size(); ++j)
      products[next++] = std::numbers::sqrt2 * row[i] * row[j] / width;
  }
}

/// @throws Error{wrong_length} entries that do not form whole rows.
void require_rows(const char* where, const char* name, std::size_t size, std::size_t width) {
  require_length(where, name, static_cast<std::int64_t>(size),
                 static_cast<std::int64_t>(size / width * width));
}

/// A square matrix, row by row.
using Square = std::vector<double>;

/// Overwrites a matrix with its lower Cholesky factor; returns whether it is definite.
bool factorize(Square& matrix, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = matrix[i * width + j];
      for (std::size_t k = 0; k < j; ++k) rest -= matrix[i * width + k] * matrix[j * width + k];
      if (i == j && !(rest > 0)) return false;
      matrix[i * width + j] = i == j ? std::sqrt(rest) : rest / matrix[j * width + j];
    }
  }
  return true;
}

/// Cholesky factor of the mean of the products, with roughly the size of the noise added to the
/// diagonal, or more if the matrix is not positive definite otherwise.
Square moments_factor(std::span<const double> sums, std::size_t width, double num_rows,
                      double stddev) {
  Square mean(width * width);
  std::size_t next = 0;
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = i; j < width; ++j) {
      const double entry = sums[next++] / num_rows / (i == j ? 1 : std::numbers::sqrt2);
      mean[i * width + j] = mean[j * width + i] = entry;
    }
  for (double raise = stddev * std::sqrt(2 * static_cast<double>(width)) / num_rows;; raise *= 2) {
    Square raised = mean;
    for (std::size_t i = 0; i < width; ++i) raised[i * width + i] += raise;
    if (factorize(raised, width)) return raised;
  }
}

}  // namespace

SecondMomentsPlan plan_second_moments(const SecondMomentsFacts& facts) {
  const char* where = "plan_second_moments";
  require_between(where, "dimension", facts.dimension, 1, kMaxModelDimension);
  require_between(where, "num_rows", facts.num_rows, 1, std::int64_t{1} << 53);
  const double delta = facts.target.delta;
  const double whole = mu_from_approximate_dp(facts.target);
  const auto epsilon_of = [&](double share) {
    return epsilon_from_mu({.mu = std::sqrt(share) * whole * kHair, .delta = delta});
  };
  const std::array epsilons{epsilon_of(kMomentsShare), epsilon_of(1 - kMomentsShare)};
  // Gaussian noise of so small a mu meets delta even with epsilon 0, which is not a valid target.
  if (!(epsilons[0] > 0 && epsilons[1] > 0))
    return {.moments_epsilon = 0,
            .learner_epsilon = 0,
            .mu = whole,
            .rho = rho_from_mu(whole),
            .come_first = false};
  std::array<double, 2> mus{};
  std::array<double, 2> rhos{};
  for (std::size_t i = 0; i < 2; ++i) {
    mus[i] = mu_from_approximate_dp({.epsilon = epsilons[i], .delta = delta});
    rhos[i] = rho_from_mu(mus[i]);
  }
  const double stddev = neighbour_distance(facts.neighbours) / (std::sqrt(kMomentsShare) * whole);
  const double noise = stddev * std::numbers::sqrt2 *
                       std::pow(static_cast<double>(facts.dimension), 1.5) /
                       static_cast<double>(facts.num_rows);
  const double mu = compose_mu(mus);
  if (!(mu <= whole)) throw std::logic_error("moments and learner cost more than their target");
  return {.moments_epsilon = epsilons[0],
          .learner_epsilon = epsilons[1],
          .mu = mu,
          .rho = compose_rho(rhos),
          .come_first = facts.dimension <= kMaxSecondMomentsDimension && noise <= kMostNoise};
}

SecondMoments::SecondMoments(std::span<const double> features, const SecondMomentsOptions& options)
    : width_(static_cast<std::size_t>(options.dimension)) {
  const char* where = "SecondMoments";
  require_between(where, "dimension", options.dimension, 1, kMaxSecondMomentsDimension);
  const std::size_t num_rows = features.size() / width_;
  require_between(where, "features", static_cast<std::int64_t>(num_rows), 1, std::int64_t{1} << 31);
  require_rows(where, "features", features.size(), width_);
  require_all_finite(where, "features", features);
  std::vector<double> products(width_ * (width_ + 1) / 2);
  PrefixSum sums(Mechanism::make({.strategy = std::string(IndependentStrategy::kName),
                                  .steps = 1,
                                  .target = options.target,
                                  .neighbours = options.neighbours}),
                 {.key = options.key, .dimension = static_cast<std::int64_t>(products.size())});
  std::vector<double> row(width_);
  for (std::size_t start = 0; start < features.size(); start += width_) {
    for (std::size_t i = 0; i < width_; ++i) row[i] = std::clamp(features[start + i], -1.0, 1.0);
    write_products(row, products);
    sums.contribute(products);
  }
  sums.release(std::span(products));
  factor_ = moments_factor(products, width_, static_cast<double>(num_rows), sums.release_stddev(0));
}

void SecondMoments::transform(std::span<double> rows) const {
  require_rows("SecondMoments::transform", "rows", rows.size(), width_);
  const double scale = std::sqrt(static_cast<double>(width_));
  for (std::size_t start = 0; start < rows.size(); start += width_) {
    const std::span<double> row = rows.subspan(start, width_);
    for (std::size_t i = 0; i < width_; ++i) {
      double rest = row[i] / scale;
      for (std::size_t j = 0; j < i; ++j) rest -= factor_[i * width_ + j] * row[j];
      row[i] = rest / factor_[i * width_ + i];
    }
  }
}

void SecondMoments::restore(std::span<double> weights) const {
  require_rows("SecondMoments::restore", "weights", weights.size(), width_);
  const double scale = std::sqrt(static_cast<double>(width_));
  for (std::size_t start = 0; start < weights.size(); start += width_) {
    const std::span<double> row = weights.subspan(start, width_);
    for (std::size_t i = width_; i-- > 0;) {
      double rest = row[i];
      for (std::size_t j = i + 1; j < width_; ++j) rest -= factor_[j * width_ + i] * row[j];
      row[i] = rest / factor_[i * width_ + i];
    }
    for (double& weight : row) weight /= scale;
  }
}

}  // namespace dpftrl
