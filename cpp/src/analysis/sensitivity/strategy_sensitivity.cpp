// SPDX-License-Identifier: Apache-2.0

/// Sensitivities of strategies, by the best bound that the structure of the columns gives.

#include <algorithm>
#include <cmath>
#include <variant>

#include "analysis/sensitivity/active_sensitivity.hpp"
#include "analysis/sensitivity/family_sensitivity.hpp"
#include "analysis/sensitivity/pattern_sums.hpp"
#include "analysis/sensitivity/tree_sensitivity.hpp"
#include "base/counting.hpp"
#include "base/span_of.hpp"
#include "dpftrl/analysis/sensitivity/sensitivity.hpp"
#include "dpftrl/base/error.hpp"

namespace dpftrl {
namespace {

using Kind = Participation::Kind;

constexpr std::int64_t kMaxGramSteps = 1024;
constexpr std::int64_t kMaxColumnNorms = std::int64_t{1} << 24;

Sensitivity banded_sensitivity(const Strategy& strategy, const Participation& participation) {
  const std::int64_t n = strategy.steps();
  const std::int64_t k = participation.times_within(n);
  if (n <= kMaxColumnNorms) {
    std::vector<double> squares(index_of(n));
    for (std::int64_t j = 0; j < n; ++j) squares[index_of(j)] = strategy.column_norm_squared(j);
    if (detail::fits_pattern_budget(n, k) || detail::is_non_increasing(squares) ||
        participation.kind() == Kind::fixed_epoch)
      return {std::sqrt(largest_pattern_sum(squares, participation)), Exactness::exact,
              "orthogonal columns: best sum of squared norms over the patterns"};
  }
  const double largest = strategy.max_column_norm_squared();
  bool is_attained = k <= kMaxColumnNorms;  // by the pattern 0, b, 2b, ...
  for (std::int64_t i = 0; i < k && is_attained; ++i)
    is_attained = strategy.column_norm_squared(i * participation.apart()) == largest;
  return {std::sqrt(static_cast<double>(k) * largest),
          is_attained ? Exactness::exact : Exactness::upper_bound,
          "orthogonal columns: participations times the largest"};
}

Sensitivity dense_sensitivity(const Strategy& strategy, const Participation& participation) {
  const Matrix encoder = strategy.encoder();
  Matrix gram = encoder.transpose() * encoder;
  if (strategy.has_nonnegative_gram()) gram = gram.cwiseMax(0);
  Sensitivity result = gram_sensitivity(gram, participation);
  // An inner product of m terms is off by at most m 2^-53 times the product of the norms, and (sum
  // of k norms)^2 <= k sens^2; the result is rounded up by as much.
  const auto k = static_cast<double>(participation.times_within(gram.rows()));
  result.value *= 1 + k * static_cast<double>(encoder.rows()) * 0x1p-53;
  return result;
}

/// Stated column norm of a Toeplitz strategy, divided by its column norm within the horizon: above
/// 1 if the strategy was made for a longer horizon.
double cap_factor(const Strategy& strategy) {
  const std::span<const double> coefficients = strategy.toeplitz_encoder();
  if (coefficients.empty()) return 1;
  const double claimed = strategy.max_column_norm_squared() / detail::sum_of_squares(coefficients);
  return claimed > 1 + 1e-9 ? std::sqrt(claimed) : 1;
}

Sensitivity within_horizon(const Strategy& strategy, const Participation& participation) {
  const ColumnStructure columns = strategy.columns();
  if (const auto* scaled = std::get_if<ScaledColumns>(&columns); scaled && scaled->scales.empty())
    return within_horizon(*scaled->base, participation);
  const std::int64_t n = strategy.steps();
  const std::int64_t k = participation.times_within(n);
  const double single = std::sqrt(strategy.max_column_norm_squared());
  if (k == 1) return {single, Exactness::exact, "largest column norm"};
  if (std::holds_alternative<DyadicColumns>(columns)) return tree_sensitivity(n, participation);

  if (const double squared = strategy.spaced_norm_squared(k, participation.apart()); squared > 0)
    return {std::sqrt(squared), Exactness::exact,
            "Toeplitz: norm of the sum of columns 0, b, 2b, ..., in closed form"};

  Sensitivity best{static_cast<double>(k) * single, Exactness::upper_bound,
                   "participations times the largest column norm"};
  const auto improve = [&best](const Sensitivity& other) {
    if (other.exactness == Exactness::exact || other.value < best.value) best = other;
    return best.exactness == Exactness::exact;
  };
  const std::span<const double> coefficients = strategy.toeplitz_encoder();
  if (!coefficients.empty()) {
    require_length("sensitivity", "toeplitz_encoder", std::ssize(coefficients), n);
    if (improve(toeplitz_sensitivity(coefficients, participation))) return best;
  }
  const std::int64_t bands = orthogonal_distance(strategy);
  if (bands >= 1 && bands <= participation.apart() &&
      improve(banded_sensitivity(strategy, participation)))
    return best;
  if (participation.kind() == Kind::fixed_epoch) {
    const std::vector<double> phases = strategy.epoch_norms_squared(participation.apart());
    if (!phases.empty()) {
      const double largest = std::sqrt(std::ranges::max(phases));
      if (strategy.has_nonnegative_gram())
        return {largest, Exactness::exact, "column sums of every phase, no entry being negative"};
      improve({largest, Exactness::upper_bound, "inner products of every phase, absolute values"});
    }
  }
  if (improve(family_sensitivity(strategy, participation))) return best;
  if (n <= kMaxGramSteps) improve(dense_sensitivity(strategy, participation));
  return best;
}

}  // namespace

Sensitivity sensitivity(const Strategy& strategy, const Participation& participation) {
  participation.require_horizon(strategy.steps());
  if (participation.pattern()) return active_sensitivity(strategy, *participation.pattern());
  const Sensitivity own = within_horizon(strategy, participation);
  const double factor = cap_factor(strategy);
  if (factor == 1) return own;
  const bool is_single = participation.times_within(strategy.steps()) == 1;
  return {is_single ? own.value : own.value * factor, Exactness::upper_bound,
          "scaled to the horizon cap"};
}

Sensitivity l1_sensitivity(const Strategy& strategy, const Participation& participation) {
  const std::int64_t n = strategy.steps();
  const std::int64_t k = participation.times_within(n);
  participation.require_horizon(n);
  // The entries of these trees are 0 and 1, so squared norms are l1-norms.
  if (std::holds_alternative<KaryColumns>(strategy.columns())) {
    const double largest = strategy.max_column_norm_squared();
    if (k == 1) return {largest, Exactness::exact, "l1: largest number of nodes of a step"};
    if (n > kMaxColumnNorms || !detail::fits_pattern_budget(n, k))
      return {static_cast<double>(k) * largest, Exactness::upper_bound,
              "l1: participations times the largest number of nodes of a step"};
    std::vector<double> nodes(index_of(n));
    for (std::int64_t j = 0; j < n; ++j) nodes[index_of(j)] = strategy.column_norm_squared(j);
    return {largest_pattern_sum(nodes, participation), Exactness::exact,
            "l1: best sum of numbers of nodes over the patterns"};
  }
  if (strategy.bands() == 1 && !strategy.toeplitz_encoder().empty())
    return {static_cast<double>(k) * std::abs(strategy.toeplitz_encoder().front()),
            Exactness::exact, "l1: one measurement of each participation"};
  const Matrix encoder = strategy.encoder();
  const Vector norms = encoder.cwiseAbs().colwise().sum();
  const bool is_exact = k == 1 || encoder.minCoeff() >= 0;
  return {largest_pattern_sum(detail::span_of(norms), participation),
          is_exact ? Exactness::exact : Exactness::upper_bound,
          "l1: best sum of column norms over the patterns"};
}

}  // namespace dpftrl
