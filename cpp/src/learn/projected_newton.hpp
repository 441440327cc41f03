// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Minimises losses with or without kinks over a bounded convex set (internal header).

#include <cstdint>

#include "dpftrl/base/types.hpp"
#include "dpftrl/learn/rules/domain.hpp"
#include "learn/losses/average_loss.hpp"

namespace dpftrl {

/// Starting point of a search; on return, a better one for the next search.
struct ProjectedStart {
  Vector point;
  double width = 0;  ///< width of the envelopes; 0 if not known
};

struct ProjectedMinimum {
  Vector point;
  double value;
  double gap;  ///< value - gap <= minimum
  std::int64_t evaluations;
};

/// Minimises the average loss over the domain by Newton steps on Moreau envelopes, each step to the
/// minimum of a quadratic model over the domain, found by accelerated projected gradients. The
/// width of the envelopes shrinks until the duality gap is at most `tolerance` or the work limit is
/// reached. Beyond 256 weights, or for several scores, uses accelerated projected gradients on the
/// envelope itself.
///
/// @exactness  certified by duality, independently of the search.
/// @source     Lee, Sun and Saunders, SIAM J. Optim. 24 (2014) (proximal Newton); Beck and
///             Teboulle, SIAM J. Imaging Sci. 2 (2009), O'Donoghue and Candes, Found. Comput. Math.
///             15 (2015) (acceleration, restarts).
ProjectedMinimum minimize_projected(const AverageLoss& loss, const Domain& domain, double tolerance,
                                    ProjectedStart& start);

}  // namespace dpftrl
