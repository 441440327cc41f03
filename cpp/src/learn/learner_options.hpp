// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Options that learners with and without noise read alike (internal header).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dpftrl/analysis/mechanism.hpp"
#include "dpftrl/base/error.hpp"
#include "learn/rules/rules.hpp"

namespace dpftrl::detail {

/// @throws Error{invalid_argument} loss, domain, dimension, batch_size, radius or lambda.
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
}

/// Learners go by sums of all gradients.
/// @throws Error{invalid_argument} releases of another workload.
inline void require_prefix(std::string_view where, const Mechanism& mechanism) {
  const Workload& workload = mechanism.strategy().workload();
  if (!workload.is_prefix())
    fail_argument(where, "workload", "prefix", "\"" + workload.name() + "\"");
}

/// Weights of the model.
template <class Options>
std::int64_t model_size_of(const Options& options) {
  return options.dimension * options.loss->num_scores();
}

/// The rule on sums, for this lambda of averages.
template <class Options>
std::unique_ptr<UpdateRule> rule_of(const Options& options, double lambda) {
  return make_rule({.dimension = model_size_of(options),
                    .lambda = lambda * static_cast<double>(options.batch_size),
                    .domain = options.domain,
                    .descent = options.descent,
                    .doubling = options.doubling});
}

}  // namespace dpftrl::detail
