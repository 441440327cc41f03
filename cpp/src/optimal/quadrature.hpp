// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Rational approximation of the inverse square root, for matrices of which only the resolvents are
/// cheap (docs/math/optimal.md).

#include <cstdint>
#include <vector>

namespace dpftrl::detail {

/// lambda^(-1/2) ~ direct + sum_k weights[k] / (lambda + shifts[k]); everything is positive.
struct InverseRoot {
  std::vector<double> shifts;
  std::vector<double> weights;
  double direct = 0;
  /// Bound on |approximation / lambda^(-1/2) - 1| on the interval.
  double relative_error = 0;
};

struct SpectralInterval {
  double low;   ///< > 0
  double high;  ///< >= low
};

/// Midpoint rule in Jacobi's elliptic variable, which is Zolotarev's approximation, the best with
/// `num_nodes` poles.
/// @source  Hale, Higham, Trefethen, SIAM J. Numer. Anal. 46 (2008), method 3.
/// @exactness  relative_error is a bound: the error is a series, and the bound sums the magnitudes
///             of its terms, rounded up, and the rounding of the nodes
/// @checked-by optimum_test "the error stays within its bound all over the interval"
InverseRoot inverse_root(const SpectralInterval& interval, std::int64_t num_nodes);

/// Uses the number of nodes that a relative error of at most max(relative_error, 2^-42) requires,
/// rounded up to a multiple of `multiple_of`.
InverseRoot inverse_root_within(const SpectralInterval& interval, double relative_error,
                                std::int64_t multiple_of = 1);

/// `inverse_root` with a direct term, which acts like an additional half node: midpoints of q + 1/2
/// cells.
InverseRoot inverse_root_with_direct_term(const SpectralInterval& interval, std::int64_t num_nodes);

}  // namespace dpftrl::detail
