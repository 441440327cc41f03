// SPDX-License-Identifier: Apache-2.0
// Blocks of roots for fixed epochs, compared with dense matrices and closed forms.
#include "optimal/epochs/epoch_resolvent.hpp"

#include <cmath>
#include <numbers>
#include <random>

#include "dense_algebra.hpp"
#include "dpftrl/problem/workload.hpp"
#include "support.hpp"

namespace dpftrl {
namespace {

using detail::EpochRoot;
using detail::EpochSpectrum;
using detail::EpochWeights;
using detail::InverseRoot;

struct EpochSize {
  Eigen::Index k, b;
};
constexpr std::array kEpochSizes{EpochSize{1, 1}, EpochSize{1, 6}, EpochSize{6, 1},
                                 EpochSize{2, 2}, EpochSize{2, 3}, EpochSize{3, 4},
                                 EpochSize{3, 5}, EpochSize{5, 2}, EpochSize{4, 7}};

EpochWeights rough_weights(const EpochSize& size, double decay, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  EpochWeights weights{
      .columns = {}, .inverse_rows = Vector::Ones(size.k * size.b), .decay = decay};
  for (double& u : weights.inverse_rows) u = std::exp(normal(random));
  for (Eigen::Index s = 0; s < size.b; ++s) {
    Matrix factor(size.k, size.k);
    for (double& entry : factor.reshaped()) entry = normal(random);
    const Matrix lambda = factor * factor.transpose() + 0.1 * Matrix::Identity(size.k, size.k);
    weights.columns.emplace_back(0.5 * (lambda + lambda.transpose()));
  }
  return weights;
}

/// Lambda as a dense matrix.
Matrix dense_columns(const EpochWeights& weights) {
  const Eigen::Index n = weights.inverse_rows.size(), b = std::ssize(weights.columns);
  Matrix lambda = Matrix::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = i % b; j < n; j += b)
      lambda(i, j) = weights.columns[static_cast<std::size_t>(i % b)](i / b, j / b);
  return lambda;
}

TEST(EpochResolvent, blocks_are_those_of_the_dense_matrix) {
  for (const EpochSize& size : kEpochSizes)
    for (const double decay : {1.0, 0.8}) {
      SCOPED_TRACE(std::to_string(size.k) + " epochs of " + std::to_string(size.b));
      const EpochWeights weights = rough_weights(size, decay, 5);
      const Eigen::Index n = size.k * size.b;
      const Matrix a = Workload::momentum({.steps = n, .decay = decay}).matrix();
      const Matrix root = testing::upper_cholesky(dense_columns(weights)).transpose();
      const Matrix w = weights.inverse_rows.cwiseInverse().cwiseSqrt().asDiagonal() * a * root;
      const auto [u, values, v] = testing::full_svd(w);
      const EpochSpectrum spectrum = detail::epoch_spectrum(weights);
      EXPECT_LE(spectrum.interval.low, 1 / (values(0) * values(0)));
      EXPECT_GE(spectrum.interval.high, 1 / (values(n - 1) * values(n - 1)));
      const Matrix inverse = testing::inverse(root);
      const Matrix x =
          inverse.transpose() * (v * values.asDiagonal() * v.transpose()).eval() * inverse;
      const Vector rows = (u * values.asDiagonal() * u.transpose()).diagonal();
      const InverseRoot nodes = detail::inverse_root_within(spectrum.interval, 1e-10);
      const Matrix whole = *detail::epoch_matrix(nodes, weights);
      const Vector sizes = x.diagonal().cwiseSqrt();
      EXPECT_LT((whole - x).cwiseQuotient(sizes * sizes.transpose()).cwiseAbs().maxCoeff(), 3e-10);
      for (const bool is_proved : {false, true}) {
        const EpochRoot found = *detail::epoch_root(nodes, spectrum, weights,
                                                    {.has_rows = true, .is_proved = is_proved});
        EXPECT_NEAR(found.nuclear, values.sum(), 3e-10 * values.sum());
        for (Eigen::Index i = 0; i < n; ++i) {
          EXPECT_NEAR(found.rows(i), rows(i), 1e-8 * rows(i));
          for (Eigen::Index j = i % size.b; j < n; j += size.b)
            EXPECT_NEAR(found.columns[static_cast<std::size_t>(i % size.b)](i / size.b, j / size.b),
                        x(i, j), 3e-10 * std::sqrt(x(i, i) * x(j, j)));
        }
        EXPECT_EQ(std::isinf(found.nuclear_error), !is_proved);
        if (is_proved) {
          EXPECT_LT(found.nuclear_error, 1e-11 * found.nuclear);
        }
      }
    }
}

/// With Lambda = I, epochs change only the order of the steps, and the eigenvalues of A^-1 A^-T are
/// 4 sin^2 ((2j - 1) pi / (4n + 2)).
TEST(EpochResolvent, rounding_stays_within_its_bound) {
  for (const EpochSize& size :
       {EpochSize{1, 60}, EpochSize{4, 50}, EpochSize{5, 51}, EpochSize{40, 1}}) {
    const Eigen::Index n = size.k * size.b;
    const EpochWeights weights{.columns = std::vector<Matrix>(static_cast<std::size_t>(size.b),
                                                              Matrix::Identity(size.k, size.k)),
                               .inverse_rows = Vector::Ones(n)};
    const EpochSpectrum spectrum = detail::epoch_spectrum(weights);
    for (const double shift : {1e-14, 1e-8, 1e-3, 1.0}) {
      const InverseRoot node{.shifts = {shift}, .weights = {1}};
      long double trace = 0;
      for (Eigen::Index j = 1; j <= n; ++j) {
        const long double sine =
            std::sin(static_cast<long double>(2 * j - 1) * std::numbers::pi_v<long double> /
                     static_cast<long double>(4 * n + 2));
        trace += 1 / (4 * sine * sine + static_cast<long double>(shift));
      }
      const EpochRoot found = *detail::epoch_root(node, spectrum, weights, {.is_proved = true});
      const auto exact = static_cast<double>(trace);
      EXPECT_LE(std::abs(found.nuclear - exact), found.nuclear_error + 1e-15 * exact);
      EXPECT_LT(found.nuclear_error, 1e-10 * exact);
      // Plain double precision exceeds that bound if the matrix is ill-conditioned.
      if (shift > 1e-8 || n < 200) continue;
      const EpochRoot rough = *detail::epoch_root(node, spectrum, weights, {});
      EXPECT_GT(std::abs(rough.nuclear - exact), found.nuclear_error);
    }
  }
}

TEST(EpochResolvent, weights_that_are_not_positive_prove_nothing) {
  EpochWeights weights = rough_weights({.k = 3, .b = 2}, 1, 9);
  weights.columns[1] = Matrix::Ones(3, 3);
  EXPECT_EQ(detail::epoch_spectrum(weights).interval.low, 0);
  weights.columns[1] = -Matrix::Identity(3, 3);
  EXPECT_EQ(detail::epoch_spectrum(weights).interval.low, 0);
}

}  // namespace
}  // namespace dpftrl
