// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lower bounds on nuclear norms that rounding cannot spoil (internal header).

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

/// The polar factor of a matrix that is nearly a partial isometry: repeats Q <- Q (3 - Q^T Q) / 2,
/// which doubles the digits each time, up to double precision.
/// @cost  two products a turn, at most three turns.
Matrix orthogonalized(Matrix q);

/// A matrix W that is known to rounding: |W - values| <= relative_error * magnitude, entrywise.
struct RoundedMatrix {
  const Matrix& values;
  const Matrix& magnitude;
  double relative_error;
};

/// <Q, W> / ||Q||_op, a lower bound on the nuclear norm of the exact W for every Q; the better, the
/// closer Q is to U V^T of W = U S V^T. 0 where nothing better is proved.
///
/// @guarantee   at most ||W||_*: the inner product is rounded down, the norm of Q bounded from
///              above with the rounding of Q^T Q allowed for.
/// @cost        O(rows columns^2), one product; another one where W has not full column rank.
/// @checked-by  bounds_test "is the nuclear norm never above it and hardly below",
/// dense_optimum_test
///              "certificates are verified by singular values"
double nuclear_norm_bound(const RoundedMatrix& w, const Matrix& q);

}  // namespace dpftrl::detail
