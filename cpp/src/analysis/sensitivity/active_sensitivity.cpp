// SPDX-License-Identifier: Apache-2.0
#include "analysis/sensitivity/active_sensitivity.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

constexpr std::int64_t kMaxActiveSteps = 1024;
constexpr double kMaxPairs = 0x1p34;
constexpr double kNone = -std::numeric_limits<double>::infinity();

/// Largest number of runs that fit into the steps.
Eigen::Index most_runs(Eigen::Index steps, const ActivePattern& pattern) {
  const std::int64_t n = steps, window = std::min(pattern.window, n);
  const std::int64_t cut = pattern.has_open_start ? 2 : 1;
  std::int64_t runs = 1;
  // Runs and the gaps between them; runs at the ends may have one step.
  while (window * std::max<std::int64_t>(0, runs + 1 - cut) + std::min(cut, runs + 1) + runs <= n)
    ++runs;
  return static_cast<Eigen::Index>(std::min(runs, pattern.runs.value_or(runs)));
}

/// Approximate number of pairs of runs.
double num_pairs(Eigen::Index steps, const ActivePattern& pattern) {
  const double places =
      static_cast<double>(std::max<std::int64_t>(1, std::int64_t{steps} - pattern.window + 2));
  return places * places * places * places / 24;
}

/// Sets the positive entries at least `distance` from the diagonal to 0, and returns their sum.
double take_positive_beyond(Matrix& gram, std::int64_t distance) {
  double sum = 0;
  for (Eigen::Index i = 0; i < gram.rows(); ++i)
    for (Eigen::Index j = 0; j < gram.cols(); ++j)
      if (std::abs(std::int64_t{i} - j) >= distance && gram(i, j) > 0) {
        sum += gram(i, j);
        gram(i, j) = 0;
      }
  return sum;
}

/// Best sums over sequences of runs, by dynamic programming over the last run [first, end).
class RunProgram {
 public:
  RunProgram(const Matrix& gram, const ActivePattern& pattern)
      : n_(gram.rows()),
        window_(static_cast<Eigen::Index>(std::min<std::int64_t>(pattern.window, n_))),
        has_open_start_(pattern.has_open_start),
        sums_(Matrix::Zero(n_ + 1, n_ + 1)) {
    for (Eigen::Index i = 0; i < n_; ++i) {
      double row = 0;
      for (Eigen::Index j = 0; j < n_; ++j) {
        row += gram(i, j);
        sums_(i + 1, j + 1) = sums_(i, j + 1) + row;
      }
    }
  }

  /// @param runs  largest number of runs; 0 for no limit.
  double largest(Eigen::Index runs, bool has_pairs) const {
    Matrix last = Matrix::Constant(n_, n_ + 1, kNone);
    for_each_run(
        [&](Eigen::Index first, Eigen::Index end) { last(first, end) = energy(first, end); });
    double best = 0;
    if (runs == 0) {
      // One pass in the order of the ends of runs, so that the sums of all earlier runs are
      // complete.
      for (Eigen::Index end = 1; end <= n_; ++end)
        for (Eigen::Index first = 0; first < end; ++first)
          if (last(first, end) != kNone) {
            last(first, end) += std::max(0.0, best_before(last, first, end, has_pairs));
            best = std::max(best, last(first, end));
          }
      return best;
    }
    for (Eigen::Index count = 1; count <= runs; ++count) {
      best = std::max(best, last.maxCoeff());
      if (count == runs) break;
      Matrix longer = Matrix::Constant(n_, n_ + 1, kNone);
      for_each_run([&](Eigen::Index first, Eigen::Index end) {
        longer(first, end) = energy(first, end) + best_before(last, first, end, has_pairs);
      });
      last = std::move(longer);
    }
    return best;
  }

 private:
  bool is_run(Eigen::Index first, Eigen::Index end) const {
    return end - first >= window_ || end == n_ || (first == 0 && has_open_start_);
  }
  template <class Visit>
  void for_each_run(const Visit& visit) const {
    for (Eigen::Index first = 0; first < n_; ++first)
      for (Eigen::Index end = first + 1; end <= n_; ++end)
        if (is_run(first, end)) visit(first, end);
  }

