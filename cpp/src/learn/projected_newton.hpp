// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The best point of a bounded convex set for losses with or without kinks. Internal.

#include <cstdint>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "learn/losses/average_loss.hpp"

namespace dpftrl {

/// Starting point of a search, and on return a better one for the next.
struct ProjectedStart {
  Vector point;
  double width = 0;  ///< of the envelopes; 0: not known
};

struct ProjectedMinimum {
  Vector point;
  double value;
  double gap;  ///< value - gap <= minimum
  std::int64_t evaluations;
};

/// min over the domain of the average loss: Newton steps, each the minimum of a quadratic model
/// over the domain by accelerated projected gradients, on Moreau envelopes whose width shrinks
/// until the duality gap is at most `tolerance` or the work limit is reached. Beyond 256 weights,
/// or for several scores, accelerated projected gradients on the average loss itself.
///
/// @exactness  certified by duality, whatever the search did.
/// @source     Lee, Sun and Saunders, SIAM J. Optim. 24 (2014) (proximal Newton); Beck and
/// Teboulle,
///             SIAM J. Imaging Sci. 2 (2009), O'Donoghue and Candes, Found. Comput. Math. 15 (2015)
///             (acceleration, restarts).
ProjectedMinimum minimize_projected(const AverageLoss& loss, const Domain& domain, double tolerance,
                                    ProjectedStart& start);

}  // namespace dpftrl
