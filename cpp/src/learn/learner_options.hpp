// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Options that learners with and without noise share (internal header).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "dpftrl/learn/regret.hpp"
#include "dpftrl/release/prefix_sum.hpp"
#include "learn/rules/penalty.hpp"
#include "learn/rules/rules.hpp"

namespace dpftrl::detail {

/// Numbers of features and scores of the model.
template <class Options>
ModelShape shape_of(const Options& options) {
  return {.num_features = options.dimension, .num_scores = options.loss->num_scores()};
}

/// @throws Error{invalid_argument} loss, domain, dimension, batch_size, radius, lambda or penalty;
///         Error{unsupported} a penalty with descent, or on a domain without support for it.
template <class Options>
void require_learner(std::string_view where, const Options& options) {
  const std::string name(where);
  if (!options.loss) fail(ErrorCode::invalid_argument, name, "loss", "must be given");
  if (!options.domain) fail(ErrorCode::invalid_argument, name, "domain", "must be given");
  require_between(where, "dimension", options.dimension, 1,
                  kMaxModelDimension / options.loss->num_scores());
  require_between(where, "batch_size", options.batch_size, 1, std::int64_t{1} << 31);
  require_positive(where, "radius", options.radius);
  if (options.lambda) require_positive(where, "lambda", *options.lambda);
  require_penalty(where, options.penalty, shape_of(options));
  require_domain_for(where, options.penalty, *options.domain);
  if (options.descent && options.penalty.strength > 0)
    fail(ErrorCode::unsupported, where, "penalty.strength", "must be 0 with {descent}",
         to_text(options.penalty.strength));
}

/// Checks that releases are prefix sums, because learners use sums of all gradients.
/// @throws Error{invalid_argument} releases of another workload.
inline void require_prefix(std::string_view where, const Mechanism& mechanism) {
  const Workload& workload = mechanism.strategy().workload();
  if (!workload.is_prefix())
    fail_argument(where, "workload", "prefix", "\"" + workload.name() + "\"");
}

/// Checks that a learner can follow the sums of a mechanism.
/// @throws Error{unsupported} a pure mechanism; Error{invalid_argument} another workload.
inline void require_learnable(std::string_view where, const Mechanism& mechanism) {
  // A pure mechanism clips records in the l1-norm; regret bounds are for l2-norms.
  if (mechanism.is_pure())
    fail(ErrorCode::unsupported, where, "mechanism", "must be one with a delta");
  require_prefix(where, mechanism);
}

template <class Options>
std::int64_t model_size_of(const Options& options) {
  return options.dimension * options.loss->num_scores();
}

/// lambda for mean gradients: the given one, or the theorem's.
template <class Options>
double lambda_of(const Options& options, const PrefixSum& sums) {
  if (options.lambda) return *options.lambda;
  const Mechanism& mechanism = sums.mechanism();
  RegretSetting setting = regret_setting(mechanism.certificate(), model_size_of(options),
                                         *options.domain, options.radius);
  setting.release_noise /= static_cast<double>(options.batch_size);
  setting = with_penalty(setting, options.penalty, shape_of(options), *options.domain);
  // In mode lattice every step is noisier by the same factor. The rounding of noise to integers is
  // left out, so that the rate of a learner does not depend on its grid.
  if (const LatticeMechanism* lattice = sums.lattice())
    setting.release_noise *= lattice->ideal_stddev(0) / mechanism.release_stddev(0);
  if (options.descent) return descent_lambda(setting, mechanism.strategy());
  const double last = theorem_lambda(setting);
  return options.doubling ? first_lambda(last, setting.steps) : last;
}

/// @param lambda  lambda of the rule.
/// @throws Error{invalid_argument} iterates may leave the range of doubles.
inline void require_finite_iterates(std::string_view where, const PrefixSum& sums, double lambda) {
  // No release exceeds 2^63 grid units, and at most 2^40 iterates are summed for the average.
  if (!std::isfinite(0x1p103 * sums.grid() / lambda))
    fail_argument(where, "lambda", "large enough for finite iterates", to_text(lambda));
}

/// Makes the rule for sums of gradients from a lambda for mean gradients.
template <class Options>
std::unique_ptr<UpdateRule> rule_of(const Options& options, double lambda) {
  Penalty penalty = options.penalty;  // for mean gradients
  penalty.strength = std::min(penalty.strength * static_cast<double>(options.batch_size),
                              std::numeric_limits<double>::max());
  return make_rule({.dimension = model_size_of(options),
                    .lambda = lambda * static_cast<double>(options.batch_size),
                    .domain = options.domain,
                    .descent = options.descent,
                    .doubling = options.doubling,
                    .penalty = penalty,
                    .num_scores = options.loss->num_scores()});
}

}  // namespace dpftrl::detail
