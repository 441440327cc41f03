// SPDX-License-Identifier: Apache-2.0

/// Mechanisms without a delta: docs/math/pure.md.

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "strategy/toeplitz/identity.hpp"
#include "strategy/trees/kary.hpp"

namespace dpftrl {
namespace {

constexpr std::string_view kPureFunction = "pure";

/// Covers the rounding of the root and of the quotient.
constexpr double kPureRoundUp = 1 + 0x1p-50;

/// Mean squared error times epsilon^2 / 2 for one participation and continuous noise.
double unit_variance(const KaryStrategy& tree) {
  const double levels = tree.max_column_norm_squared();
  return levels * levels * tree.row_norms().mean_squared;
}

KaryStrategy best_tree(std::int64_t steps) {
  KaryStrategy::Options best{.steps = steps};
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t arity = 2; arity <= KaryStrategy::kMaxArity; ++arity)
    for (const bool subtractive : {false, true}) {
      if (subtractive && arity % 2 == 0) continue;
      const KaryStrategy::Options options{
          .steps = steps, .arity = arity, .subtractive = subtractive};
      const double variance = unit_variance(KaryStrategy(options));
      if (!(variance < least)) continue;
      least = variance;
      best = options;
    }
  return KaryStrategy(best);
}

KaryStrategy tree_of(const PureOptions& options) {
  if (!options.arity && !options.subtractive) return best_tree(options.steps);
  KaryStrategy::Options tree{.steps = options.steps};
  tree.arity = options.arity.value_or(tree.arity);
  tree.subtractive = options.subtractive.value_or(false);
  return KaryStrategy(tree);
}

/// A strategy, and the options from which it was made.
struct Encoding {
  std::shared_ptr<const Strategy> strategy;
  StrategyOptions made_with;
};

Encoding encoding_of(const PureOptions& options) {
  require_between(kPureFunction, "steps", options.steps, 1, kMaxNumSteps);
  const Workload workload = options.workload.value_or(Workload::prefix_sums(options.steps));
  require_length(kPureFunction, "workload", workload.steps(), options.steps);
  if (workload.is_prefix()) {
    const auto tree = std::make_shared<const KaryStrategy>(tree_of(options));
    return {tree,
            {.name = std::string(tree->name()),
             .steps = options.steps,
             .parameters = {.arity = tree->arity(), .subtractive = !tree->is_causal()},
             .participation = options.participation}};
  }
  if (!workload.is_single_step())
    fail(ErrorCode::unsupported, kPureFunction, "workload",
         "must be prefix sums or a window of one step", workload.name());
  if (options.arity || options.subtractive)
    fail_argument(kPureFunction, options.arity ? "arity" : "subtractive",
                  "left out for a window of one step, which has no tree",
                  options.arity ? to_text(*options.arity) : "a value");
  return {independent_strategy({.designed_for = workload, .workload = workload}),
          {.name = std::string(IndependentStrategy::kName),
           .steps = options.steps,
           .workload = workload,
           .participation = options.participation}};
}

}  // namespace

std::shared_ptr<const Mechanism> Mechanism::make_pure(const PureOptions& options) {
  require_positive(kPureFunction, "clip", options.clip);
  const double mu = mu_from_pure_dp(require_positive(kPureFunction, "epsilon", options.epsilon));
  auto [strategy, made_with] = encoding_of(options);
  const Sensitivity sensitivity = l1_sensitivity(*strategy, options.participation);
  const RowNorms rows = strategy->row_norms();
  Certificate certificate{
      .strategy = std::string(strategy->name()),
      .workload = strategy->workload().name(),
      .participation = std::string(options.participation.name()),
      .max_participations = options.participation.times(),
      .separation = options.participation.apart(),
      .steps = options.steps,
      .neighbours = options.neighbours,
      .epsilon = options.epsilon,
      .delta = 0,
      .mu = mu,
      .rho = rho_from_pure_dp(options.epsilon),
      .clip = options.clip,
      .sensitivity = sensitivity.value,
      .exactness = sensitivity.exactness,
      .sensitivity_method = sensitivity.method,
      .noise_multiplier = std::numbers::sqrt2 / options.epsilon * kPureRoundUp,
      .noise_stddev = 0,
      .max_error = sensitivity.value * std::sqrt(rows.max_squared),
      .mean_error = sensitivity.value * std::sqrt(rows.mean_squared),
      .objective = Objective::mean,
      .parameters = strategy->parameters(),
      .record_norm = RecordNorm::l1,
  };
  const Mechanism without_noise(std::move(strategy), std::move(made_with), std::move(certificate));
  return without_noise.with_clip(options.clip);
}

}  // namespace dpftrl
