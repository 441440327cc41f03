// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Lower bounds on nuclear norms that hold despite rounding (internal header).

#include "dpftrl/base/types.hpp"

namespace dpftrl::detail {

/// Polar factor of a matrix that is nearly a partial isometry. Iterates Q <- Q (3 - Q^T Q) / 2,
/// which doubles the correct digits each time, up to double precision.
/// @cost  two products per iteration, at most three iterations.
Matrix orthogonalized(Matrix q);

/// A matrix W that is known up to rounding: |W - values| <= relative_error * magnitude, entrywise.
struct RoundedMatrix {
  const Matrix& values;
  const Matrix& magnitude;
  double relative_error;
};

/// <Q, W> / ||Q||_op, a lower bound on the nuclear norm of the exact W for every Q; it improves as
/// Q approaches U V^T of W = U S V^T. Returns 0 if nothing better is proved.
///
/// @guarantee   at most ||W||_*: the inner product is rounded down, and the norm of Q is bounded
///              from above, including the rounding of Q^T Q.
/// @cost        O(rows columns^2) for Q^T Q, O(columns^3) for its square if it is not close to I.
/// @checked-by  bounds_test "is the nuclear norm never above it and hardly below",
///              dense_optimum_test "certificates are verified by singular values"
double nuclear_norm_bound(const RoundedMatrix& w, const Matrix& q);

}  // namespace dpftrl::detail