  double energy(Eigen::Index first, Eigen::Index end) const {
    return sums_(end, end) - sums_(first, end) - sums_(end, first) + sums_(first, first);
  }

  /// Best sum of the runs before this one, plus twice the product with the last of these runs.
  double best_before(const Matrix& last, Eigen::Index first, Eigen::Index end,
                     bool has_pairs) const {
    double best = kNone;
    if (first < 2) return best;
    const Eigen::VectorXd products = has_pairs
                                         ? Eigen::VectorXd(2 * (sums_.col(end) - sums_.col(first)))
                                         : Eigen::VectorXd(Eigen::VectorXd::Zero(n_ + 1));
    for (Eigen::Index begin = 0; begin + 1 < first; ++begin) {
      const Eigen::Index shortest =
          begin == 0 && has_open_start_ ? Eigen::Index{1} : begin + window_;
      for (Eigen::Index stop = shortest; stop < first; ++stop)
        best = std::max(best, last(begin, stop) + products(stop) - products(begin));
    }
    return best;
  }

  Eigen::Index n_;
  Eigen::Index window_;
  bool has_open_start_;
  Matrix sums_;  ///< entry (i, j): sum over the leading i x j block
};

}  // namespace

EnergyBound active_energy_bound(const Matrix& gram, const ActivePattern& pattern) {
  const Eigen::Index n = gram.rows(), runs = most_runs(n, pattern);
  const double capped = static_cast<double>(pattern.runs ? runs : 1);
  const bool has_pairs = num_pairs(n, pattern) * capped <= kMaxPairs;
  const bool is_exact = runs == 1 || (runs == 2 && has_pairs);
  // Steps of non-adjacent runs have a run and two gaps between them.
  Matrix products = gram;
  const double positive =
      is_exact ? 0 : take_positive_beyond(products, has_pairs ? pattern.window + 3 : 2);
  const double largest =
      RunProgram(products, pattern).largest(pattern.runs ? runs : 0, has_pairs && runs > 1);
  // Each sum of a block has at most n^2 terms, and a pattern uses at most 4 n of them.
  const double size = static_cast<double>(n);
  const double rounding = 16 * size * size * 0x1p-53 * gram.cwiseAbs().sum();
  return {largest + positive + rounding, is_exact};
}

Sensitivity active_sensitivity(const Strategy& strategy, const ActivePattern& pattern) {
  if (!strategy.workload().is_prefix())
    fail(ErrorCode::unsupported, "sensitivity", "workload",
         "must be prefix sums of changes for active people", strategy.workload().name());
  if (const auto norm = strategy.active_norm_squared(pattern))
    return {std::sqrt(norm->squared) * (1 + 0x1p-52),
            norm->is_exact ? Exactness::exact : Exactness::upper_bound,
            "closed form over active steps, runs and ends"};
  const std::int64_t n = strategy.steps();
  if (n > kMaxActiveSteps)
    fail(ErrorCode::unsupported, "sensitivity", "steps",
         "must be at most " + to_text(kMaxActiveSteps) + " for active people and " +
             std::string(strategy.name()),
         to_text(n));
  // A change of +1 and, a step later, -1: columns of C D, D the differences.
  Matrix columns = strategy.encoder();
  columns.leftCols(columns.cols() - 1) -= Matrix(columns.rightCols(columns.cols() - 1));
  const EnergyBound bound = active_energy_bound(columns.transpose() * columns, pattern);
  // The computed inner products are off by at most the number of rows times 2^-53 times the product
  // of the norms.
  const double norms = columns.colwise().norm().sum();
  const double rounding = static_cast<double>(columns.rows() + 4) * 0x1p-53 * norms * norms;
  const double value = std::sqrt(bound.squared + rounding);
  // Triangle inequality: replacing a person changes at most twice as much as removing one.
  const bool is_exact = bound.is_exact && pattern.neighbours == Neighbours::zero_out;
  return {value, is_exact ? Exactness::exact : Exactness::upper_bound,
          bound.is_exact ? "all patterns of at most two runs"
                         : "inner products of consecutive runs, dynamic program"};
}

}  // namespace dpftrl
