// SPDX-License-Identifier: Apache-2.0
#include "learn/rules/rules.hpp"

#include "dpftrl/base/error.hpp"

namespace dpftrl {

std::unique_ptr<UpdateRule> make_rule(const RuleOptions& options) {
  if (!options.descent)
    return std::make_unique<Ftrl>(FtrlOptions{.dimension = options.dimension,
                                              .lambda = options.lambda,
                                              .domain = options.domain,
                                              .doubling = options.doubling,
                                              .penalty = options.penalty,
                                              .num_scores = options.num_scores});
  if (options.doubling)
    fail(ErrorCode::invalid_argument, "descent", "doubling",
         "must be false: it is for FTRL, and {rates} say the same here", "true");
  return std::make_unique<Descent>(DescentOptions{.dimension = options.dimension,
                                                  .lambda = options.lambda,
                                                  .domain = options.domain,
                                                  .schedule = *options.descent});
}

}  // namespace dpftrl
